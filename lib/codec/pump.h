/* A stream's bytes, inflated ahead of its reader by another thread.
 *
 *     a helper      works: inflates a piece into each slot that is free
 *     the reader    begins a file; takes the pieces in their order; begins the next file ...
 *
 *     slots         [ taken: free ] [ made ] [ made ] [ in work ]
 *     a slot        [ the history that copies reach back to | a piece | slack ]
 *
 * Whoever needs a piece that nobody is at makes it: a helper may come late, or never, and nobody
 * waits for one who is not there. All memory is taken and given back by the reader. */
#ifndef PD_CODEC_PUMP_H
#define PD_CODEC_PUMP_H

#include "base/monitor.h"
#include "codec/unpack.h"

enum { PD_PUMP_SLOTS = 4 };

typedef struct pd_pump_slot {
    uint8_t *ptr;
    size_t cap, len; /* len: of the piece, behind PD_DECODE_HISTORY bytes */
} pd_pump_slot;

typedef struct pd_pump {
    pd_mem *mem;
    bool is_taken; /* a reader has it */
    size_t piece;
    pd_monitor monitor;
    pd_unpacker unpacker; /* of who is working */
    /* These belong to who is inside the monitor. */
    pd_pump_slot slots[PD_PUMP_SLOTS];
    size_t made, taken;       /* pieces of this file */
    bool is_wanted;           /* there is a file, and more of it to inflate */
    bool is_working;          /* somebody inflates a piece */
    bool is_lent;             /* a helper is wanted elsewhere, */
    bool is_away;             /* and is there */
    bool is_stopped;          /* helpers go home */
    pprofdelta_status status; /* what comes behind the pieces made: the end, */
    pprofdelta_error err;     /* or what is wrong */
} pd_pump;                    /* zero it before the first beginning; pd_pump_close leaves it so */

/* From here on there may be a helper; until then, and after pd_pump_close, there is no pump. */
pprofdelta_status pd_pump_open(pd_pump *pump, pd_mem *mem, pprofdelta_error *err);
static inline bool pd_pump_is_open(const pd_pump *pump)
{
    return pump->monitor.is_made;
}

/* For another thread: works until it is stopped; true where it is wanted elsewhere, whence it tells
 * when it returns. */
bool pd_pump_work(pd_pump *pump);
void pd_pump_return(pd_pump *pump);
void pd_pump_stop(pd_pump *pump);

/* Sends the helper elsewhere; waits until it is back, or has not gone. */
void pd_pump_lend(pd_pump *pump);
void pd_pump_recall(pd_pump *pump);

/* Begins a gzip file for a reader, piece by piece. False where another reader has the pump, or there
 * is no room: then the reader inflates by itself. */
bool pd_pump_begin(pd_pump *pump, const uint8_t *in, size_t len, size_t piece);

/* Copies the next piece to out, which has room for it and PD_DECODE_SLACK more; or tells that there
 * is none (*is_done), or what is wrong. */
pprofdelta_status pd_pump_take(pd_pump *pump, uint8_t *out, size_t *made, bool *is_done,
                               pprofdelta_error *err);

/* The reader needs no more of its file. */
void pd_pump_leave(pd_pump *pump);

/* Gives back the memory that the next file takes again, where no reader has the pump. */
void pd_pump_empty(pd_pump *pump);

/* Gives everything back; no helper is at it any more. Twice is fine. */
void pd_pump_close(pd_pump *pump);

#endif

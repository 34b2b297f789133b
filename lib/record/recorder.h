/* What a recorder holds.
 *
 *     record -> key -> window, stack -> arena                         (recorder_add.c)
 *     window -> signs -> subtraction -> unsampling -> places -> sum
 *         -> encode -> compress -> sink                               (recorder_write.c)
 *
 * A stack is identified by its program counters. Within one process equal program counters are
 * equal places, so a stack that is not written costs a hash of its bytes: no program counter is
 * looked up. The exception are program counters that lead a stack, if a symbolizer may hide them:
 * hidden frames are not part of the key.
 *
 * Most records have not changed since the last window. They get no row, and once more than half of what the
 * last window had counted was found again, nothing is stored for them. Up to there counting may have begun
 * again at zero, which is known at the end of the window only: then all records are written.
 *
 * The arena stores, for each record that may be written, what is needed for it:
 *
 *     pd_kept | program counters, unless they are borrowed | packed labels */
#ifndef PD_RECORD_RECORDER_H
#define PD_RECORD_RECORDER_H

#include "pprofdelta_record.h"
#include "ledger/reset.h"
#include "ledger/subtract.h"
#include "ledger/types.h"
#include "base/scale.h"
#include "places/packed.h"
#include "places/places.h"
#include "encode/door.h"
#include "model/totals.h"

struct pprofdelta_recorder {
    pd_mem mem;
    /* What the caller chose. Strings and arrays are copied elsewhere; those in here are gone. */
    pprofdelta_recorder_options options;
    pd_schema schema;
    pd_columns columns;
    /* The memory between windows. The side of a ledger entry has the carries of its counters. */
    pd_ledger ledger;
    int64_t last_nanos; /* time of the window that was handed out last */
    pd_steps steps;
    pd_door door;
    /* The window under way. */
    bool is_full; /* a write was tried: no record is added any more */
    bool is_scaled;
    bool has_base;  /* there is something to subtract, or a restart after it */
    bool may_hide;  /* a program counter is hidden or may be */
    bool restarted; /* reported by the caller since a window was handed out */
    int64_t time_nanos;
    pd_scale scales[PPROFDELTA_MAX_TYPES]; /* in the row's order; not of a heap */
    pprofdelta_error trouble;              /* a record is missing, and why */
    uint64_t samples_in;
    pd_row_set window;    /* the offset of a row is the number of its record, from 0 */
    size_t *kept_at;      /* of each entry that may be written, in the arena */
    bool keeps_unchanged; /* counting may have begun again, as far as is known */
    pd_reset_watch watch;
    pd_buffer arena;
    pd_subtraction how;
    pprofdelta_restart restart; /* after the window that was handed out last */
    /* Machinery, kept for its capacity. */
    pd_places places;
    pd_totals sum;        /* what is written, by the keys that a reader of the profile sees */
    pd_transfer transfer; /* from the sum to the door's model, if it has samples without a value */
    pprofdelta_type_report types[PPROFDELTA_MAX_TYPES];
};

/* What was kept of a row, in the arena. The pointers are set when it is read. */
typedef struct pd_kept {
    size_t depth, labels_len;
    int64_t block_size;
    const uint64_t *stack;
    const uint8_t *labels; /* packed */
} pd_kept;

pd_kept pd_recorder_kept(const pprofdelta_recorder *recorder, size_t row);

/* Has a window been handed out before? */
static inline bool pd_recorder_has_seen(const pprofdelta_recorder *recorder)
{
    return recorder->ledger.window != 0;
}

/* recorder_write.c: stores the carries of all rows at the end of the window, before it is committed. */
void pd_recorder_carry_on(pprofdelta_recorder *recorder);

#endif

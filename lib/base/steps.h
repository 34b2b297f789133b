/* The steps of a window. It is the same on every door: parsed profiles, records, samples, live heap.
 *
 *                   begin              write                 commit
 *        PD_IDLE  --------->  PD_OPEN  ------>  PD_WRITTEN  --------->  PD_IDLE
 *                               ^  |                |  |
 *                               |  +--- abandon ----|--+------------->  PD_IDLE
 *                               +--- write failed --+
 *
 * A door asks here first and touches its data only after PPROFDELTA_OK. A call that is refused
 * changes nothing. While a sink is called, only abandon is allowed. A sink may be left by an exception or a
 * longjmp and never return: abandon ends its call, too. A sink that returns after that finds another ticket,
 * and touches nothing.
 *
 * A series numbers the windows of a door: see "Sequence and attempt" in pprofdelta.h.
 *
 *     sequence   1    2    2    2    3         4          5
 *     attempt    1    1    2    3    1         1          1
 *     then       ok   -    -    ok   -         ok         ...
 *     stamp                               acked=2, restart
 *
 * An attempt is used up when a sink was called. A sequence is open after its first attempt, until an
 * attempt is committed or the process turns out to have restarted: the new process has a sequence of
 * its own, and the open one stays as it was delivered. */
#ifndef PD_BASE_STEPS_H
#define PD_BASE_STEPS_H

#include "base/mem.h"

#include <stdbool.h>

/* ---- the series ------------------------------------------------------------------------------ */

/* A window. */
typedef struct pd_interval {
    uint64_t sequence, attempt;
    int64_t from_nanos, to_nanos; /* 0: unknown */
    int64_t duration_nanos;       /* by the clock, without the times that it was set back */
    pprofdelta_restart restart;
} pd_interval;

typedef struct pd_series {
    pd_interval last;  /* handed out; attempt is 0 if it is not open */
    pd_interval acked; /* committed; sequence is 0 if none was */
} pd_series;           /* zero it to begin */

static inline bool pd_series_is_open(const pd_series *series)
{
    return series->last.attempt != 0;
}

/* The time from one profile to the next; 0 if a time is unknown or the clock was set back. */
int64_t pd_series_elapsed(int64_t from, int64_t to);

/* The next window, with a profile of time `now` (0: unknown), `elapsed` after the last one. It never
 * ends before the last one. */
pd_interval pd_series_next(const pd_series *series, pprofdelta_restart restart, int64_t now,
                           int64_t elapsed);

/* No more attempts at the open window follow: what was delivered of it stands. */
static inline void pd_series_end_open(pd_series *series)
{
    series->last.attempt = 0;
}

static inline void pd_series_commit(pd_series *series)
{
    series->acked = series->last;
    series->last.attempt = 0;
}

/* ---- the steps ------------------------------------------------------------------------------- */

typedef enum pd_stage {
    PD_IDLE = 0,
    PD_OPEN,   /* begun, and not written or its last write failed */
    PD_WRITTEN /* its last write succeeded */
} pd_stage;

typedef struct pd_steps {
    pd_stage stage;
    bool is_in_sink;    /* a sink is being called */
    bool is_handed_out; /* a sink was called with this window */
    bool
        is_empty; /* ... or was not, since there was nothing to give it: a request without samples */
    uint64_t ticket;    /* of this window: changes when it ends, and at each abandon */
    pd_interval window; /* the window under way, once it was numbered */
    pd_series series;   /* without the window under way */
} pd_steps;             /* zero it to begin */

/* Begins a window. E_USAGE if one is under way, or while a sink is called. If the door then fails, it
 * calls pd_steps_abandon. */
pprofdelta_status pd_steps_begin(pd_steps *steps, pprofdelta_error *err);

/* Numbers the window under way: the next of the series. After a sink was called with it, it keeps
 * its numbers. */
void pd_steps_number(pd_steps *steps, pprofdelta_restart restart, int64_t now, int64_t elapsed);

/* Before a write: sets *ticket to what pd_steps_wrote needs. E_USAGE without a window or a sink, or
 * while a sink is called. */
pprofdelta_status pd_steps_write(pd_steps *steps, const pprofdelta_sink *sink, uint64_t *ticket,
                                 pprofdelta_error *err);

/* E_USAGE while a sink is called. */
pprofdelta_status pd_steps_refuse_in_sink(const pd_steps *steps, pprofdelta_error *err);

/* E_USAGE without a sink, or without its `write`. */
pprofdelta_status pd_sink_check(const pprofdelta_sink *sink, pprofdelta_error *err);

/* Hands bytes to the sink in one call. *written is their number; it is set on success only. If the
 * sink refuses, the status is PPROFDELTA_E_SINK and the stage WRITE. */
pprofdelta_status pd_sink_write(const pprofdelta_sink *sink, pd_bytes bytes, uint64_t *written,
                                pprofdelta_error *err);

/* Around a call of the caller's sink. begin returns the ticket for end. If the call was abandoned, end does nothing
 * and returns false. */
uint64_t pd_steps_sink_begin(pd_steps *steps);
bool pd_steps_sink_end(pd_steps *steps, uint64_t ticket);

/* A sink that calls another one. The window is in the sink meanwhile, and the
 * window was handed out. Refuses if the call was abandoned. */
typedef struct pd_steps_sink {
    pd_steps *steps;
    const pprofdelta_sink *sink;
    bool is_state; /* it gets a state, and not the window */
} pd_steps_sink;
int pd_steps_sink_write(void *cookie, const void *data, size_t len);

/* The address of such a sink, which lasts as long as the block. */
#define PD_STEPS_SINK(steps, sink)                                                                 \
    (&(const pprofdelta_sink){.write = pd_steps_sink_write,                                        \
                              .cookie = &(pd_steps_sink){steps, sink, false}})

/* After a write that had this status: the window can be committed if it is OK. Returns the status, or
 * E_USAGE if the sink ended the window or forked, and this is the child. */
pprofdelta_status pd_steps_wrote(pd_steps *steps, uint64_t ticket, pprofdelta_status status,
                                 pprofdelta_error *err);

/* Ends the window: it has arrived. E_USAGE unless its last write succeeded. An empty one
 * ends as one that a restart ended: no receiver has it, and none waits for it. */
pprofdelta_status pd_steps_commit(pd_steps *steps, pprofdelta_error *err);

/* Ends the window, and the call of a sink. If a sink was called with the window, it stays open in the series.
 * Returns whether there was a window. Read what the door needs of the window before. */
bool pd_steps_abandon(pd_steps *steps);

/* The series as it is if the window under way does not arrive. */
pd_series pd_steps_series(const pd_steps *steps);

/* In the child of a fork: the window and the series are the parent's. The first window of the child
 * begins at `now`. */
void pd_steps_forked(pd_steps *steps, int64_t now);

#endif

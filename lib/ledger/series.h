/* The numbers and times of a series of windows: see "Sequence and attempt" in pprofdelta.h.
 *
 *     sequence   1    2    2    2    3         4          5
 *     attempt    1    1    2    3    1         1          1
 *     then       ok   -    -    ok   -         ok         ...
 *     stamp                               acked=2, restart
 *
 * A sequence is open after its first attempt, until an attempt is committed or the process turns out
 * to have restarted: the new process has a sequence of its own, and the open one stays as it was
 * delivered. */
#ifndef PD_LEDGER_SERIES_H
#define PD_LEDGER_SERIES_H

#include "pprofdelta.h"

#include <stdbool.h>

/* A window. */
typedef struct pd_stretch {
    uint64_t sequence, attempt;
    int64_t from_nanos, to_nanos; /* 0: unknown */
    int64_t duration_nanos;       /* by the clock, without the times that it was set back */
    pprofdelta_restart restart;
} pd_stretch;

typedef struct pd_series {
    pd_stretch last;  /* handed out; attempt is 0 if it is not open */
    pd_stretch acked; /* committed; sequence is 0 if none was */
} pd_series;          /* zero it to begin */

static inline bool pd_series_is_open(const pd_series *series)
{
    return series->last.attempt != 0;
}

/* The time from one profile to the next; 0 if a time is unknown or the clock was set back. */
static inline int64_t pd_series_elapsed(int64_t from, int64_t to)
{
    int64_t elapsed;
    if (!from || !to || to <= from)
        return 0;
    return __builtin_sub_overflow(to, from, &elapsed) ? INT64_MAX : elapsed;
}

/* The next window, with a profile of time `now` (0: unknown), `elapsed` after the last one. It never
 * ends before the last one. */
static inline pd_stretch pd_series_next(const pd_series *series, pprofdelta_restart restart,
                                        int64_t now, int64_t elapsed)
{
    pd_stretch next = series->last;
    if (!pd_series_is_open(series) || restart)
        next = (pd_stretch){.sequence = next.sequence + 1,
                            .from_nanos = next.to_nanos,
                            .to_nanos = next.to_nanos,
                            .restart = restart};
    next.attempt++;
    next.to_nanos = now && now < next.to_nanos ? next.to_nanos : now;
    if (__builtin_add_overflow(next.duration_nanos, elapsed, &next.duration_nanos))
        next.duration_nanos = INT64_MAX;
    return next;
}

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

#endif

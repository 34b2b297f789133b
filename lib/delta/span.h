/* Is a profile cumulative, or a window of its own? What the times of two profiles say.
 *
 *            prev begins     prev ends             cur ends
 *                 |              |                     |
 *                 [==== prev ====]                     |
 *                 [================ cur ===============]    cumulative
 *                                .   [====== cur ======]    a window
 *
 * A profile ends at its time and begins its duration earlier. A cumulative profile has no duration,
 * or counts from the start of the process or of its profiling. So two cumulative profiles of one
 * process begin at the same time, up to what a clock is off. Some tools write the time at which a
 * window began (Go's ?seconds=): the durations are then as long, and the distance is the same. */
#ifndef PD_DELTA_SPAN_H
#define PD_DELTA_SPAN_H

#include <stdint.h>

typedef struct pd_span {
    int64_t time_nanos;     /* 0: not known */
    int64_t duration_nanos; /* 0 or less: not known */
} pd_span;

typedef enum pd_span_kind {
    PD_SPAN_CUMULATIVE, /* nothing speaks against it */
    PD_SPAN_UNCLEAR,    /* only one of the two has a duration, or cur begins before prev */
    PD_SPAN_WINDOW      /* cur is a window */
} pd_span_kind;

/* prev is NULL where there is none, else its time is not after cur's where both are known.
 * started_nanos: when the process of cur began, or 0. */
pd_span_kind pd_span_judge(const pd_span *prev, const pd_span *cur, int64_t started_nanos);

#endif

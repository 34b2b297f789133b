/* Restart or noise? A process that restarted counts from zero, and per sample that looks like any
 * other decrease. The evidence is over the whole window: see pprofdelta(1), RESETS. */
#ifndef PD_DELTA_RESET_H
#define PD_DELTA_RESET_H

#include "delta/window.h"

typedef struct pd_reset_facts {
    pprofdelta_on_reset on_reset;
    int64_t started_nanos;   /* when the target began, or 0 */
    int64_t prev_time_nanos; /* when the ledger's profile was taken, or 0 */
    bool other_build;        /* the main mapping has another build id, both known */
    bool main_moved;         /* ... and is in another place: no process does that */
    bool is_other_heap;      /* the stamps of a live heap say so */
} pd_reset_facts;

typedef struct pd_verdict {
    pprofdelta_restart restart;
    bool has_decrease; /* a sample that the ledger knows has a counter behind it */
} pd_verdict;

/* Looks at a filled window and decides. Changes nothing. */
pd_verdict pd_reset_judge(const pd_window *window, const pd_reset_facts *facts);

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

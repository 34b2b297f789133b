/* Two checks of a pair of profiles, before the subtraction.
 *
 * pd_span_decide: is cur cumulative, or a window of its own? Only the times of the two profiles are
 * used:
 *
 *            prev begins     prev ends             cur ends
 *                 |              |                     |
 *                 [==== prev ====]                     |
 *                 [================ cur ===============]    cumulative
 *                                .   [====== cur ======]    a window
 *
 * A profile ends at its time and begins one duration earlier. A cumulative profile has no duration,
 * or counts since the start of the process or of its profiling. So two cumulative profiles of one
 * process begin at the same time, up to the error of a clock. Some tools write the time at which a
 * window began (Go's ?seconds=). The durations are then equal, and so is the distance.
 *
 * pd_reset_decide: did the process restart? It then counts from zero, which looks like a decrease in
 * each sample, as noise does. The evidence is taken from the whole window: see RESETS in
 * pprofdelta-delta(1). */
#ifndef PD_LEDGER_RESET_H
#define PD_LEDGER_RESET_H

#include "ledger/row_set.h"

typedef struct pd_reset_facts {
    pprofdelta_on_reset on_reset;
    int64_t started_nanos;   /* start of the process, or 0; INT64_MAX: after prev */
    int64_t prev_time_nanos; /* time of the profile that was seen last, or 0 */
    bool other_build;        /* the build ids of the main mapping are known and differ */
    bool is_other_heap;      /* the stamps are of two live heaps */
    bool has_other_keys;     /* a sample that vanished may be one that is new */
} pd_reset_facts;

typedef struct pd_reset_signs {
    pprofdelta_restart restart;
    bool has_decrease; /* a counter of a known sample is below the ledger's */
    bool has_loss;     /* or a sample of the last window is missing */
    bool has_increase; /* a sample is new, or a counter is above the ledger's */
} pd_reset_signs;

/* Decides about a filled window, by the profile that was seen last: the ledger's is the open
 * attempt, if there is one. Changes nothing. */
pd_reset_signs pd_reset_decide(const pd_row_set *window, const pd_reset_facts *facts);

/* While a window is filled: how much of each counter is still to be found again before more than half of its
 * mass was. Then it has not lost half, unless a sample comes again with a counter below zero. */
typedef struct pd_reset_watch {
    uint64_t to_find[PPROFDELTA_MAX_TYPES];
} pd_reset_watch;

#define PD_RESET_NEVER UINT64_MAX /* the mass does not fit in 64 bits */

/* For a ledger without an open attempt. */
void pd_reset_watch_begin(pd_reset_watch *watch, const pd_ledger *ledger);

/* A sample was added, the first one of its entry. Returns whether a counter may still have lost half. */
bool pd_reset_watch_add(pd_reset_watch *watch, const pd_ledger *ledger, size_t entry,
                        const int64_t *values);

/* Has anything been counted since the ledger's base, whatever the open attempt had? */
bool pd_reset_has_growth(const pd_row_set *window);

typedef struct pd_span {
    int64_t time_nanos;     /* 0: unknown */
    int64_t duration_nanos; /* 0 or less: unknown */
} pd_span;

typedef enum pd_span_kind {
    PD_SPAN_CUMULATIVE, /* no evidence against it */
    PD_SPAN_UNCLEAR,    /* only one profile has a duration, or cur begins before prev */
    PD_SPAN_WINDOW      /* cur is a window */
} pd_span_kind;

/* prev is NULL if there is none; else its time is not after cur's, if both are known. started_nanos
 * is the start of cur's process, or 0. */
pd_span_kind pd_span_decide(const pd_span *prev, const pd_span *cur, int64_t started_nanos);

#endif

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

#endif

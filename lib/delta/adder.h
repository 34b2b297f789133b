/* What the files of the adder have for each other: adder.c, the sum, and merge.c, the targets of the windows and
 * their total. */
#ifndef PD_DELTA_ADDER_H
#define PD_DELTA_ADDER_H

#include "delta/context.h"
#include "delta/join.h"
#include "model/totals.h"
#include "profile/stamp.h"

/* The targets, and for merges what is complete. */
typedef struct pd_merge {
    bool is_on;                     /* the sum is a merge */
    pd_keymap seen;                 /* the targets so far: see pd_merge_target */
    pd_key target;                  /* of the last profile that counts */
    pd_totals total;                /* of the targets that are complete */
    uint64_t targets, windows, own; /* in the total; and windows of the last target */
    int64_t period;                 /* the longest */
    pd_schema period_type;          /* of all profiles */
    char label[17];                 /* of the target that joins the total */
} pd_merge;

struct pprofdelta_adder {
    pprofdelta *pd;
    pd_totals sum;    /* of a merge: that of the last target. The gauges of the ledger
                                            are 0 until the last window is settled */
    bool is_waiting;  /* cur's window is pending: filled, not in the ledger */
    bool has_settled; /* an earlier window is in the ledger */
    bool is_over;     /* finished, or failed in the middle: only free is valid */
    bool is_live;     /* the first profile was of a live heap */
    bool is_forced;   /* a profile was added by force */
    bool has_gap;     /* batches are missing, and no full one has followed */
    bool is_gauge[PPROFDELTA_MAX_TYPES]; /* by counter of the ledger: in use, of a live heap */
    bool has_window;                     /* a batch with absolute gauges is settled */
    pprofdelta_error gap;                /* the message about the missing batches */
    pprofdelta_stamp first;              /* of the first profile of the sum */
    pprofdelta_stamp last;               /* of the last profile that counts */
    int64_t from, to;                    /* the time of the sum; from may be UNKNOWN */
    int64_t duration;                    /* of the sum, if `to` is 0 */
    pprofdelta_stamp named;              /* of the last profile that names its target */
    pd_merge merge;
    pd_transfer transfer; /* from a sum */
};

/* ---- adder.c ----------------------------------------------------------------------------------- */

/* Adds the counters of a pending window to the sum; of the last window the gauges, too. */
pprofdelta_status pd_sum_settle(pprofdelta_adder *a, pd_input *input, bool is_last,
                                pprofdelta_error *err);

/* ---- merge.c ----------------------------------------------------------------------------------- */

/* Does the stamp name the target, and the window of it? */
bool pd_merge_has_target(const pprofdelta_stamp *stamp);

/* The key of the target. A profile without one is a target of its own: equal bytes are one profile. */
pd_key pd_merge_target(const pprofdelta_adder *a, const pprofdelta_stamp *stamp);

/* Refuses what names no target, and what may count twice. Sets *join to EQUAL if the bytes were added
 * before. */
pprofdelta_status pd_merge_check_target(const pprofdelta_adder *a, const pprofdelta_stamp *stamp,
                                        pd_key target, pprofdelta_join *join,
                                        pprofdelta_error *err);

/* All profiles of a merge have one type of period. */
pprofdelta_status pd_merge_check_period(pprofdelta_adder *a, pprofdelta_error *err);

/* The target has no more windows: its sum joins the total. `last` is the last window. */
pprofdelta_status pd_merge_end_target(pprofdelta_adder *a, pd_input *last, pprofdelta_error *err);

#endif

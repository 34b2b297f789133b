/* Decides from the stamps whether a delta, or a batch of a live heap, continues the one before.
 *
 * Deltas: by their sequence if both have one, and always by their times. Batches: a full profile
 * includes all batches before it; another batch continues the batch of its epoch with the number
 * before, if it begins where that one ends. Of several attempts at a window or batch, the highest
 * counts. */
#ifndef PD_DELTA_JOIN_H
#define PD_DELTA_JOIN_H

#include "base/error.h"

#include <stdbool.h>

/* Fails with E_MISMATCH, for this reason (WINDOW_MISSING ...). */
#define PD_JOIN_REFUSE(reason, ...)                                                                \
    pd_because(err, PPROFDELTA_REASON_##reason,                                                    \
               PD_FAIL(err, PPROFDELTA_E_MISMATCH, PPROFDELTA_STAGE_SUM, NULL, __VA_ARGS__))

/* Sets *join to how `next` joins a sum that ends with `last`: NEXT, RESTART, AGAIN, STALE,
 * UNTIMED, ENDED, or RESYNC: a full profile, which replaces the sum. Fails with E_MISMATCH if it
 * does not join, with a message about what is missing; if batches are missing, *join is GAP. */
pprofdelta_status pd_join(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                          pprofdelta_join *join, pprofdelta_error *err);

/* Are both of one state, with windows missing between them, or a later attempt at the first? */
bool pd_is_apart(const pprofdelta_stamp *last, const pprofdelta_stamp *next);

#endif

/* Decides from the stamps whether a delta, or a batch of a live heap, continues the one before.
 *
 * Deltas: by their sequence if both have one, and always by their times. Batches: a full profile
 * includes all batches before it; another batch continues the batch of its epoch with the number
 * before, if it begins where that one ends. Of several attempts at a window or batch, the highest
 * counts. */
#ifndef PD_PARSED_JOIN_H
#define PD_PARSED_JOIN_H

#include "base/error.h"

#include <stdbool.h>

/* Returns whether `next` is the later of two attempts at one window: by attempt, or by end if the
 * attempts are equal. */
bool pd_join_is_later(const pprofdelta_stamp *last, const pprofdelta_stamp *next);

/* Sets *joint to how `next` joins a sum that ends with `last`: NEXT, RESTART, AGAIN, STALE or
 * UNTIMED. Fails with E_MISMATCH if it does not join, with a message about what is missing. */
pprofdelta_status pd_join(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                          pprofdelta_joint *joint, pprofdelta_error *err);

/* The same for two batches of live heaps. RESYNC: a full profile, which replaces the sum. If
 * batches are missing, it fails and *joint is GAP. */
pprofdelta_status pd_join_live(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                               pprofdelta_joint *joint, pprofdelta_error *err);

#endif

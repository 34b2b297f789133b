/* Does this delta continue that one? */
#ifndef PD_PARSED_JOIN_H
#define PD_PARSED_JOIN_H

#include "base/error.h"

#include <stdbool.h>

/* Of two attempts at one window: is `next` the later one? Attempts tell, and ends where there are
 * none. */
bool pd_join_is_later(const pprofdelta_stamp *last, const pprofdelta_stamp *next);

/* How `next` joins what ends with `last`: NEXT, RESTART, AGAIN or STALE in *joint. Where it does not,
 * PPROFDELTA_E_MISMATCH says what is missing. */
pprofdelta_status pd_join(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                          pprofdelta_joint *joint, pprofdelta_error *err);

/* The same of two profiles of live heaps. RESYNC: it is a full one, and says all that `last` said, too.
 * Where batches are missing *joint is GAP beside the failure. */
pprofdelta_status pd_join_live(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                               pprofdelta_joint *joint, pprofdelta_error *err);

#endif

/* For tests of sums: adds up many profiles in one call, and makes windows by hand. */
#ifndef PD_TESTS_SUMS_H
#define PD_TESTS_SUMS_H

#include "scene.h"

/* Reads a profile. Ends the test program on failure. */
reading sums_read(arena *a, buf bytes);

/* Adds all profiles and finishes. *status is that of the first call that failed. */
buf sums_add(arena *a, const pprofdelta_options *options, const buf *profiles, size_t len,
             pprofdelta_status *status, pprofdelta_error *err);

/* One window by hand: from and to in seconds. sequence 0: no stamp. restart may be NULL. */
buf sums_window(build *b, int64_t from, int64_t to, unsigned sequence, const char *restart,
                const char *values);

#endif

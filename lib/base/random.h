/* Random numbers that name things: trackers, and series of windows. */
#ifndef PD_BASE_RANDOM_H
#define PD_BASE_RANDOM_H

#include <stdint.h>

/* Returns a random number that is not 0. Does not wait and does not change errno. `of` is the address
 * of what is named. no_random.c returns 0: its caller names the series. */
uint64_t pd_random_id(const void *of);

#endif

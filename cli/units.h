/* Sums that cannot wrap, and numbers as people read them: 1.50GiB, 2.40s.
 *
 * A table of profiles adds up thousands of 64-bit values that a hostile file chose, so sums are
 * kept in 128 bits; only what is shown is rounded. */
#ifndef CLI_UNITS_H
#define CLI_UNITS_H

#include "pprofdelta.h"
#include "text.h"

#include <stdbool.h>

static inline void cli_sum_add(pprofdelta_sum *sum, int64_t value)
{
    uint64_t lo = sum->lo + (uint64_t)value;
    sum->hi += (value < 0 ? -1 : 0) + (lo < sum->lo);
    sum->lo = lo;
}

static inline bool cli_sum_is_zero(pprofdelta_sum sum)
{
    return !sum.hi && !sum.lo;
}

/* The size without the sign. */
pprofdelta_sum cli_sum_size(pprofdelta_sum sum);

/* Below, equal, above: negative, 0, positive. */
int cli_sum_compare(pprofdelta_sum a, pprofdelta_sum b);

double cli_sum_double(pprofdelta_sum sum);

/* A sum in its unit: bytes and times are scaled to three digits or so, everything else is exact.
 * Returns buf. */
char *cli_units_format(pprofdelta_sum sum, cli_string unit, char buf[48]);

#endif

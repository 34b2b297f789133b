/* Sums that do not overflow, and numbers that are easy to read: 1.50GiB, 2.40s.
 *
 * A hostile file chooses the 64-bit values that are added up, so sums have 128 bits. Only what is
 * shown is rounded. */
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

/* The absolute value. */
pprofdelta_sum cli_sum_size(pprofdelta_sum sum);

/* Compares absolute values: negative if that of a is larger, 0 if they are equal, positive if it is smaller. */
int cli_sum_by_size(pprofdelta_sum a, pprofdelta_sum b);

/* What rows are sorted by, as the first member of each: the sizes of two sums, the larger one first, and then the place
 * in another order. cli_by_rank is for qsort. */
typedef struct cli_rank {
    pprofdelta_sum first, second;
    size_t at;
} cli_rank;

int cli_by_rank(const void *a, const void *b);

double cli_sum_double(pprofdelta_sum sum);

pprofdelta_sum cli_sum_minus(pprofdelta_sum a, pprofdelta_sum b);

/* Writes the sum in decimal and returns buf. */
char *cli_sum_format(pprofdelta_sum sum, char buf[48]);

/* "12.3%"; "10900 times" if it is ten times the whole or more; "-" if the whole is 0. Returns buf. */
enum { CLI_SHARE_ROOM = 48 };
char *cli_share_format(pprofdelta_sum part, pprofdelta_sum whole, char buf[CLI_SHARE_ROOM]);

/* Writes a sum with its unit into buf and returns buf. Bytes and nanoseconds are scaled to about
 * three digits; every other unit is written exactly. */
char *cli_units_format(pprofdelta_sum sum, cli_string unit, char buf[48]);

/* The same with a "+" in front of a sum above 0. */
enum { CLI_CHANGE_ROOM = 50 };
char *cli_units_format_change(pprofdelta_sum sum, cli_string unit, char buf[CLI_CHANGE_ROOM]);

/* "2.00h", "1.08d". Returns buf. */
char *cli_age_format(int64_t nanos, char buf[48]);

#endif

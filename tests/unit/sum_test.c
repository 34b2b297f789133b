/* 128-bit sums compared with the compiler's 128-bit numbers. */
#include "../support/test.h"

#include "base/sum.h"
#include "units.h"
#include "rng.h"
#include "rows.h"
#include "wide.h"

static const int64_t extremes[] = {0,          1,
                                   -1,         2,
                                   9,          -10,
                                   UINT32_MAX, -(int64_t)UINT32_MAX - 1,
                                   INT64_MAX,  INT64_MAX - 1,
                                   INT64_MIN,  INT64_MIN + 1};
enum { EXTREMES = sizeof extremes / sizeof *extremes };

/* Extreme halves half of the time, so that carries and signs meet. */
static int64_t draw(rng *r)
{
    if (rng_chance(r, 50))
        return extremes[rng_below(r, EXTREMES)];
    return (int64_t)rng_next(r) >> rng_below(r, 64);
}

TEST(add_equals_128_bit_addition)
{
    rng r = {1};
    for (int round = 0; round < 200; round++) {
        pprofdelta_sum sum = {0, 0};
        wide w = 0;
        for (int i = 0; i < 200; i++) {
            int64_t value = draw(&r);
            if (rng_chance(&r, 50)) {
                pd_sum_add(&sum, value);
                w += value;
            } else {
                pd_sum_add_unsigned(&sum, (uint64_t)value);
                w += (uint64_t)value;
            }
            CHECK((wide)((uwide)(uint64_t)sum.hi << 64 | sum.lo) == w);
        }
    }
}

TEST(shares)
{
    for (table_rows r = {0}; rows_next(&r, "numbers", "shares");) {
        char text[CLI_SHARE_ROOM];
        pprofdelta_sum part = {0, 0}, whole = {0, 0};
        cli_sum_add(&part, strtoll(r.cells[0], NULL, 10));
        cli_sum_add(&whole, strtoll(r.cells[1], NULL, 10));
        CHECK_STR(cli_share_format(part, whole, text), r.cells[2]);
    }
}

TEST(format_of_the_extremes)
{
    for (table_rows r = {0}; rows_next(&r, "numbers", "sums");) {
        pprofdelta_sum sum = {.hi = (int64_t)strtoull(r.cells[0], NULL, 16),
                              .lo = strtoull(r.cells[1], NULL, 16)};
        char got[48];
        CHECK_STR(cli_sum_format(sum, got), r.cells[2]);
    }
}

TEST_MAIN()

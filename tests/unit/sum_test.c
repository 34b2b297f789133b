/* 128-bit sums compared with the compiler's 128-bit numbers. */
#include "../support/test.h"

#include "base/sum.h"
#include "units.h"
#include "rng.h"
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

/* Of ten times and more, three digits. */
TEST(shares)
{
    static const struct {
        int64_t part, whole;
        const char *text;
    } rows[] = {
        {1, 0, "-"},
        {1, 3, "33.3%"},
        {-1, 8, "-12.5%"},
        {999, 100, "999.0%"},
        {10, 1, "10.0 times"},
        {-123, 10, "-12.3 times"},
        {1234, 10, "123 times"},
        {10893929, 1000, "10900 times"},
        {-10893929, 1000, "-10900 times"},
        {9996, 10, "1000 times"},
        {INT64_MIN, 1, "-9220000000000000000 times"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[CLI_SHARE_ROOM];
        pprofdelta_sum part = {0, 0}, whole = {0, 0};
        cli_sum_add(&part, rows[i].part);
        cli_sum_add(&whole, rows[i].whole);
        CHECK_MSG(!strcmp(cli_share_format(part, whole, text), rows[i].text), "%s", text);
    }
}

TEST(format_of_the_extremes)
{
    static const struct {
        pprofdelta_sum sum;
        const char *text;
    } cases[] = {
        {{0, 0}, "0"},
        {{1, 0}, "1"},
        {{UINT64_MAX, -1}, "-1"},
        {{10, 0}, "10"},
        {{(uint64_t)-10, -1}, "-10"},
        {{INT64_MAX, 0}, "9223372036854775807"},
        {{(uint64_t)INT64_MIN, -1}, "-9223372036854775808"},
        {{UINT64_MAX, 0}, "18446744073709551615"},
        {{0, 1}, "18446744073709551616"},
        {{0, -1}, "-18446744073709551616"},
        {{UINT64_MAX, INT64_MAX}, "170141183460469231731687303715884105727"},
        {{1, INT64_MIN}, "-170141183460469231731687303715884105727"},
        {{0, INT64_MIN}, "-170141183460469231731687303715884105728"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char got[48];
        CHECK_STR(cli_sum_format(cases[i].sum, got), cases[i].text);
    }
}

TEST_MAIN()

/* 128-bit sums compared with the compiler's 128-bit numbers. */
#include "../support/test.h"

#include "base/sum.h"
#include "rng.h"
#include "wide.h"

static const int64_t extremes[] = {0,          1,
                                   -1,         2,
                                   9,          -10,
                                   UINT32_MAX, -(int64_t)UINT32_MAX - 1,
                                   INT64_MAX,  INT64_MAX - 1,
                                   INT64_MIN,  INT64_MIN + 1};
enum { EXTREMES = sizeof extremes / sizeof *extremes };

static wide wide_of(pprofdelta_sum s)
{
    return (wide)((uwide)(uint64_t)s.hi << 64 | s.lo);
}

static pprofdelta_sum sum_of(wide w)
{
    return (pprofdelta_sum){(uint64_t)w, (int64_t)(uint64_t)((uwide)w >> 64)};
}

/* Extreme halves half of the time, so that carries and signs meet. */
static int64_t draw(rng *r)
{
    if (rng_chance(r, 50))
        return extremes[rng_below(r, EXTREMES)];
    return (int64_t)rng_next(r) >> rng_below(r, 64);
}

/* Two of these can be added, and one negated, within 128 bits. */
static wide draw_wide(rng *r)
{
    wide w = (wide)((uwide)(uint64_t)draw(r) << 64 | (uint64_t)draw(r));
    return w >> 2;
}

/* Digit by digit from the first: how often each power of ten can be taken away. */
static void print(wide w, char out[48])
{
    uwide rest = w < 0 ? -(uwide)w : (uwide)w, powers[39] = {1}; /* 128 bits have 39 digits */
    for (size_t i = 1; i < 39; i++)
        powers[i] = powers[i - 1] * 10;
    size_t digits = 39, at = 0;
    while (digits > 1 && powers[digits - 1] > rest)
        digits--;
    if (w < 0)
        out[at++] = '-';
    while (digits--) {
        for (out[at] = '0'; rest >= powers[digits]; rest -= powers[digits])
            out[at]++;
        at++;
    }
    out[at] = 0;
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
            CHECK(wide_of(sum) == w);
        }
    }
}

TEST(two_sums_add_negate_and_compare)
{
    rng r = {2};
    for (int i = 0; i < 100000; i++) {
        wide a = draw_wide(&r), b = rng_chance(&r, 20) ? a : draw_wide(&r);
        pprofdelta_sum x = sum_of(a), y = sum_of(b);
        CHECK(wide_of(pd_sum_plus(x, y)) == a + b);
        CHECK(wide_of(pd_sum_negated(x)) == -a);
        CHECK(pd_sum_at_least(x, y) == (a >= b));
    }
}

TEST(format_equals_naive_division)
{
    rng r = {3};
    for (int i = 0; i < 20000; i++) {
        wide w = draw_wide(&r) >> rng_below(&r, 127);
        char want[48], got[48];
        print(w, want);
        CHECK(pprofdelta_sum_format(sum_of(w), got) == got);
        CHECK_STR(got, want);
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
        CHECK_STR(pprofdelta_sum_format(cases[i].sum, got), cases[i].text);
    }
}

TEST_MAIN()

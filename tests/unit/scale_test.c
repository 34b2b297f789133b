/* Unsampling compared with 128-bit arithmetic and with the formula. */
#include "base/scale.h"
#include "rng.h"
#include "seeds.h"
#include "test.h"
#include "wide.h"

#include <inttypes.h>
#include <math.h>

TEST(a_scale_is_exact)
{
    rng r = {1};
    for (int i = 0; i < 20000; i++) {
        double factor = ldexp(1 + (double)(rng_next(&r) >> 12) / 4503599627370496.0,
                              (int)rng_below(&r, 80) - 40);
        pd_scale s = pd_scale_of(factor);
        CHECK(ldexp((double)s.mantissa, -s.shift) == factor && s.mantissa < UINT64_C(1) << 53);
    }
    CHECK(pd_scale_of(1).mantissa >> pd_scale_of(1).shift == 1);
}

TEST(the_scale_of_a_size_is_the_formula)
{
    double size = 8;
    for (int i = 0; i < 36; i++) {
        pd_scale s = pd_scale_of_size(size, 524288);
        double got = ldexp((double)s.mantissa, -s.shift), want = 1 / (1 - exp(-size / 524288));
        CHECK_MSG(fabs(got - want) <= 1e-10 * want, "size %g: %.17g, not %.17g", size, got, want);
        size *= 1.7;
    }
    const pd_scale none[] = {pd_scale_of_size(64, 0), pd_scale_of_size(64, 1),
                             pd_scale_of_size(0, 512)};
    for (size_t i = 0; i < 3; i++)
        CHECK(none[i].mantissa == 1 && none[i].shift == 0);
}

/* The sum of what comes out is the exact total, rounded, up to what the carries were rounded by. */
TEST(windows_add_up_to_the_scaled_total)
{
    seed_range range = seeds(30);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        rng r = {seed * 9 + 1};
        pd_carry carry = 0;
        int64_t sum = 0, windows = 1 + (int64_t)rng_below(&r, 60);
        uwide total = 0; /* with 64 bits behind the point */
        double factor = 0.01 + (double)rng_below(&r, 1000000) / 1000;
        for (int64_t i = 0; i < windows; i++) {
            if (rng_chance(&r, 10))
                factor = 0.01 + (double)rng_below(&r, 1000000) / 1000;
            pd_scale s = pd_scale_of(factor);
            int64_t value = rng_magnitude(&r, 38);
            uwide product = (uwide)(uint64_t)value * s.mantissa;
            total += s.shift <= 64 ? product << (64 - s.shift) : product >> (s.shift - 64);
            sum += pd_scale_apply(s, value, &carry);
        }
        CHECK(carry >= -(1 << 23) && carry < 1 << 23);
        uwide slack = (uwide)windows << 39; /* half of 2^-24 a window */
        uwide got = (uwide)(uint64_t)sum << 64, half = (uwide)1 << 63;
        CHECK_MSG(got + half + slack >= total && total + half + slack >= got,
                  "seed %" PRIu64 ": %" PRId64 " is not within half a unit", seed, sum);
    }
}

TEST(extreme_numbers)
{
    pd_carry carry = 0;
    CHECK(pd_scale_apply(pd_scale_of(2), INT64_MAX, &carry) == INT64_MAX);
    CHECK(pd_scale_apply(pd_scale_of(1e300), 1, &carry) == INT64_MAX);
    CHECK(pd_scale_apply(pd_scale_of(1e300), 0, &carry) == 0);
    CHECK(pd_scale_apply(pd_scale_of(1e-300), INT64_MAX, &carry) == 0);
    CHECK(pd_scale_apply(pd_scale_of(ldexp(1, -63)), INT64_MAX, &carry) == 1 && carry == 0);
    CHECK(pd_scale_apply(pd_scale_of(0.5), INT64_MAX, &carry) == INT64_MAX / 2 + 1);
    carry = 0;
    CHECK(pd_scale_apply(pd_scale_of(2.5), -3, &carry) == -8 && carry == 0);
    CHECK(pd_scale_apply(PD_SCALE_ONE, 123, &carry) == 123 && carry == 0);
}

TEST(powers_of_two)
{
    for (int power = -150; power < 63; power++)
        for (int64_t value = 1; value <= 5; value += 2) {
            pd_carry carry = 0;
            double want = ldexp((double)value, power);
            int64_t got = pd_scale_apply(pd_scale_of(ldexp(1, power)), value, &carry);
            CHECK_MSG(got == (want >= 0x1p63 ? INT64_MAX : (int64_t)floor(want + 0.5)),
                      "%" PRId64 " times 2 to the %d", value, power);
            if (power < 20)
                continue;
            carry = 0;
            CHECK(pd_scale_apply(pd_scale_of(ldexp(1, power)), value << 50, &carry) == INT64_MAX);
        }
}

TEST(a_carry_is_stored_in_three_bytes)
{
    uint8_t bytes[PD_CARRY_BYTES];
    for (pd_carry carry = -(1 << 23); carry < 1 << 23; carry += 4093) {
        pd_carry_store(bytes, carry);
        CHECK(pd_carry_load(bytes) == carry);
    }
    pd_carry_store(bytes, (1 << 23) - 1);
    CHECK(pd_carry_load(bytes) == (1 << 23) - 1);
}

TEST_MAIN()

#include "base/scale.h"

#include <math.h>

enum { MANTISSA_BITS = 53, CARRY_BITS = 24 };

pd_scale pd_scale_of(double factor)
{
    int exponent;
    double mantissa = frexp(factor, &exponent); /* in [1/2, 1) */
    return (pd_scale){(uint64_t)ldexp(mantissa, MANTISSA_BITS), MANTISSA_BITS - exponent};
}

/* expm1 keeps the precision of 1 - exp(-x) for small x. */
pd_scale pd_scale_of_size(double size, double rate)
{
    if (rate <= 1 || size <= 0)
        return PD_SCALE_ONE;
    return pd_scale_of(-1 / expm1(-size / rate));
}

/* The product of two 64-bit numbers. */
typedef struct wide {
    uint64_t hi, lo;
} wide;

static wide multiply_wide(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32);
    uint64_t other = a0 * b1 + (uint32_t)middle;
    return (wide){a1 * b1 + (middle >> 32) + (other >> 32), other << 32 | (uint32_t)low};
}

/* A number as its whole part and 64 fraction bits. */
typedef struct split {
    uint64_t whole, behind;
    bool is_huge; /* the whole part does not fit */
} split;

static split split_at(wide product, int shift)
{
    uint64_t hi = product.hi, lo = product.lo;
    if (shift <= 0) { /* no fraction */
        bool fits = !hi && shift > -64 && (shift == 0 || !(lo >> (64 + shift)));
        return (split){fits ? lo << -shift : 0, 0, (hi || lo) && !fits};
    }
    if (shift < 64)
        return (split){hi << (64 - shift) | lo >> shift, lo << (64 - shift), hi >> shift != 0};
    if (shift == 64)
        return (split){hi, lo, false};
    if (shift < 128)
        return (split){hi >> (shift - 64), hi << (128 - shift) | lo >> (shift - 64), false};
    return (split){0, shift < 192 ? hi >> (shift - 128) : 0, false};
}

static int64_t scale_magnitude(pd_scale scale, uint64_t magnitude, pd_carry *carry)
{
    split s = split_at(multiply_wide(magnitude, scale.mantissa), scale.shift);
    if (s.is_huge || s.whole >= INT64_MAX)
        return INT64_MAX;
    const int drop = 64 - CARRY_BITS;
    int64_t behind = (int64_t)(s.behind >> drop) + (int64_t)(s.behind >> (drop - 1) & 1);
    int64_t rest = behind + *carry + (1 << (CARRY_BITS - 1)); /* never negative */
    *carry = (pd_carry)((rest & ((1 << CARRY_BITS) - 1)) - (1 << (CARRY_BITS - 1)));
    return (int64_t)s.whole + (rest >> CARRY_BITS);
}

int64_t pd_scale_apply(pd_scale scale, int64_t value, pd_carry *carry)
{
    if (value >= 0)
        return scale_magnitude(scale, (uint64_t)value, carry);
    pd_carry none = 0;
    int64_t magnitude = scale_magnitude(scale, 0 - (uint64_t)value, &none);
    return magnitude == INT64_MAX ? INT64_MIN : -magnitude;
}

/* Unsampling whose windows add up to the unsampled total.
 *
 * A sampled increment is multiplied by a scale (a double) and rounded to a whole number. If the
 * fraction were dropped in each window, ten increments of 1 at a scale of 2.1 would sum to 20
 * instead of 21. So it is carried: the product is exact (64 by 53 bits), the carry is added, the
 * sum is rounded to the nearest whole number, and the rest, from -1/2 to 1/2, is the next carry. A
 * carry has 24 fraction bits, so the sum of all windows can differ from the scaled and rounded
 * total by one only after 2^24 windows. */
#ifndef PD_BASE_SCALE_H
#define PD_BASE_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* mantissa / 2^shift. */
typedef struct pd_scale {
    uint64_t mantissa;
    int shift;
} pd_scale;

#define PD_SCALE_ONE ((pd_scale){1, 0})

/* The scale of this factor, without loss. factor is finite and above 0. */
pd_scale pd_scale_of(double factor);

/* The scale of allocations of `size` bytes that were sampled once in `rate` bytes: 1 / (1 -
 * exp(-size / rate)). */
pd_scale pd_scale_of_size(double size, double rate);

/* A carry: units of 2^-24, from -2^23 to 2^23 - 1. */
typedef int32_t pd_carry;

enum { PD_CARRY_BYTES = 3 };

/* Returns value * scale + *carry as a whole number; *carry becomes the rest. A result that does not
 * fit in 64 bits becomes INT64_MAX or INT64_MIN. A negative value, which no counter has, is scaled
 * by its magnitude and leaves *carry unchanged. */
int64_t pd_scale_apply(pd_scale scale, int64_t value, pd_carry *carry);

/* Is what pd_scale_apply made of a value its product, and not only the limit? */
static inline bool pd_scale_fits(pd_scale scale, int64_t value, int64_t scaled)
{
    bool is_one =
        scale.shift >= 0 && scale.shift < 64 && scale.mantissa == UINT64_C(1) << scale.shift;
    return (is_one && scaled == value) || (scaled != INT64_MAX && scaled != INT64_MIN);
}

/* A carry in PD_CARRY_BYTES bytes. */
static inline pd_carry pd_carry_load(const uint8_t *at)
{
    uint32_t bits = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
    return (pd_carry)(bits ^ UINT32_C(0x800000)) - 0x800000; /* extends the sign */
}

static inline void pd_carry_store(uint8_t *at, pd_carry carry)
{
    at[0] = (uint8_t)carry;
    at[1] = (uint8_t)((uint32_t)carry >> 8);
    at[2] = (uint8_t)((uint32_t)carry >> 16);
}

#endif

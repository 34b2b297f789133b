/* Unsampling that adds up.
 *
 * A sampled increment is multiplied by a scale (a double) and comes out as a whole number. What is
 * left behind the point would be lost window by window: ten increments of 1 at a scale of 2.1 gave
 * 20 where the total is 21. So it is carried: the product is exact (64 by 53 bits), the carry is
 * added, the sum is rounded to the nearest whole number, and the rest, between -1/2 and 1/2, is the
 * next carry, kept as 24 bits behind the point. However many windows there are, they sum to the
 * scaled total, rounded to the nearest; 24 bits are off by a unit after 2^24 windows at the
 * earliest. */
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

/* The same number as factor, which is finite and above 0. */
pd_scale pd_scale_of(double factor);

/* The scale of allocations of this size, sampled once in `rate` bytes. */
pd_scale pd_scale_of_size(double size, double rate);

/* A carry: units of 2^-24, from -2^23 to 2^23 - 1. */
typedef int32_t pd_carry;

enum { PD_CARRY_BYTES = 3 };

/* value * scale + *carry as a whole number; *carry becomes the rest. What does not fit in 64 bits
 * becomes the largest or least number that does. A value below 0, which no counter has, is scaled
 * by its magnitude and leaves the carry alone. */
int64_t pd_scale_apply(pd_scale scale, int64_t value, pd_carry *carry);

/* A carry as it is kept. */
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

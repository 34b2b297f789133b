/* 64 x 64 -> 128 bit multiply-and-add, the step of the stack hash.
 *
 * The portable form is compiled everywhere, so that the tests can hold the fast one against it. */
#ifndef PD_BASE_WIDE_H
#define PD_BASE_WIDE_H

#include <stdint.h>

typedef struct pd_wide {
    uint64_t lo, hi;
} pd_wide;

/* sum + a * b, modulo 2^128. */
static inline pd_wide pd_wide_add_product_portable(pd_wide sum, uint64_t a, uint64_t b)
{
    uint64_t a_lo = (uint32_t)a, a_hi = a >> 32, b_lo = (uint32_t)b, b_hi = b >> 32;
    uint64_t low = a_lo * b_lo;
    uint64_t cross = a_hi * b_lo + (low >> 32); /* at most 2^64 - 2^32 */
    uint64_t cross2 = a_lo * b_hi + (uint32_t)cross;
    uint64_t lo = cross2 << 32 | (uint32_t)low;
    uint64_t hi = a_hi * b_hi + (cross >> 32) + (cross2 >> 32);
    sum.lo += lo;
    sum.hi += hi + (sum.lo < lo);
    return sum;
}

#if defined(__SIZEOF_INT128__)
static inline pd_wide pd_wide_add_product(pd_wide sum, uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide r = ((wide)sum.hi << 64 | sum.lo) + (wide)a * b;
    return (pd_wide){(uint64_t)r, (uint64_t)(r >> 64)};
}
#else
static inline pd_wide pd_wide_add_product(pd_wide sum, uint64_t a, uint64_t b)
{
    return pd_wide_add_product_portable(sum, a, b);
}
#endif

#endif

/* 128-bit sums of 64-bit values, in two halves, which never wrap. The same on every compiler. */
#ifndef PD_BASE_SUM_H
#define PD_BASE_SUM_H

#include "pprofdelta.h"

#include <stdbool.h>

static inline pprofdelta_sum pd_sum_plus(pprofdelta_sum a, pprofdelta_sum b)
{
    uint64_t lo = a.lo + b.lo, carry = lo < a.lo;
    return (pprofdelta_sum){lo, (int64_t)((uint64_t)a.hi + (uint64_t)b.hi + carry)};
}

static inline void pd_sum_add(pprofdelta_sum *sum, int64_t value)
{
    *sum = pd_sum_plus(*sum, (pprofdelta_sum){(uint64_t)value, value < 0 ? -1 : 0});
}

/* Adds an unsigned value: the difference of two int64 may need all 64 bits. */
static inline void pd_sum_add_unsigned(pprofdelta_sum *sum, uint64_t value)
{
    *sum = pd_sum_plus(*sum, (pprofdelta_sum){value, 0});
}

static inline pprofdelta_sum pd_sum_negated(pprofdelta_sum a)
{
    pprofdelta_sum inverse = {~a.lo, (int64_t) ~(uint64_t)a.hi};
    return pd_sum_plus(inverse, (pprofdelta_sum){1, 0});
}

/* a >= b, signed. */
static inline bool pd_sum_at_least(pprofdelta_sum a, pprofdelta_sum b)
{
    return a.hi > b.hi || (a.hi == b.hi && a.lo >= b.lo);
}

#endif

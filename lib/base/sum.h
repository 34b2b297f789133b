/* 128-bit sums of 64-bit values, in two halves, which never wrap. The same on every compiler. And sums of
 * values that have to stay values: what does not fit in 64 bits is refused, on every door. */
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

/* Adds `len` values to others. Returns false, and changes nothing, if one does not fit in 64 bits. */
static inline bool pd_values_add(int64_t *sums, const int64_t *more, size_t len)
{
    int64_t any;
    for (size_t i = 0; i < len; i++)
        if (__builtin_add_overflow(sums[i], more[i], &any))
            return false;
    for (size_t i = 0; i < len; i++)
        sums[i] += more[i];
    return true;
}

/* a >= b, signed. */
static inline bool pd_sum_at_least(pprofdelta_sum a, pprofdelta_sum b)
{
    return a.hi > b.hi || (a.hi == b.hi && a.lo >= b.lo);
}

#endif

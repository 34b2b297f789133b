/* Sums of 64-bit values that never wrap: 128 bits in two halves, the same on every compiler. */
#ifndef PD_BASE_SUM_H
#define PD_BASE_SUM_H

#include "pprofdelta.h"

#include <stdbool.h>

static inline void pd_sum_add(pprofdelta_sum *sum, int64_t value)
{
    uint64_t lo = sum->lo + (uint64_t)value;
    sum->hi += (value >> 63) + (lo < sum->lo);
    sum->lo = lo;
}

/* Adds a magnitude: a difference of two int64 may need all 64 bits. */
static inline void pd_sum_add_unsigned(pprofdelta_sum *sum, uint64_t value)
{
    sum->lo += value;
    sum->hi += sum->lo < value;
}

static inline pprofdelta_sum pd_sum_plus(pprofdelta_sum a, pprofdelta_sum b)
{
    pprofdelta_sum r = {a.lo + b.lo, (int64_t)((uint64_t)a.hi + (uint64_t)b.hi)};
    r.hi += r.lo < a.lo;
    return r;
}

static inline pprofdelta_sum pd_sum_negated(pprofdelta_sum a)
{
    pprofdelta_sum r = {~a.lo + 1, (int64_t) ~(uint64_t)a.hi};
    r.hi += r.lo == 0;
    return r;
}

static inline bool pd_sum_equal(pprofdelta_sum a, pprofdelta_sum b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* a >= b, signed. */
static inline bool pd_sum_at_least(pprofdelta_sum a, pprofdelta_sum b)
{
    return a.hi > b.hi || (a.hi == b.hi && a.lo >= b.lo);
}

#endif

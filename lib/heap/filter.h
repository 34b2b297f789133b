/* Writing to the filter: the number of tracked allocations that begin in each KiB.
 *
 * The lock is held; readers do not hold it. A byte that reaches 255 keeps that value: lookups there
 * take longer, but stay correct. */
#ifndef PD_HEAP_FILTER_H
#define PD_HEAP_FILTER_H

#include "pprofdelta_heap.h"

static inline uint8_t *pd_filter_byte(pprofdelta_heap_filter *filter, const void *ptr)
{
    return &filter->at[(uint32_t)(uintptr_t)ptr >> PPROFDELTA_HEAP_GRANULE_BITS];
}

static inline void pd_filter_add(pprofdelta_heap_filter *filter, const void *ptr)
{
    uint8_t *byte = pd_filter_byte(filter, ptr);
    if (*byte != UINT8_MAX)
        __atomic_store_n(byte, (uint8_t)(*byte + 1), __ATOMIC_RELAXED);
}

static inline void pd_filter_remove(pprofdelta_heap_filter *filter, const void *ptr)
{
    uint8_t *byte = pd_filter_byte(filter, ptr);
    if (*byte != UINT8_MAX)
        __atomic_store_n(byte, (uint8_t)(*byte - 1), __ATOMIC_RELAXED);
}

/* For when none of the allocations there is tracked any more. */
static inline void pd_filter_clear(pprofdelta_heap_filter *filter, const void *ptr)
{
    __atomic_store_n(pd_filter_byte(filter, ptr), 0, __ATOMIC_RELAXED);
}

#endif

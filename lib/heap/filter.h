/* The writing side of the filter: how many tracked allocations begin in each kilobyte.
 *
 * With the lock held; others read without it. A byte that is full stays full: it then says
 * "perhaps" for ever, which costs time and nothing else. */
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

/* Where nothing of what is there is wanted any more. */
static inline void pd_filter_clear(pprofdelta_heap_filter *filter, const void *ptr)
{
    __atomic_store_n(pd_filter_byte(filter, ptr), 0, __ATOMIC_RELAXED);
}

#endif

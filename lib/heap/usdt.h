/* The probes of the heap door: static tracepoints (USDT), as OpenTelemetry's memory profiling reads
 * them from outside of the process.
 *
 *     otel_memory:alloc(pointer, size, weight)   an allocation is tracked
 *     otel_memory:free(pointer)                  it ends
 *
 * weight is an unbiased estimate, in bytes, of all the allocations that the sampled one stands for.
 * For each alloc there is at most one free, and between the two the allocator has not given the
 * pointer to another allocation. Only sampled allocations come here, so the functions that every
 * allocation takes are as they are without probes.
 *
 * A probe is one nop. A note in the file has its address and where its arguments are. Each probe
 * has a counter (semaphore), to which a tool adds 1 while it listens. Nothing is done at 0.
 *
 * The notes are written here and not by <sys/sdt.h>: with them in three fixed registers, which are
 * those of a function's parameters, the arguments are also found by tools that do not read the
 * note's description of them, and the build needs no further package. */
#ifndef PD_HEAP_USDT_H
#define PD_HEAP_USDT_H

#include "pprofdelta_heap.h"

#include <stdbool.h>

#if defined(__linux__) && defined(__ELF__) && defined(__LP64__) &&                                 \
    (defined(__x86_64__) || defined(__aarch64__))
#define PD_HAVE_USDT 1

extern volatile unsigned short pd_usdt_alloc_semaphore, pd_usdt_free_semaphore;

/* The probes. They are called with the lock held: reports come in the order of events, and of free
 * before the allocator has the pointer back. */
void pd_usdt_alloc(const void *ptr, uint64_t size, uint64_t weight);
void pd_usdt_free(const void *ptr);

/* size 0: not known; then it is computed from the weight. */
static inline void pd_usdt_began(const void *ptr, size_t size, const pprofdelta_weight *weight)
{
    if (__builtin_expect(!pd_usdt_alloc_semaphore, 1))
        return;
    uint64_t objects = (uint64_t)weight->objects, bytes = (uint64_t)weight->bytes;
    pd_usdt_alloc(ptr, size ? size : objects ? bytes / objects : bytes, bytes);
}

/* Does somebody listen? */
static inline bool pd_usdt_is_on(void)
{
    return pd_usdt_alloc_semaphore;
}

static inline void pd_usdt_ended(const void *ptr)
{
    if (__builtin_expect(pd_usdt_free_semaphore, 0))
        pd_usdt_free(ptr);
}

#else
#define PD_HAVE_USDT 0

static inline void pd_usdt_began(const void *ptr, size_t size, const pprofdelta_weight *weight)
{
    (void)ptr, (void)size, (void)weight;
}

static inline bool pd_usdt_is_on(void)
{
    return false;
}

static inline void pd_usdt_ended(const void *ptr)
{
    (void)ptr;
}
#endif

#endif

/* The shapes of the functions that replace those of an allocator: one that allocates, one that frees, one
 * that resizes. Each calls the real function after a tick: a subtraction and a branch, and to free a load
 * and a branch. What a sample needs is kept out of these functions, so that the fast path needs no stack
 * frame except for the call.
 *
 * linkage is PD_PUBLIC or static; real: an expression for the real function; parameters and arguments are
 * lists in parentheses. */
#ifndef PD_AGENT_WRAP_H
#define PD_AGENT_WRAP_H

#include "agent/base/agent.h"
#include "agent/interposed/slow_path.h"

#define PD_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define PD_SLOW              __attribute__((noinline, cold))
#define PD_NO_MEMORY         (errno == ENOMEM)

/* Returns whether the allocation must take the slow path. No tick for a size that no allocation can have: it
 * would make the sampler's distance overflow. */
static inline bool pd_tick(size_t size)
{
    return size <= PTRDIFF_MAX && pprofdelta_sampler_tick(&pd_this_thread.sampler, size);
}

/* The bytes of an array, or a size that no allocation can have. */
static inline size_t pd_product(size_t count, size_t size)
{
    size_t all;
    return __builtin_mul_overflow(count, size, &all) ? SIZE_MAX : all;
}

/* NOLINTBEGIN(bugprone-macro-parentheses): the macros are given names, lists and conditions */

/* ticks: whether to take the slow path. is_full: a condition that holds after a failure if memory has run
 * out. */
#define PD_ALLOCATE(linkage, name, ticks, real, bytes, is_full, parameters, arguments)             \
    PD_SLOW static void *slow_##name parameters                                                    \
    {                                                                                              \
        const pd_caller caller = PD_HERE();                                                        \
        pprofdelta_weight weight = {0, 0};                                                         \
        bool is_sample = pd_slow_draw(bytes, &weight);                                             \
        void *ptr = real arguments;                                                                \
        if (!ptr)                                                                                  \
            pd_slow_failed(bytes, is_full);                                                        \
        if (is_sample)                                                                             \
            pd_slow_keep(ptr, bytes, &weight, false, &caller);                                     \
        return ptr;                                                                                \
    }                                                                                              \
    linkage void *name parameters                                                                  \
    {                                                                                              \
        if (ticks)                                                                                 \
            return slow_##name arguments;                                                          \
        void *ptr = real arguments;                                                                \
        return PD_LIKELY(ptr) ? ptr : pd_slow_failed(bytes, is_full);                              \
    }

/* The shape of posix_memalign. */
#define PD_ALLOCATE_INTO(linkage, name, real)                                                      \
    PD_SLOW static int slow_##name(void **memptr, size_t alignment, size_t size)                   \
    {                                                                                              \
        const pd_caller caller = PD_HERE();                                                        \
        pprofdelta_weight weight = {0, 0};                                                         \
        bool is_sample = pd_slow_draw(size, &weight);                                              \
        int error = real(memptr, alignment, size);                                                 \
        if (error)                                                                                 \
            pd_slow_failed(size, error == ENOMEM);                                                 \
        if (is_sample)                                                                             \
            pd_slow_keep(error ? NULL : *memptr, size, &weight, false, &caller);                   \
        return error;                                                                              \
    }                                                                                              \
    linkage int name(void **memptr, size_t alignment, size_t size)                                 \
    {                                                                                              \
        if (pd_tick(size))                                                                         \
            return slow_##name(memptr, alignment, size);                                           \
        int error = real(memptr, alignment, size);                                                 \
        if (error)                                                                                 \
            pd_slow_failed(size, error == ENOMEM);                                                 \
        return error;                                                                              \
    }

/* is_followed: whether the block may be one that is tracked. */
#define PD_RELEASE(linkage, name, is_followed, real, parameters, arguments)                        \
    linkage void name parameters                                                                   \
    {                                                                                              \
        if ((is_followed) && pprofdelta_heap_maybe(&pd_filter, ptr))                               \
            pd_slow_free(ptr);                                                                     \
        real arguments;                                                                            \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

#endif

/* The slow path of malloc and free: an allocation that may be a sample, a pointer that may be
 * tracked, a call that failed. These functions keep errno. */
#ifndef PD_AGENT_WRAP_H
#define PD_AGENT_WRAP_H

#include "agent/stacks/stacks.h"
#include "agent/base/agent.h"

/* Decides whether an allocation is a sample. Call it before the allocation if
 * pprofdelta_sampler_tick returned 1. If it returns true, call pd_slow_keep after the allocation,
 * with NULL if that failed. is_piece: a realloc added it to a block. */
bool pd_slow_draw(size_t size, pprofdelta_weight *weight);
void pd_slow_keep(const void *ptr, size_t size, const pprofdelta_weight *weight, bool is_piece,
                  const pd_caller *caller);

/* Removes a pointer from the tracker. Call before the allocator frees a pointer that may be
 * tracked. */
void pd_slow_free(const void *ptr);

/* A realloc. The block keeps its birth; what is added is a piece that may be a sample. */
typedef struct pd_resizing {
    size_t before; /* bytes of the block; 0: not known, or there is none */
    bool is_exact; /* they are those that the program asked for; else those that it can use */
    bool was_tracked;
    pprofdelta_heap_realloc move;
} pd_resizing;

/* Call it before the allocator resizes a block. old may be NULL. before: 0 if it is not known. */
void pd_slow_resize(pd_resizing *resizing, const void *old, size_t before);

/* ... and then this. ptr: where the block is now, NULL if it was freed; after: its bytes, as before. If
 * nothing has changed, give before. */
void pd_slow_resized(pd_resizing *resizing, const void *ptr, size_t after, const pd_caller *caller);

/* What realloc added to a block that was not tracked may be a sample, since the tick returned 1. */
void pd_slow_grown(const void *ptr, size_t added, bool is_piece, const pd_caller *caller);

/* Call when an allocation of this size failed. If memory has run out (is_full), reports the largest sites. Returns
 * NULL. */
void *pd_slow_failed(size_t size, bool is_full);

/* ---- wrap -----------------------------------------------------------------------------------
 * The shapes of the functions that replace those of an allocator: one that allocates, one that frees, one
 * that resizes. Each calls the real function after a tick: a subtraction and a branch, and to free a load
 * and a branch. What a sample needs is kept out of these functions, so that the fast path needs no stack
 * frame except for the call.
 *
 * linkage is PD_PUBLIC or static; real: an expression for the real function; parameters and arguments are
 * lists in parentheses. */

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

/* What has a size or a pointer first, and whatever behind it: flags, an alignment, std::nothrow. Those are words, and
 * what is unused is passed on unseen. */
#define PD_NEW(name)    void *(*name)(size_t size, uintptr_t a, uintptr_t b)
#define PD_DELETE(name) void (*name)(void *ptr, uintptr_t a, uintptr_t b)

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

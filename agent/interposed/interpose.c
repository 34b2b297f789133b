/* malloc and its family, as the program calls them.
 *
 * Each function calls the real allocator after a tick: a subtraction and a branch, and in free a
 * load and a branch. The slow path behind that branch is in slow_path.c. It is kept out of these
 * functions, so that the fast path needs no stack frame except for the call.
 *
 * These are all functions by which a C library gives out memory that free takes back. The C
 * library's own uses of malloc (strdup, getline, fopen) call them, too. */
#include "agent/base/agent.h"
#include "agent/base/real.h"
#include "agent/interposed/slow_path.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define SLOW              __attribute__((noinline, cold))

/* ---- the slow path: each function notes its caller ------------------------------------------- */

typedef struct drawn {
    pprofdelta_weight weight;
    bool is_sample;
} drawn;

static drawn draw(size_t size)
{
    drawn result;
    result.is_sample = pd_slow_draw(size, &result.weight);
    return result;
}

static void *keep(void *ptr, size_t size, const drawn *d, const pd_caller *caller)
{
    if (!ptr && errno == ENOMEM)
        pd_slow_out_of_memory(size);
    if (d->is_sample)
        pd_slow_keep(ptr, size, &d->weight, caller);
    return ptr;
}

SLOW static void *failed(size_t size)
{
    pd_slow_failed(size);
    if (errno == ENOMEM)
        pd_slow_out_of_memory(size);
    return NULL;
}

SLOW static int posix_memalign_failed(size_t size, int error)
{
    pd_slow_failed(size);
    if (error == ENOMEM)
        pd_slow_out_of_memory(size);
    return error;
}

SLOW static void *malloc_slow(size_t size)
{
    const pd_caller caller = PD_HERE();
    drawn d = draw(size);
    return keep(pd_real.malloc(size), size, &d, &caller);
}

SLOW static void *calloc_slow(size_t nmemb, size_t size, size_t all)
{
    const pd_caller caller = PD_HERE();
    drawn d = draw(all);
    return keep(pd_real.calloc(nmemb, size), all, &d, &caller);
}

SLOW static void *realloc_slow(void *old, size_t size, bool is_ticked)
{
    const pd_caller caller = PD_HERE();
    drawn d = {.is_sample = false};
    if (is_ticked)
        d = draw(size);
    pprofdelta_heap_realloc move;
    bool was_tracked = old && pprofdelta_heap_maybe(&pd_filter, old) && pd_slow_move(old, &move);
    void *ptr = pd_real.realloc(old, size);
    if (was_tracked)
        pd_slow_moved(&move, ptr || !size);
    if (!size && !ptr) /* realloc freed the block */
        return NULL;
    return keep(ptr, size, &d, &caller);
}

SLOW static void *aligned_slow(void *(*allocate)(size_t, size_t), size_t alignment, size_t size)
{
    const pd_caller caller = PD_HERE();
    drawn d = draw(size);
    return keep(allocate(alignment, size), size, &d, &caller);
}

SLOW static void *pages_slow(void *(*allocate)(size_t), size_t size)
{
    const pd_caller caller = PD_HERE();
    drawn d = draw(size);
    return keep(allocate(size), size, &d, &caller);
}

SLOW static int posix_memalign_slow(void **out, size_t alignment, size_t size)
{
    const pd_caller caller = PD_HERE();
    drawn d = draw(size);
    int error = pd_real.posix_memalign(out, alignment, size);
    if (error == ENOMEM)
        pd_slow_out_of_memory(size);
    if (d.is_sample)
        pd_slow_keep(error ? NULL : *out, size, &d.weight, &caller);
    return error;
}

SLOW static void free_slow(void *ptr)
{
    pd_slow_free(ptr);
    pd_real.free(ptr);
}

/* ---- the names ------------------------------------------------------------------------------- */

/* Returns whether the allocation must take the slow path. */
static inline bool tick(size_t size)
{
    return pprofdelta_sampler_tick(&pd_this_thread.sampler, size);
}

PD_PUBLIC void *malloc(size_t size)
{
    if (tick(size))
        return malloc_slow(size);
    void *ptr = pd_real.malloc(size);
    return LIKELY(ptr) ? ptr : failed(size);
}

PD_PUBLIC void free(void *ptr)
{
    if (pprofdelta_heap_maybe(&pd_filter, ptr))
        free_slow(ptr);
    else
        pd_real.free(ptr);
}

PD_PUBLIC void *calloc(size_t nmemb, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(nmemb, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    if (tick(all))
        return calloc_slow(nmemb, size, all);
    void *ptr = pd_real.calloc(nmemb, size);
    return LIKELY(ptr) ? ptr : failed(all);
}

static inline void *resize(void *old, size_t size)
{
    bool is_ticked = tick(size);
    if (is_ticked || pprofdelta_heap_maybe(&pd_filter, old))
        return realloc_slow(old, size, is_ticked);
    void *ptr = pd_real.realloc(old, size);
    return LIKELY(ptr || !size) ? ptr : failed(size);
}

PD_PUBLIC void *realloc(void *ptr, size_t size)
{
    return resize(ptr, size);
}

PD_PUBLIC void *reallocarray(void *ptr, size_t nmemb, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(nmemb, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(ptr, all);
}

PD_PUBLIC int posix_memalign(void **memptr, size_t alignment, size_t size)
{
    if (tick(size))
        return posix_memalign_slow(memptr, alignment, size);
    int error = pd_real.posix_memalign(memptr, alignment, size);
    return LIKELY(!error) ? 0 : posix_memalign_failed(size, error);
}

PD_PUBLIC void *aligned_alloc(size_t alignment, size_t size)
{
    if (tick(size))
        return aligned_slow(pd_real.aligned_alloc, alignment, size);
    void *ptr = pd_real.aligned_alloc(alignment, size);
    return LIKELY(ptr) ? ptr : failed(size);
}

PD_PUBLIC void *memalign(size_t alignment, size_t size)
{
    if (tick(size))
        return aligned_slow(pd_real.memalign, alignment, size);
    void *ptr = pd_real.memalign(alignment, size);
    return LIKELY(ptr) ? ptr : failed(size);
}

PD_PUBLIC void *valloc(size_t size)
{
    if (tick(size))
        return pages_slow(pd_real.valloc, size);
    void *ptr = pd_real.valloc(size);
    return LIKELY(ptr) ? ptr : failed(size);
}

PD_PUBLIC void *pvalloc(size_t size)
{
    if (tick(size))
        return pages_slow(pd_real.pvalloc, size);
    void *ptr = pd_real.pvalloc(size);
    return LIKELY(ptr) ? ptr : failed(size);
}

PD_PUBLIC size_t malloc_usable_size(void *ptr)
{
    return pd_real.usable_size(ptr);
}

/* C23. A C library that has these functions does not call free in them. */
PD_PUBLIC void free_sized(void *ptr, size_t size);
PD_PUBLIC void free_aligned_sized(void *ptr, size_t alignment, size_t size);

PD_PUBLIC void free_sized(void *ptr, size_t size)
{
    (void)size;
    free(ptr);
}

PD_PUBLIC void free_aligned_sized(void *ptr, size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    free(ptr);
}

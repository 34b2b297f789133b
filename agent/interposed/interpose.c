/* malloc and its family, as the program calls them.
 *
 * These are all functions by which a C library gives out memory that free takes back. The C
 * library's own uses of malloc (strdup, getline, fopen) call them, too. */
#include "agent/base/real.h"
#include "agent/interposed/wrap.h"

#include <malloc.h>
#include <stdlib.h>

#define ALLOCATE(name, bytes, parameters, arguments)                                               \
    PD_ALLOCATE(PD_PUBLIC, name, pd_tick(bytes), pd_real.name, bytes, PD_NO_MEMORY, parameters,    \
                arguments)

ALLOCATE(malloc, size, (size_t size), (size))
ALLOCATE(calloc, pd_product(nmemb, size), (size_t nmemb, size_t size), (nmemb, size))
ALLOCATE(aligned_alloc, size, (size_t alignment, size_t size), (alignment, size))
ALLOCATE(memalign, size, (size_t alignment, size_t size), (alignment, size))
ALLOCATE(valloc, size, (size_t size), (size))
ALLOCATE(pvalloc, size, (size_t size), (size))
PD_ALLOCATE_INTO(PD_PUBLIC, posix_memalign, pd_real.posix_memalign)
PD_RELEASE(PD_PUBLIC, free, true, pd_real.free, (void *ptr), (ptr))

/* ---- realloc --------------------------------------------------------------------------------- */

PD_SLOW static void *realloc_slow(void *old, size_t size, bool is_ticked)
{
    const pd_caller caller = PD_HERE();
    pprofdelta_weight weight = {0, 0};
    pprofdelta_heap_realloc move;
    bool is_sample = is_ticked && pd_slow_draw(size, &weight);
    bool was_tracked = old && pprofdelta_heap_maybe(&pd_filter, old) && pd_slow_move(old, &move);
    void *ptr = pd_real.realloc(old, size);
    if (was_tracked)
        pd_slow_moved(&move, ptr || !size);
    if (!ptr && size) /* without a size, realloc freed the block */
        return pd_slow_failed(size, PD_NO_MEMORY);
    if (is_sample)
        pd_slow_keep(ptr, size, &weight, &caller);
    return ptr;
}

static inline void *resize(void *old, size_t size)
{
    bool is_ticked = pd_tick(size);
    if (is_ticked || pprofdelta_heap_maybe(&pd_filter, old))
        return realloc_slow(old, size, is_ticked);
    void *ptr = pd_real.realloc(old, size);
    return PD_LIKELY(ptr || !size) ? ptr : pd_slow_failed(size, PD_NO_MEMORY);
}

PD_PUBLIC void *realloc(void *ptr, size_t size)
{
    return resize(ptr, size);
}

PD_PUBLIC void *reallocarray(void *ptr, size_t nmemb, size_t size)
{
    return resize(ptr, pd_product(nmemb, size));
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

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

PD_SLOW static void *realloc_slow(void *old, size_t size)
{
    const pd_caller caller = PD_HERE();
    pd_resizing resizing;
    pd_slow_resize(&resizing, old, pd_real_size(old));
    void *ptr = pd_real.realloc(old, size);
    bool has_failed = !ptr && size; /* without a size, realloc freed the block */
    size_t after = resizing.before && !resizing.is_exact ? pd_real_size(ptr) : size;
    pd_slow_resized(&resizing, has_failed ? old : ptr, has_failed ? resizing.before : after,
                    &caller);
    return has_failed ? pd_slow_failed(size, PD_NO_MEMORY) : ptr;
}

PD_SLOW static void *grown(void *ptr, size_t added, bool is_piece)
{
    const pd_caller caller = PD_HERE();
    pd_slow_grown(ptr, added, is_piece, &caller);
    return ptr;
}

static inline __attribute__((always_inline)) void *resize_block(void *old, size_t size)
{
    if (pprofdelta_heap_maybe(&pd_filter, old))
        return realloc_slow(old, size);
    size_t before = pd_real_size(old);
    void *ptr = pd_real.realloc(old, size);
    if (!PD_LIKELY(ptr))
        return size ? pd_slow_failed(size, PD_NO_MEMORY) : NULL;
    size_t after = before ? pd_real_size(ptr) : size;
    return after > before && pd_tick(after - before) ? grown(ptr, after - before, before != 0)
                                                     : ptr;
}

PD_PUBLIC void *realloc(void *ptr, size_t size)
{
    return resize_block(ptr, size);
}

PD_PUBLIC void *reallocarray(void *ptr, size_t nmemb, size_t size)
{
    return resize_block(ptr, pd_product(nmemb, size));
}

PD_PUBLIC size_t malloc_usable_size(void *ptr)
{
    return pd_real.malloc_usable_size(ptr);
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

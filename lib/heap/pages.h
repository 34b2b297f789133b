/* The memory of a tracker: whole pages of zeros, never from malloc.
 *
 * What is mapped is counted and limited. Pages that are used for tracking are unmapped when the
 * tracker is freed, and not before. So a reader without the lock (top_sites, in a signal handler)
 * may follow a pointer to memory that is not used any more: it reads old words. */
#ifndef PD_HEAP_PAGES_H
#define PD_HEAP_PAGES_H

#include "base/mem.h"
#include "pprofdelta_heap.h"

#define PD_PAGE ((size_t)4096)

typedef struct pd_pages {
    pprofdelta_heap_pages source;
    uint64_t used, limit;
} pd_pages;

/* source may be NULL: mmap. */
void pd_pages_init(pd_pages *pages, const pprofdelta_heap_pages *source, uint64_t limit);

/* At least size bytes of zeros, or NULL. Keeps errno. Unmap them with the same size. */
void *pd_pages_map(pd_pages *pages, size_t size);
void pd_pages_unmap(pd_pages *pages, void *ptr, size_t size);

/* An allocator that takes pages, for buffers that are used without the lock. */
pprofdelta_allocator pd_pages_allocator(pd_pages *pages);

#endif

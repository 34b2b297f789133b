/* Where a tracker's memory comes from: whole pages, zeroed, never from malloc.
 *
 * What is mapped is counted and held against a cap. Nothing that is used for tracking is unmapped
 * before the tracker goes, so that a reader without the lock (top_sites, in a signal handler) may
 * follow a pointer that has just been let go: it finds older words there, never a hole. */
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

/* At least size bytes of zeros, or NULL. Keeps errno. To be unmapped with the same size. */
void *pd_pages_map(pd_pages *pages, size_t size);
void pd_pages_unmap(pd_pages *pages, void *ptr, size_t size);

/* An allocator over pages, for what is written with the lock not held. */
pprofdelta_allocator pd_pages_allocator(pd_pages *pages);

#endif

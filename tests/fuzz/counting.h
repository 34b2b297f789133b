/* An allocator that counts, and fails when it is told to. */
#ifndef PD_TESTS_FUZZ_COUNTING_H
#define PD_TESTS_FUZZ_COUNTING_H

#include "fuzz.h"

typedef struct heap {
    uint64_t held;  /* blocks */
    uint64_t calls; /* of resize */
    uint64_t fail;  /* the call that fails, from 1; 0: none */
} heap;

static inline void *heap_resize(void *cookie, void *ptr, size_t size)
{
    heap *h = cookie;
    require(size);
    if (++h->calls == h->fail)
        return NULL;
    void *moved = realloc(ptr, size);
    require(moved);
    h->held += !ptr;
    return moved;
}

static inline void heap_release(void *cookie, void *ptr)
{
    heap *h = cookie;
    require(ptr && h->held);
    h->held--;
    free(ptr);
}

#endif

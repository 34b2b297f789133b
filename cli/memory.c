#include "memory.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* In front of every block, as long as the alignment that malloc promises. */
typedef union header {
    struct {
        size_t size;   /* that was asked for */
        size_t mapped; /* bytes mapped, or 0: malloc's */
    } is;
    max_align_t align;
} header;

/* Pages: a huge one, and what every small one divides. */
enum { HUGE = 2 * 1024 * 1024, SMALL = 64 * 1024 };

/* Maps as much from the boundary of a huge page on: a page more than that, less what is outside. As
 * many huge pages as are filled; the rest is made of small ones. */
static header *map(size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    size_t mapped = (bytes + SMALL - 1) / SMALL * SMALL;
    char *at =
        mmap(NULL, mapped + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    size_t before = (HUGE - (uintptr_t)at % HUGE) % HUGE;
    if (before)
        munmap(at, before);
    munmap(at + before + mapped, HUGE - before);
    madvise(at + before, mapped / HUGE * HUGE, MADV_HUGEPAGE); /* advice: else it is slower */
    header *block = (header *)(void *)(at + before);
    block->is.mapped = mapped;
    return block;
}

static header *header_of(void *ptr)
{
    return (header *)ptr - 1;
}

static void release(void *cookie, void *ptr)
{
    (void)cookie;
    header *block = header_of(ptr);
    if (block->is.mapped)
        munmap(block, block->is.mapped);
    else
        free(block);
}

static void *resize(void *cookie, void *ptr, size_t size)
{
    header *old = ptr ? header_of(ptr) : NULL;
    if (size > SIZE_MAX - sizeof(header))
        return NULL;
    size_t bytes = size + sizeof(header);
    header *block;
    if (old && old->is.mapped >= bytes) {
        block = old;
    } else if (bytes < HUGE) {
        block = realloc(old, bytes);
        if (block)
            block->is.mapped = 0;
    } else if ((block = map(bytes)) && old) {
        memcpy(block + 1, ptr, old->is.size);
        release(cookie, ptr);
    }
    if (!block)
        return NULL;
    block->is.size = size;
    return block + 1;
}

#ifdef M_MMAP_THRESHOLD
/* What is freed goes back to the system at once, now and later. */
static void keep_no_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
}

/* Two threads at most, for milliseconds: a heap for each would cost more than it saves. It grows in
 * large steps, which are the kernel's promises until they are used. */
static void share_one_heap(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TOP_PAD, 1 << 20);
}
#else
static void keep_no_memory(void)
{
}

static void share_one_heap(void)
{
}
#endif

const pprofdelta_allocator *cli_memory_within(uint64_t limit)
{
    static const pprofdelta_allocator large = {.resize = resize, .release = release};
    if (limit >= PPROFDELTA_DEFAULT_MAX_MEMORY) {
        share_one_heap();
        return &large;
    }
    keep_no_memory();
    return NULL;
}

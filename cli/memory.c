#include "memory.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Blocks that were measured to be worth a call of their own, and mappings worth their price. A file
 * may lie about what it inflates to: it gets no more than so much on trust. */
enum { MANY_PAGES = 256 << 10, TRUSTED = 64 << 20, MAPPED = 2 << 20 };

/* Where the kernel cannot do that (before 5.14), every page comes when it is met. */
void cli_memory_make_ready(void *block, size_t len)
{
#ifdef MADV_POPULATE_WRITE
    if (len < MANY_PAGES)
        return;
    long page = sysconf(_SC_PAGESIZE);
    size_t before = (size_t)(-(uintptr_t)block % (uintptr_t)page);
    len = len < TRUSTED ? len : TRUSTED;
    if (before < len)
        madvise((char *)block + before, len - before, MADV_POPULATE_WRITE);
#else
    (void)block, (void)len;
#endif
}

/* A new block is as large as its owner knows it will be; what it grows by later may stay unused. */
static void *resize(void *cookie, void *ptr, size_t size)
{
    (void)cookie;
    void *block = realloc(ptr, size);
    if (block && !ptr)
        cli_memory_make_ready(block, size);
    return block;
}

static void release(void *cookie, void *ptr)
{
    (void)cookie;
    free(ptr);
}

#ifdef M_MMAP_THRESHOLD
/* What is freed goes back to the system at once, now and later. */
static void keep_no_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
}

/* Two threads at most, for milliseconds: a heap for each would cost more than it saves. It grows in
 * large steps, which are the kernel's promises until they are used. What is freed stays, for what
 * comes next: a page that was there before costs nothing. */
static void share_one_heap(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TOP_PAD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_MMAP_THRESHOLD, MAPPED);
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
    static const pprofdelta_allocator of_a_run = {.resize = resize, .release = release};
    if (limit >= PPROFDELTA_DEFAULT_MAX_MEMORY) {
        share_one_heap();
        return &of_a_run;
    }
    keep_no_memory();
    return NULL;
}

/* Memory for a run: see memory.h. */
#include "memory.h"

#include "cli.h"
#include "input.h"
#include "message.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bytes, measured: from MANY_PAGES on a call for the pages pays, from MAPPED on a mapping. A file
 * may lie about its inflated length, so at most TRUSTED bytes are asked for ahead. */
enum { MANY_PAGES = 256 << 10, TRUSTED = 64 << 20, MAPPED = 2 << 20 };

/* Does nothing on kernels before 5.14. */
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

/* A new block is as large as its owner expects. What is added later may stay unused, so its pages
 * are not asked for. */
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
/* Freed memory goes back to the system at once. */
static void keep_no_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
}

/* The heap grows in large steps, which cost nothing until they are used. Freed memory stays in the
 * process, because a page that is used again costs nothing. */
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

int cli_context_new(const pprofdelta_options *options, const char *first, pprofdelta **out)
{
    pprofdelta_error err;
    if (pprofdelta_new(options, cli_memory_within(options->max_memory), out, &err))
        return cli_options_error(cli_input_name(first), &err);
    return CLI_DONE;
}

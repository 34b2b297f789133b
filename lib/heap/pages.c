#include "heap/pages.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static void *map_anonymous(void *cookie, size_t size)
{
    (void)cookie;
    void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return ptr == MAP_FAILED ? NULL : ptr;
}

static void unmap_anonymous(void *cookie, void *ptr, size_t size)
{
    (void)cookie;
    munmap(ptr, size);
}

void pd_pages_init(pd_pages *pages, const pprofdelta_heap_pages *source, uint64_t limit)
{
    static const pprofdelta_heap_pages kernel = {map_anonymous, unmap_anonymous, NULL};
    *pages = (pd_pages){.source = source ? *source : kernel, .limit = limit};
}

static size_t rounded(size_t size)
{
    return (size + PD_PAGE - 1) & ~(PD_PAGE - 1);
}

void *pd_pages_map(pd_pages *pages, size_t size)
{
    if (size > SIZE_MAX / 2 || rounded(size) > pages->limit - pages->used)
        return NULL;
    int kept = errno;
    void *ptr = pages->source.map(pages->source.cookie, rounded(size));
    errno = kept;
    if (ptr)
        pages->used += rounded(size);
    return ptr;
}

void pd_pages_unmap(pd_pages *pages, void *ptr, size_t size)
{
    if (!ptr)
        return;
    int kept = errno;
    pages->source.unmap(pages->source.cookie, ptr, rounded(size));
    errno = kept;
    pages->used -= rounded(size);
}

/* Each block is a mapping of its own. Its size is stored before it, in a gap that keeps the
 * alignment. */
enum { FRONT = 64 };

static void *resize_pages(void *cookie, void *ptr, size_t size)
{
    pd_pages *pages = cookie;
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t whole = rounded(size + FRONT), old = 0;
    uint8_t *from = ptr ? (uint8_t *)ptr - FRONT : NULL;
    if (from)
        memcpy(&old, from, sizeof old);
    if (whole == old)
        return ptr;
    uint8_t *to = pd_pages_map(pages, whole);
    if (!to)
        return NULL;
    if (from)
        memcpy(to, from, old < whole ? old : whole);
    memcpy(to, &whole, sizeof whole);
    pd_pages_unmap(pages, from, old);
    return to + FRONT;
}

static void release_pages(void *cookie, void *ptr)
{
    uint8_t *from = (uint8_t *)ptr - FRONT;
    size_t whole;
    memcpy(&whole, from, sizeof whole);
    pd_pages_unmap(cookie, from, whole);
}

pprofdelta_allocator pd_pages_allocator(pd_pages *pages)
{
    return (pprofdelta_allocator){resize_pages, release_pages, pages};
}

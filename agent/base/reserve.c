/* Pages for the agent's own work: see reserve.h. */
#include "agent/base/reserve.h"

#include "agent/base/agent.h"
#include "agent/base/real.h"
#include "base/lock.h"

#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

#define PAGES (PD_RESERVE_LEN / PAGE)

static bool is_taken[PAGES];
static pd_area area = {.pages = PAGES, .is_taken = is_taken};
static bool has_small_pages;
static PD_OF_PROCESS pd_lock lock; /* of the area */
static __thread bool may_take __attribute__((tls_model("initial-exec")));

static atomic_bool is_locked; /* a new mapping is locked, and counts for RLIMIT_MEMLOCK */

void pd_map_future_is_locked(void)
{
    atomic_store(&is_locked, true);
}

/* Unlocks the page and makes it larger: what was not locked is not locked then. */
static void *grow(void *page, size_t len, bool is_noted)
{
    const pd_other_functions *next = pd_next();
    void *ptr = munlock(page, PAGE) ? MAP_FAILED
                : is_noted          ? mremap(page, PAGE, len, MREMAP_MAYMOVE)
                                    : next->mremap(page, PAGE, len, MREMAP_MAYMOVE);
    if (ptr == MAP_FAILED)
        is_noted ? munmap(page, PAGE) : next->munmap(page, PAGE);
    return ptr;
}

void *pd_map_unlocked(size_t len, int access, int flags, int fd, uint64_t off, bool is_noted)
{
    const bool must_grow = atomic_load(&is_locked) && !pd_the_agent.has_filter;
    const size_t first = must_grow ? PAGE : len;
    void *ptr = is_noted ? mmap(NULL, first, access, flags, fd, (pd_plain_offset)off)
                         : pd_next()->mmap(NULL, first, access, flags, fd, (pd_plain_offset)off);
    if (ptr != MAP_FAILED && must_grow)
        ptr = grow(ptr, len, is_noted);
    return ptr == MAP_FAILED ? NULL : ptr;
}

static void *map_reserve(size_t size, int flags)
{
    return pd_map_unlocked(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0,
                           true);
}

void pd_reserve_begin(void)
{
    area.base = map_reserve(PD_RESERVE_LEN, MAP_NORESERVE);
#ifdef MADV_NOHUGEPAGE /* a huge page would make all of it resident */
    if (area.base)
        madvise(area.base, PD_RESERVE_LEN, MADV_NOHUGEPAGE);
#endif
    has_small_pages = sysconf(_SC_PAGESIZE) == PAGE;
}

void pd_reserve_allow(bool is_allowed)
{
    may_take = is_allowed;
}

/* ---- areas ----------------------------------------------------------------------------------- */

static size_t pages_of(size_t size)
{
    return size / PAGE + (size % PAGE != 0);
}

static void mark_blocks(pd_area *a, size_t first, size_t len, bool value)
{
    for (size_t i = 0; i < len; i++)
        a->is_taken[first + i] = value;
}

/* Returns the first page of the first run of so many free pages, or the number of pages. */
static size_t find_run(const pd_area *a, size_t len)
{
    size_t run = 0;
    for (size_t at = 0; at < a->pages; at++) {
        run = a->is_taken[at] ? 0 : run + 1;
        if (run == len)
            return at + 1 - len;
    }
    return a->pages;
}

char *pd_area_take(pd_area *a, size_t size)
{
    size_t len = pages_of(size), first = len ? find_run(a, len) : a->pages;
    if (first == a->pages)
        return NULL;
    mark_blocks(a, first, len, true);
    if (first + len > a->used)
        a->used = first + len;
    return a->base + first * PAGE;
}

void pd_area_give(pd_area *a, void *ptr, size_t size)
{
    mark_blocks(a, (size_t)((char *)ptr - a->base) / PAGE, pages_of(size), false);
}

bool pd_area_has(const pd_area *a, const void *ptr)
{
    return a->base && (uintptr_t)ptr - (uintptr_t)a->base < a->pages * PAGE;
}

/* ---- the reserve ----------------------------------------------------------------------------- */

static void *take_reserve(size_t size)
{
    if (!area.base || !may_take)
        return NULL;
    pd_lock_take(&lock);
    char *pages = pd_area_take(&area, size);
    pd_lock_give(&lock);
    return pages;
}

void *pd_reserve_map(size_t size)
{
    PD_KEEP_ERRNO;
    void *pages = map_reserve(size, 0);
    return pages ? pages : take_reserve(size);
}

/* Sets the block to zeros. The kernel does that if pages have this size and memory is not
 * locked. */
static void clear_block(void *ptr, size_t size)
{
    if (!has_small_pages || madvise(ptr, size, MADV_DONTNEED))
        memset(ptr, 0, size);
}

void pd_reserve_unmap(void *ptr, size_t size)
{
    if (!ptr)
        return;
    PD_KEEP_ERRNO;
    if (pd_area_has(&area, ptr)) {
        clear_block(ptr, pages_of(size) * PAGE);
        pd_lock_take(&lock);
        pd_area_give(&area, ptr, size);
        pd_lock_give(&lock);
    } else {
        munmap(ptr, size);
    }
}

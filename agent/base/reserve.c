/* Pages for the agent's own work: see reserve.h. */
#include "agent/base/reserve.h"

#include "agent/base/agent.h"
#include "base/lock.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

#define PAGES (PD_RESERVE_LEN / PAGE)

static char *area; /* NULL: none */
static bool has_small_pages;
static bool is_taken[PAGES];
static pd_lock lock; /* of is_taken */
static __thread bool may_take __attribute__((tls_model("initial-exec")));

static void *map(size_t size, int flags)
{
    void *pages =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void pd_reserve_begin(void)
{
    area = map(PD_RESERVE_LEN, MAP_NORESERVE);
#ifdef MADV_NOHUGEPAGE /* a huge page would make all of it resident */
    if (area)
        madvise(area, PD_RESERVE_LEN, MADV_NOHUGEPAGE);
#endif
    has_small_pages = sysconf(_SC_PAGESIZE) == PAGE;
}

void pd_reserve_allow(bool is_allowed)
{
    may_take = is_allowed;
}

static size_t pages_of(size_t size)
{
    return size / PAGE + (size % PAGE != 0);
}

static void mark(size_t first, size_t len, bool value)
{
    for (size_t i = 0; i < len; i++)
        is_taken[first + i] = value;
}

/* Returns the first page of the first run of so many free pages, or PAGES. */
static size_t find_run(size_t len)
{
    size_t run = 0;
    for (size_t at = 0; at < PAGES; at++) {
        run = is_taken[at] ? 0 : run + 1;
        if (run == len)
            return at + 1 - len;
    }
    return PAGES;
}

static void *take(size_t size)
{
    size_t len = pages_of(size);
    if (!area || !may_take || !len)
        return NULL;
    pd_lock_take(&lock);
    size_t first = find_run(len);
    if (first < PAGES)
        mark(first, len, true);
    pd_lock_give(&lock);
    return first < PAGES ? area + first * PAGE : NULL;
}

void *pd_reserve_map(size_t size)
{
    int kept = errno;
    void *pages = map(size, 0);
    if (!pages)
        pages = take(size);
    errno = kept;
    return pages;
}

static bool is_reserved(const void *ptr)
{
    return area && (uintptr_t)ptr - (uintptr_t)area < PD_RESERVE_LEN;
}

/* Sets the block to zeros. The kernel does that if pages have this size and memory is not
 * locked. */
static void clear(void *ptr, size_t size)
{
    if (!has_small_pages || madvise(ptr, size, MADV_DONTNEED))
        memset(ptr, 0, size);
}

void pd_reserve_unmap(void *ptr, size_t size)
{
    if (!ptr)
        return;
    int kept = errno;
    if (is_reserved(ptr)) {
        clear(ptr, pages_of(size) * PAGE);
        pd_lock_take(&lock);
        mark((size_t)((char *)ptr - area) / PAGE, pages_of(size), false);
        pd_lock_give(&lock);
    } else {
        munmap(ptr, size);
    }
    errno = kept;
}

PD_IN_CHILD void pd_reserve_forget(void)
{
    pd_lock_reset(&lock);
}

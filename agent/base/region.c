/* Pages for the tracker's tables: see region.h. */
#include "agent/base/region.h"

#include "agent/base/agent.h"
#include "agent/base/real.h"
#include "agent/base/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PAGE = 4096 };
#define PAGES ((size_t)PD_REMAINS_MOST / PAGE)

static bool is_taken[PAGES];
static pd_area area = {.is_taken = is_taken};
static bool is_shared, has_overflowed;
static char *copy; /* for the child of the fork that is under way; NULL: none */
static size_t copy_len;

static size_t head_size(void)
{
    return (sizeof(pd_remains_head) + PAGE - 1) & ~(size_t)(PAGE - 1);
}

enum { UNUSED = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };

/* Only the first call goes through the functions that the agent replaces: from that on, the addresses are
 * known as the agent's. */
static void *map(void *at, size_t len, int access, int flags, int fd)
{
    void *ptr = pd_next()->mmap(at, len, access, flags, fd, 0);
    return ptr == MAP_FAILED ? NULL : ptr;
}

/* A limit of the address space is the program's: the area takes a small part of it. */
static size_t size_of_area(void)
{
    enum { PART = 16 };
    struct rlimit space;
    bool is_limited = getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
    return !is_limited || space.rlim_cur / PART > PD_REMAINS_MOST
               ? (size_t)PD_REMAINS_MOST
               : (size_t)(space.rlim_cur / PART) & ~(size_t)(PAGE - 1);
}

void pd_region_begin(void)
{
    size_t len = size_of_area();
    if (sysconf(_SC_PAGESIZE) != PAGE || len < 2 * head_size())
        return;
    void *base = mmap(NULL, len, PROT_NONE, UNUSED, -1, 0);
    if (base == MAP_FAILED)
        return;
    area.base = base;
    area.pages = len / PAGE;
#ifdef MADV_NOHUGEPAGE /* a huge page would make all of it resident */
    madvise(area.base, len, MADV_NOHUGEPAGE);
#endif
    pd_area_take(&area, head_size());
    if (mprotect(area.base, head_size(), PROT_READ | PROT_WRITE))
        area.pages = 0;
}

pd_remains_head *pd_region_head(void)
{
    return area.pages ? (pd_remains_head *)(void *)area.base : NULL;
}

bool pd_region_has_overflowed(void)
{
    return has_overflowed;
}

/* Makes the pages usable. */
static bool make_ready(char *block, size_t size)
{
    enum { POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE of Linux 5.14, which older headers lack */
    return is_shared ? madvise(block, size, POPULATE_WRITE) == 0
                     : mprotect(block, size, PROT_READ | PROT_WRITE) == 0;
}

void *pd_region_map(void *cookie, size_t size)
{
    int kept = errno;
    (void)cookie;
    char *block = pd_area_take(&area, size);
    if (block && !make_ready(block, size)) {
        pd_area_give(&area, block, size);
        block = NULL;
    }
    if (block)
        pd_region_head()->used = area.used * PAGE;
    has_overflowed |= !block;
    errno = kept;
    return block ? block : pd_reserve_map(size);
}

void pd_region_unmap(void *cookie, void *ptr, size_t size)
{
    (void)cookie;
    if (!pd_area_has(&area, ptr)) {
        pd_reserve_unmap(ptr, size);
        return;
    }
    memset(ptr, 0, size);
    pd_area_give(&area, ptr, size);
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool is_zero(const char *page)
{
    return !*page && !memcmp(page, page + 1, PAGE - 1);
}

/* A page of zeros is not written: it takes no memory. */
static void copy_pages(char *to, size_t len)
{
    for (size_t at = 0; at < len; at += PAGE)
        if (!is_zero(area.base + at))
            memcpy(to + at, area.base + at, PAGE);
}

/* Puts a mapping in the place of the first bytes of the area. */
static bool put_in_place(char *from, size_t len)
{
    return pd_next()->mremap(from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, area.base) == area.base;
}

int pd_region_share(int fd)
{
    size_t len = area.pages * PAGE, used = area.used * PAGE;
    if (ftruncate(fd, (off_t)len))
        return errno;
    int error = posix_fallocate(fd, 0, (off_t)used);
    if (error)
        return error;
    char *there = map(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    if (!there)
        return errno;
    copy_pages(there, used);
    if (!put_in_place(there, len)) {
        error = errno;
        pd_next()->munmap(there, len);
        return error;
    }
    is_shared = true;
    return 0;
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* What is mapped shared is the parent's. The child gets what it would have had by copying on write. */
void pd_region_fork_prepare(void)
{
    copy = NULL;
    if (!is_shared)
        return;
    copy_len = area.used * PAGE;
    copy = map(NULL, copy_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (copy)
        copy_pages(copy, copy_len);
}

void pd_region_fork_parent(void)
{
    if (copy)
        pd_next()->munmap(copy, copy_len);
    copy = NULL;
}

PD_IN_CHILD bool pd_region_fork_child(void)
{
    if (!is_shared)
        return true;
    size_t rest = area.pages * PAGE - copy_len;
    if (!copy || !put_in_place(copy, copy_len) ||
        (rest && !map(area.base + copy_len, rest, PROT_NONE, UNUSED | MAP_FIXED, -1)))
        return false;
    copy = NULL;
    is_shared = false;
    return true;
}

/* Pages for the tracker's tables: see region.h. */
#include "agent/base/region.h"

#include "agent/base/agent.h"
#include "agent/base/real.h"
#include "agent/base/reserve.h"
#include "base/lock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };

typedef struct region {
    pd_area area; /* base NULL: not reserved yet */
    bool is_shared;
    size_t ready; /* bytes from base that are usable without a system call; 0: not known */
} region;

static region regions[PD_REMAINS_AREAS];
static bool is_taken[PD_REMAINS_MOST / PAGE];
static PD_OF_PROCESS pd_lock lock; /* of the areas, for pages that are taken or given back */
static bool has_begun;
static atomic_bool has_grown;  /* an area was added, or is_outside has become true */
static atomic_bool is_outside; /* pages of the reserve hold a part of the tracker */
static atomic_bool is_full;    /* the file system has no room for a page */

enum { UNUSED = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };

static size_t size_of(const region *r)
{
    return r->area.pages * PAGE;
}

static size_t used_of(const region *r)
{
    return r->area.used * PAGE;
}

static size_t head_size(void)
{
    return (sizeof(pd_remains_head) + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* Only what is reserved is noted: from that on, the addresses are known as the agent's. */
static void *map_region(size_t len, int access, int flags, int fd, uint64_t off)
{
    return pd_map_unlocked(len, access, flags, fd, off, false);
}

static bool reserve_region(region *r)
{
    unsigned i = (unsigned)(r - regions);
    size_t len = (size_t)pd_remains_area_size(i);
    void *base = pd_map_unlocked(len, PROT_NONE, UNUSED, -1, 0, true);
    if (!base)
        return false;
#ifdef MADV_NOHUGEPAGE /* a huge page would make all of it resident */
    madvise(base, len, MADV_NOHUGEPAGE);
#endif
    r->area = (pd_area){
        .base = base, .pages = len / PAGE, .is_taken = is_taken + pd_remains_area_off(i) / PAGE};
    atomic_store(&has_grown, true);
    return true;
}

/* Has the kernel write to each page, which allocates it. The call fails where the file system has no room; a
 * write of this process would end it. The pages hold zeros. */
static bool have_written(char *block, size_t size)
{
    enum { MASK = _NSIG / 8 };
    for (char *page = block; page < block + size; page += PAGE) {
        if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, page, MASK))
            return false;
        memset(page, 0, MASK);
    }
    return true;
}

/* Allocates pages of the file. MADV_POPULATE_WRITE is of Linux 5.14, and older headers lack it. */
static bool allocate_pages(char *block, size_t size)
{
    enum { POPULATE_WRITE = 23 };
    return !madvise(block, size, POPULATE_WRITE) || (errno == EINVAL && have_written(block, size));
}

/* Makes pages usable. */
static bool make_ready(const region *r, char *block, size_t size)
{
    return r->is_shared ? allocate_pages(block, size)
                        : mprotect(block, size, PROT_READ | PROT_WRITE) == 0;
}

/* Returns pages of the area, or NULL. */
static char *take_pages(region *r, size_t size)
{
    const bool is_confined = atomic_load(&pd_is_confined);
    if (!r->area.base && (is_confined || !reserve_region(r)))
        return NULL;
    char *block = pd_area_take(&r->area, size);
    if (block && (is_confined ? (size_t)(block - r->area.base) + size > r->ready
                              : !make_ready(r, block, size))) {
        pd_area_give(&r->area, block, size);
        atomic_store(&is_full, r->is_shared);
        return NULL;
    }
    if (block && has_begun)
        pd_region_head()->areas[r - regions].used = used_of(r);
    return block;
}

void pd_region_begin(void)
{
    has_begun = sysconf(_SC_PAGESIZE) == PAGE && take_pages(&regions[0], head_size());
    atomic_store(&has_grown, false); /* the file will have this area */
}

pd_remains_head *pd_region_head(void)
{
    return has_begun ? (pd_remains_head *)(void *)regions[0].area.base : NULL;
}

void *pd_region_map(void *cookie, size_t size)
{
    PD_KEEP_ERRNO;
    char *block = NULL;
    (void)cookie;
    pd_lock_take(&lock);
    for (unsigned i = 0; has_begun && !block && i < PD_REMAINS_AREAS; i++)
        block = take_pages(&regions[i], size);
    pd_lock_give(&lock);
    if (block || atomic_load(&pd_is_confined))
        return block;
    if (!atomic_exchange(&is_outside, true))
        atomic_store(&has_grown, true);
    return pd_reserve_map(size);
}

void pd_region_unmap(void *cookie, void *ptr, size_t size)
{
    (void)cookie;
    for (unsigned i = 0; i < PD_REMAINS_AREAS; i++) {
        if (!pd_area_has(&regions[i].area, ptr))
            continue;
        memset(ptr, 0, size);
        pd_lock_take(&lock);
        pd_area_give(&regions[i].area, ptr, size);
        pd_lock_give(&lock);
        return;
    }
    if (!atomic_load(&pd_is_confined))
        pd_reserve_unmap(ptr, size);
}

void pd_region_spare(void)
{
    const size_t spare = (size_t)1 << 20;
    for (unsigned i = 0; i < PD_REMAINS_AREAS; i++) {
        region *r = &regions[i];
        size_t used = used_of(r), rest = size_of(r) - used;
        size_t len = rest < spare ? rest : spare;
        r->ready = used + (len && make_ready(r, r->area.base + used, len) ? len : 0);
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool is_zero(const char *page)
{
    return !*page && !memcmp(page, page + 1, PAGE - 1);
}

/* A page of zeros is not written: it takes no memory. Pages that nobody has taken cannot be read. */
static void copy_pages(char *to, const region *r)
{
    for (size_t i = 0; i < r->area.used; i++)
        if (r->area.is_taken[i] && !is_zero(r->area.base + i * PAGE))
            memcpy(to + i * PAGE, r->area.base + i * PAGE, PAGE);
}

/* Puts a mapping in the place of what is mapped there. */
static bool put_in_place(char *from, size_t len, char *place)
{
    return pd_next()->mremap(from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place;
}

static int share_region(region *r, int fd)
{
    const uint64_t off = pd_remains_area_off((unsigned)(r - regions));
    const size_t len = size_of(r);
    int error = posix_fallocate(fd, (off_t)off, (off_t)used_of(r));
    if (error)
        return error;
    char *there = map_region(len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off);
    if (!there)
        return errno;
    pd_region_head()->areas[r - regions].base = (uintptr_t)r->area.base;
    /* A file of a disk would be read ahead, all zeros, at each page fault. */
    madvise(there, len, MADV_RANDOM);
    copy_pages(there, r);
    madvise(there, len, MADV_DONTFORK);
    if (put_in_place(there, len, r->area.base)) {
        r->is_shared = true;
        return 0;
    }
    error = errno;
    pd_next()->munmap(there, len);
    return error;
}

bool pd_region_has_grown(void)
{
    return atomic_load_explicit(&has_grown, memory_order_relaxed) &&
           atomic_exchange(&has_grown, false);
}

bool pd_region_has_private(void)
{
    for (unsigned i = 0; i < PD_REMAINS_AREAS; i++)
        if (regions[i].area.base && !regions[i].is_shared)
            return true;
    return atomic_load(&is_outside);
}

int pd_region_share(int fd, bool is_all)
{
    int error = ftruncate(fd, (off_t)PD_REMAINS_MOST) ? errno : 0;
    for (unsigned i = 0; i < PD_REMAINS_AREAS && !error; i++)
        if (regions[i].area.base && (is_all || !regions[i].is_shared))
            error = share_region(&regions[i], fd);
    if (!error && atomic_load(&is_outside))
        error = atomic_load(&is_full) ? ENOSPC : EFBIG;
    return error;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* What is mapped shared is this process's alone. No child inherits it, so that the lock of the file is not that
 * of a child, and no child can write there. The child of a fork gets what it would have had by copying on write. */

typedef struct copy {
    char *at; /* NULL: none */
    size_t len;
} copy;

/* Of the forks that this thread is in: a signal handler may fork meanwhile. */
static __thread copy copies[PD_REGION_FORKS][PD_REMAINS_AREAS]
    __attribute__((tls_model("initial-exec")));

void pd_region_fork_prepare(unsigned level, bool is_alone)
{
    for (unsigned i = 0; i < PD_REMAINS_AREAS; i++) {
        const region *r = &regions[i];
        copy *c = &copies[level][i];
        *c = (copy){.at = NULL};
        if (!r->area.base || (is_alone && !r->is_shared))
            continue;
        c->len = used_of(r);
        c->at = map_region(c->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (c->at)
            copy_pages(c->at, r);
    }
}

void pd_region_fork_parent(unsigned level)
{
    for (copy *c = copies[level]; c < copies[level] + PD_REMAINS_AREAS; c++) {
        if (c->at)
            pd_next()->munmap(c->at, c->len);
        c->at = NULL;
    }
}

/* Puts the copy in the place of the area, where a mapping is. */
static PD_IN_CHILD bool use_copy(region *r, copy *c)
{
    if (!c->at || !put_in_place(c->at, c->len, r->area.base))
        return false;
    c->at = NULL;
    r->is_shared = false;
    return true;
}

/* Handlers of other libraries may have mapped something there. A child inherits no locks of memory. */
static PD_IN_CHILD bool reserve_again(const region *r)
{
    enum { FIXED_NOREPLACE = 0x100000 }; /* MAP_FIXED_NOREPLACE of Linux 4.17; before, a hint */
    char *place =
        pd_next()->mmap(r->area.base, size_of(r), PROT_NONE, UNUSED | FIXED_NOREPLACE, -1, 0);
    if (place != MAP_FAILED && place != r->area.base)
        pd_next()->munmap(place, size_of(r));
    return place == r->area.base;
}

PD_IN_CHILD bool pd_region_fork_child(unsigned level)
{
    bool has_all = true;
    for (unsigned i = 0; i < PD_REMAINS_AREAS; i++) {
        region *r = &regions[i];
        if (!r->is_shared && !copies[level][i].at)
            continue;
        bool is_gone = reserve_again(r); /* else a private area is here itself */
        if (is_gone || r->is_shared)
            has_all &= is_gone && use_copy(r, &copies[level][i]);
    }
    pd_region_fork_parent(level);
    return has_all;
}

void pd_region_leave(void)
{
    pd_region_fork_prepare(0, true);
    for (unsigned i = 0; i < PD_REMAINS_AREAS; i++) {
        region *r = &regions[i];
        size_t len = copies[0][i].len, rest = size_of(r) - len;
        char *tail = NULL;
        if (r->is_shared && use_copy(r, &copies[0][i]) && rest)
            tail = map_region(rest, PROT_NONE, UNUSED, -1, 0);
        if (tail)
            put_in_place(tail, rest, r->area.base + len);
    }
    pd_region_fork_parent(0);
}

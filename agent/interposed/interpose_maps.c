/* mmap, munmap, mremap, brk and sbrk, as the program calls them: each is reported to account.h.
 *
 * The stack of each call that maps anonymous memory is taken. These calls are rare, and a stack
 * costs less than the call. Calls from the C library itself do not come here, except those of
 * allocators in other libraries (jemalloc, tcmalloc, mimalloc). They hold locks of the allocator,
 * so nothing may be allocated here, and no stack is taken: the caller's address shows whose call it
 * is. Before the agent's constructor only that address is kept.
 *
 * What a call removes is removed from the table before the call, since another thread may be given
 * the same addresses before it has returned. If munmap then fails, its range is not followed any
 * more.
 *
 * Two probes report what mmap and munmap returned (heap/usdt.h has those of allocations):
 *
 *     otel_memory:mmap(address, size)
 *     otel_memory:munmap(address, size) */
#include "agent/python/python.h"
#include "agent/account/account.h"
#include "agent/base/agent.h"
#include "agent/base/object.h"
#include "agent/base/real.h"
#include "agent/stacks/stacks.h"

#include "heap/usdt.h"

#include <sys/mman.h>
#include <unistd.h>

/* ---- probes ---------------------------------------------------------------------------------- */

/* NOLINTBEGIN(bugprone-macro-parentheses): names */
#if PD_HAVE_USDT
#define PROBE_RANGE(name)                                                                          \
    extern volatile unsigned short pd_usdt_##name##_semaphore;                                     \
    volatile unsigned short pd_usdt_##name##_semaphore PD_USDT_SEMAPHORE = 0;                      \
    static __attribute__((noinline, cold)) void fire_##name(uintptr_t begin, size_t len)           \
    {                                                                                              \
        PD_USDT_IN_1(first, begin);                                                                \
        PD_USDT_IN_2(second, len);                                                                 \
        __asm__ volatile(                                                                          \
            PD_USDT_PROBE(#name, PD_USDT_ARGUMENT_1 " " PD_USDT_ARGUMENT_2)::"r"(first),           \
            "r"(second));                                                                          \
    }                                                                                              \
    static inline void probe_##name(uintptr_t begin, size_t len)                                   \
    {                                                                                              \
        if (__builtin_expect(pd_usdt_##name##_semaphore, 0))                                       \
            fire_##name(begin, len);                                                               \
    }
#else
#define PROBE_RANGE(name)                                                                          \
    static inline void probe_##name(uintptr_t begin, size_t len)                                   \
    {                                                                                              \
        (void)begin, (void)len;                                                                    \
    }
#endif
/* NOLINTEND(bugprone-macro-parentheses) */

PROBE_RANGE(mmap)
PROBE_RANGE(munmap)

/* ---- reports --------------------------------------------------------------------------------- */

/* Before any constructor has run, too, since an allocator maps memory then. What the agent maps is always followed,
 * for mlockall (interpose_lock.c). */
static bool is_followed(const pd_caller *caller)
{
    return !atomic_load_explicit(&pd_the_agent.has_begun, memory_order_acquire) ||
           (pd_given.account && pd_agent_heap()) || pd_code_is_own(caller->pc);
}

/* Returns whether the call is followed. If so, call leave. The agent's own calls come while the
 * thread runs the agent's code. It does not hold the lock of the table then. */
static bool enter_call(const pd_caller *caller, bool *is_nested)
{
    if (!is_followed(caller))
        return false;
    *is_nested = !pd_self_enter();
    return !*is_nested || pd_code_is_own(caller->pc);
}

static void leave_call(bool is_nested)
{
    if (!is_nested)
        pd_self_leave();
}

static size_t whole_pages(size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (len + page - 1) & ~(page - 1);
}

typedef struct range {
    uintptr_t begin;
    size_t len;
    const pd_caller *caller;
} range;

static void add_stack(void *cookie, const uint64_t *stack, size_t depth)
{
    const range *r = cookie;
    pd_mappings_add(r->begin, r->len, stack, depth, pd_unloaded_number(stack, depth));
}

static void add_with_stack(void *cookie)
{
    pd_python_stack(((range *)cookie)->caller, add_stack, cookie);
}

static void report_range(uintptr_t begin, size_t len, const pd_caller *caller)
{
    const uint32_t slot = pd_code_is_own(caller->pc)            ? PD_SLOT_AGENT
                          : pd_this_thread.maps_arena           ? PD_SLOT_ARENAS
                          : pd_code_is_of_allocator(caller->pc) ? PD_SLOT_ALLOCATOR
                                                                : PD_SLOT_NONE;
    const uint64_t only = caller->pc - 1;
    range r = {begin, len, caller};
    if (slot)
        pd_mappings_add_slot(begin, len, slot);
    else if (pd_agent_heap())
        pd_own_stack_call_briefly(add_with_stack, &r);
    else
        pd_mappings_add(begin, len, &only, 1, 0);
}

/* Reports a call that mapped anonymous memory, or removed what was in the range. */
static void report(uintptr_t begin, size_t len, bool is_mapped, const pd_caller *caller)
{
    PD_KEEP_ERRNO;
    bool is_nested;
    if (!enter_call(caller, &is_nested))
        return;
    if (is_mapped)
        report_range(begin, len, caller);
    else
        pd_mappings_remove(begin, len);
    leave_call(is_nested);
}

/* Reports what mmap returned. A mapping of a file covers what was there. */
static void report_map(const void *ptr, size_t len, int flags, const pd_caller *caller)
{
    if (ptr != MAP_FAILED)
        probe_mmap((uintptr_t)ptr, len);
    if (ptr != MAP_FAILED && (flags & (MAP_ANONYMOUS | MAP_FIXED)))
        report((uintptr_t)ptr, whole_pages(len), (flags & MAP_ANONYMOUS) != 0, caller);
}

/* ---- mmap ------------------------------------------------------------------------------------ */

/* The headers may define mmap as another name of mmap64. Both symbols are needed here. */
PD_PUBLIC void *pd_mmap(void *addr, size_t len, int prot, int flags, int fd,
                        pd_plain_offset offset) __asm__("mmap");
PD_PUBLIC void *pd_mmap64(void *addr, size_t len, int prot, int flags, int fd,
                          int64_t offset) __asm__("mmap64");

PD_PUBLIC __attribute__((noinline)) void *pd_mmap(void *addr, size_t len, int prot, int flags,
                                                  int fd, pd_plain_offset offset)
{
    const pd_caller caller = PD_HERE();
    void *ptr = pd_next()->mmap(addr, len, prot, flags, fd, offset);
    report_map(ptr, len, flags, &caller);
    return ptr;
}

PD_PUBLIC __attribute__((noinline)) void *pd_mmap64(void *addr, size_t len, int prot, int flags,
                                                    int fd, int64_t offset)
{
    const pd_caller caller = PD_HERE();
    const pd_other_functions *next = pd_next();
    void *ptr = next->mmap64 ? next->mmap64(addr, len, prot, flags, fd, offset)
                             : next->mmap(addr, len, prot, flags, fd, (pd_plain_offset)offset);
    report_map(ptr, len, flags, &caller);
    return ptr;
}

/* ---- munmap and mremap ----------------------------------------------------------------------- */

PD_PUBLIC __attribute__((noinline)) int munmap(void *addr, size_t len)
{
    const pd_caller caller = PD_HERE();
    report((uintptr_t)addr, whole_pages(len), false, &caller);
    int result = pd_next()->munmap(addr, len);
    if (!result)
        probe_munmap((uintptr_t)addr, len);
    return result;
}

/* The memory stays that of the call that mapped it; what was added is that of the new call, as with
 * realloc. At the next call, what several calls added becomes that of the first. */
static void report_moved(uint32_t slot, uintptr_t old, size_t old_len, const void *ptr, size_t len,
                         const pd_caller *caller)
{
    bool is_moved = ptr != MAP_FAILED;
    uintptr_t now = is_moved ? (uintptr_t)ptr : old;
    size_t kept = is_moved && len < old_len ? len : old_len;
    if (slot && kept)
        pd_mappings_add_slot(now, kept, slot);
    if (slot && is_moved && len > kept)
        report_range(now + kept, len - kept, caller);
    if (!slot && is_moved)
        pd_mappings_remove(now, len);
    pd_mappings_unpin();
}

PD_PUBLIC __attribute__((noinline)) void *mremap(void *addr, size_t old_len, size_t new_len,
                                                 int flags, ...)
{
    const pd_caller caller = PD_HERE();
    bool is_nested;
    va_list arguments;
    va_start(arguments, flags);
    void *target = (flags & MREMAP_FIXED) ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    if (!enter_call(&caller, &is_nested))
        return pd_next()->mremap(addr, old_len, new_len, flags, target);
    size_t taken = whole_pages(old_len);
    uint32_t slot = pd_mappings_take((uintptr_t)addr, taken);
    void *ptr = pd_next()->mremap(addr, old_len, new_len, flags, target);
    PD_KEEP_ERRNO;
    report_moved(slot, (uintptr_t)addr, taken, ptr, whole_pages(new_len), &caller);
    leave_call(is_nested);
    return ptr;
}

/* ---- brk ------------------------------------------------------------------------------------- */

/* The break moved. The page that both ends share stays as it is. */
static void report_break(uintptr_t before, uintptr_t now, const pd_caller *caller)
{
    uintptr_t from = whole_pages(before), to = whole_pages(now);
    if (from != to)
        report(from < to ? from : to, from < to ? to - from : from - to, from < to, caller);
}

PD_PUBLIC __attribute__((noinline)) void *sbrk(intptr_t delta)
{
    const pd_caller caller = PD_HERE();
    void *before = pd_next()->sbrk(delta);
    if (delta && before != (void *)-1) // NOLINT(performance-no-int-to-ptr)
        report_break((uintptr_t)before, (uintptr_t)before + (uintptr_t)delta, &caller);
    return before;
}

PD_PUBLIC __attribute__((noinline)) int brk(void *addr)
{
    const pd_caller caller = PD_HERE();
    uintptr_t before = (uintptr_t)pd_next()->sbrk(0);
    int result = pd_next()->brk(addr);
    if (!result)
        report_break(before, (uintptr_t)addr, &caller);
    return result;
}

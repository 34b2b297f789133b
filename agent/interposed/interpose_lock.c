/* mlockall, as the program calls it: nothing of the agent is locked, or counts for RLIMIT_MEMLOCK.
 *
 *     MCL_CURRENT   The kernel locks all mappings, and those of the agent are unlocked. If the limit is too low for all
 *                   of them but not for those of the program, each of these is locked by a call.
 *     MCL_FUTURE    The kernel locks what is mapped later. The agent maps its own so that it is not (pd_map_unlocked).
 *
 * All mappings are locked in the way of MCL_ONFAULT first: it makes no page of the agent resident. */
#include "agent/account/account.h"
#include "agent/base/agent.h"
#include "agent/base/object.h"
#include "agent/base/real.h"
#include "agent/base/reserve.h"
#include "process/maps.h"
#include "process/proc.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One reading of /proc/self/maps. */
typedef struct reading {
    int flags;       /* of mlock2(2) */
    bool is_locking; /* false: counts */
    uint64_t bytes;  /* of the program */
} reading;

/* Returns whether the memory at the address is the agent's. *end: where that ends. */
static bool is_own(uintptr_t at, uintptr_t *end)
{
    const uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    const pd_object_range code = pd_code_own();
    pd_range next = pd_mappings_next(at);
    if (pd_object_range_has(code, at))
        next = (pd_range){code.begin, (code.end + mask) & ~mask, PD_SLOT_AGENT};
    bool is_within = next.begin <= at && at < next.end;
    uintptr_t until = is_within ? next.end : next.end ? next.begin : UINTPTR_MAX;
    *end = until < *end ? until : *end;
    return is_within && next.slot == PD_SLOT_AGENT;
}

/* As with mlockall, a page that cannot be made resident is locked all the same. */
static void take_line(void *cookie, pd_bytes text)
{
    reading *r = cookie;
    pd_maps_line line;
    if (!pd_maps_parse_line(text, &line))
        return;
    for (uintptr_t at = (uintptr_t)line.start, end; at < line.limit; at = end) {
        end = (uintptr_t)line.limit;
        bool is_agent = is_own(at, &end);
        r->bytes += is_agent ? 0 : end - at;
        if (r->is_locking)
            syscall(is_agent ? SYS_munlock : SYS_mlock2, at, end - at, r->flags);
    }
}

static bool read_maps(reading *r)
{
    char bytes[16 << 10]; /* longer than every line */
    return !pd_read_lines(pd_open_high(pd_proc_open_maps()), bytes, sizeof bytes, take_line, r);
}

static bool has_room(void)
{
    PD_KEEP_ERRNO;
    struct rlimit limit;
    reading r = {.is_locking = false};
    return !getrlimit(RLIMIT_MEMLOCK, &limit) && read_maps(&r) && r.bytes <= limit.rlim_cur;
}

typedef struct request {
    int flags, result, error;
} request;

/* munlockall also ends an earlier MCL_FUTURE, as MCL_CURRENT alone does. */
static void lock(void *cookie)
{
    request *q = cookie;
    int (*lock_all)(int) = pd_next()->mlockall;
    reading r = {.flags = q->flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0, .is_locking = true};
    q->result = lock_all((q->flags & ~MCL_FUTURE) | MCL_ONFAULT);
    if (q->result && errno == ENOMEM && has_room())
        q->result = munlockall();
    if (!q->result && q->flags & MCL_FUTURE)
        q->result = lock_all(q->flags & ~MCL_CURRENT);
    bool is_for_kernel = q->result ? errno == EINVAL /* before Linux 4.4 */ : !read_maps(&r);
    if (is_for_kernel)
        q->result = lock_all(q->flags);
    q->error = errno;
}

PD_PUBLIC int mlockall(int flags)
{
    request q = {.flags = flags};
    if (flags & MCL_FUTURE)
        pd_map_future_is_locked();
    if (!(flags & MCL_CURRENT) || pd_the_agent.has_filter || !pd_agent_is_recording() ||
        !pd_work(lock, &q))
        return pd_next()->mlockall(flags);
    if (q.result)
        errno = q.error;
    return q.result;
}

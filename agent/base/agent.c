/* The state of the agent: see agent.h. */
#include "agent/base/agent.h"

#include "agent/base/real.h"

#include <sys/mman.h>
#include <unistd.h>

pd_agent pd_the_agent;
pd_settings pd_given;
pprofdelta_heap_filter pd_filter;
atomic_bool pd_is_confined;
__thread pd_self pd_this_thread __attribute__((tls_model("initial-exec")));

static _Atomic(pprofdelta_heap *) *_Atomic place; /* of the tracker; NULL: not yet */
static bool is_kept_by_children; /* the kernel does not empty the place: before Linux 4.14 */

/* Some emulators accept whatever is advised. */
static bool make_place(void)
{
    enum { NOTHING = -1, WIPE_ON_FORK = 18 /* which older headers lack */ };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    is_kept_by_children = !madvise(at, page, NOTHING) || madvise(at, page, WIPE_ON_FORK);
    atomic_store_explicit(&place, at, memory_order_release);
    return true;
}

bool pd_agent_set_heap(pprofdelta_heap *heap)
{
    if (!atomic_load(&place) && !make_place())
        return false;
    atomic_store(&pd_the_agent.pid, getpid());
    atomic_store_explicit(atomic_load(&place), heap, memory_order_release);
    return true;
}

pprofdelta_heap *pd_agent_heap(void)
{
    _Atomic(pprofdelta_heap *) *at = atomic_load_explicit(&place, memory_order_acquire);
    pprofdelta_heap *heap = at ? atomic_load_explicit(at, memory_order_acquire) : NULL;
    bool is_of_parent = heap && is_kept_by_children && !atomic_load(&pd_is_confined) &&
                        getpid() != atomic_load(&pd_the_agent.pid);
    return is_of_parent ? NULL : heap;
}

bool pd_agent_is_recording(void)
{
    return pd_agent_heap() && !atomic_load(&pd_is_confined) &&
           getpid() == atomic_load(&pd_the_agent.pid);
}

bool pd_agent_is_command(void)
{
    return getpid() == (pid_t)pd_given.command_pid;
}

bool pd_agent_is_young(void)
{
    return !pd_agent_is_command() && pd_now() - pd_the_agent.begun_nanos < (int64_t)PD_YOUNG_NANOS;
}

uint64_t pd_nanos_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * PD_NANOS_PER_SECOND + (uint64_t)now.tv_nsec;
}

int64_t pd_now(void)
{
    return (int64_t)pd_nanos_of(CLOCK_REALTIME);
}

void pd_self_end(void)
{
    int signal = pd_this_thread.ended_by;
    pd_this_thread.ended_by = 0;
    pd_the_agent.end();
    pd_signal_die(signal);
}

bool pd_work(void (*function)(void *cookie), void *cookie)
{
    pd_quiet quiet;
    if (!pd_self_enter())
        return false;
    pd_quiet_begin(&quiet);
    pd_own_stack_call(function, cookie);
    pd_quiet_end(&quiet);
    pd_self_leave();
    return true;
}

/* Follows fork: see life.h.
 *
 * This thread holds the tracker's locks during fork. So the handlers of other libraries, which
 * may allocate, must not enter the tracker: the thread is marked as inside.
 *
 * If a signal handler forks while it interrupts the agent's code, or fork, the locks cannot be taken: this thread may
 * hold them. That child is lost, and not recorded. It returns to the agent's code with a copy of the tables, and ends
 * there what it has a lock for. Every other lock is free, and the tables are used no more, since another thread may
 * have been changing them. */
#include "agent/life/life.h"

#include "agent/account/account.h"
#include "agent/base/agent.h"
#include "agent/base/region.h"
#include "agent/python/python.h"
#include "agent/stacks/stacks.h"

/* Where the variables are that a child clears: by the linker. */
extern char __start_pd_of_process[] __attribute__((visibility("hidden")));
extern char __stop_pd_of_process[] __attribute__((visibility("hidden")));

static pprofdelta_heap *forked; /* the tracker, for the child, which does not find it */
static int64_t fork_nanos;      /* when a fork began */
static bool is_lost;            /* this process is such a child, or a child of it */

static void before_fork(void)
{
    unsigned level = pd_this_thread.forks++;
    pprofdelta_heap *heap = atomic_load(&pd_is_confined) ? NULL : pd_agent_heap();
    if (heap)
        forked = heap;
    if (!level)
        pd_this_thread.is_forking = heap && pd_self_enter();
    if (!level && pd_this_thread.is_forking) {
        pprofdelta_heap_fork(heap, PPROFDELTA_FORK_PREPARE, 0);
        pd_python_hold();
        pd_mappings_fork(PPROFDELTA_FORK_PREPARE);
        fork_nanos = pd_now();
    }
    if (heap && level < PD_REGION_FORKS)
        pd_region_fork_prepare(level, !level && pd_this_thread.is_forking);
}

static void after_fork_in_parent(void)
{
    unsigned level = pd_this_thread.forks - 1;
    bool has_locks = !level && pd_this_thread.is_forking;
    if (level < PD_REGION_FORKS)
        pd_region_fork_parent(level);
    if (has_locks) {
        pd_mappings_fork(PPROFDELTA_FORK_PARENT);
        pd_python_give();
        pprofdelta_heap_fork(forked, PPROFDELTA_FORK_PARENT, 0);
        pd_this_thread.is_forking = false;
    }
    pd_this_thread.forks = level; /* before that, a signal handler may fork */
    if (has_locks)
        pd_self_leave();
}

/* Each page that is touched here is a page fault, and most children run another program at once. So
 * the sampler is left to the first allocation, and the time is taken by the parent. */
static void record_child(void)
{
    pd_agent_set_heap(forked);
    atomic_store(&pd_the_agent.samples, 0);
    atomic_store(&pd_the_agent.next_number, 1);
    pd_the_agent.begun_nanos = fork_nanos;
    pd_this_thread.sampler = (pprofdelta_sampler){.interval = 0};
}

/* The other threads are not here: nobody waits for them. */
static void begin_child(void)
{
    memset(__start_pd_of_process, 0, (size_t)(__stop_pd_of_process - __start_pd_of_process));
    pprofdelta_heap_fork(forked, is_lost ? PPROFDELTA_FORK_LOST : PPROFDELTA_FORK_CHILD,
                         fork_nanos);
    pd_worker_watch_main();
    pd_function_names_forget();
    pd_this_thread.ended_by = 0;
    if (!is_lost && !pd_the_agent.is_late) /* nobody would end it there */
        record_child();
}

static void after_fork_in_child(void)
{
    unsigned level = --pd_this_thread.forks;
    bool has_tracker = level < PD_REGION_FORKS && pd_region_fork_child(level) && forked;
    bool has_locks = !level && pd_this_thread.is_forking;
    is_lost |= forked && !has_locks;
    if (forked)
        pd_mappings_fork(is_lost ? PPROFDELTA_FORK_LOST : PPROFDELTA_FORK_CHILD);
    if (has_tracker)
        begin_child();
    if (!has_locks)
        return;
    pd_this_thread.is_forking = false;
    pd_self_leave();
}

void pd_fork_begin(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

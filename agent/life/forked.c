/* Follows fork: see forked.h.
 *
 * This thread holds the tracker's locks during fork. So the handlers of other libraries, which
 * may allocate, must not enter the tracker: the thread is marked as inside. If a signal handler
 * forks while it interrupts the agent's code, the locks cannot be taken, and that child is not
 * recorded. */
#include "agent/life/forked.h"

#include "agent/account/account.h"
#include "agent/account/mappings.h"
#include "agent/base/agent.h"
#include "agent/base/await.h"
#include "agent/base/region.h"
#include "agent/base/reserve.h"
#include "agent/base/self.h"
#include "agent/delivery/delivery.h"
#include "agent/delivery/live.h"
#include "agent/life/end.h"
#include "agent/life/signals.h"
#include "agent/life/worker.h"
#include "agent/stacks/callers.h"
#include "agent/stacks/function_names.h"
#include "agent/stacks/unloaded.h"

#include <unistd.h>

static int64_t fork_nanos; /* when a fork began */

static void before_fork(void)
{
    pprofdelta_heap *heap = pd_agent_heap();
    pd_this_thread.is_forking = heap && !atomic_load(&pd_is_confined) && pd_self_enter();
    if (!pd_this_thread.is_forking)
        return;
    pprofdelta_heap_fork(heap, PPROFDELTA_FORK_PREPARE, 0);
    pd_region_fork_prepare();
    pd_mappings_fork_prepare();
    fork_nanos = pd_now();
}

static void after_fork_in_parent(void)
{
    if (!pd_this_thread.is_forking)
        return;
    pd_mappings_fork_done(false);
    pd_region_fork_parent();
    pprofdelta_heap_fork(pd_agent_heap(), PPROFDELTA_FORK_PARENT, 0);
    pd_this_thread.is_forking = false;
    pd_self_leave();
}

/* Each page that is touched here is a page fault, and most children run another program at once. So
 * the sampler is left to the first allocation, and the time is taken by the parent. */
static void after_fork_in_child(void)
{
    pprofdelta_heap *heap = pd_agent_heap();
    if (!pd_this_thread.is_forking) {
        atomic_store(&pd_the_agent.heap, NULL);
        pd_mappings_forget();
        return;
    }
    pd_mappings_fork_done(true);
    if (!pd_region_fork_child()) {
        atomic_store(&pd_the_agent.heap, NULL);
        pd_this_thread.is_forking = false;
        pd_self_leave();
        return;
    }
    pd_live_forget();
    pprofdelta_heap_fork(heap, PPROFDELTA_FORK_CHILD, fork_nanos);
    atomic_store(&pd_the_agent.pid, getpid());
    atomic_store(&pd_the_agent.samples, 0);
    atomic_store(&pd_the_agent.next_number, 1);
    pd_worker_forget();
    pd_signals_forget();
    pd_loader_forget();
    pd_end_forget();
    pd_delivery_forget();
    pd_account_forked(fork_nanos);
    pd_unloaded_forget();
    pd_function_names_abandon();
    pd_reserve_forget();
    pd_this_thread.sampler = (pprofdelta_sampler){.interval = 0};
    pd_this_thread.is_forking = false;
    pd_self_leave();
}

void pd_fork_begin(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* The slow path of malloc and free: see slow_path.h. */
#include "agent/interposed/slow_path.h"

#include "agent/base/agent.h"
#include "agent/delivery/largest_sites.h"
#include "agent/base/own_stack.h"
#include "agent/stacks/unloaded.h"
#include "agent/life/worker.h"

/* Starts the sampler at the thread's first allocation. Without a tracker the sampler is off for
 * good. Before the agent's constructor it is not started, so the next allocation comes here
 * again. */
static bool begin_thread(pd_self *self, size_t size)
{
    if (!atomic_load_explicit(&pd_the_agent.has_begun, memory_order_acquire))
        return false;
    bool is_there = pd_agent_heap() != NULL;
    pprofdelta_sampler_init(&self->sampler, is_there ? pd_the_agent.settings.rate : 0, 0);
    return is_there && pprofdelta_sampler_tick(&self->sampler, size);
}

bool pd_slow_draw(size_t size, pprofdelta_weight *weight)
{
    pd_self *self = &pd_this_thread;
    if (!pd_self_enter())
        return false;
    bool is_sample = true;
    if (!pprofdelta_sampler_has_begun(&self->sampler))
        is_sample = begin_thread(self, size);
    is_sample = is_sample && pprofdelta_sampler_take(&self->sampler, size, weight);
    pd_self_leave();
    return is_sample;
}

/* Apart, so that its frame is gone when the agent's thread is started. */
static __attribute__((noinline)) void track(pprofdelta_heap *heap, const void *ptr, size_t size,
                                            const pprofdelta_weight *weight,
                                            const pd_caller *caller)
{
    pprofdelta_heap_event event = {.ptr = ptr, .weight = *weight, .size = size};
    pd_walk *walk = pd_walk_take();
    if (walk) {
        event.stack = walk->stack;
        event.depth = pd_unwind(caller, walk);
        event.code = pd_unloaded_number(walk->stack, event.depth);
    }
    pprofdelta_heap_track(heap, &event);
    pd_walk_give(walk);
}

void pd_slow_keep(const void *ptr, size_t size, const pprofdelta_weight *weight,
                  const pd_caller *caller)
{
    pprofdelta_heap *heap = pd_agent_heap();
    if (!ptr || !heap || !pd_self_enter())
        return;
    int kept = errno;
    track(heap, ptr, size, weight, caller);
    uint64_t samples = atomic_fetch_add_explicit(&pd_the_agent.samples, 1, memory_order_relaxed);
    pd_worker_sampled(samples);
    errno = kept;
    pd_self_leave();
}

void pd_slow_free(const void *ptr)
{
    pprofdelta_heap *heap = pd_agent_heap();
    if (!heap || !pd_self_enter())
        return;
    pprofdelta_heap_untrack(heap, ptr);
    pd_self_leave();
}

bool pd_slow_move(const void *ptr, pprofdelta_heap_realloc *move)
{
    pprofdelta_heap *heap = pd_agent_heap();
    if (!heap || !pd_self_enter())
        return false;
    bool was_tracked = pprofdelta_heap_realloc_begin(heap, ptr, move);
    pd_self_leave();
    return was_tracked;
}

void pd_slow_moved(pprofdelta_heap_realloc *move, bool is_gone)
{
    pprofdelta_heap *heap = pd_agent_heap();
    bool has_entered = pd_self_enter();
    pprofdelta_heap_realloc_end(heap, move, is_gone);
    if (has_entered)
        pd_self_leave();
}

static void report_largest_sites(void *size)
{
    pd_quiet quiet;
    pd_quiet_begin(&quiet);
    pd_largest_sites_out_of_memory(*(const size_t *)size);
    pd_quiet_end(&quiet);
}

void pd_slow_out_of_memory(size_t size)
{
    if (size > PTRDIFF_MAX || !pd_agent_heap() || !pd_self_enter())
        return;
    pd_own_stack_call(report_largest_sites, &size);
    pd_self_leave();
}

void *pd_slow_failed(size_t size, bool is_full)
{
    if (is_full)
        pd_slow_out_of_memory(size);
    return NULL;
}

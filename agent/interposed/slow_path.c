/* The slow path of malloc and free: see wrap.h. */
#include "agent/interposed/wrap.h"

#include "agent/delivery/delivery.h"
#include "agent/life/life.h"
#include "agent/python/python.h"
#include "heap/usdt.h"

/* Starts the sampler at the thread's first allocation. Without a tracker the sampler is off for
 * good. Before the agent's constructor it is not started, so the next allocation comes here
 * again. */
static bool begin_thread(pd_self *self, size_t size)
{
    if (!atomic_load_explicit(&pd_the_agent.has_begun, memory_order_acquire))
        return false;
    bool is_there = pd_agent_heap() != NULL;
    if (!is_there && pd_the_agent.is_late) /* it is attached to again, perhaps */
        return false;
    pprofdelta_sampler_init(&self->sampler, is_there ? pd_given.rate : 0, 0);
    return is_there && pprofdelta_sampler_tick(&self->sampler, size);
}

bool pd_slow_draw(size_t size, pprofdelta_weight *weight)
{
    pd_self *self = &pd_this_thread;
    if (!pd_self_enter())
        return false;
    bool is_sample = true;
    if (self->object.bytes) { /* the interpreter asks for a block that was drawn already */
        *weight = self->object;
        self->object.bytes = 0;
        pd_self_leave();
        return true;
    }
    if (!pprofdelta_sampler_has_begun(&self->sampler))
        is_sample = begin_thread(self, size);
    is_sample = is_sample && pprofdelta_sampler_take(&self->sampler, size, weight);
    if (pd_given.probes && !pd_usdt_is_on())
        is_sample = false;
    if (self->sampler.interval != pd_given.rate && pd_the_agent.is_late)
        pprofdelta_sampler_init(&self->sampler, pd_given.rate, 0);
    pd_self_leave();
    return is_sample;
}

typedef struct sample {
    const pd_caller *caller;
    pprofdelta_heap_event event; /* without the stack */
} sample;

static void track_stack(void *cookie, const uint64_t *stack, size_t depth)
{
    sample *s = cookie;
    s->event.stack = stack;
    s->event.depth = depth;
    s->event.code = pd_unloaded_number(stack, depth);
    pprofdelta_heap *heap =
        pd_agent_heap(); /* not in the child that a signal handler has made meanwhile */
    if (heap)
        pprofdelta_heap_track(heap, &s->event);
}

static void track_sample(void *cookie)
{
    if (pd_given.probes)
        track_stack(cookie, NULL, 0);
    else
        pd_python_stack(((sample *)cookie)->caller, track_stack, cookie);
}

void pd_slow_keep(const void *ptr, size_t size, const pprofdelta_weight *weight, bool is_piece,
                  const pd_caller *caller)
{
    if (!ptr || !pd_agent_heap() || !pd_self_enter())
        return;
    PD_KEEP_ERRNO;
    sample s = {caller, {.ptr = ptr, .weight = *weight, .size = size, .is_piece = is_piece}};
    pd_own_stack_call_briefly(track_sample, &s);
    uint64_t samples = atomic_fetch_add_explicit(&pd_the_agent.samples, 1, memory_order_relaxed);
    if (!pd_given.probes)
        pd_worker_sampled(samples);
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

void pd_slow_resize(pd_resizing *resizing, const void *old, size_t before)
{
    pprofdelta_heap *heap = pd_agent_heap();
    *resizing = (pd_resizing){.before = before};
    if (!old || !pprofdelta_heap_maybe(&pd_filter, old) || !heap || !pd_self_enter())
        return;
    resizing->was_tracked = pprofdelta_heap_realloc_begin(heap, old, &resizing->move);
    pd_self_leave();
    resizing->is_exact = resizing->was_tracked && pd_given.rate == 1;
    if (resizing->is_exact)
        resizing->before = (size_t)resizing->move.bytes;
}

void pd_slow_grown(const void *ptr, size_t added, bool is_piece, const pd_caller *caller)
{
    pprofdelta_weight weight;
    if (pd_slow_draw(added, &weight))
        pd_slow_keep(ptr, added, &weight, is_piece, caller);
}

void pd_slow_resized(pd_resizing *resizing, const void *ptr, size_t after, const pd_caller *caller)
{
    pprofdelta_heap *heap = pd_agent_heap();
    size_t before = resizing->before;
    bool is_known = before || !after;
    if (resizing->was_tracked && heap) {
        bool has_entered = pd_self_enter();
        pprofdelta_heap_realloc_end(heap, &resizing->move, is_known ? ptr : NULL, before, after);
        if (has_entered)
            pd_self_leave();
    }
    if (ptr && after > before && pprofdelta_sampler_tick(&pd_this_thread.sampler, after - before))
        pd_slow_grown(ptr, after - before, is_known, caller);
}

static void report_largest_sites(void *size)
{
    pd_largest_sites_out_of_memory(*(const size_t *)size);
}

void *pd_slow_failed(size_t size, bool is_full)
{
    if (is_full && size <= PTRDIFF_MAX && pd_agent_heap() && !atomic_load(&pd_is_confined))
        pd_work(report_largest_sites, &size);
    return NULL;
}

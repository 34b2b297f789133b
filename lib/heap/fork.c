/* A tracker around a fork.
 *
 * prepare waits until no other thread is in the tracker, so the child has a complete copy. Most
 * children run another program at once. So fork_child only notes what is to be done; the first call
 * in the child that tracks or begins a batch does it. */
#include "heap/heap.h"

void pprofdelta_heap_fork_prepare(pprofdelta_heap *heap)
{
    pd_lock_take(&heap->exporting);
    pd_lock_take(&heap->lock);
}

void pprofdelta_heap_fork_parent(pprofdelta_heap *heap)
{
    pd_lock_give(&heap->lock);
    pd_lock_give(&heap->exporting);
}

__attribute__((cold)) void pprofdelta_heap_fork_child(pprofdelta_heap *heap,
                                                      pprofdelta_heap_child what, uint64_t id,
                                                      int64_t now)
{
    pd_export_init(heap, id, now);
    heap->is_child = true;
    heap->is_to_clear |= what == PPROFDELTA_HEAP_CLEAR;
    if (heap->press
            .is_in_sink) /* whoever is there is in the parent; it is not written needlessly */
        heap->press.is_in_sink = false;
    __atomic_store_n(&heap->deferral.is_completing, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&heap->is_sweeping, 0, __ATOMIC_RELAXED);
    pd_lock_reset(&heap->lock);
    pd_lock_reset(&heap->exporting);
}

/* Keeps what is in use. What was allocated and sent, and the peak, belong to the parent. */
static void keep(pprofdelta_heap *heap)
{
    pd_sites *sites = &heap->sites;
    for (uint32_t number = 1; number <= sites->pool.made; number++) {
        pd_site *site = pd_site_at(sites, number);
        for (int window = 0; window < 2; window++) {
            pd_heap_sums_add(&site->base, &site->changed[window]);
            site->changed[window] = (pd_heap_sums){{0}};
            site->next_changed[window] = 0;
        }
        site->base.at[PD_ALLOC_OBJECTS] = site->base.at[PD_ALLOC_BYTES] = 0;
        site->peak.sent = (pprofdelta_weight){0, 0};
    }
    for (int window = 0; window < 2; window++) {
        sites->changed[window] = PD_SITE_LAST;
        sites->changed_len[window] = 0;
    }
}

/* Ends all allocations, which also removes them from the filter. */
static void end_all(pprofdelta_heap *heap)
{
    for (uint32_t number = 1; number <= heap->entries.made; number++)
        if (pd_entry_at(heap, number)->state != PD_ENTRY_UNUSED)
            pd_entry_end(heap, number);
}

static void forget_all(pd_sites *sites)
{
    for (uint32_t number = PD_SITE_EMPTY + 1; number <= sites->pool.made; number++)
        if (pd_site_at(sites, number)->trace)
            pd_site_forget(sites, number);
}

void pd_heap_settle(pprofdelta_heap *heap)
{
    heap->is_child = false;
    heap->press.places.watch = PD_WATCH_ALWAYS;
    pd_export_make_id(heap);
    heap->sites.held_peak = 0;
    if (heap->is_to_clear)
        end_all(heap);
    keep(heap);
    if (heap->is_to_clear)
        forget_all(&heap->sites);
    heap->is_to_clear = false;
    pprofdelta_heap_stats *now = &heap->stats;
    *now = (pprofdelta_heap_stats){
        .live = now->live, .inuse_objects = now->inuse_objects, .inuse_bytes = now->inuse_bytes};
    pd_peak_begin(heap, heap->export.started_nanos);
}

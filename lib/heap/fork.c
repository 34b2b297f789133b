/* A tracker around a fork.
 *
 * The thread that forks waits until no other thread is in the tracker, so the child has a complete
 * copy. Most children run another program at once. So only what is to be done is journalled there; the
 * first call in the child that tracks or begins a batch does it.
 *
 * A signal handler that has interrupted the tracker cannot wait. In its child, a thread that is not there may hold
 * the locks, in the middle of a change. So there the locks are free and the tracker is lost: whoever gets a lock asks,
 * and leaves. If it is the interrupted thread that holds one, no other thread was changing what it guards: that call
 * goes on until it gives the lock. */
#include "heap/heap.h"

static void begin_series(pprofdelta_heap *heap, int64_t now)
{
    pd_export_init(heap, 0, now < PD_HEAP_LATEST ? now : PD_HEAP_LATEST);
    heap->sites.window++;
}

static __attribute__((cold)) void begin_child(pprofdelta_heap *heap, uint32_t birth, int64_t now)
{
    __atomic_fetch_or(&heap->birth, birth, __ATOMIC_RELAXED);
    pd_lock_reset(&heap->lock);
    pd_lock_reset(&heap->exporting);
    if (pd_heap_is_lost(heap))
        return;
    begin_series(heap, now);
    heap->writer.places.watch =
        PD_WATCH_ALWAYS; /* a thread that is gone may have the loader's lock */
    __atomic_store_n(&heap->deferral.is_completing, 0, __ATOMIC_RELAXED);
}

void pprofdelta_heap_fork(pprofdelta_heap *heap, pprofdelta_fork step, int64_t now)
{
    if (step == PPROFDELTA_FORK_PREPARE) {
        pd_lock_take(&heap->exporting);
        pd_lock_take(&heap->lock);
    } else if (step == PPROFDELTA_FORK_PARENT) {
        pd_lock_give(&heap->lock);
        pd_lock_give(&heap->exporting);
        /* The caller may have moved the memory of the tracker meanwhile, with the lock as it was before a
         * thread began to wait. */
        pd_lock_wake(&heap->lock);
        pd_lock_wake(&heap->exporting);
    } else if (step == PPROFDELTA_FORK_ANEW) {
        pd_entries_end(heap);
        begin_series(heap, now);
        __atomic_fetch_or(&heap->birth, (uint32_t)PD_CHILD, __ATOMIC_RELAXED);
    } else {
        begin_child(heap, step == PPROFDELTA_FORK_LOST ? PD_LOST : PD_CHILD, now);
    }
}

pprofdelta_status pd_refuse_lost(pprofdelta_error *err)
{
    return pd_refuse(
        err, "the tracker is lost: this process is the child of a fork in a signal handler that "
             "interrupted it");
}

pprofdelta_status pd_export_enter(pprofdelta_heap *heap, pprofdelta_error *err)
{
    pd_lock_take(&heap->exporting);
    if (!pd_heap_is_lost(heap))
        return PPROFDELTA_OK;
    pd_lock_give(&heap->exporting);
    return pd_refuse_lost(err);
}

/* Keeps what is in use, which is older than the first window of the child. What was allocated, freed
 * and sent, and the peak, belong to the parent. */
static void keep_in_use(pprofdelta_heap *heap)
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
        site->base.at[PD_YOUNG_OBJECTS] = site->base.at[PD_YOUNG_BYTES] = 0;
        site->check = pd_site_check(site, number);
        pd_ages_clear(sites, site);
        site->peak.sent = (pprofdelta_weight){0, 0};
    }
    sites->dropped_ages = 0;
    for (int window = 0; window < 2; window++) {
        sites->changed[window] = PD_SITE_LAST;
        sites->changed_len[window] = 0;
    }
}

bool pd_heap_enter_child(pprofdelta_heap *heap)
{
    if (pd_heap_is_lost(heap)) {
        pd_heap_leave(heap);
        return false;
    }
    __atomic_fetch_and(&heap->birth, ~(uint32_t)PD_CHILD,
                       __ATOMIC_RELAXED); /* a handler may fork here */
    pd_export_make_id(heap);
    heap->sites.held_peak = 0;
    keep_in_use(heap);
    pprofdelta_heap_stats *now = &heap->stats;
    *now = (pprofdelta_heap_stats){
        .live = now->live, .inuse_objects = now->inuse_objects, .inuse_bytes = now->inuse_bytes};
    pd_peak_begin(heap, heap->export.started_nanos);
    return true;
}

/* A tracker: options, new, free, describe. */
#include "base/option_checks.h"
#include "heap/heap.h"

#include <string.h>
#include <sys/mman.h>

/* Limits that keep sizes from overflowing and numbers within 32 bits. */
#define MOST_ELEMENTS (UINT32_C(1) << 28)

/* "alloc_", "inuse_", "peak_" and "freed_" are the names of values that receivers add up. */
static bool is_gauge_name(const char *name)
{
    return *name && strncmp(name, "alloc_", 6) != 0 && strncmp(name, "inuse_", 6) != 0 &&
           strncmp(name, "peak_", 5) != 0 && strncmp(name, "freed_", 6) != 0;
}

static pprofdelta_status read_options(const pprofdelta_heap_options *given,
                                      pprofdelta_heap_options *o, pprofdelta_error *err)
{
    *o = (pprofdelta_heap_options)PPROFDELTA_HEAP_OPTIONS_INIT;
    PD_TRY(pd_options_read(o, sizeof *o, given, err));
    const unsigned known = PPROFDELTA_NO_STAMP | PPROFDELTA_NO_MAPPINGS |
                           PPROFDELTA_HEAP_NAMES_ONLY | PPROFDELTA_HEAP_AGES |
                           PPROFDELTA_HEAP_ATTACHED;
    if (o->flags & ~known)
        return pd_refuse(err, "options.flags has a bit that this version does not know");
    if ((o->pages && (!o->pages->map || !o->pages->unmap)) ||
        (o->work && (!o->work->map || !o->work->unmap)))
        return pd_refuse(err, "options.pages or options.work has no map or no unmap");
    PD_TRY(pd_door_check(PD_DOOR_OPTIONS(o), err));
    if (o->gauge && (!is_gauge_name(o->gauge) || !o->gauge_unit))
        return pd_refuse(err, "options.gauge is not the name of a gauge, or has no unit");
    if (o->second_gauge && (!o->gauge || !is_gauge_name(o->second_gauge)))
        return pd_refuse(err,
                         "options.second_gauge is not the name of a gauge, or is the only one");
    if (o->period > INT64_MAX)
        return pd_refuse(err, "options.period is more than a profile can tell");
    if (o->started_nanos > PD_HEAP_LATEST)
        return pd_refuse(err, "options.started_nanos is later than the time of a batch can be");
    o->max_live = o->max_live ? o->max_live : UINT32_C(1) << 22;
    o->max_sites = o->max_sites ? o->max_sites : UINT32_C(1) << 20;
    o->max_depth = o->max_depth ? o->max_depth : 512;
    o->max_deferred = o->max_deferred ? o->max_deferred : 4096;
    /* What was allocated in lost batches would not reach a receiver of OTLP or tables. */
    if (!o->max_attempts)
        o->max_attempts = o->format != PPROFDELTA_PPROF ? UINT32_MAX : 16;
    o->max_memory = o->max_memory ? o->max_memory : UINT64_C(256) << 20;
    o->max_retry = o->max_retry ? o->max_retry : UINT64_C(64) << 20;
    o->max_export = o->max_export ? o->max_export : UINT64_C(1) << 30;
    if (o->max_live > MOST_ELEMENTS || o->max_sites > MOST_ELEMENTS)
        return pd_refuse(err, "options.max_live or options.max_sites is more than 268435456");
    if (o->max_depth > PD_HEAP_MOST_DEPTH)
        return pd_refuse(err, "options.max_depth is more than 131072");
    return PPROFDELTA_OK;
}

static pprofdelta_status no_pages(pprofdelta_error *err)
{
    return PD_FAIL(
        err, PPROFDELTA_E_MEMORY, PPROFDELTA_STAGE_MEMORY, NULL,
        "no pages for the tables of a tracker, or fewer than options.max_memory must be");
}

/* Few bytes of the filter are written. A huge page for them would waste memory. */
static void want_small_pages(pprofdelta_heap_filter *filter)
{
    uintptr_t first = ((uintptr_t)filter + PD_PAGE - 1) & ~(uintptr_t)(PD_PAGE - 1);
    uintptr_t end = ((uintptr_t)filter + sizeof *filter) & ~(uintptr_t)(PD_PAGE - 1);
    madvise((void *)first, end - first, MADV_NOHUGEPAGE);
}

/* What ended by age takes at most a quarter of the memory. */
static uint32_t max_ended(const pprofdelta_heap_options *o)
{
    uint64_t most = o->max_memory / 4 / sizeof(pd_ended) + 1;
    if (!(o->flags & PPROFDELTA_HEAP_AGES))
        return 0;
    return most < MOST_ELEMENTS ? (uint32_t)most : MOST_ELEMENTS;
}

uint64_t pd_heap_seal(const pprofdelta_heap *heap)
{
    const pd_pool *const pools[] = {&heap->sites.pool, &heap->sites.ended};
    const pd_heap_export *e = &heap->export;
    uint64_t seal = pd_seal(e->id, (uint64_t)e->started_nanos, heap->options.period);
    seal = pd_seal(seal, heap->options.flags, heap->sites.max_depth);
    for (int i = 0; i < 2; i++)
        seal = pd_seal(seal, (uintptr_t)pools[i]->chunks, pools[i]->element);
    return seal;
}

static bool open_tables(pprofdelta_heap *heap)
{
    const pprofdelta_heap_options *o = &heap->options;
    return pd_pool_init(&heap->entries, &heap->pages, sizeof(pd_entry), o->max_live) &&
           pd_chains_init(&heap->index, &heap->entries) &&
           pd_sites_init(&heap->sites, &heap->pages, o->max_sites, o->max_depth, max_ended(o));
}

/* Of a tracker that has its pages and its filter. */
static pprofdelta_status begin_tracker(pprofdelta_heap *heap, pprofdelta_error *err)
{
    const pprofdelta_heap_options *o = &heap->options;
    if (!heap->filter || !open_tables(heap))
        return no_pages(err);
    want_small_pages(heap->filter);
    pd_export_init(heap, o->id, o->started_nanos);
    pd_export_make_id(heap);
    heap->maps_again = ~(uintptr_t)heap->maps;
    heap->sites.peak_seal = pd_peak_seal(heap);
    PD_TRY(pd_batch_open(heap, err));
    PD_WRITTEN_FIRST();
    heap->layout = PD_HEAP_LAYOUT;
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_heap_new(const pprofdelta_heap_options *options, pprofdelta_heap **out,
                                      pprofdelta_error *err)
{
    pprofdelta_heap_options o;
    PD_TRY(pd_need(out, err));
    PD_TRY(read_options(options, &o, err));
    pd_pages pages;
    pd_pages_init(&pages, o.pages, UINT64_MAX);
    pprofdelta_heap *heap = pd_pages_map(&pages, sizeof *heap);
    if (!heap)
        return no_pages(err);
    heap->options = o;
    heap->filter = o.filter ? o.filter : pd_pages_map(&pages, sizeof *heap->filter);
    pd_pages_init(&heap->pages, o.pages, o.max_memory);
    if (o.work)
        heap->pages.work = *o.work;
    pprofdelta_status status = begin_tracker(heap, err);
    if (status)
        pprofdelta_heap_free(heap);
    else
        *out = heap;
    return status;
}

void pprofdelta_heap_free(pprofdelta_heap *heap)
{
    if (!heap || pd_heap_is_lost(heap))
        return;
    pd_pages pages;
    pd_pages_init(&pages, &heap->pages.source, UINT64_MAX);
    pd_batch_close(heap);
    pd_entries_clear_filter(heap);
    if (heap->maps)
        pd_pages_unmap(&heap->pages, heap->maps, heap->maps->size);
    pd_sites_fini(&heap->sites);
    pd_chains_fini(&heap->index);
    pd_pool_fini(&heap->entries);
    if (!heap->options.filter)
        pd_pages_unmap(&pages, heap->filter, sizeof *heap->filter);
    pd_pages_unmap(&pages, heap, sizeof *heap);
}

pprofdelta_status pprofdelta_heap_describe(pprofdelta_heap *heap, pprofdelta_heap_stats *out)
{
    PD_TRY(pd_result_check(out, NULL));
    if (!pd_heap_enter(heap))
        return PPROFDELTA_E_USAGE;
    pprofdelta_heap_stats stats = heap->stats;
    stats.deferred = heap->deferral.len;
    stats.sites = heap->sites.chains.len;
    stats.memory = heap->pages.used;
    stats.filter = heap->filter;
    stats.dropped_ages = heap->sites.dropped_ages;
    stats.changed = heap->sites.changed_len[heap->sites.gathering];
    pd_heap_leave(heap);
    pd_result_write(out, &stats, sizeof stats);
    return PPROFDELTA_OK;
}

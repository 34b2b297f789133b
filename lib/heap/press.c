/* From a batch to the sink.
 *
 * `exporting` is held while the profile is computed, so that a fork finds complete buffers. No lock
 * is held while the sink is called, which may take long. Buffers are pages. They are kept for the
 * next profile, unless a large profile made them large. */
#include "heap/heap.h"

#include "profile/otlp_resource.h"

enum { KEEP = 4 << 20 };

pprofdelta_status pd_press_init(pprofdelta_heap *heap, pprofdelta_error *err)
{
    pd_heap_press *press = &heap->press;
    const pprofdelta_heap_options *o = &heap->options;
    pd_pages_init(&press->pages, &heap->pages.source, UINT64_MAX);
    pprofdelta_allocator allocator = pd_pages_allocator(&press->pages);
    pd_mem_init(&press->mem, &allocator, o->max_export);
    press->compressor.compression = o->compression;
    /* Most batches are small. To begin gzip's level 2, the default for whole profiles, takes twice
     * as long as to make such a batch. */
    press->compressor.level = o->level || o->compression != PPROFDELTA_GZIP ? o->level : 1;
    press->compact.format = o->format;
    press->places.symbolize = o->symbolize;
    press->places.symbolize_cookie = o->symbolize_cookie;
    press->places.has_mappings = !(o->flags & PPROFDELTA_NO_MAPPINGS);
    press->places.watch = PD_WATCH_LOADER;
    press->places.names = o->flags & PPROFDELTA_HEAP_NAMES_ONLY ? PD_NAMES_FUNCTIONS : PD_NAMES_ALL;
    if (o->format != PPROFDELTA_OTLP)
        return PPROFDELTA_OK;
    pprofdelta_status status =
        pd_otlp_resource(o->resource, o->resource_len, &press->mem, &press->resource, err);
    press->compact.resource = (pd_bytes){press->resource.ptr, press->resource.len};
    if (status)
        pd_buffer_release(&press->mem, &press->resource);
    return status;
}

static void release_buffers(pd_heap_press *press)
{
    pd_compact_release(&press->compact, &press->mem);
    pd_buffer_release(&press->mem, &press->compressor.out);
    pd_symbols_release(&press->places.symbols, &press->mem);
}

void pd_press_fini(pprofdelta_heap *heap)
{
    pd_heap_press *press = &heap->press;
    release_buffers(press);
    pd_buffer_release(&press->mem, &press->resource);
    pd_compressor_fini(&press->compressor, &press->mem);
    pd_places_release(&press->places, &press->mem);
}

/* The caller's sink, and the tracker whose lock is given while it is called. */
typedef struct outlet {
    pprofdelta_heap *heap;
    const pprofdelta_sink *sink;
} outlet;

static int call_sink(void *cookie, const void *data, size_t len)
{
    const outlet *o = cookie;
    pd_life_enter_sink(&o->heap->export.life);
    pd_lock_give(&o->heap->exporting);
    int refused = o->sink->write(o->sink->cookie, data, len);
    pd_lock_take(&o->heap->exporting);
    pd_life_leave_sink(&o->heap->export.life);
    return refused;
}

static pprofdelta_status print(pprofdelta_heap *heap, pprofdelta_heap_inuse inuse,
                               const pprofdelta_sink *sink, pprofdelta_error *err)
{
    pd_heap_press *press = &heap->press;
    pprofdelta_sink out = {call_sink, &(outlet){heap, sink}};
    pd_bytes raw;
    uint64_t written;
    pprofdelta_status status = pd_press_compose(heap, inuse, &raw, err);
    if (!status)
        status = pd_compress(&press->compressor, &press->mem, raw, &out, &written, err);
    /* After E_MEMORY the caller may write again with fewer symbols. */
    if (status == PPROFDELTA_E_MEMORY || press->mem.used > KEEP)
        release_buffers(press);
    return status;
}

pprofdelta_status pprofdelta_heap_write(pprofdelta_heap *heap, pprofdelta_heap_inuse inuse,
                                        const pprofdelta_sink *sink, pprofdelta_error *err)
{
    pd_life *life = &heap->export.life;
    uint64_t ticket;
    if ((unsigned)inuse > PPROFDELTA_HEAP_SNAPSHOT)
        return pd_refuse(err, "inuse is not one of pprofdelta_heap_inuse");
    pd_lock_take(&heap->exporting);
    pprofdelta_status status = pd_life_write(life, sink, &ticket, err);
    if (!status)
        status = pd_life_wrote(life, ticket, print(heap, inuse, sink, err), err);
    pd_lock_give(&heap->exporting);
    return status;
}

pprofdelta_status pprofdelta_heap_set_gauge(pprofdelta_heap *heap, const pprofdelta_heap_row *rows,
                                            size_t rows_len, const char *comment,
                                            pprofdelta_error *err)
{
    pd_heap_press *press = &heap->press;
    pprofdelta_status status = PPROFDELTA_OK;
    pd_lock_take(&heap->exporting);
    if (!heap->options.gauge)
        status = pd_refuse(err, "options.gauge is not set");
    else if (heap->export.life.stage == PD_IDLE || heap->export.life.is_in_sink)
        status = pd_refuse(err, "no window is under way, or its sink is being called");
    if (!status) {
        press->rows = rows;
        press->rows_len = rows_len;
        press->comment = comment;
    }
    pd_lock_give(&heap->exporting);
    return status;
}

/* Assigns the current era to all sites that were not written yet: a later reading may show other
 * mappings at their addresses. All these sites are in the lists of changed sites. Only export steps
 * remove from these lists, and `exporting` is held. */
static void note_era(pprofdelta_heap *heap)
{
    uint32_t heads[2];
    pd_lock_take(&heap->lock);
    memcpy(heads, heap->sites.changed, sizeof heads);
    pd_lock_give(&heap->lock);
    for (unsigned window = 0; window < 2; window++) {
        for (uint32_t number = heads[window]; number != PD_SITE_LAST;) {
            pd_site *site = pd_site_at(&heap->sites, number);
            if (!site->era)
                site->era = heap->press.places.era;
            number = site->next_changed[window];
        }
    }
}

void pprofdelta_heap_note_mappings(pprofdelta_heap *heap)
{
    pd_heap_press *press = &heap->press;
    if (heap->options.flags & PPROFDELTA_NO_MAPPINGS)
        return;
    pd_lock_take(&heap->exporting);
    pd_heap_enter(heap); /* settles the child of a fork */
    pd_heap_leave(heap);
    /* If memory is short, these sites have no mapping in the end. */
    if (pd_places_read(&press->places, &press->mem, NULL) == PPROFDELTA_OK)
        note_era(heap);
    pd_lock_give(&heap->exporting);
}

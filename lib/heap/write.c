/* Writes a batch as a profile: sites become samples, addresses become locations. */
#include "heap/heap.h"
#include "profile/stamp.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct writing {
    pprofdelta_heap *heap;
    pd_model *out;
    pd_places *places;
    bool is_all;         /* in use: everything, not changes */
    bool has_inuse;      /* a value of inuse_space is not 0 */
    size_t types;        /* without the gauges */
    const pd_site *site; /* of the last sample, and the bytes of its stack, which are still there */
    size_t stack_len;
    bool is_full;
} writing;

static uint32_t intern_string(writing *w, const char *text)
{
    return pd_model_string(w->out, pd_bytes_of(text));
}

static void add_type(writing *w, const char *name, const char *unit)
{
    uint32_t type = intern_string(w, name);
    pd_model_add_type(w->out, type, intern_string(w, unit));
}

static void write_types(writing *w)
{
    static const char *const types[][2] = {
        [PD_ALLOC_OBJECTS] = {"alloc_objects", "count"},
        [PD_ALLOC_BYTES] = {"alloc_space", "bytes"},
        [PD_INUSE_OBJECTS] = {"inuse_objects", "count"},
        [PD_INUSE_BYTES] = {"inuse_space", "bytes"},
        [PD_PEAK_OBJECTS] = {"peak_objects", "count"},
        [PD_PEAK_BYTES] = {"peak_space", "bytes"},
        [PD_FREED_OBJECTS] = {"freed_objects", "count"},
        [PD_FREED_BYTES] = {"freed_space", "bytes"},
    };
    const pprofdelta_heap_options *o = &w->heap->options;
    for (size_t i = 0; i < w->types; i++)
        add_type(w, types[i][0], types[i][1]);
    if (o->gauge)
        add_type(w, o->gauge, o->gauge_unit);
    if (o->second_gauge)
        add_type(w, o->second_gauge, o->gauge_unit);
}

/* The share of the batch's peak, or what changed in it since the last batch. */
static pprofdelta_weight share_of_peak(const writing *w, const pd_site *site)
{
    const pprofdelta_weight sent = site->peak.sent;
    const pprofdelta_weight now = pd_export_has_new_peak(w->heap) ? site->peak.held : sent;
    if (w->is_all)
        return now;
    return (pprofdelta_weight){(int64_t)((uint64_t)now.objects - (uint64_t)sent.objects),
                               (int64_t)((uint64_t)now.bytes - (uint64_t)sent.bytes)};
}

static void add_label(writing *w, const pprofdelta_label *label)
{
    uint32_t key = intern_string(w, label->key), str = intern_string(w, label->str);
    pd_model_add_label(w->out, key, str, label->num, intern_string(w, label->num_unit));
}

static void begin_sample(writing *w, pd_site *site)
{
    const pd_trace *trace = site->trace;
    const pd_place_stack stack = {
        .stack = trace->stack, .depth = trace->depth, .era = pd_site_era(site)};
    if (w->site == site) {
        w->out->stack.len = w->stack_len;
    } else {
        pd_places_write_stack(w->places, w->out, &stack);
        w->site = site;
        w->stack_len = w->out->stack.len;
    }
    for (uint32_t i = 0; i < trace->labels_len; i++)
        add_label(w, &trace->labels[i]);
    if (!site->era)
        site->era = pd_era_sealed(w->places->era);
}

/* What ended with one age, from 1. */
static void write_age(void *cookie, pd_site *site, uint32_t age, const pprofdelta_weight *weight)
{
    writing *w = cookie;
    const int64_t values[PD_HEAP_MOST_TYPES] = {
        [PD_FREED_OBJECTS] = weight->objects, [PD_FREED_BYTES] = weight->bytes};
    begin_sample(w, site);
    add_label(w, &(pprofdelta_label){.key = "age", .num = age, .num_unit = "windows"});
    pd_model_add_sample(w->out, values);
}

/* What ended with age 0 is in it, too. */
static void write_ordinary(writing *w, pd_site *site)
{
    const pd_heap_sums *changed = &site->changed[pd_sites_sending(&w->heap->sites)];
    int first = w->is_full ? 0 : w->is_all ? PD_INUSE_OBJECTS : PD_PEAK_OBJECTS;
    int64_t values[PD_HEAP_MOST_TYPES] = {0};
    for (int i = 0; i < PD_PEAK_OBJECTS; i++) {
        values[i] = changed->at[i];
        if (i >= first)
            pd_heap_add(&values[i], site->base.at[i]);
    }
    pprofdelta_weight peak = share_of_peak(w, site);
    values[PD_PEAK_OBJECTS] = peak.objects;
    values[PD_PEAK_BYTES] = peak.bytes;
    for (int i = 0; i < 2 && pd_has_ages(&w->heap->sites); i++) {
        values[PD_FREED_OBJECTS + i] = changed->at[PD_YOUNG_OBJECTS + i];
        if (w->is_full)
            pd_heap_add(&values[PD_FREED_OBJECTS + i], site->base.at[PD_YOUNG_OBJECTS + i]);
    }
    /* The values of a site that is being made are 0. Nothing else of it may be read. */
    if (!pd_model_has_value(values, w->types))
        return;
    w->has_inuse |= values[PD_INUSE_BYTES] != 0;
    begin_sample(w, site);
    pd_model_add_sample(w->out, values);
}

static void write_site(writing *w, uint32_t number)
{
    pd_sites *sites = &w->heap->sites;
    pd_site *site = pd_site_at(sites, number);
    write_ordinary(w, site);
    pd_ages_visit(sites, site, w->is_full, write_age, w);
}

static void write_sites(writing *w)
{
    const pd_sites *sites = &w->heap->sites;
    if (w->is_all || pd_export_has_new_peak(w->heap)) {
        for (uint32_t number = 1; number <= w->heap->export.sites_made; number++)
            write_site(w, number);
        return;
    }
    unsigned sending = pd_sites_sending(sites);
    for (uint32_t number = sites->changed[sending]; number != PD_SITE_LAST;
         number = pd_site_at(sites, number)->next_changed[sending])
        write_site(w, number);
}

static void write_row(writing *w, const pprofdelta_heap_row *row)
{
    int64_t values[PD_HEAP_MOST_TYPES] = {0};
    values[w->types] = row->value;
    values[w->types + 1] = row->second;
    const pd_place_stack stack = {row->frames, row->frames_len, row->stack, row->depth, 0};
    pd_places_write_stack(w->places, w->out, &stack);
    pd_model_add_sample(w->out, values);
}

static void write_stamp(writing *w)
{
    const pprofdelta_heap_window *b = &w->heap->export.batch;
    pprofdelta_stamp stamp = {
        .live = w->is_full  ? PPROFDELTA_LIVE_FULL
                : w->is_all ? PPROFDELTA_LIVE_WINDOW
                            : PPROFDELTA_LIVE_DELTA,
        .id = b->id,
        .epoch = b->epoch,
        .sequence = b->sequence,
        .first = b->sequence,
        .attempt = b->attempt,
        .from_nanos = b->from_nanos,
        .to_nanos = b->to_nanos,
    };
    pd_model_add_stamp(w->out, &stamp, 0);
}

static void write_attached(writing *w, int64_t since)
{
    char text[128];
    snprintf(text, sizeof text,
             "pprofdelta: attached at=%" PRId64 " (what was allocated before is not known)", since);
    pd_model_add_comment(w->out, intern_string(w, text));
}

static pd_model_header make_header(writing *w)
{
    const pprofdelta_heap_window *b = &w->heap->export.batch;
    /* If nothing is in use at the end, readers begin with when most was. */
    const char *type = w->is_all && !w->has_inuse ? "peak_space" : "inuse_space";
    int64_t duration;
    if (__builtin_sub_overflow(b->to_nanos, b->from_nanos, &duration))
        duration = INT64_MAX;
    return (pd_model_header){
        .has_period_type = true,
        .period_type = intern_string(w, "space"),
        .period_unit = intern_string(w, "bytes"),
        .period = (int64_t)w->heap->options.period,
        .time_nanos = b->to_nanos,
        .duration_nanos = duration > 0 ? duration : 0,
        .default_sample_type = intern_string(w, type),
        .series = b->id,
        .sequence = b->sequence,
    };
}

pprofdelta_status pd_batch_compose(pprofdelta_heap *heap, pprofdelta_heap_inuse inuse,
                                   pd_bytes *out, pprofdelta_error *err)
{
    pd_batch_writer *writer = &heap->writer;
    const bool is_full = heap->export.batch.kind == PPROFDELTA_HEAP_FULL;
    bool is_snapshot = inuse == PPROFDELTA_HEAP_BY_FORMAT ? heap->options.format != PPROFDELTA_PPROF
                                                          : inuse == PPROFDELTA_HEAP_SNAPSHOT;
    writing w = {
        .heap = heap,
        .out = &writer->door.model,
        .places = &writer->places,
        .is_full = is_full,
        .is_all = is_full || is_snapshot,
        .types = pd_has_ages(&heap->sites) ? PD_FREED_BYTES + 1 : PD_HEAP_TYPES,
    };
    pd_places_clear_places(&writer->places); /* a number may get another meaning */
    PD_TRY(pd_places_begin(&writer->places, writer->loads, &writer->mem, err));
    pd_model_begin(&writer->door.model, &writer->door.mem, err);
    pd_export_hold_peak(heap);
    write_types(&w);
    pd_places_write_main(&writer->places, w.out);
    write_sites(&w);
    for (size_t i = 0; i < writer->rows_len; i++)
        if (writer->rows[i].value)
            write_row(&w, &writer->rows[i]);
    if (!(heap->options.flags & PPROFDELTA_NO_STAMP))
        write_stamp(&w);
    if (heap->options.flags & PPROFDELTA_HEAP_ATTACHED)
        write_attached(&w, heap->export.started_nanos);
    if (writer->comment)
        pd_model_add_comment(w.out, intern_string(&w, writer->comment));
    if (*writer->remark)
        pd_model_add_comment(w.out, intern_string(&w, writer->remark));
    pd_model_header header = make_header(&w);
    return pd_encode(&writer->door.encoder, &writer->door.model, &header, out);
}

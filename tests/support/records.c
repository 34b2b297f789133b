#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pprofdelta_value_type heap_types[] = {{"alloc_objects", "count", 1},
                                                   {"alloc_space", "bytes", 1},
                                                   {"inuse_objects", "count", 0},
                                                   {"inuse_space", "bytes", 0}};
static const pprofdelta_value_type contention_types[] = {{"contentions", "count", 1},
                                                         {"delay", "nanoseconds", 1}};

void records_use_types(records *r)
{
    r->types = r->options.types;
    r->types_len = r->options.types_len;
    if (r->options.kind == PPROFDELTA_KIND_HEAP) {
        r->types = heap_types;
        r->types_len = sizeof heap_types / sizeof *heap_types;
    } else if (r->options.kind == PPROFDELTA_KIND_CONTENTION) {
        r->types = contention_types;
        r->types_len = sizeof contention_types / sizeof *contention_types;
    }
    for (size_t i = 0; i < r->types_len; i++) {
        char *name = arena_format(&r->arena, "%s/%s", r->types[i].type, r->types[i].unit);
        if (r->types[i].is_counter)
            r->counters[r->counters_len++] = name;
        else
            r->gauges[r->gauges_len++] = name;
    }
}

static void draw_types(records *r)
{
    r->options.kind = (pprofdelta_kind)rng_below(&r->rng, 3);
    if (r->options.kind == PPROFDELTA_KIND_TYPES) {
        size_t len = 1 + rng_below(&r->rng, 6);
        pprofdelta_value_type *types = ARENA_ARRAY(&r->arena, pprofdelta_value_type, len);
        for (size_t i = 0; i < len; i++)
            types[i] = (pprofdelta_value_type){arena_format(&r->arena, "type%zu", i), "things",
                                               rng_chance(&r->rng, 60)};
        types[rng_below(&r->rng, len)].is_counter = 1;
        r->options.types = types;
        r->options.types_len = len;
        if (rng_chance(&r->rng, 70)) {
            r->options.period_type = "turns";
            r->options.period_unit = "count";
        }
        r->options.default_type = rng_chance(&r->rng, 50) ? types[0].type : NULL;
    }
    records_use_types(r);
}

static const char *draw_name(records *r, const char *what)
{
    if (rng_chance(&r->rng, 5))
        return rng_chance(&r->rng, 50) ? NULL : "";
    return arena_format(&r->arena, "%s%zu", what, rng_below(&r->rng, 40));
}

static void draw_sites(records *r)
{
    r->sites_len = 1 + rng_below(&r->rng, 60);
    r->sites = ARENA_ARRAY(&r->arena, records_site, r->sites_len);
    unsigned hidden = rng_chance(&r->rng, 50) ? (unsigned)rng_below(&r->rng, 60) : 0;
    for (size_t i = 0; i < r->sites_len; i++) {
        records_site *site = &r->sites[i];
        site->pc = (uintptr_t)(0x1000 + i * 16 + rng_below(&r->rng, 16));
        site->is_hidden = rng_chance(&r->rng, hidden);
        site->frames_len = rng_below(&r->rng, 4);
        site->frames = ARENA_ARRAY(&r->arena, pprofdelta_frame, site->frames_len);
        for (size_t n = 0; n < site->frames_len; n++)
            site->frames[n] = (pprofdelta_frame){draw_name(r, "func"),
                                                 draw_name(r, "_Z"),
                                                 draw_name(r, "file"),
                                                 (int64_t)rng_below(&r->rng, 3),
                                                 (int64_t)(i * 64 + rng_below(&r->rng, 50)),
                                                 (int64_t)rng_below(&r->rng, 2)};
    }
}

/* Small or large; sums of some thousands stay within 63 bits. */
static int64_t draw_value(records *r)
{
    return rng_magnitude(&r->rng, rng_chance(&r->rng, 5) ? 48 : 14);
}

static void add_row(records *r)
{
    rng *g = &r->rng;
    records_row row = {.depth = rng_below(g, rng_chance(g, 3) ? 600 : 12)};
    row.stack = ARENA_ARRAY(&r->arena, size_t, row.depth);
    for (size_t i = 0; i < row.depth; i++)
        row.stack[i] = rng_below(g, r->sites_len);
    row.block_size = r->options.kind == PPROFDELTA_KIND_HEAP || rng_chance(g, 10)
                         ? (int64_t)rng_below(g, 4) * 16
                         : 0;
    row.labels_len = rng_chance(g, 20) ? rng_below(g, 4) : 0;
    row.labels = ARENA_ARRAY(&r->arena, pprofdelta_label, row.labels_len);
    for (size_t i = 0; i < row.labels_len; i++) {
        bool is_text = rng_chance(g, 50);
        row.labels[i] =
            (pprofdelta_label){arena_format(&r->arena, "key%zu", rng_below(g, 4)),
                               is_text ? arena_format(&r->arena, "text%zu", rng_below(g, 4)) : NULL,
                               (int64_t)rng_below(g, 3), rng_chance(g, 50) ? NULL : "bytes"};
    }
    if (r->rows_len && rng_chance(g, 15)) { /* an existing stack with other values */
        const records_row *other = &r->rows[rng_below(g, r->rows_len)];
        row = *other;
        row.is_gone = false;
    }
    row.values = ARENA_ARRAY(&r->arena, int64_t, r->types_len);
    for (size_t i = 0; i < r->types_len; i++)
        row.values[i] = rng_chance(g, 20) ? 0 : draw_value(r);
    ARENA_PUSH(&r->arena, r->rows, r->rows_len, r->rows_cap, row);
}

void records_init(records *r, uint64_t seed)
{
    *r = (records){.rng = {seed * 77 + 5},
                   .options = PPROFDELTA_RECORDER_OPTIONS_INIT,
                   .time_nanos = 1000000000};
    draw_types(r);
    draw_sites(r);
    r->period = (int64_t)rng_below(&r->rng, 2);
    r->options.id = 1;
    r->options.flags = PPROFDELTA_NO_MAPPINGS;
    r->options.flags |= rng_chance(&r->rng, 30) ? PPROFDELTA_BORROW_STACKS : 0;
    r->options.flags |= rng_chance(&r->rng, 30) ? PPROFDELTA_RETURN_ADDRESSES : 0;
    r->options.flags |= rng_chance(&r->rng, 70) ? PPROFDELTA_VERIFY : 0;
    r->options.flags |= rng_chance(&r->rng, 10) ? PPROFDELTA_NO_STAMP : 0;
    r->options.compression = rng_chance(&r->rng, 70) ? PPROFDELTA_PLAIN : PPROFDELTA_GZIP;
    if (rng_chance(&r->rng, 70)) {
        r->options.symbolize = records_symbolize;
        r->options.symbolize_cookie = r;
    }
    for (size_t n = rng_below(&r->rng, 40); n; n--)
        add_row(r);
}

static void evolve_row(records *r, records_row *row, unsigned events)
{
    rng *g = &r->rng;
    if (events & RECORDS_VANISH && rng_chance(g, 4))
        row->is_gone = !row->is_gone;
    if (rng_chance(g, 60))
        return;
    for (size_t i = 0; i < r->types_len; i++) {
        if (!r->types[i].is_counter)
            row->values[i] = rng_chance(g, 50) ? 0 : draw_value(r);
        else if (events & RECORDS_DECREASE && rng_chance(g, 4))
            row->values[i] -= row->values[i] / 3;
        else if (rng_chance(g, 70))
            row->values[i] += draw_value(r);
    }
}

void records_evolve(records *r, unsigned events)
{
    bool restarts = events & RECORDS_RESTART && rng_chance(&r->rng, 6);
    for (size_t i = 0; i < r->rows_len; i++) {
        for (size_t n = 0; n < r->types_len && restarts; n++)
            r->rows[i].values[n] /= 1 + (int64_t)rng_below(&r->rng, 20);
        evolve_row(r, &r->rows[i], events);
    }
    for (size_t n = rng_below(&r->rng, 4); n; n--)
        add_row(r);
    r->time_nanos += 1 + rng_magnitude(&r->rng, 36);
}

void records_free(records *r)
{
    arena_free(&r->arena);
}

pprofdelta_record records_record(records *r, size_t index)
{
    const records_row *row = &r->rows[index];
    uintptr_t *stack = ARENA_ARRAY(&r->arena, uintptr_t, row->depth);
    for (size_t i = 0; i < row->depth; i++)
        stack[i] = r->sites[row->stack[i]].pc;
    return (pprofdelta_record){.stack = stack,
                               .depth = row->depth,
                               .values = row->values,
                               .block_size = row->block_size,
                               .labels = row->labels,
                               .labels_len = row->labels_len};
}

pprofdelta_status records_feed(records *r, pprofdelta_recorder *recorder,
                               const pprofdelta_recording *look, pprofdelta_error *err)
{
    pprofdelta_recording plain = {.time_nanos = r->time_nanos, .period = r->period};
    pprofdelta_status status = pprofdelta_recorder_begin(recorder, look ? look : &plain, err);
    for (size_t i = 0; i < r->rows_len && !status; i++) {
        if (r->rows[i].is_gone)
            continue;
        pprofdelta_record record = records_record(r, i);
        status = pprofdelta_recorder_add(recorder, &record, err);
        if (!(r->options.flags & PPROFDELTA_BORROW_STACKS))
            memset((void *)(uintptr_t)record.stack, 0xee, record.depth * sizeof *record.stack);
    }
    return status;
}

void records_symbolize(void *cookie, uint64_t pc, pprofdelta_symbol *out)
{
    records *r = cookie;
    r->symbolized++;
    for (size_t i = 0; i < r->sites_len; i++)
        if (r->sites[i].pc == pc)
            *out = (pprofdelta_symbol){r->sites[i].frames, r->sites[i].frames_len,
                                       r->sites[i].is_hidden};
}

/* ---- the profile ----------------------------------------------------------------------------- */

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static model_location *make_location(records *r, arena *a, const records_site *site,
                                     bool by_address)
{
    model_location *l = arena_alloc(a, sizeof *l);
    l->lines_len = r->options.symbolize ? site->frames_len : 0;
    if (!l->lines_len || by_address)
        l->address = site->pc - (r->options.flags & PPROFDELTA_RETURN_ADDRESSES ? 1 : 0);
    l->lines = ARENA_ARRAY(a, model_line, l->lines_len);
    for (size_t i = 0; i < l->lines_len; i++) {
        const pprofdelta_frame *frame = &site->frames[i];
        model_function *f = arena_alloc(a, sizeof *f);
        const char *system_name = frame->system_name ? frame->system_name : frame->name;
        *f = (model_function){.name = or_empty(frame->name),
                              .system_name = or_empty(system_name),
                              .filename = or_empty(frame->filename),
                              .start_line = frame->start_line};
        l->lines[i] = (model_line){f, frame->line, frame->column};
    }
    return l;
}

static void take_functions(arena *a, model *m, const model_location *l)
{
    for (size_t i = 0; i < l->lines_len; i++)
        ARENA_PUSH(a, m->functions, m->functions_len, m->functions_cap, l->lines[i].function);
}

static model_sample *make_sample(records *r, arena *a, const records_row *row,
                                 model_location **locations)
{
    model_sample *s = arena_alloc(a, sizeof *s);
    size_t hidden = 0;
    while (r->options.symbolize && hidden < row->depth && r->sites[row->stack[hidden]].is_hidden)
        hidden++;
    if (hidden == row->depth)
        hidden = 0;
    s->depth = row->depth - hidden;
    s->stack = ARENA_ARRAY(a, model_location *, s->depth);
    for (size_t i = 0; i < s->depth; i++)
        s->stack[i] = locations[row->stack[hidden + i]];
    s->labels = ARENA_ARRAY(a, model_label, row->labels_len + 1);
    if (row->block_size)
        s->labels[s->labels_len++] = (model_label){"bytes", "", row->block_size, "bytes"};
    for (size_t i = 0; i < row->labels_len; i++) {
        const pprofdelta_label *l = &row->labels[i];
        const char *str = or_empty(l->str);
        s->labels[s->labels_len++] =
            *str ? (model_label){or_empty(l->key), str, 0, ""}
                 : (model_label){or_empty(l->key), "", l->num, or_empty(l->num_unit)};
    }
    s->values = row->values;
    return s;
}

static bool is_any(const int64_t *values, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (values[i])
            return true;
    return false;
}

void records_model(records *r, arena *a, bool by_address, model *m)
{
    *m = (model){.drop_frames = "",
                 .keep_frames = "",
                 .default_sample_type = or_empty(r->options.default_type),
                 .doc_url = "",
                 .period = r->period,
                 .time_nanos = r->time_nanos};
    const pprofdelta_kind kind = r->options.kind;
    m->period_type =
        kind == PPROFDELTA_KIND_HEAP ? (model_type){"space", "bytes"}
        : kind == PPROFDELTA_KIND_CONTENTION
            ? (model_type){"contentions", "count"}
            : (model_type){or_empty(r->options.period_type), or_empty(r->options.period_unit)};
    m->types = ARENA_ARRAY(a, model_type, r->types_len);
    for (m->types_len = 0; m->types_len < r->types_len; m->types_len++)
        m->types[m->types_len] =
            (model_type){r->types[m->types_len].type, r->types[m->types_len].unit};
    for (size_t i = 0; i < r->sites_len; i++) {
        model_location *l = make_location(r, a, &r->sites[i], by_address);
        ARENA_PUSH(a, m->locations, m->locations_len, m->locations_cap, l);
        take_functions(a, m, l);
    }
    for (size_t i = 0; i < r->rows_len; i++)
        if (!r->rows[i].is_gone && is_any(r->rows[i].values, r->types_len))
            ARENA_PUSH(a, m->samples, m->samples_len, m->samples_cap,
                       make_sample(r, a, &r->rows[i], m->locations));
}

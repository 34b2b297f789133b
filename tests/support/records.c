#include "records.h"

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

void records_free(records *r)
{
    arena_free(&r->arena);
}

pprofdelta_record records_record(records *r, size_t index)
{
    const records_row *row = &r->rows[index];
    uint64_t *stack = ARENA_ARRAY(&r->arena, uint64_t, row->depth);
    for (size_t i = 0; i < row->depth; i++)
        stack[i] = r->sites[row->stack[i]].pc;
    return (pprofdelta_record){.stack = stack,
                               .depth = row->depth,
                               .values = row->values,
                               .block_size = row->block_size,
                               .labels = row->labels,
                               .labels_len = row->labels_len};
}

void records_symbolize(void *cookie, uint64_t pc, pprofdelta_symbol *out)
{
    records *r = cookie;
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

static model_location *make_location(records *r, arena *a, const records_site *site)
{
    model_location *l = arena_alloc(a, sizeof *l);
    l->lines_len = r->options.symbolize ? site->frames_len : 0;
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

void records_model(records *r, arena *a, model *m)
{
    *m = model_empty;
    m->default_sample_type = or_empty(r->options.default_type);
    m->period = r->period;
    m->time_nanos = r->time_nanos;
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
        model_location *l = make_location(r, a, &r->sites[i]);
        ARENA_PUSH(a, m->locations, m->locations_len, m->locations_cap, l);
        take_functions(a, m, l);
    }
    for (size_t i = 0; i < r->rows_len; i++)
        if (!r->rows[i].is_gone && is_nonzero(r->rows[i].values, r->types_len))
            ARENA_PUSH(a, m->samples, m->samples_len, m->samples_cap,
                       make_sample(r, a, &r->rows[i], m->locations));
}

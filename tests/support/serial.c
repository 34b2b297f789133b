#include "serial.h"

#include "pack.h"

#include <string.h>

enum { MOST_COPIES = 2 };

/* One record of a table: its thing and its id. */
typedef struct record {
    size_t thing;
    uint64_t id;
} record;

/* The records of one table, and the ids of each thing. */
typedef struct table {
    record *records;
    size_t len, cap, written;
    uint64_t (*ids)[MOST_COPIES];
    size_t *copies;
    size_t *last; /* of each thing: the record behind its last one */
} table;

typedef struct part {
    const model_sample *sample;
    int64_t *values;
} part;

typedef struct parts {
    part *items;
    size_t len, cap;
} parts;

typedef struct known_string {
    const char *text;
    uint64_t index;
    struct known_string *next;
} known_string;

enum { BUCKETS = 256 };

typedef struct serial {
    arena *arena;
    model *m;
    const serial_style *style;
    emitter e;
    const char **strings;
    size_t strings_len, strings_cap;
    known_string *known[BUCKETS];
    parts samples;
    table mappings, functions, locations;
    size_t *columns; /* column on the wire -> column of the model */
} serial;

/* ---- Strings --------------------------------------------------------------------------------- */

static unsigned bucket_of(const char *text)
{
    unsigned sum = 0;
    for (; *text; text++)
        sum = sum * 31 + (unsigned char)*text;
    return sum % BUCKETS;
}

static uint64_t append_string(serial *s, const char *text)
{
    ARENA_PUSH(s->arena, s->strings, s->strings_len, s->strings_cap, text);
    return s->strings_len - 1;
}

static uint64_t string(serial *s, const char *text)
{
    if (rng_chance(&s->e.rng, s->style->repeat_strings))
        return append_string(s, text);
    known_string **at = &s->known[bucket_of(text)];
    for (known_string *k = *at; k; k = k->next)
        if (strcmp(k->text, text) == 0)
            return k->index;
    known_string *added = arena_alloc(s->arena, sizeof *added);
    *added = (known_string){text, append_string(s, text), *at};
    *at = added;
    return added->index;
}

/* ---- Ids ------------------------------------------------------------------------------------- */

static uint64_t draw_id(serial *s, size_t number)
{
    switch (s->style->ids) {
    case IDS_SEQUENTIAL:
    case IDS_SHUFFLED:
    case IDS_AS_USED:
        return number + 1;
    case IDS_SPARSE:
        return (number + 1) * 1009 + rng_below(&s->e.rng, 1000);
    case IDS_HUGE:
        return number % 3 == 2 ? number + 1 : UINT64_MAX - number * number;
    }
    return number + 1;
}

/* Makes a table of `things` things, of which `used` are written, in this order (NULL: their own).
 * keep_first: the first record stays first. Ids are assigned in any order. */
static void make_table(serial *s, table *t, size_t things, const bool *used, const size_t *order,
                       bool keep_first, unsigned repeat)
{
    rng *r = &s->e.rng;
    t->ids = arena_alloc(s->arena, things * sizeof *t->ids);
    t->copies = ARENA_ARRAY(s->arena, size_t, things);
    t->last = ARENA_ARRAY(s->arena, size_t, things);
    for (size_t i = 0; i < things; i++) {
        size_t thing = order ? order[i] : i;
        size_t copies = !used[thing] ? 0 : rng_chance(r, repeat) ? MOST_COPIES : 1;
        for (size_t n = 0; n < copies; n++)
            ARENA_PUSH(s->arena, t->records, t->len, t->cap, (record){thing, 0});
    }
    size_t *numbers = ARENA_ARRAY(s->arena, size_t, t->len);
    for (size_t i = 0; i < t->len; i++)
        numbers[i] = i;
    if (s->style->ids != IDS_SEQUENTIAL && s->style->ids != IDS_AS_USED)
        rng_shuffle(r, numbers, t->len);
    size_t fixed = keep_first && t->len ? 1 : 0;
    for (size_t i = t->len; s->style->shuffle_tables && !order && i > fixed + 1; i--) {
        size_t j = fixed + rng_below(r, i - fixed);
        record swap = t->records[i - 1];
        t->records[i - 1] = t->records[j];
        t->records[j] = swap;
    }
    for (size_t i = 0; i < t->len; i++) {
        record *rec = &t->records[i];
        rec->id = draw_id(s, numbers[i]);
        t->ids[rec->thing][t->copies[rec->thing]++] = rec->id;
        t->last[rec->thing] = i + 1;
    }
}

static uint64_t id_of(serial *s, const table *t, size_t thing)
{
    return t->ids[thing][rng_below(&s->e.rng, t->copies[thing])];
}

static void add_once(size_t *order, size_t *len, bool *has, size_t thing)
{
    if (!has[thing])
        order[(*len)++] = thing;
    has[thing] = true;
}

/* The locations, or the functions of locations, in order of first use. */
static size_t *order_of_use(serial *s, const size_t *locations)
{
    model *m = s->m;
    size_t things = locations ? m->functions_len : m->locations_len, len = 0;
    size_t *order = ARENA_ARRAY(s->arena, size_t, things);
    bool *has = memset(ARENA_ARRAY(s->arena, bool, things), 0, things);
    for (size_t i = 0; !locations && i < s->samples.len; i++) {
        const model_sample *sample = s->samples.items[i].sample;
        for (size_t d = 0; d < sample->depth; d++)
            add_once(order, &len, has, sample->stack[d]->index);
    }
    for (size_t i = 0; locations && i < m->locations_len; i++) {
        const model_location *l = m->locations[locations[i]];
        for (size_t n = 0; n < l->lines_len; n++)
            add_once(order, &len, has, l->lines[n].function->index);
    }
    for (size_t i = 0; i < things; i++)
        add_once(order, &len, has, i);
    return order;
}

static void make_tables(serial *s)
{
    model *m = s->m;
    bool as_used = s->style->tables == TABLES_AS_USED || s->style->ids == IDS_AS_USED;
    const size_t *by_use = as_used ? order_of_use(s, NULL) : NULL;
    bool all = s->style->write_unused;
    bool *mappings = ARENA_ARRAY(s->arena, bool, m->mappings_len);
    bool *functions = ARENA_ARRAY(s->arena, bool, m->functions_len);
    bool *locations = ARENA_ARRAY(s->arena, bool, m->locations_len);
    memset(mappings, all, m->mappings_len);
    memset(functions, all, m->functions_len);
    memset(locations, all, m->locations_len);
    for (size_t i = 0; i < m->samples_len; i++)
        for (size_t d = 0; d < m->samples[i]->depth; d++)
            locations[m->samples[i]->stack[d]->index] = true;
    for (size_t i = 0; i < m->locations_len; i++) {
        const model_location *l = m->locations[i];
        if (!locations[i])
            continue;
        if (l->mapping)
            mappings[l->mapping->index] = true;
        for (size_t n = 0; n < l->lines_len; n++)
            functions[l->lines[n].function->index] = true;
    }
    if (m->mappings_len)
        mappings[0] = true;
    unsigned repeat = s->style->repeat_records;
    make_table(s, &s->mappings, m->mappings_len, mappings, NULL, true, as_used ? 0 : repeat);
    make_table(s, &s->functions, m->functions_len, functions,
               as_used ? order_of_use(s, by_use) : NULL, false, repeat);
    make_table(s, &s->locations, m->locations_len, locations, by_use, false, repeat);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void write_type(serial *s, message *top, unsigned field, const model_type *type)
{
    message v = message_begin(&s->e, 2);
    emit_scalar(&v, 1, string(s, type->type));
    emit_scalar(&v, 2, string(s, type->unit));
    emit_message(top, field, &v);
}

static void write_mapping(serial *s, message *top, const record *rec)
{
    const model_mapping *map = s->m->mappings[rec->thing];
    message v = message_begin(&s->e, 10);
    emit_scalar(&v, 1, rec->id);
    emit_scalar(&v, 2, map->start);
    emit_scalar(&v, 3, map->limit);
    emit_scalar(&v, 4, map->offset);
    emit_scalar(&v, 5, string(s, map->filename));
    emit_scalar(&v, 6, string(s, map->build_id));
    emit_scalar(&v, 7, map->has_functions);
    emit_scalar(&v, 8, map->has_filenames);
    emit_scalar(&v, 9, map->has_line_numbers);
    emit_scalar(&v, 10, map->has_inline_frames);
    emit_message(top, 3, &v);
}

static void write_function(serial *s, message *top, const record *rec)
{
    const model_function *f = s->m->functions[rec->thing];
    message v = message_begin(&s->e, 5);
    emit_scalar(&v, 1, rec->id);
    emit_scalar(&v, 2, string(s, f->name));
    emit_scalar(&v, 3, string(s, f->system_name));
    emit_scalar(&v, 4, string(s, f->filename));
    emit_scalar(&v, 5, (uint64_t)f->start_line);
    emit_message(top, 5, &v);
}

static void write_location(serial *s, message *top, const record *rec)
{
    const model_location *l = s->m->locations[rec->thing];
    message v = message_begin(&s->e, 5);
    emit_scalar(&v, 1, rec->id);
    emit_scalar(&v, 2, l->mapping ? id_of(s, &s->mappings, l->mapping->index) : 0);
    emit_scalar(&v, 3, l->address);
    for (size_t i = 0; i < l->lines_len; i++) {
        const model_line *line = &l->lines[i];
        message w = message_begin(&s->e, 3);
        emit_scalar(&w, 1, id_of(s, &s->functions, line->function->index));
        emit_scalar(&w, 2, (uint64_t)line->line);
        emit_scalar(&w, 3, (uint64_t)line->column);
        emit_message(&v, 4, &w);
    }
    emit_scalar(&v, 5, l->is_folded);
    emit_message(top, 4, &v);
}

static void write_label(serial *s, message *sample, const model_label *label)
{
    message v = message_begin(&s->e, 4);
    emit_scalar(&v, 1, string(s, label->key));
    emit_scalar(&v, 2, string(s, label->str));
    emit_scalar(&v, 3, (uint64_t)label->num);
    emit_scalar(&v, 4, string(s, label->unit));
    emit_message(sample, 3, &v);
}

static void write_sample(serial *s, message *top, const model_sample *sample, const int64_t *values)
{
    size_t types = s->m->types_len, labels = sample->labels_len;
    uint64_t *numbers = ARENA_ARRAY(s->arena, uint64_t, sample->depth + types);
    size_t *order = ARENA_ARRAY(s->arena, size_t, labels);
    message v = message_begin(&s->e, 3);
    for (size_t i = 0; i < sample->depth; i++)
        numbers[i] = id_of(s, &s->locations, sample->stack[i]->index);
    emit_repeated(&v, 1, numbers, sample->depth);
    for (size_t i = 0; i < types; i++)
        numbers[i] = (uint64_t)values[s->columns[i]];
    emit_repeated(&v, 2, numbers, types);
    for (size_t i = 0; i < labels; i++)
        order[i] = i;
    if (s->style->shuffle_labels)
        rng_shuffle(&s->e.rng, order, labels);
    for (size_t i = 0; i < labels; i++)
        write_label(s, &v, &sample->labels[order[i]]);
    emit_message(top, 2, &v);
}

/* ---- Samples, split into records ------------------------------------------------------------- */

/* Moves a part of each value into another set of values. */
static int64_t *draw_part(serial *s, int64_t *values)
{
    rng *r = &s->e.rng;
    int64_t *taken = ARENA_ARRAY(s->arena, int64_t, s->m->types_len);
    for (size_t i = 0; i < s->m->types_len; i++) {
        if (s->style->wide_splits)
            taken[i] = (int64_t)rng_next(r) >> 4; /* four of them fit in 64 bits */
        else
            taken[i] = values[i] > 0 ? (int64_t)rng_below(r, (size_t)values[i] + 1) : 0;
        values[i] = (int64_t)((uint64_t)values[i] - (uint64_t)taken[i]);
    }
    return taken;
}

/* The first record of a sample is in the samples' order; the others follow it at any distance. */
static parts make_parts(serial *s)
{
    rng *r = &s->e.rng;
    parts all = {0}, waiting = {0};
    model *m = s->m;
    size_t *order = ARENA_ARRAY(s->arena, size_t, m->samples_len);
    for (size_t i = 0; i < m->samples_len; i++)
        order[i] = i;
    if (s->style->shuffle_samples)
        rng_shuffle(r, order, m->samples_len);
    for (size_t i = 0; i < m->samples_len; i++) {
        const model_sample *sample = m->samples[order[i]];
        int64_t *values = ARENA_ARRAY(s->arena, int64_t, m->types_len);
        if (m->types_len)
            memcpy(values, sample->values, m->types_len * sizeof *values);
        if (rng_chance(r, s->style->split_samples))
            for (size_t n = 1 + rng_below(r, 3); n; n--)
                ARENA_PUSH(s->arena, waiting.items, waiting.len, waiting.cap,
                           (part){sample, draw_part(s, values)});
        ARENA_PUSH(s->arena, all.items, all.len, all.cap, (part){sample, values});
        while (waiting.len && rng_chance(r, 60)) {
            part *chosen = &waiting.items[rng_below(r, waiting.len)];
            ARENA_PUSH(s->arena, all.items, all.len, all.cap, *chosen);
            *chosen = waiting.items[--waiting.len];
        }
    }
    for (size_t i = 0; i < waiting.len; i++)
        ARENA_PUSH(s->arena, all.items, all.len, all.cap, waiting.items[i]);
    return all;
}

/* The records up to the last one of this thing. */
static void write_up_to(serial *s, message *top, table *t, size_t thing,
                        void write(serial *, message *, const record *))
{
    while (t->written < t->last[thing])
        write(s, top, &t->records[t->written++]);
}

static void write_used(serial *s, message *top, const model_sample *sample)
{
    for (size_t d = 0; d < sample->depth; d++) {
        const model_location *l = sample->stack[d];
        write_up_to(s, top, &s->locations, l->index, write_location);
        for (size_t n = 0; n < l->lines_len; n++)
            write_up_to(s, top, &s->functions, l->lines[n].function->index, write_function);
    }
}

static void write_samples(serial *s, message *top)
{
    for (size_t i = 0; i < s->samples.len; i++) {
        const part *p = &s->samples.items[i];
        if (s->style->tables == TABLES_AS_USED)
            write_used(s, top, p->sample);
        write_sample(s, top, p->sample, p->values);
    }
}

/* ---- The profile ----------------------------------------------------------------------------- */

static void make_columns(serial *s)
{
    size_t len = s->m->types_len;
    const model_type *types = s->m->types;
    s->columns = ARENA_ARRAY(s->arena, size_t, len);
    for (size_t i = 0; i < len; i++)
        s->columns[i] = i;
    if (!s->style->shuffle_columns)
        return;
    rng_shuffle(&s->e.rng, s->columns, len);
    for (size_t i = 0; i < len; i++)
        for (size_t j = i + 1; j < len; j++) {
            size_t a = s->columns[i], b = s->columns[j];
            if (a > b && !strcmp(types[a].type, types[b].type) &&
                !strcmp(types[a].unit, types[b].unit)) {
                s->columns[i] = b;
                s->columns[j] = a;
            }
        }
}

static void write_types(serial *s, message *top)
{
    for (size_t i = 0; i < s->m->types_len; i++)
        write_type(s, top, 1, &s->m->types[s->columns[i]]);
}

static void write_tables(serial *s, message *top)
{
    for (size_t i = 0; i < s->mappings.len; i++)
        write_mapping(s, top, &s->mappings.records[i]);
    for (size_t i = s->locations.written; i < s->locations.len; i++)
        write_location(s, top, &s->locations.records[i]);
    for (size_t i = s->functions.written; i < s->functions.len; i++)
        write_function(s, top, &s->functions.records[i]);
}

static void write_header(serial *s, message *top)
{
    const model *m = s->m;
    emit_scalar(top, 7, string(s, m->drop_frames));
    emit_scalar(top, 8, string(s, m->keep_frames));
    emit_scalar(top, 9, (uint64_t)m->time_nanos);
    emit_scalar(top, 10, (uint64_t)m->duration_nanos);
    if (*m->period_type.type || *m->period_type.unit)
        write_type(s, top, 11, &m->period_type);
    emit_scalar(top, 12, (uint64_t)m->period);
    uint64_t *comments = ARENA_ARRAY(s->arena, uint64_t, m->comments_len);
    for (size_t i = 0; i < m->comments_len; i++)
        comments[i] = string(s, m->comments[i]);
    emit_repeated(top, 13, comments, m->comments_len);
    emit_scalar(top, 14, string(s, m->default_sample_type));
    emit_scalar(top, 15, string(s, m->doc_url));
}

static void write_strings(serial *s, message *top)
{
    for (size_t i = 0; i < s->strings_len; i++)
        emit_bytes(top, 6, s->strings[i], strlen(s->strings[i]));
}

/* The strings are known when all else is written. So tables before the samples are a message of
 * their own, and both are joined at the end: the bytes of two messages make one message. */
static buf write_profile(serial *s)
{
    serial_tables tables = s->style->tables;
    bool before = tables == TABLES_BEFORE, as_used = tables == TABLES_AS_USED;
    message top = message_begin(&s->e, 15), rest = top;
    s->e.shuffle_fields = s->style->shuffle_fields;
    if (as_used)
        write_header(s, &top);
    write_types(s, before ? &rest : &top);
    write_samples(s, before ? &rest : &top);
    if (!as_used)
        write_header(s, before ? &rest : &top);
    write_tables(s, &top);
    for (unsigned spare = s->style->write_unused ? 3 : 0; spare; spare--)
        append_string(s, arena_format(s->arena, "unused string %u", spare));
    write_strings(s, &top);
    s->e.shuffle_fields = tables == TABLES_MIXED;
    buf out = message_end(&top);
    if (before) {
        buf behind = message_end(&rest);
        buf_add(&out, behind.ptr, behind.len);
    }
    return out;
}

buf serial_write(arena *a, model *m, const serial_style *style)
{
    serial s = {.arena = a,
                .m = m,
                .style = style,
                .e = {.arena = a,
                      .rng = {style->seed},
                      .explicit_zeros = style->explicit_zeros,
                      .long_varints = style->long_varints,
                      .unknown_fields = style->unknown_fields,
                      .said_twice = style->said_twice,
                      .packing = style->packing}};
    model_number(m);
    known_string *empty = arena_alloc(a, sizeof *empty);
    *empty = (known_string){"", append_string(&s, ""), NULL};
    s.known[bucket_of("")] = empty;
    make_columns(&s);
    s.samples = make_parts(&s);
    make_tables(&s);
    buf out = write_profile(&s);
    if (style->pack == PACK_GZIP)
        return pack_gzip(a, out, style->members);
    if (style->pack == PACK_ZSTD)
        return pack_zstd(a, out, style->members);
    return out;
}

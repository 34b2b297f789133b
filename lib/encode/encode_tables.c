/* A model as Arrow tables: see pprofdelta_tables.h.
 *
 * First the rows of functions and locations are chosen (table_rows.h), so that the lengths of their
 * columns are known. Then each column is made and filled: of samples, with which the stacks become
 * known, of functions, locations and stacks. */
#include "encode/arrow.h"
#include "encode/encode.h"
#include "encode/table_rows.h"

#include "base/sum.h"
#include "base/utf8.h"
#include "profile/stamp.h"

#include <inttypes.h>
#include <stdio.h>

/* The strings of a dictionary column, in the order of first use. */
typedef struct dictionary {
    uint32_t *indices; /* by string: its index plus 1; 0: it is not there */
    uint32_t *strings;
    size_t len;
} dictionary;

/* What is the same in all rows of samples. */
enum { TARGET, FROM, TIME, SEQUENCE, ATTEMPT, RESTART, FACTS };
enum { STACK = FACTS, VALUES }; /* then the values, then the labels */

typedef struct table_maker {
    const pd_model *model;
    pd_table_rows rows;
    pd_writer *w; /* that of the rows, whose failures are those of all */
    pd_arrow a;
    pd_buffer scratch;
    dictionary dictionaries[3]; /* of the table that is being filled */
} table_maker;

/* ---- columns ------------------------------------------------------------------------------------ */

/* Makes the column with this index of a table or a struct. Returns its values. */
static void *make_column(table_maker *t, pd_arrow_at of, size_t index, const char *name,
                         const char *format, size_t rows)
{
    const pd_arrow_kind kind = {.name = name, .format = format};
    return pd_arrow_make(&t->a, pd_arrow_child(of, index), &kind, rows, 0);
}

/* The same for one that can be null. */
static void *make_nullable(table_maker *t, pd_arrow_at of, size_t index, const char *name,
                           const char *format, size_t rows)
{
    const pd_arrow_kind kind = {.name = name, .format = format, .is_nullable = true};
    return pd_arrow_make(&t->a, pd_arrow_child(of, index), &kind, rows, 0);
}

static pd_arrow_at make_struct(table_maker *t, pd_arrow_at at, const char *name, size_t columns,
                               size_t rows)
{
    const pd_arrow_kind kind = {.name = name, .format = "+s", .columns = columns};
    pd_arrow_make(&t->a, at, &kind, rows, 0);
    return at;
}

static pd_arrow_at make_table(table_maker *t, pprofdelta_table *table, size_t columns, size_t rows)
{
    return make_struct(t, (pd_arrow_at){&table->schema, &table->array}, "", columns, rows);
}

/* A column of text: of the strings that are in a list. */
static void make_text(table_maker *t, pd_arrow_at at, const char *name, const uint32_t *strings,
                      size_t len)
{
    const pd_arrow_kind kind = {.name = name, .format = "u"};
    size_t bytes = 0;
    for (size_t i = 0; i < len; i++)
        bytes += t->rows.texts[strings[i]].len;
    int32_t *ends = pd_arrow_make(&t->a, at, &kind, len, bytes);
    for (size_t i = 0; ends && i < len; i++) {
        pd_bytes text = t->rows.texts[strings[i]];
        ends[i + 1] = ends[i] + (int32_t)text.len;
        if (text.len)
            memcpy(pd_arrow_text(at) + ends[i], text.ptr, text.len);
    }
}

static void begin_dictionary(table_maker *t, dictionary *d)
{
    pd_writer *w = t->w;
    size_t len = t->rows.texts_len;
    if (!w->status)
        w->status = PD_RESERVE(w->mem, d->indices, len, w->err);
    if (!w->status)
        w->status = PD_RESERVE(w->mem, d->strings, len, w->err);
    if (!w->status)
        memset(d->indices, 0, len * sizeof *d->indices);
    d->len = 0;
}

static int32_t index_of(dictionary *d, uint32_t string)
{
    if (!d->indices[string]) {
        d->strings[d->len++] = string;
        d->indices[string] = (uint32_t)d->len;
    }
    return (int32_t)(d->indices[string] - 1);
}

static void end_dictionary(table_maker *t, pd_arrow_at column, const dictionary *d)
{
    make_text(t, pd_arrow_child(column, 0), "", d->strings, d->len);
}

/* ---- functions, locations, stacks --------------------------------------------------------------- */

/* A column of text with the names, or the system names, of all rows. `list` has room for them. */
static void make_names(table_maker *t, pd_arrow_at at, bool is_system, uint32_t *list)
{
    size_t len = t->rows.functions.keys.len;
    for (size_t row = 0; row < len; row++) {
        const pd_model_function *f = &t->model->functions[t->rows.functions.of[row]];
        list[row] = is_system ? f->system_name : f->name;
    }
    make_text(t, at, is_system ? "system_name" : "name", list, len);
}

static void make_functions(table_maker *t, pprofdelta_table *table)
{
    size_t len = t->rows.functions.keys.len;
    dictionary *files = &t->dictionaries[0];
    pd_arrow_at out = make_table(t, table, 5, len);
    int64_t *id = make_column(t, out, 0, "function_id", "l", len);
    int32_t *file = make_column(t, out, 3, "file", "i", len);
    int64_t *start = make_column(t, out, 4, "start_line", "l", len);
    t->scratch.len = 0;
    uint32_t *names = (void *)pd_write_room(t->w, &t->scratch, len * sizeof *names + 1);
    begin_dictionary(t, files);
    if (t->w->status)
        return;
    for (size_t row = 0; row < len; row++) {
        const pd_model_function *f = &t->model->functions[t->rows.functions.of[row]];
        id[row] = (int64_t)t->rows.functions.keys.keys[row].lo;
        file[row] = index_of(files, f->filename);
        start[row] = f->start_line;
    }
    make_names(t, pd_arrow_child(out, 1), false, names);
    make_names(t, pd_arrow_child(out, 2), true, names);
    end_dictionary(t, pd_arrow_child(out, 3), files);
}

/* The last line of a location is that of its function; those before it are inlined. */
static void make_lines(table_maker *t, pd_arrow_at list, int32_t *ends)
{
    pd_arrow_at out = make_struct(t, pd_arrow_child(list, 0), "item", 3, t->rows.lines);
    int64_t *function = make_column(t, out, 0, "function_id", "l", t->rows.lines);
    int64_t *number = make_column(t, out, 1, "line", "l", t->rows.lines);
    uint8_t *inlined = make_column(t, out, 2, "inlined", "b", t->rows.lines);
    size_t at = 0;
    for (size_t row = 0; row < t->rows.locations.keys.len && !t->w->status; row++) {
        uint32_t location = (uint32_t)t->rows.locations.of[row] + 1;
        size_t end = t->model->locations[location - 1].lines_end;
        for (size_t i = pd_model_lines_begin(t->model, location); i < end; i++, at++) {
            function[at] =
                (int64_t)pd_table_rows_function_key(&t->rows, t->model->lines[i].function).lo;
            number[at] = t->model->lines[i].line;
            if (i + 1 < end)
                pd_arrow_set_bit(inlined, at);
        }
        ends[row + 1] = (int32_t)(uint32_t)at;
    }
}

static void make_locations(table_maker *t, pprofdelta_table *table)
{
    size_t len = t->rows.locations.keys.len;
    dictionary *build_ids = &t->dictionaries[0], *files = &t->dictionaries[1];
    pd_arrow_at out = make_table(t, table, 5, len);
    int64_t *id = make_column(t, out, 0, "location_id", "l", len);
    int32_t *build_id = make_column(t, out, 1, "build_id", "i", len);
    int32_t *file = make_column(t, out, 2, "file", "i", len);
    uint64_t *address = make_column(t, out, 3, "address", "L", len);
    int32_t *ends = make_column(t, out, 4, "lines", "+l", len);
    begin_dictionary(t, build_ids);
    begin_dictionary(t, files);
    for (size_t row = 0; row < len && !t->w->status; row++) {
        const pd_model_location *l = &t->model->locations[t->rows.locations.of[row]];
        uint32_t mapping = l->mapping;
        id[row] = (int64_t)t->rows.locations.keys.keys[row].lo;
        build_id[row] = index_of(build_ids, mapping ? t->model->mappings[mapping - 1].build_id : 0);
        file[row] = index_of(files, mapping ? t->rows.files[mapping - 1] : 0);
        address[row] = pd_place_address(pd_table_rows_place(&t->rows, mapping), l->address);
    }
    end_dictionary(t, pd_arrow_child(out, 1), build_ids);
    end_dictionary(t, pd_arrow_child(out, 2), files);
    make_lines(t, pd_arrow_child(out, 4), ends);
}

static void make_stacks(table_maker *t, pprofdelta_table *table)
{
    size_t len = t->rows.stacks.keys.len;
    pd_arrow_at out = make_table(t, table, 2, len);
    int64_t *id = make_column(t, out, 0, "stack_id", "l", len);
    int32_t *ends = make_column(t, out, 1, "location_ids", "+l", len);
    int64_t *places = make_column(t, pd_arrow_child(out, 1), 0, "item", "l",
                                  t->rows.places.len / sizeof(int64_t));
    if (t->w->status)
        return;
    for (size_t row = 0; row < len; row++) {
        id[row] = (int64_t)t->rows.stacks.keys.keys[row].lo;
        ends[row + 1] = (int32_t)(uint32_t)t->rows.stacks.of[row];
    }
    if (t->rows.places.len)
        memcpy(places, t->rows.places.ptr, t->rows.places.len);
}

/* ---- samples ------------------------------------------------------------------------------------ */

/* As pd_stamp_of reads it from a profile. */
static pprofdelta_stamp stamp_of(const pd_model *m, const pd_model_header *h)
{
    pprofdelta_stamp stamp = {.to_nanos = h->time_nanos};
    if (!h->time_nanos || h->duration_nanos <= 0 ||
        __builtin_sub_overflow(h->time_nanos, h->duration_nanos, &stamp.from_nanos))
        stamp.from_nanos = 0;
    for (int live = 0; live < 2; live++)
        for (size_t i = 0; i < m->comments_len; i++) {
            pd_bytes comment = pd_model_text_of(m, m->comments[i]);
            if ((live ? pd_is_live_stamp(comment) : pd_is_stamp(comment)) &&
                pd_stamp_read(comment, &stamp))
                return stamp;
        }
    return stamp;
}

static void make_times(table_maker *t, pd_arrow_at out, const pd_model_header *h,
                       const pprofdelta_stamp *stamp)
{
    static const struct {
        const char *name, *format;
    } columns[] = {{"from", "tsn:UTC"}, {"time", "tsn:UTC"}, {"sequence", "l"}, {"attempt", "l"}};
    const uint64_t facts[] = {(uint64_t)stamp->from_nanos, (uint64_t)stamp->to_nanos,
                              stamp->sequence, stamp->attempt};
    size_t len = t->model->samples;
    bool begins_in_1970 = h->time_nanos && h->time_nanos == h->duration_nanos; /* else 0: unknown */
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        bool is_known = facts[i] || (!i && begins_in_1970);
        uint64_t *words = make_nullable(t, out, FROM + i, columns[i].name, columns[i].format, len);
        for (size_t row = 0; row < len && words; row++) {
            words[row] = facts[i];
            if (is_known)
                pd_arrow_set(pd_arrow_child(out, FROM + i), row);
        }
    }
}

/* The dictionary of the column "target": one text. */
static void make_target(table_maker *t, pd_arrow_at column, pd_bytes resource, uint64_t id)
{
    const pd_arrow_kind kind = {.name = "", .format = "u"};
    char hex[17] = "";
    size_t len = t->model->samples != 0;
    if (id)
        snprintf(hex, sizeof hex, "%016" PRIx64, id);
    pd_bytes text = resource.len ? resource : pd_bytes_of(hex);
    if (!t->w->status)
        t->w->status = pd_utf8_repair(text, t->w->mem, &t->scratch, t->w->err);
    if (t->w->status)
        return;
    int32_t *ends =
        pd_arrow_make(&t->a, pd_arrow_child(column, 0), &kind, len, len ? t->scratch.len : 0);
    if (!ends || !len)
        return;
    ends[1] = (int32_t)t->scratch.len;
    if (t->scratch.len)
        memcpy(pd_arrow_text(pd_arrow_child(column, 0)), t->scratch.ptr, t->scratch.len);
}

static void make_facts(table_maker *t, pd_arrow_at out, pd_bytes resource, const pd_model_header *h)
{
    const pprofdelta_stamp stamp = stamp_of(t->model, h);
    size_t len = t->model->samples;
    int32_t *targets = make_column(t, out, TARGET, "target", "i", len);
    if (targets)
        memset(targets, 0, len * sizeof *targets);
    make_target(t, pd_arrow_child(out, TARGET), resource, stamp.targets ? 0 : stamp.id);
    make_times(t, out, h, &stamp);
    uint8_t *restart = make_column(t, out, RESTART, "restart", "b", len);
    for (size_t row = 0; row < len && restart && stamp.restart; row++)
        pd_arrow_set_bit(restart, row);
}

/* May the column of the type have this name? Those before it are made. */
static bool is_free(const pd_model *m, pd_arrow_at table, size_t type, const char *name,
                    bool is_whole)
{
    bool is_taken = !*name || !strcmp(name, "labels");
    for (size_t i = 0; i < VALUES + type; i++)
        is_taken |= !strcmp(table.schema->children[i]->name, name);
    for (size_t i = 0; i < m->types_len; i++)
        is_taken |= !is_whole && i != type && m->types[i].type == m->types[type].type;
    return !is_taken;
}

/* The type, "type/unit", "type/unit/2" and so on: the first that is free. In scratch; NULL on failure. */
static const char *name_of(table_maker *t, pd_arrow_at table, size_t type)
{
    pd_bytes name = t->rows.texts[t->model->types[type].type];
    pd_bytes unit = t->rows.texts[t->model->types[type].unit];
    size_t room = name.len + unit.len + 32;
    t->scratch.len = 0;
    char *out = (char *)pd_write_room(t->w, &t->scratch, room);
    for (unsigned i = 0; out; i++) {
        snprintf(out, room,
                 i > 1 ? "%.*s/%.*s/%u"
                 : i   ? "%.*s/%.*s"
                       : "%.*s",
                 (int)name.len, (const char *)name.ptr, (int)unit.len, (const char *)unit.ptr, i);
        if (is_free(t->model, table, type, out, i > 0))
            break;
    }
    return out;
}

typedef struct label_columns {
    pd_arrow_at str_at, num_at, unit_at;
    int32_t *key, *str, *unit;
    int64_t *num;
    size_t len;
} label_columns;

enum { KEYS, STRS, UNITS, LABEL_DICTIONARIES };

static label_columns make_labels(table_maker *t, pd_arrow_at list)
{
    size_t len = t->model->labels_len;
    pd_arrow_at out = make_struct(t, pd_arrow_child(list, 0), "item", 4, len);
    for (int i = 0; i < LABEL_DICTIONARIES; i++)
        begin_dictionary(t, &t->dictionaries[i]);
    return (label_columns){.key = make_column(t, out, 0, "key", "i", len),
                           .str = make_nullable(t, out, 1, "str", "i", len),
                           .num = make_nullable(t, out, 2, "num", "l", len),
                           .unit = make_nullable(t, out, 3, "unit", "i", len),
                           .str_at = pd_arrow_child(out, 1),
                           .num_at = pd_arrow_child(out, 2),
                           .unit_at = pd_arrow_child(out, 3)};
}

static int32_t put_optional(dictionary *d, pd_arrow_at column, size_t row, uint32_t string)
{
    if (string)
        pd_arrow_set(column, row);
    return string ? index_of(d, string) : 0;
}

static void put_label(table_maker *t, label_columns *c, const pd_model_label *label)
{
    size_t row = c->len++;
    c->key[row] = index_of(&t->dictionaries[KEYS], label->key);
    c->str[row] = put_optional(&t->dictionaries[STRS], c->str_at, row, label->str);
    c->unit[row] = put_optional(&t->dictionaries[UNITS], c->unit_at, row, label->num_unit);
    c->num[row] = label->num;
    if (!label->str || label->num)
        pd_arrow_set(c->num_at, row);
}

/* Makes the stacks, the values and the labels of the samples. */
static void make_values(table_maker *t, pd_arrow_at out)
{
    const pd_model *m = t->model;
    size_t len = m->samples, row = 0;
    int64_t *values[PPROFDELTA_MAX_TYPES];
    int64_t *stack = make_column(t, out, STACK, "stack_id", "l", len);
    int32_t *ends = make_column(t, out, VALUES + m->types_len, "labels", "+l", len);
    pd_arrow_at list = pd_arrow_child(out, VALUES + m->types_len);
    label_columns labels = make_labels(t, list);
    for (size_t i = 0; i < m->types_len && !t->w->status; i++) {
        const char *name = name_of(t, out, i);
        values[i] = make_column(t, out, VALUES + i, name ? name : "", "l", len);
    }
    pd_model_sample sample;
    pd_model_label label;
    for (size_t at = m->samples_off; !t->w->status && pd_model_next_sample(m, &at, &sample);
         row++) {
        stack[row] = (int64_t)pd_table_rows_stack(&t->rows, sample.stack);
        for (size_t i = 0; i < m->types_len; i++)
            values[i][row] = sample.values[i];
        while (pd_model_next_label(&sample.labels, &label))
            put_label(t, &labels, &label);
        ends[row + 1] = (int32_t)(uint32_t)labels.len;
    }
    pd_arrow_at items = pd_arrow_child(list, 0);
    end_dictionary(t, pd_arrow_child(items, 0), &t->dictionaries[KEYS]);
    end_dictionary(t, labels.str_at, &t->dictionaries[STRS]);
    end_dictionary(t, labels.unit_at, &t->dictionaries[UNITS]);
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static void make_all(table_maker *t, pprofdelta_tables *out, pd_bytes resource,
                     const pd_model_header *h)
{
    pd_table_rows_choose(&t->rows);
    if (t->w->status)
        return;
    size_t types = t->model->types_len;
    pd_arrow_at samples = make_table(t, &out->samples, VALUES + types + 1, t->model->samples);
    make_facts(t, samples, resource, h);
    if (!t->w->status)
        make_values(t, samples);
    if (t->w->status)
        return;
    make_functions(t, &out->functions);
    make_locations(t, &out->locations);
    make_stacks(t, &out->stacks);
}

static void drop_table(pprofdelta_table *table)
{
    if (table->schema.release)
        table->schema.release(&table->schema);
    if (table->array.release)
        table->array.release(&table->array);
}

void pd_tables_drop(pprofdelta_tables *tables)
{
    drop_table(&tables->samples);
    drop_table(&tables->stacks);
    drop_table(&tables->locations);
    drop_table(&tables->functions);
}

pprofdelta_status pd_encode_tables(pd_encoder *e, const pd_model *m, const pd_model_header *h,
                                   uint64_t *size)
{
    pd_mem work;
    table_maker t = {.model = m, .rows = {.model = m, .w = m->writer}};
    t.a.writer = t.w = &t.rows.w;
    pd_mem_part(&work, m->writer.mem);
    t.w->mem = &work;
    pd_tables_drop(&e->tables);
    e->tables = (pprofdelta_tables){.size = sizeof e->tables};
    pd_mem_init(&t.a.mem, e->has_lasting_malloc ? NULL : &work.whole->allocator,
                pd_mem_left(&work));
    make_all(&t, &e->tables, e->resource, h);
    pd_mem_drop(&work);
    if (t.w->status)
        pd_tables_drop(&e->tables);
    *size = t.a.mem.used;
    return t.w->status;
}

void pd_encoder_sums(const pd_encoder *e, size_t types, pprofdelta_sum *sums)
{
    const struct ArrowArray *samples = &e->tables.samples.array;
    for (size_t type = 0; type < types; type++) {
        const int64_t *values = samples->children[VALUES + type]->buffers[1];
        for (int64_t i = 0; i < samples->length; i++)
            pd_sum_add(&sums[type], values[i]);
    }
}

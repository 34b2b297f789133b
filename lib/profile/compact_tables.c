/* The compact writer's output as tables: see compact_tables.h and pprofdelta_tables.h.
 *
 * An id is a hash of what its row says, by the rules of identity.h, so that it does not depend on the
 * door, on the order of the rows, or on what a context remembers:
 *
 *     function   its strings and its line
 *     location   its address in its file. Its lines take part unless the file has a build id: without one,
 *                equal addresses in equal names may be two places, such as in two releases
 *     stack      the keys of its locations, in order */
#include "profile/compact_format.h"

#include "base/life.h"
#include "base/sum.h"
#include "profile/arrow.h"
#include "profile/identity.h"
#include "profile/otlp_attributes.h"
#include "profile/stamp.h"

#include <inttypes.h>
#include <stdio.h>

/* A line of the location that is being added. */
typedef struct line_row {
    uint32_t function; /* output id; 0: none */
    int64_t line, column;
} line_row;

#define ROWS(type, buffer) ((const type *)(const void *)(buffer).ptr)
#define LEN(type, buffer)  ((buffer).len / sizeof(type))

/* ---- columns --------------------------------------------------------------------------------- */

/* A column; those inside it follow. Columns with equal `rows` get a row together. int32 numbers are indices into a
 * dictionary, and utf8 is made of the strings of its rows. */
typedef struct table_column {
    const char *name, *format; /* as in pd_arrow_kind */
    unsigned rows, children;
    bool is_nullable;
} table_column;

#define COLUMN(column, name, format, rows, children, is_nullable)                                  \
    {name, format, PD_ROWS_##rows, children, is_nullable},
static const table_column columns[] = {PD_COLUMNS(COLUMN)};

static const table_column *column_of(unsigned of)
{
    return &columns[of < PD_COLUMN_SAMPLE_VALUES ? of : PD_COLUMN_SAMPLE_VALUES];
}

static bool has_values(const table_column *column)
{
    return column->format[0] != 'u' && strcmp(column->format, "+s") != 0;
}

static pd_arrow_kind kind_of(const pd_compact *c, unsigned of)
{
    const table_column *column = column_of(of);
    return (pd_arrow_kind){.name = column->name,
                           .format = column->format,
                           .children = column->children,
                           .is_nullable = column->is_nullable,
                           .has_dictionary = column->format[0] == 'i',
                           .given = has_values(column) ? &c->tables.columns[of] : NULL};
}

static uint64_t *words_of(const pd_compact *c, unsigned column)
{
    return pd_arrow_values_of(&c->tables.columns[column]);
}

static int32_t *ints_of(const pd_compact *c, unsigned column)
{
    return pd_arrow_values_of(&c->tables.columns[column]);
}

static void make_room(pd_compact *c, unsigned of, size_t rows)
{
    const pd_arrow_kind kind = kind_of(c, of);
    pd_arrow_values_room(&c->tables.columns[of], &c->writer, rows, &kind);
}

/* Makes room for one more row. Returns whether there is. */
static inline bool has_room(pd_compact *c, unsigned rows)
{
    pd_compact_rows *r = &c->tables.rows[rows];
    if (__builtin_expect(r->len < r->cap, 1))
        return true;
    size_t want = pd_mem_roomy(c->writer.mem, r->len);
    for (unsigned i = 0; i < PD_COLUMN_SAMPLE_VALUES + c->otlp.types; i++)
        if (column_of(i)->rows == rows && has_values(column_of(i)))
            make_room(c, i, want);
    if (c->writer.status)
        return false;
    r->cap = want;
    return true;
}

void pd_compact_tables_begin(pd_compact *c)
{
    pd_compact_tables *t = &c->tables;
    c->function_bytes.len = 0; /* entry 0, of OTLP */
    for (unsigned i = 0; i < PD_COLUMN_SAMPLE_VALUES; i++) {
        t->dictionaries[i].indices.len = t->dictionaries[i].strings.len = 0;
        if (!has_values(&columns[i]))
            continue;
        pd_arrow_values_begin(&t->columns[i], &c->writer);
        make_room(c, i, 0);
        if (columns[i].format[0] == '+' && !c->writer.status)
            *ints_of(c, i) = 0;
    }
    memset(t->rows, 0, sizeof t->rows);
    pd_handed_release(&t->out);
}

void pd_compact_tables_type(pd_compact *c)
{
    pd_arrow_values_begin(&c->tables.columns[PD_COLUMN_SAMPLE_VALUES + c->otlp.types - 1],
                          &c->writer);
}

void pd_compact_tables_release(pd_compact *c, pd_mem *mem)
{
    pd_compact_tables *t = &c->tables;
    pd_handed_release(&t->out);
    for (size_t i = 0; i < sizeof t->columns / sizeof *t->columns; i++)
        pd_arrow_values_release(&t->columns[i], mem);
    for (size_t i = 0; i < PD_COLUMN_SAMPLE_VALUES; i++) {
        pd_buffer_release(mem, &t->dictionaries[i].indices);
        pd_buffer_release(mem, &t->dictionaries[i].strings);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Appends to a column of text. */
static void put_text(pd_compact *c, unsigned column, uint32_t string)
{
    pd_write_raw(&c->writer, &c->tables.dictionaries[column].strings, (const uint8_t *)&string,
                 sizeof string);
}

/* Appends to a dictionary column. Its strings are in the order of first use. */
static void put_string(pd_compact *c, unsigned column, size_t row, uint32_t string)
{
    pd_compact_dictionary *d = &c->tables.dictionaries[column];
    size_t known = d->indices.len, need = c->strings.len * sizeof(uint32_t);
    if (known <= string * sizeof(uint32_t) &&
        pd_write_room(&c->writer, &d->indices, need - known)) {
        memset(d->indices.ptr + known, 0, need - known);
        d->indices.len = need;
    }
    if (c->writer.status)
        return;
    uint32_t *index = (uint32_t *)(void *)d->indices.ptr;
    if (!index)
        return;
    index += string;
    if (!*index) {
        put_text(c, column, string);
        *index = (uint32_t)LEN(uint32_t, d->strings);
    }
    ints_of(c, column)[row] = (int32_t)*index - 1;
}

static pd_key string_key(const pd_compact *c, uint32_t string)
{
    return pd_string_key(pd_otlp_text_of(c, string));
}

void pd_compact_tables_function(pd_compact *c, uint32_t name, uint32_t system_name,
                                uint32_t filename, int64_t start_line)
{
    if (!has_room(c, PD_ROWS_FUNCTIONS))
        return;
    size_t row = c->tables.rows[PD_ROWS_FUNCTIONS].len++;
    pd_key key = pd_function_key_of(string_key(c, name), string_key(c, system_name),
                                    string_key(c, filename), start_line);
    pd_write_raw(&c->writer, &c->function_bytes, (const uint8_t *)&key, sizeof key);
    words_of(c, PD_COLUMN_FUNCTION_ID)[row] = key.lo;
    words_of(c, PD_COLUMN_FUNCTION_START)[row] = (uint64_t)start_line;
    put_text(c, PD_COLUMN_FUNCTION_NAME, name);
    put_text(c, PD_COLUMN_FUNCTION_SYSTEM_NAME, system_name);
    put_string(c, PD_COLUMN_FUNCTION_FILE, row, filename);
}

void pd_compact_tables_line(pd_compact *c, uint32_t function, int64_t line, int64_t column)
{
    const line_row row = {function, line, column};
    pd_write_raw(&c->writer, &c->lines, (const uint8_t *)&row, sizeof row);
}

static pd_key function_key(const pd_compact *c, uint32_t function)
{
    return function ? ROWS(pd_key, c->function_bytes)[function - 1] : (pd_key){0, 0};
}

/* The number of the name without the mark of a deleted file. */
static uint32_t unmarked(pd_compact *c, uint32_t filename)
{
    pd_bytes text = pd_otlp_text_of(c, filename), file = pd_filename_unmarked(text);
    if (file.len == text.len)
        return filename;
    c->scratch.len = 0;
    pd_write_raw(&c->writer, &c->scratch, file.ptr, file.len); /* strings move */
    return pd_compact_string(c, (pd_bytes){c->scratch.ptr, file.len});
}

/* The last line of a location is that of its function; those before it are inlined. */
static void put_lines(pd_compact *c)
{
    pd_compact_rows *rows = &c->tables.rows[PD_ROWS_LINES];
    const line_row *line = ROWS(line_row, c->lines);
    for (size_t left = LEN(line_row, c->lines); left && has_room(c, PD_ROWS_LINES);
         left--, line++) {
        words_of(c, PD_COLUMN_LINE_FUNCTION)[rows->len] = function_key(c, line->function).lo;
        words_of(c, PD_COLUMN_LINE_NUMBER)[rows->len] = (uint64_t)line->line;
        pd_arrow_put_bit(pd_arrow_values_of(&c->tables.columns[PD_COLUMN_LINE_INLINED]),
                         rows->len++, left > 1);
    }
}

uint32_t pd_compact_tables_location(pd_compact *c, uint32_t mapping, uint64_t address,
                                    bool is_folded)
{
    const pd_compact_mapping *m = mapping ? &c->mapping_list[mapping - 1] : NULL;
    const size_t lines = LEN(line_row, c->lines);
    uint32_t file = 0, build_id = m ? m->build_id : 0;
    pd_place place = PD_NOWHERE_MAPPED;
    if (!has_room(c, PD_ROWS_LOCATIONS))
        return 0;
    if (m) {
        file = unmarked(c, m->filename);
        place =
            pd_place_in_file(pd_file_key(pd_otlp_text_of(c, file), pd_otlp_text_of(c, build_id)),
                             m->start, m->file_offset);
    }
    bool is_by_lines = !address && lines, is_new;
    pd_key id = is_by_lines ? pd_location_key_lines_begin(0, is_folded)
                            : pd_location_key_address(place, address, is_folded);
    for (size_t i = 0; i < lines && (is_by_lines || !build_id); i++) {
        const line_row *l = &ROWS(line_row, c->lines)[i];
        id = pd_location_key_line(id, function_key(c, l->function), l->line, l->column);
    }
    uint32_t row = pd_write_key(&c->writer, &c->otlp.location_contents, id, &is_new);
    if (!is_new)
        return row + 1;
    c->tables.rows[PD_ROWS_LOCATIONS].len++;
    words_of(c, PD_COLUMN_LOCATION_ID)[row] = id.lo;
    words_of(c, PD_COLUMN_LOCATION_ADDRESS)[row] = address ? address + place.bias : 0;
    put_string(c, PD_COLUMN_LOCATION_BUILD_ID, row, build_id);
    put_string(c, PD_COLUMN_LOCATION_FILE, row, file);
    put_lines(c);
    ints_of(c, PD_COLUMN_LOCATION_LINES)[row + 1] =
        (int32_t)(uint32_t)c->tables.rows[PD_ROWS_LINES].len;
    return row + 1;
}

static void mark(pd_compact *c, unsigned column, size_t row, bool is_null)
{
    pd_arrow_values_mark(&c->tables.columns[column], row, is_null);
}

static void put_optional(pd_compact *c, unsigned column, size_t row, uint64_t string)
{
    ints_of(c, column)[row] = 0;
    if (string)
        put_string(c, column, row, (uint32_t)string);
    mark(c, column, row, !string);
}

void pd_compact_tables_label(pd_compact *c, const pd_compact_label *label)
{
    if (!has_room(c, PD_ROWS_LABELS))
        return;
    size_t row = c->tables.rows[PD_ROWS_LABELS].len++;
    put_string(c, PD_COLUMN_LABEL_KEY, row, (uint32_t)label->key);
    put_optional(c, PD_COLUMN_LABEL_STR, row, label->str);
    put_optional(c, PD_COLUMN_LABEL_UNIT, row, label->num_unit);
    words_of(c, PD_COLUMN_LABEL_NUM)[row] = (uint64_t)label->num;
    mark(c, PD_COLUMN_LABEL_NUM, row, label->str && !label->num);
}

/* The stack of the sample: its id. A new one gets a row. */
static uint64_t put_stack(pd_compact *c)
{
    pd_compact_tables *t = &c->tables;
    pd_buffer *places = &t->columns[PD_COLUMN_STACK_LOCATIONS].values;
    const uint32_t *stack = ROWS(uint32_t, c->stack);
    size_t depth = LEN(uint32_t, c->stack);
    bool is_new;
    uint64_t *ids = (void *)pd_write_room(&c->writer, places, depth * sizeof *ids + 1);
    if (!ids || !has_room(c, PD_ROWS_STACKS))
        return 0;
    const uint64_t *known = words_of(c, PD_COLUMN_LOCATION_ID);
    for (size_t i = 0; i < depth; i++)
        ids[i] = known[(pd_le32(stack[i]) & PD_ENCODED_MAX) - 1];
    /* The id is a hash of these ids, which changes them to little endian. */
    pd_key key = depth ? pd_key_of_words(ids, depth, 0) : (pd_key){0, 0};
    for (size_t i = 0; i < depth; i++)
        ids[i] = pd_le64(ids[i]);
    uint32_t row = pd_write_key(&c->writer, &c->otlp.stacks, key, &is_new);
    if (!is_new)
        return key.lo;
    t->rows[PD_ROWS_STACKS].len++;
    t->rows[PD_ROWS_PLACES].len += depth;
    places->len += depth * sizeof *ids;
    words_of(c, PD_COLUMN_STACK_ID)[row] = key.lo;
    ints_of(c, PD_COLUMN_STACK_ENDS)[row + 1] = (int32_t)(uint32_t)t->rows[PD_ROWS_PLACES].len;
    return key.lo;
}

void pd_compact_tables_sample(pd_compact *c, const int64_t *values, size_t len)
{
    pd_compact_tables *t = &c->tables;
    uint64_t stack = put_stack(c);
    if (c->writer.status || !has_room(c, PD_ROWS_SAMPLES))
        return;
    size_t row = t->rows[PD_ROWS_SAMPLES].len++;
    words_of(c, PD_COLUMN_SAMPLE_STACK)[row] = stack;
    ints_of(c, PD_COLUMN_SAMPLE_LABELS)[row + 1] = (int32_t)(uint32_t)t->rows[PD_ROWS_LABELS].len;
    for (unsigned i = 0; i < len; i++)
        words_of(c, PD_COLUMN_SAMPLE_VALUES + i)[row] = (uint64_t)values[i];
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void make_texts(pd_compact *c, pd_arrow *a, pd_arrow_at at, const char *name,
                       const pd_buffer *strings)
{
    const uint32_t *numbers = ROWS(uint32_t, *strings);
    size_t len = LEN(uint32_t, *strings), bytes = 0;
    for (size_t i = 0; i < len; i++)
        bytes += pd_otlp_text_of(c, numbers[i]).len;
    int32_t *ends = pd_arrow_make(a, at, &(pd_arrow_kind){.name = name, .format = "u"}, len, bytes);
    for (size_t i = 0; ends && i < len; i++) {
        pd_bytes text = pd_otlp_text_of(c, numbers[i]);
        ends[i + 1] = ends[i] + (int32_t)text.len;
        if (text.len)
            memcpy(pd_arrow_text(at) + ends[i], text.ptr, text.len);
    }
}

/* Makes a column and those inside it. Returns the one that follows them. */
static unsigned make(pd_compact *c, pd_arrow *a, pd_arrow_at at, unsigned of)
{
    const pd_buffer *strings = &c->tables.dictionaries[of].strings;
    const pd_arrow_kind kind = kind_of(c, of);
    unsigned next = of + 1;
    if (!strcmp(kind.format, "u")) {
        make_texts(c, a, at, kind.name, strings);
        return next;
    }
    pd_arrow_make(a, at, &kind, c->tables.rows[columns[of].rows].len, 0);
    for (size_t i = 0; i < kind.children; i++)
        next = make(c, a, pd_arrow_child(at, i), next);
    if (kind.has_dictionary)
        make_texts(c, a, pd_arrow_child(at, 0), "", strings);
    return next;
}

static pd_arrow_at place_of(pprofdelta_table *table)
{
    return (pd_arrow_at){&table->schema, &table->array};
}

enum { VALUES = PD_COLUMN_SAMPLE_LABELS - PD_COLUMN_SAMPLE_TARGET }; /* columns before them */

/* May the column of the type have this name? Those before it are made. */
static bool is_free(const pd_compact *c, pd_arrow_at table, size_t type, const char *name,
                    bool is_whole)
{
    bool is_taken = !*name || !strcmp(name, "labels");
    for (size_t i = 0; i < VALUES + type; i++)
        is_taken |= !strcmp(table.schema->children[i]->name, name);
    for (size_t i = 0; i < c->otlp.types; i++)
        is_taken |=
            !is_whole && i != type && c->otlp.type_names[i][0] == c->otlp.type_names[type][0];
    return !is_taken;
}

/* The type, "type/unit", "type/unit/2" and so on: the first that is free. In c->scratch. */
static const char *name_of(pd_compact *c, pd_arrow_at table, size_t type)
{
    pd_bytes name = pd_otlp_text_of(c, c->otlp.type_names[type][0]);
    pd_bytes unit = pd_otlp_text_of(c, c->otlp.type_names[type][1]);
    size_t room = name.len + unit.len + 32;
    c->scratch.len = 0;
    char *out = (char *)pd_write_room(&c->writer, &c->scratch, room);
    for (unsigned i = 0; out; i++) {
        snprintf(out, room,
                 i > 1 ? "%.*s/%.*s/%u"
                 : i   ? "%.*s/%.*s"
                       : "%.*s",
                 (int)name.len, (const char *)name.ptr, (int)unit.len, (const char *)unit.ptr, i);
        if (is_free(c, table, type, out, i > 0))
            break;
    }
    return out;
}

/* The values come before the labels. */
static void make_samples(pd_compact *c, pd_arrow *a)
{
    size_t len = c->tables.rows[PD_ROWS_SAMPLES].len, types = c->otlp.types;
    pd_arrow_at table = place_of(&c->tables.out.samples);
    pd_arrow_kind kind = {.name = "", .format = "+s", .children = VALUES + types + 1};
    pd_arrow_make(a, table, &kind, len, 0);
    for (unsigned i = 0; i < VALUES; i++)
        make(c, a, pd_arrow_child(table, i), PD_COLUMN_SAMPLE_TARGET + i);
    for (unsigned i = 0; i < types && !a->status; i++) {
        const char *name = name_of(c, table, i);
        kind = kind_of(c, PD_COLUMN_SAMPLE_VALUES + i);
        kind.name = name;
        if (name)
            pd_arrow_make(a, pd_arrow_child(table, VALUES + i), &kind, len, 0);
    }
    make(c, a, pd_arrow_child(table, VALUES + types), PD_COLUMN_SAMPLE_LABELS);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* As pd_stamp_of reads it from a profile. */
static pprofdelta_stamp stamp_of(const pd_compact *c, const pd_compact_header *h)
{
    pprofdelta_stamp stamp = {.to_nanos = h->time_nanos};
    if (!h->time_nanos || h->duration_nanos <= 0 ||
        __builtin_sub_overflow(h->time_nanos, h->duration_nanos, &stamp.from_nanos))
        stamp.from_nanos = 0;
    for (int live = 0; live < 2 && c->comments.len; live++) {
        pd_reader comments = pd_reader_of(c->comments.ptr, c->comments.len);
        uint64_t string;
        while (pd_reader_varint(&comments, &string)) {
            pd_bytes comment = pd_otlp_text_of(c, (uint32_t)string);
            if ((live ? pd_is_live_stamp(comment) : pd_is_stamp(comment)) &&
                pd_stamp_read(comment, &stamp))
                return stamp;
        }
    }
    return stamp;
}

static uint32_t target_of(pd_compact *c, const pprofdelta_stamp *stamp)
{
    char id[17] = "";
    if (c->resource.len)
        return pd_compact_string(c, c->resource);
    if (stamp->id)
        snprintf(id, sizeof id, "%016" PRIx64, stamp->id);
    return pd_compact_string(c, pd_bytes_of(id));
}

/* What is the same in all rows. */
static void fill_facts(pd_compact *c, const pprofdelta_stamp *stamp, const pd_compact_header *h)
{
    pd_compact_tables *t = &c->tables;
    const uint64_t facts[] = {(uint64_t)stamp->from_nanos, (uint64_t)stamp->to_nanos,
                              stamp->sequence, stamp->attempt};
    size_t len = t->rows[PD_ROWS_SAMPLES].len, bits = (len + 7) / 8;
    uint32_t target = target_of(c, stamp);
    if (!len || c->writer.status)
        return;
    bool begins_in_1970 = h->time_nanos && h->time_nanos == h->duration_nanos; /* else 0: unknown */
    memset(ints_of(c, PD_COLUMN_SAMPLE_TARGET), 0, len * sizeof(int32_t));
    put_string(c, PD_COLUMN_SAMPLE_TARGET, 0, target);
    for (unsigned i = 0; i < 4; i++) {
        pd_arrow_values *v = &t->columns[PD_COLUMN_SAMPLE_FROM + i];
        uint64_t *words = pd_arrow_values_of(v);
        for (size_t row = 0; row < len; row++)
            words[row] = facts[i];
        bool is_known = facts[i] || (!i && begins_in_1970);
        memset(v->valid.ptr, is_known ? 0xff : 0, bits);
        v->nulls = is_known ? 0 : (int64_t)len;
    }
    memset(pd_arrow_values_of(&t->columns[PD_COLUMN_SAMPLE_RESTART]), stamp->restart ? 0xff : 0,
           bits);
}

pprofdelta_status pd_compact_tables_make(pd_compact *c, pd_bytes *out, pprofdelta_error *err)
{
    pd_writer *w = &c->writer;
    pprofdelta_tables *t = &c->tables.out;
    pd_arrow a = {.err = err, .is_copied = c->tables.is_lasting_malloc};
    w->err = err;
    pd_handed_release(t);
    *t = (pprofdelta_tables){.size = sizeof *t};
    pd_mem_init(&a.mem, c->tables.is_lasting_malloc ? NULL : &w->mem->allocator,
                pd_mem_left(w->mem));
    a.status = w->status;
    make(c, &a, place_of(&t->functions), PD_COLUMN_FUNCTIONS);
    make(c, &a, place_of(&t->locations), PD_COLUMN_LOCATIONS);
    make(c, &a, place_of(&t->stacks), PD_COLUMN_STACKS);
    make_samples(c, &a);
    pprofdelta_status status = a.status ? a.status : w->status;
    w->status = PPROFDELTA_OK;
    if (status)
        pd_handed_release(t);
    else
        *out = (pd_bytes){(const uint8_t *)t, (size_t)(a.mem.used + a.shared)};
    return status;
}

pprofdelta_status pd_compact_tables_end(pd_compact *c, const pd_compact_header *h, pd_bytes *out)
{
    if (c->writer.status)
        return c->writer.status;
    const pprofdelta_stamp stamp = stamp_of(c, h);
    fill_facts(c, &stamp, h);
    return c->writer.status ? c->writer.status : pd_compact_tables_make(c, out, c->writer.err);
}

void pd_compact_tables_sums(const pd_compact *c, pprofdelta_sum *sums)
{
    const struct ArrowArray *samples = &c->tables.out.samples.array;
    for (size_t type = 0; type < c->otlp.types; type++) {
        const int64_t *values = samples->children[VALUES + type]->buffers[1];
        for (int64_t i = 0; i < samples->length; i++)
            pd_sum_add(&sums[type], values[i]);
    }
}

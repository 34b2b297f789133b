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
#include <stddef.h>
#include <stdio.h>

typedef struct function_row {
    pd_key key;
    uint64_t name, system_name, file; /* numbers of strings, as all strings here */
    int64_t start_line;
} function_row;

typedef struct line_row {
    pd_key function; /* {0, 0}: none */
    int64_t line, column;
} line_row;

typedef struct location_row {
    pd_key key;
    uint64_t build_id, file, address, lines_end;
} location_row;

typedef struct sample_row {
    uint64_t stack_end, labels_end;
} sample_row;

/* ---- rows ------------------------------------------------------------------------------------ */

#define ROWS(type, buffer) ((const type *)(const void *)(buffer).ptr)
#define LEN(type, buffer)  ((buffer).len / sizeof(type))

void pd_compact_tables_begin(pd_compact *c)
{
    for (size_t i = 0; i < sizeof c->buffers / sizeof *c->buffers; i++)
        c->buffers[i].len = 0;
    pd_handed_release(&c->tables.out);
}

void pd_compact_tables_release(pd_compact *c, pd_mem *mem)
{
    pd_handed_release(&c->tables.out);
    pd_buffer_release(mem, &c->tables.stack_of);
    pd_buffer_release(mem, &c->tables.first);
    pd_buffer_release(mem, &c->tables.indices);
}

static pd_key string_key(const pd_compact *c, uint32_t string)
{
    return pd_string_key(pd_otlp_text_of(c, string));
}

void pd_compact_tables_function(pd_compact *c, uint32_t name, uint32_t system_name,
                                uint32_t filename, int64_t start_line)
{
    function_row row = {
        .name = name, .system_name = system_name, .file = filename, .start_line = start_line};
    if (c->writer.status)
        return;
    row.key = pd_function_key_of(string_key(c, name), string_key(c, system_name),
                                 string_key(c, filename), start_line);
    pd_write_raw(&c->writer, &c->function_bytes, (const uint8_t *)&row, sizeof row);
}

void pd_compact_tables_line(pd_compact *c, uint32_t function, int64_t line, int64_t column)
{
    line_row row = {.line = line, .column = column};
    if (function && !c->writer.status)
        row.function = ROWS(function_row, c->function_bytes)[function - 1].key;
    pd_write_raw(&c->writer, &c->lines, (const uint8_t *)&row, sizeof row);
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

uint32_t pd_compact_tables_location(pd_compact *c, uint32_t mapping, uint64_t address,
                                    bool is_folded)
{
    const pd_compact_mapping *m = mapping ? &c->mapping_list[mapping - 1] : NULL;
    pd_keymap *known = &c->otlp.location_contents;
    if (c->writer.status)
        return 0;
    location_row row = {.lines_end = LEN(line_row, c->lines)};
    pd_place place = PD_NOWHERE_MAPPED;
    if (m) {
        row.build_id = m->build_id;
        row.file = unmarked(c, m->filename);
        pd_key file =
            pd_file_key(pd_otlp_text_of(c, (uint32_t)row.file), pd_otlp_text_of(c, m->build_id));
        place = pd_place_in_file(file, m->start, m->file_offset);
    }
    size_t first = known->len ? ROWS(location_row, c->location_bytes)[known->len - 1].lines_end : 0;
    bool is_by_lines = !address && row.lines_end > first;
    row.address = address ? address + place.bias : 0;
    row.key = is_by_lines ? pd_location_key_lines_begin(is_folded)
                          : pd_location_key_address(place, address, is_folded);
    for (size_t i = first; i < row.lines_end && (is_by_lines || !row.build_id); i++) {
        const line_row *l = &ROWS(line_row, c->lines)[i];
        row.key = pd_location_key_line(row.key, l->function, l->line, l->column);
    }
    bool is_new;
    uint32_t number = pd_compact_intern(c, known, row.key, &is_new);
    if (is_new)
        pd_write_raw(&c->writer, &c->location_bytes, (const uint8_t *)&row, sizeof row);
    else
        c->lines.len = first * sizeof(line_row);
    return number + 1;
}

void pd_compact_tables_sample(pd_compact *c, const int64_t *values, size_t len)
{
    const sample_row row = {c->stack.len, LEN(pd_compact_label, c->labels)};
    pd_write_raw(&c->writer, &c->out, (const uint8_t *)&row, sizeof row);
    for (size_t i = 0; i < len; i++)
        pd_write_raw(&c->writer, &c->otlp.samples[i], (const uint8_t *)&values[i], sizeof *values);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Where a column is in rows: a 64-bit word at an offset. What it is:
 *
 *     l int64     L uint64     n int64, 0 is null     t a time, 0 is null
 *     u text      s strings of a dictionary           S the same, the empty one is null */
typedef struct column {
    const char *name;
    char kind;
    size_t at;
} column;

typedef struct rows {
    const void *first;
    size_t size, len; /* size 0: all rows are the same */
} rows;

#define ROWS_OF(type, buffer)                                                                      \
    &(rows)                                                                                        \
    {                                                                                              \
        (buffer).ptr, sizeof(type), LEN(type, buffer)                                              \
    }

static uint64_t word_at(const rows *r, size_t row, size_t at)
{
    uint64_t word;
    memcpy(&word, (const uint8_t *)r->first + row * r->size + at, sizeof word);
    return word;
}

static void make_numbers(pd_arrow *a, pd_arrow_at at, const column *k, const rows *r)
{
    bool is_nullable = k->kind == 'n' || k->kind == 't';
    const char *format = k->kind == 't' ? "tsn:UTC" : k->kind == 'L' ? "L" : "l";
    pd_arrow_kind kind = {.name = k->name, .format = format, .is_nullable = is_nullable};
    uint64_t *out = pd_arrow_make(a, at, &kind, r->len, 0);
    for (size_t i = 0; out && i < r->len; i++) {
        out[i] = word_at(r, i, k->at);
        if (is_nullable && !out[i])
            pd_arrow_null(at, i);
    }
}

static void make_texts(pd_compact *c, pd_arrow *a, pd_arrow_at at, const column *k, const rows *r)
{
    size_t bytes = 0;
    for (size_t i = 0; i < r->len; i++)
        bytes += pd_otlp_text_of(c, (uint32_t)word_at(r, i, k->at)).len;
    int32_t *ends =
        pd_arrow_make(a, at, &(pd_arrow_kind){.name = k->name, .format = "u"}, r->len, bytes);
    for (size_t i = 0; ends && i < r->len; i++) {
        pd_bytes text = pd_otlp_text_of(c, (uint32_t)word_at(r, i, k->at));
        ends[i + 1] = ends[i] + (int32_t)text.len;
        if (text.len)
            memcpy(pd_arrow_text(at) + ends[i], text.ptr, text.len);
    }
}

/* In the order of first use. `indices` has the index of each string, plus 1, and behind it the strings of
 * the dictionary. */
static void make_dictionary(pd_compact *c, pd_arrow *a, pd_arrow_at at, const column *k,
                            const rows *r)
{
    pd_arrow_kind kind = {
        .name = k->name, .format = "i", .is_nullable = k->kind == 'S', .has_dictionary = true};
    int32_t *out = pd_arrow_make(a, at, &kind, r->len, 0);
    size_t known = c->strings.len;
    c->tables.indices.len = 0;
    uint64_t *index =
        (void *)pd_write_room(&c->writer, &c->tables.indices, 2 * known * sizeof *index);
    if (!out || !index)
        return;
    rows used = {.first = index + known, .size = sizeof *index};
    memset(index, 0, known * sizeof *index);
    for (size_t i = 0; i < r->len; i++) {
        uint64_t string = word_at(r, i, k->at);
        bool is_null = kind.is_nullable && !string;
        if (!index[string] && !is_null) {
            index[known + used.len] = string;
            index[string] = ++used.len;
        }
        out[i] = is_null ? 0 : (int32_t)index[string] - 1;
        if (is_null)
            pd_arrow_null(at, i);
    }
    make_texts(c, a, pd_arrow_child(at, 0), &(column){"", 'u', 0}, &used);
}

/* Makes the children of a table, from `child` on. */
static void make_columns(pd_compact *c, pd_arrow *a, pd_arrow_at table, size_t child,
                         const column *list, size_t len, const rows *r)
{
    for (size_t i = 0; i < len; i++) {
        pd_arrow_at at = pd_arrow_child(table, child + i);
        if (list[i].kind == 'u')
            make_texts(c, a, at, &list[i], r);
        else if (list[i].kind == 's' || list[i].kind == 'S')
            make_dictionary(c, a, at, &list[i], r);
        else
            make_numbers(a, at, &list[i], r);
    }
}

#define COLUMNS(list) (list), sizeof(list) / sizeof *(list)

static pd_arrow_at make_struct(pd_arrow *a, pd_arrow_at at, const char *name, size_t children,
                               size_t len)
{
    pd_arrow_make(a, at, &(pd_arrow_kind){.name = name, .format = "+s", .children = children}, len,
                  0);
    return at;
}

static pd_arrow_at make_table(pd_arrow *a, pprofdelta_table *table, size_t children, size_t len)
{
    return make_struct(a, (pd_arrow_at){&table->schema, &table->array}, "", children, len);
}

/* A list whose rows end where the column says; NULL: where the caller sets it. Returns the place of its child. */
static pd_arrow_at make_list(pd_arrow *a, pd_arrow_at at, const column *k, const rows *r)
{
    pd_arrow_kind kind = {.name = k->name, .format = "+l", .children = 1};
    int32_t *ends = pd_arrow_make(a, at, &kind, r->len, 0);
    for (size_t i = 0; ends && r->first && i < r->len; i++)
        ends[i + 1] = (int32_t)word_at(r, i, k->at);
    return pd_arrow_child(at, 0);
}

static uint8_t *make_bits(pd_arrow *a, pd_arrow_at at, const char *name, size_t len, bool value)
{
    uint8_t *bits = pd_arrow_make(a, at, &(pd_arrow_kind){.name = name, .format = "b"}, len, 0);
    if (bits)
        memset(bits, value ? 0xff : 0, (len + 7) / 8);
    return bits;
}

/* ---- functions and locations ----------------------------------------------------------------- */

static void make_functions(pd_compact *c, pd_arrow *a)
{
    static const column columns[] = {{"function_id", 'l', offsetof(function_row, key)},
                                     {"name", 'u', offsetof(function_row, name)},
                                     {"system_name", 'u', offsetof(function_row, system_name)},
                                     {"file", 's', offsetof(function_row, file)},
                                     {"start_line", 'l', offsetof(function_row, start_line)}};
    const rows *r = ROWS_OF(function_row, c->function_bytes);
    make_columns(c, a, make_table(a, &c->tables.out.functions, 5, r->len), 0, COLUMNS(columns), r);
}

static void make_locations(pd_compact *c, pd_arrow *a)
{
    static const column columns[] = {{"location_id", 'l', offsetof(location_row, key)},
                                     {"build_id", 's', offsetof(location_row, build_id)},
                                     {"file", 's', offsetof(location_row, file)},
                                     {"address", 'L', offsetof(location_row, address)}},
                        of_lines[] = {{"function_id", 'l', offsetof(line_row, function)},
                                      {"line", 'l', offsetof(line_row, line)}},
                        list = {"lines", 'l', offsetof(location_row, lines_end)};
    const rows *r = ROWS_OF(location_row, c->location_bytes), *lines = ROWS_OF(line_row, c->lines);
    pd_arrow_at table = make_table(a, &c->tables.out.locations, 5, r->len);
    make_columns(c, a, table, 0, COLUMNS(columns), r);
    pd_arrow_at item =
        make_struct(a, make_list(a, pd_arrow_child(table, 4), &list, r), "item", 3, lines->len);
    make_columns(c, a, item, 0, COLUMNS(of_lines), lines);
    uint8_t *inlined = make_bits(a, pd_arrow_child(item, 2), "inlined", lines->len, true);
    for (size_t i = 0, begin = 0; inlined && i < r->len; i++) {
        size_t end = (size_t)word_at(r, i, list.at), last = end - 1;
        if (end > begin)
            inlined[last / 8] &= (uint8_t) ~(1u << last % 8);
        begin = end;
    }
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* The locations of a sample, packed. */
static pd_bytes stack_of(const pd_compact *c, size_t sample)
{
    uint64_t from = sample ? ROWS(sample_row, c->out)[sample - 1].stack_end : 0;
    uint64_t end = ROWS(sample_row, c->out)[sample].stack_end;
    return (pd_bytes){end > from ? c->stack.ptr + from : (const uint8_t *)"", (size_t)(end - from)};
}

static size_t count_places(pd_bytes stack)
{
    size_t places = 0;
    for (size_t i = 0; i < stack.len; i++)
        places += stack.ptr[i] < 0x80;
    return places;
}

/* Numbers the stacks. Hashing runs ahead of the set, which is larger than the cache. */
static void number_stacks(pd_compact *c)
{
    enum { AHEAD = 16 };
    pd_compact_tables *t = &c->tables;
    pd_writer *w = &c->writer;
    pd_keymap *stacks = &c->otlp.stacks;
    pd_key keys[AHEAD];
    size_t len = LEN(sample_row, c->out);
    t->places = t->stack_of.len = t->first.len = 0;
    pd_keymap_clear(stacks);
    if (!w->status && len)
        w->status = pd_keymap_reserve(stacks, w->mem, len, w->err);
    uint8_t *numbers = pd_write_room(w, &t->stack_of, len * sizeof(uint32_t) + 1);
    uint8_t *behind = pd_write_room(w, &c->stack, sizeof(uint32_t)); /* see next_location */
    if (behind)
        memset(behind, 0, sizeof(uint32_t));
    uint8_t *first = pd_write_room(w, &t->first, len * sizeof(uint32_t) + 1);
    for (size_t i = 0; first && i < len + AHEAD; i++) {
        if (i >= AHEAD) {
            uint32_t sample = (uint32_t)(i - AHEAD), before = (uint32_t)stacks->len;
            uint32_t number = pd_keymap_add(stacks, keys[i % AHEAD]);
            memcpy(numbers + sample * sizeof number, &number, sizeof number);
            if (number == before) {
                memcpy(first + number * sizeof number, &sample, sizeof sample);
                t->places += count_places(stack_of(c, sample));
            }
        }
        if (i < len) {
            pd_bytes stack = stack_of(c, i);
            keys[i % AHEAD] = pd_key_of_bytes(stack.ptr, stack.len, 0);
            pd_keymap_prefetch(stacks, keys[i % AHEAD]);
        }
    }
}

/* The location whose packed id is at *at, which moves behind it. The bytes behind the last one may be read. */
static inline uint32_t next_location(const uint8_t **at)
{
    uint32_t word;
    memcpy(&word, *at, sizeof word);
    word = pd_le32(word);
    unsigned len = (unsigned)__builtin_ctz(~word & 0x80808080) / 8 + 1;
    word &= UINT32_MAX >> (32 - 8 * len);
    *at += len;
    return (word & 0x7f) | (word >> 1 & 0x3f80) | (word >> 2 & 0x1fc000) | (word >> 3 & 0xfe00000);
}

/* The id of a stack is a hash of its location ids. Bytes are in little endian order for it. */
static int64_t stack_id(uint64_t *ids, size_t len)
{
    int64_t id = len ? (int64_t)pd_key_of_words(ids, len, 0).lo : 0;
    for (size_t i = 0; i < len; i++)
        ids[i] = pd_le64(ids[i]);
    return id;
}

/* Returns the ids, for the samples. The locations are made. */
static const int64_t *make_stacks(pd_compact *c, pd_arrow *a)
{
    static const column list = {"location_ids", 'l', 0};
    const rows *r = &(rows){NULL, 0, c->otlp.stacks.len};
    const uint32_t *first = ROWS(uint32_t, c->tables.first);
    pd_arrow_at table = make_table(a, &c->tables.out.stacks, 2, r->len),
                lists = pd_arrow_child(table, 1);
    pd_arrow_kind plain = {.name = "stack_id", .format = "l"};
    int64_t *ids = pd_arrow_make(a, pd_arrow_child(table, 0), &plain, r->len, 0);
    plain.name = "item";
    uint64_t *out = pd_arrow_make(a, make_list(a, lists, &list, r), &plain, c->tables.places, 0);
    if (!out || !lists.array)
        return NULL;
    int32_t *ends = (int32_t *)lists.array->buffers[1];
    const uint64_t *known = c->tables.out.locations.array.children[0]->buffers[1];
    for (size_t i = 0; i < r->len; i++) {
        pd_bytes stack = stack_of(c, first[i]);
        uint64_t *from = out + ends[i], *end = from;
        for (const uint8_t *p = stack.ptr, *stop = p + stack.len; p < stop;)
            *end++ = known[next_location(&p) - 1];
        ids[i] = stack_id(from, (size_t)(end - from));
        ends[i + 1] = (int32_t)(end - out);
    }
    return ids;
}

/* ---- samples --------------------------------------------------------------------------------- */

enum { RESTART = 5, STACK_ID, VALUES };

static void make_labels(pd_compact *c, pd_arrow *a, pd_arrow_at lists)
{
    static const column list = {"labels", 'l', offsetof(sample_row, labels_end)};
    static const column columns[] = {{"key", 's', offsetof(pd_compact_label, key)},
                                     {"str", 'S', offsetof(pd_compact_label, str)},
                                     {"unit", 'S', offsetof(pd_compact_label, num_unit)}};
    const rows *r = ROWS_OF(pd_compact_label, c->labels);
    pd_arrow_kind kind = {.name = "num", .format = "l", .is_nullable = true};
    pd_arrow_at item = make_list(a, lists, &list, ROWS_OF(sample_row, c->out));
    make_struct(a, item, "item", 4, r->len);
    make_columns(c, a, item, 0, columns, 2, r);
    pd_arrow_at num = pd_arrow_child(item, 2);
    int64_t *out = pd_arrow_make(a, num, &kind, r->len, 0);
    for (size_t i = 0; out && i < r->len; i++) {
        const pd_compact_label *label = &ROWS(pd_compact_label, c->labels)[i];
        out[i] = label->num;
        if (label->str && !label->num)
            pd_arrow_null(num, i);
    }
    make_columns(c, a, item, 3, &columns[2], 1, r);
}

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

static void make_samples(pd_compact *c, pd_arrow *a, const int64_t *ids)
{
    static const column facts[] = {{"target", 's', offsetof(pd_compact_tables, target)},
                                   {"from", 't', offsetof(pd_compact_tables, stamp.from_nanos)},
                                   {"time", 't', offsetof(pd_compact_tables, stamp.to_nanos)},
                                   {"sequence", 'n', offsetof(pd_compact_tables, stamp.sequence)},
                                   {"attempt", 'n', offsetof(pd_compact_tables, stamp.attempt)}};
    const uint32_t *stack = ROWS(uint32_t, c->tables.stack_of);
    size_t len = LEN(sample_row, c->out), types = c->otlp.types;
    pd_arrow_at table = make_table(a, &c->tables.out.samples, VALUES + types + 1, len);
    make_columns(c, a, table, 0, COLUMNS(facts), &(rows){&c->tables, 0, len});
    make_bits(a, pd_arrow_child(table, RESTART), "restart", len, c->tables.stamp.restart);
    pd_arrow_kind kind = {.name = "stack_id", .format = "l"};
    int64_t *out = pd_arrow_make(a, pd_arrow_child(table, STACK_ID), &kind, len, 0);
    for (size_t i = 0; out && i < len; i++)
        out[i] = ids[stack[i]];
    for (size_t i = 0; i < types && !a->status; i++) {
        const column value = {name_of(c, table, i), 'l', 0};
        if (value.name)
            make_columns(c, a, table, VALUES + i, &value, 1, ROWS_OF(int64_t, c->otlp.samples[i]));
    }
    make_labels(c, a, pd_arrow_child(table, VALUES + types));
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

static uint32_t target_of(pd_compact *c)
{
    char id[17] = "";
    if (c->resource.len)
        return pd_compact_string(c, c->resource);
    if (c->tables.stamp.id)
        snprintf(id, sizeof id, "%016" PRIx64, c->tables.stamp.id);
    return pd_compact_string(c, pd_bytes_of(id));
}

pprofdelta_status pd_compact_tables_make(pd_compact *c, pd_bytes *out, pprofdelta_error *err)
{
    pd_writer *w = &c->writer;
    pprofdelta_tables *t = &c->tables.out;
    pd_arrow a = {.err = err};
    w->err = err;
    pd_handed_release(t);
    *t = (pprofdelta_tables){.size = sizeof *t};
    number_stacks(c);
    pd_mem_init(&a.mem, c->tables.is_lasting_malloc ? NULL : &w->mem->allocator,
                pd_mem_left(w->mem));
    a.status = w->status;
    make_functions(c, &a);
    make_locations(c, &a);
    const int64_t *ids = make_stacks(c, &a);
    make_samples(c, &a, ids);
    pprofdelta_status status = a.status ? a.status : w->status;
    w->status = PPROFDELTA_OK;
    if (status)
        pd_handed_release(t);
    else
        *out = (pd_bytes){(const uint8_t *)t, (size_t)a.mem.used};
    return status;
}

pprofdelta_status pd_compact_tables_end(pd_compact *c, const pd_compact_header *h, pd_bytes *out)
{
    if (c->writer.status)
        return c->writer.status;
    c->tables.stamp = stamp_of(c, h);
    c->tables.target = target_of(c);
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

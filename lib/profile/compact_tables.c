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
    uint64_t build_id, file, address, lines_end;
} location_row;

/* ---- rows ------------------------------------------------------------------------------------ */

#define ROWS(type, buffer) ((const type *)(const void *)(buffer).ptr)
#define LEN(type, buffer)  ((buffer).len / sizeof(type))

static const pd_arrow_kind kinds[] = {
    [PD_COLUMN_STACK_LOCATIONS] = {.name = "item", .format = "l"},
    [PD_COLUMN_STACK_ID] = {.name = "stack_id", .format = "l"},
    [PD_COLUMN_STACK_ENDS] = {.name = "location_ids", .format = "+l", .children = 1},
    [PD_COLUMN_LABEL_KEY] = {.name = "key", .format = "i", .has_dictionary = true},
    [PD_COLUMN_LABEL_STR] = {.name = "str",
                             .format = "i",
                             .has_dictionary = true,
                             .is_nullable = true},
    [PD_COLUMN_LABEL_UNIT] = {.name = "unit",
                              .format = "i",
                              .has_dictionary = true,
                              .is_nullable = true},
    [PD_COLUMN_LABEL_NUM] = {.name = "num", .format = "l", .is_nullable = true},
    [PD_COLUMN_SAMPLE_TARGET] = {.name = "target", .format = "i", .has_dictionary = true},
    [PD_COLUMN_SAMPLE_FROM] = {.name = "from", .format = "tsn:UTC", .is_nullable = true},
    [PD_COLUMN_SAMPLE_TIME] = {.name = "time", .format = "tsn:UTC", .is_nullable = true},
    [PD_COLUMN_SAMPLE_SEQUENCE] = {.name = "sequence", .format = "l", .is_nullable = true},
    [PD_COLUMN_SAMPLE_ATTEMPT] = {.name = "attempt", .format = "l", .is_nullable = true},
    [PD_COLUMN_SAMPLE_STACK] = {.name = "stack_id", .format = "l"},
    [PD_COLUMN_SAMPLE_LABELS] = {.name = "labels", .format = "+l", .children = 1},
    [PD_COLUMN_SAMPLE_VALUES] = {.format = "l"},
};

static const pd_arrow_kind *kind_of(unsigned of)
{
    return &kinds[of < PD_COLUMN_SAMPLE_VALUES ? of : PD_COLUMN_SAMPLE_VALUES];
}

static uint64_t *words_of(const pd_compact *c, unsigned column)
{
    return pd_arrow_values_of(&c->tables.columns[column]);
}

static int32_t *ints_of(const pd_compact *c, unsigned column)
{
    return pd_arrow_values_of(&c->tables.columns[column]);
}

/* Makes room for a row in the columns [first, end). Returns whether there is. */
static inline bool has_room(pd_compact *c, pd_compact_rows *r, unsigned first, unsigned end)
{
    if (__builtin_expect(r->len < r->cap, 1))
        return true;
    size_t want = pd_mem_roomy(c->writer.mem, r->len);
    for (unsigned i = first; i < end; i++)
        pd_arrow_values_room(&c->tables.columns[i], &c->writer, want, kind_of(i));
    if (c->writer.status)
        return false;
    r->cap = want;
    return true;
}

void pd_compact_tables_begin(pd_compact *c)
{
    static const unsigned offsets[] = {PD_COLUMN_STACK_ENDS, PD_COLUMN_SAMPLE_LABELS};
    pd_compact_tables *t = &c->tables;
    for (size_t i = 0; i < sizeof c->buffers / sizeof *c->buffers; i++)
        c->buffers[i].len = 0;
    for (unsigned i = 0; i < PD_COLUMN_SAMPLE_VALUES; i++)
        pd_arrow_values_begin(&t->columns[i], &c->writer);
    for (unsigned i = 0; i < 2; i++) {
        pd_arrow_values_room(&t->columns[offsets[i]], &c->writer, 0, kind_of(offsets[i]));
        if (!c->writer.status)
            *ints_of(c, offsets[i]) = 0;
    }
    for (unsigned i = 0; i < PD_DICTIONARIES; i++)
        t->dictionaries[i].indices.len = t->dictionaries[i].strings.len = 0;
    t->stacks = t->labels = t->samples = (pd_compact_rows){0, 0};
    t->places = t->location_ids.len = t->pending_len = 0;
    t->has_pending = false;
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
    for (unsigned i = 0; i <= PD_DICTIONARIES; i++) {
        pd_buffer_release(mem, &t->dictionaries[i].indices);
        pd_buffer_release(mem, &t->dictionaries[i].strings);
    }
    pd_buffer_release(mem, &t->location_ids);
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
    pd_key id;
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
    id = is_by_lines ? pd_location_key_lines_begin(is_folded)
                     : pd_location_key_address(place, address, is_folded);
    for (size_t i = first; i < row.lines_end && (is_by_lines || !row.build_id); i++) {
        const line_row *l = &ROWS(line_row, c->lines)[i];
        id = pd_location_key_line(id, l->function, l->line, l->column);
    }
    bool is_new;
    uint32_t number = pd_compact_intern(c, known, id, &is_new);
    if (is_new) {
        pd_write_raw(&c->writer, &c->location_bytes, (const uint8_t *)&row, sizeof row);
        pd_write_raw(&c->writer, &c->tables.location_ids, (const uint8_t *)&id.lo, sizeof id.lo);
    } else {
        c->lines.len = first * sizeof(line_row);
    }
    return number + 1;
}

/* Returns the index of the string, in the order of first use. */
static int32_t index_in(pd_compact *c, pd_compact_dictionary *d, uint64_t string)
{
    size_t known = d->indices.len, need = c->strings.len * sizeof(uint32_t);
    if (known <= string * sizeof(uint32_t) &&
        pd_write_room(&c->writer, &d->indices, need - known)) {
        memset(d->indices.ptr + known, 0, need - known);
        d->indices.len = need;
    }
    if (c->writer.status)
        return 0;
    uint32_t *index = (uint32_t *)(void *)d->indices.ptr + string;
    if (!*index) {
        pd_write_raw(&c->writer, &d->strings, (const uint8_t *)&string, sizeof string);
        *index = (uint32_t)LEN(uint64_t, d->strings);
    }
    return (int32_t)*index - 1;
}

void pd_compact_tables_label(pd_compact *c, const pd_compact_label *label)
{
    pd_compact_tables *t = &c->tables;
    const uint64_t strings[] = {label->key, label->str, label->num_unit};
    if (!has_room(c, &t->labels, PD_COLUMN_LABEL_KEY, PD_COLUMN_SAMPLE_TARGET))
        return;
    size_t row = t->labels.len++;
    for (unsigned i = 0; i < PD_DICTIONARIES; i++) {
        unsigned column = PD_COLUMN_LABEL_KEY + i;
        bool is_null = i && !strings[i];
        ints_of(c, column)[row] = is_null ? 0 : index_in(c, &t->dictionaries[i], strings[i]);
        if (i)
            pd_arrow_values_mark(&t->columns[column], row, is_null);
    }
    words_of(c, PD_COLUMN_LABEL_NUM)[row] = (uint64_t)label->num;
    pd_arrow_values_mark(&t->columns[PD_COLUMN_LABEL_NUM], row, label->str && !label->num);
}

/* The stack of the last sample gets a row, if it is new. */
static void settle_stack(pd_compact *c)
{
    pd_compact_tables *t = &c->tables;
    bool is_new = false;
    if (t->has_pending)
        pd_compact_intern(c, &c->otlp.stacks, t->pending, &is_new);
    t->has_pending = false;
    if (!is_new || !has_room(c, &t->stacks, PD_COLUMN_STACK_ID, PD_COLUMN_LABEL_KEY))
        return;
    size_t row = t->stacks.len++;
    t->places += t->pending_len;
    t->columns[PD_COLUMN_STACK_LOCATIONS].values.len += t->pending_len * sizeof(uint64_t);
    words_of(c, PD_COLUMN_STACK_ID)[row] = t->pending.lo;
    ints_of(c, PD_COLUMN_STACK_ENDS)[row + 1] = (int32_t)(uint32_t)t->places;
}

/* The id of a stack is a hash of its location ids. Bytes are in little endian order for it. */
static pd_key stack_key(uint64_t *ids, size_t len)
{
    pd_key key = len ? pd_key_of_words(ids, len, 0) : (pd_key){0, 0};
    for (size_t i = 0; i < len; i++)
        ids[i] = pd_le64(ids[i]);
    return key;
}

/* The set of stacks is larger than the cache: it is asked for a stack when the next sample comes. */
void pd_compact_tables_sample(pd_compact *c, const int64_t *values, size_t len)
{
    pd_compact_tables *t = &c->tables;
    const uint64_t *known = ROWS(uint64_t, t->location_ids);
    const uint32_t *stack = ROWS(uint32_t, c->stack);
    settle_stack(c);
    t->pending_len = LEN(uint32_t, c->stack);
    uint64_t *ids = (void *)pd_write_room(&c->writer, &t->columns[PD_COLUMN_STACK_LOCATIONS].values,
                                          t->pending_len * sizeof *ids + 1);
    if (!ids || !has_room(c, &t->samples, PD_COLUMN_SAMPLE_TARGET,
                          PD_COLUMN_SAMPLE_VALUES + (unsigned)c->otlp.types))
        return;
    for (size_t i = 0; i < t->pending_len; i++)
        ids[i] = known[(pd_le32(stack[i]) & PD_ENCODED_MAX) - 1];
    t->pending = stack_key(ids, t->pending_len);
    t->has_pending = true;
    pd_keymap_prefetch(&c->otlp.stacks, t->pending);
    size_t row = t->samples.len++;
    words_of(c, PD_COLUMN_SAMPLE_STACK)[row] = t->pending.lo;
    ints_of(c, PD_COLUMN_SAMPLE_LABELS)[row + 1] = (int32_t)(uint32_t)t->labels.len;
    for (unsigned i = 0; i < len; i++)
        words_of(c, PD_COLUMN_SAMPLE_VALUES + i)[row] = (uint64_t)values[i];
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Where a column is in rows: a 64-bit word at an offset. What it is:
 *
 *     l int64     L uint64     u text     s strings of a dictionary */
typedef struct column {
    const char *name;
    char kind;
    size_t at;
} column;

typedef struct rows {
    const void *first;
    size_t size, len;
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
    pd_arrow_kind kind = {.name = k->name, .format = k->kind == 'L' ? "L" : "l"};
    uint64_t *out = pd_arrow_make(a, at, &kind, r->len, 0);
    for (size_t i = 0; out && i < r->len; i++)
        out[i] = word_at(r, i, k->at);
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

/* The strings of a dictionary column that was made. */
static void make_strings(pd_compact *c, pd_arrow *a, pd_arrow_at at, const pd_compact_dictionary *d)
{
    make_texts(c, a, pd_arrow_child(at, 0), &(column){"", 'u', 0}, ROWS_OF(uint64_t, d->strings));
}

static void make_dictionary(pd_compact *c, pd_arrow *a, pd_arrow_at at, const column *k,
                            const rows *r)
{
    pd_compact_dictionary *d = &c->tables.dictionaries[PD_DICTIONARIES];
    pd_arrow_kind kind = {.name = k->name, .format = "i", .has_dictionary = true};
    int32_t *out = pd_arrow_make(a, at, &kind, r->len, 0);
    d->indices.len = d->strings.len = 0;
    for (size_t i = 0; out && i < r->len; i++)
        out[i] = index_in(c, d, word_at(r, i, k->at));
    make_strings(c, a, at, d);
}

/* Makes the children of a table, from `child` on. */
static void make_columns(pd_compact *c, pd_arrow *a, pd_arrow_at table, size_t child,
                         const column *list, size_t len, const rows *r)
{
    for (size_t i = 0; i < len; i++) {
        pd_arrow_at at = pd_arrow_child(table, child + i);
        if (list[i].kind == 'u')
            make_texts(c, a, at, &list[i], r);
        else if (list[i].kind == 's')
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

/* A list whose rows end where the column says. Returns the place of its child. */
static pd_arrow_at make_list(pd_arrow *a, pd_arrow_at at, const column *k, const rows *r)
{
    pd_arrow_kind kind = {.name = k->name, .format = "+l", .children = 1};
    int32_t *ends = pd_arrow_make(a, at, &kind, r->len, 0);
    for (size_t i = 0; ends && i < r->len; i++)
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

/* A column whose rows were appended. */
static pd_arrow_at make_given(pd_compact *c, pd_arrow *a, pd_arrow_at at, unsigned of, size_t len,
                              const char *name)
{
    pd_arrow_kind kind = *kind_of(of);
    kind.given = &c->tables.columns[of];
    if (name)
        kind.name = name;
    pd_arrow_make(a, at, &kind, len, 0);
    return at;
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
    static const column id = {"location_id", 'l', 0},
                        columns[] = {{"build_id", 's', offsetof(location_row, build_id)},
                                     {"file", 's', offsetof(location_row, file)},
                                     {"address", 'L', offsetof(location_row, address)}},
                        of_lines[] = {{"function_id", 'l', offsetof(line_row, function)},
                                      {"line", 'l', offsetof(line_row, line)}},
                        list = {"lines", 'l', offsetof(location_row, lines_end)};
    const rows *r = ROWS_OF(location_row, c->location_bytes), *lines = ROWS_OF(line_row, c->lines);
    pd_arrow_at table = make_table(a, &c->tables.out.locations, 5, r->len);
    make_columns(c, a, table, 0, &id, 1, ROWS_OF(uint64_t, c->tables.location_ids));
    make_columns(c, a, table, 1, COLUMNS(columns), r);
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

/* ---- stacks and samples ---------------------------------------------------------------------- */

static void make_stacks(pd_compact *c, pd_arrow *a)
{
    size_t len = c->tables.stacks.len;
    pd_arrow_at table = make_table(a, &c->tables.out.stacks, 2, len);
    make_given(c, a, pd_arrow_child(table, 0), PD_COLUMN_STACK_ID, len, NULL);
    pd_arrow_at lists = make_given(c, a, pd_arrow_child(table, 1), PD_COLUMN_STACK_ENDS, len, NULL);
    make_given(c, a, pd_arrow_child(lists, 0), PD_COLUMN_STACK_LOCATIONS, c->tables.places, NULL);
}

enum { FACTS = 5, RESTART = FACTS, STACK_ID, VALUES };

static void make_labels(pd_compact *c, pd_arrow *a, pd_arrow_at at)
{
    static const size_t children[] = {0, 1, 3};
    size_t len = c->tables.labels.len;
    pd_arrow_at lists = make_given(c, a, at, PD_COLUMN_SAMPLE_LABELS, c->tables.samples.len, NULL);
    pd_arrow_at item = make_struct(a, pd_arrow_child(lists, 0), "item", 4, len);
    for (unsigned i = 0; i < PD_DICTIONARIES; i++)
        make_strings(
            c, a,
            make_given(c, a, pd_arrow_child(item, children[i]), PD_COLUMN_LABEL_KEY + i, len, NULL),
            &c->tables.dictionaries[i]);
    make_given(c, a, pd_arrow_child(item, 2), PD_COLUMN_LABEL_NUM, len, NULL);
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

static void make_samples(pd_compact *c, pd_arrow *a)
{
    pd_compact_tables *t = &c->tables;
    size_t len = t->samples.len, types = c->otlp.types;
    const rows target = {&t->target, sizeof t->target, len != 0};
    pd_arrow_at table = make_table(a, &t->out.samples, VALUES + types + 1, len);
    for (unsigned i = 0; i < FACTS; i++)
        make_given(c, a, pd_arrow_child(table, i), PD_COLUMN_SAMPLE_TARGET + i, len, NULL);
    make_texts(c, a, pd_arrow_child(pd_arrow_child(table, 0), 0), &(column){"", 'u', 0}, &target);
    make_bits(a, pd_arrow_child(table, RESTART), "restart", len, t->stamp.restart);
    make_given(c, a, pd_arrow_child(table, STACK_ID), PD_COLUMN_SAMPLE_STACK, len, NULL);
    for (unsigned i = 0; i < types && !a->status; i++) {
        const char *name = name_of(c, table, i);
        if (name)
            make_given(c, a, pd_arrow_child(table, VALUES + i), PD_COLUMN_SAMPLE_VALUES + i, len,
                       name);
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

/* What is the same in all rows. */
static void fill_facts(pd_compact *c)
{
    pd_compact_tables *t = &c->tables;
    const uint64_t facts[] = {(uint64_t)t->stamp.from_nanos, (uint64_t)t->stamp.to_nanos,
                              t->stamp.sequence, t->stamp.attempt};
    size_t len = t->samples.len;
    if (!len)
        return;
    memset(ints_of(c, PD_COLUMN_SAMPLE_TARGET), 0, len * sizeof(int32_t));
    for (unsigned i = 0; i < 4; i++) {
        pd_arrow_values *v = &t->columns[PD_COLUMN_SAMPLE_FROM + i];
        uint64_t *words = pd_arrow_values_of(v);
        for (size_t row = 0; row < len; row++)
            words[row] = facts[i];
        memset(v->valid.ptr, facts[i] ? 0xff : 0, (len + 7) / 8);
        v->nulls = facts[i] ? 0 : (int64_t)len;
    }
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
    pd_arrow a = {.err = err, .is_copied = c->tables.is_lasting_malloc};
    w->err = err;
    pd_handed_release(t);
    *t = (pprofdelta_tables){.size = sizeof *t};
    pd_mem_init(&a.mem, c->tables.is_lasting_malloc ? NULL : &w->mem->allocator,
                pd_mem_left(w->mem));
    a.status = w->status;
    make_functions(c, &a);
    make_locations(c, &a);
    make_stacks(c, &a);
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
    settle_stack(c);
    if (c->writer.status)
        return c->writer.status;
    c->tables.stamp = stamp_of(c, h);
    c->tables.target = target_of(c);
    fill_facts(c);
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

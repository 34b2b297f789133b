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
    uint64_t function; /* output id; 0: none */
    int64_t line, column;
} line_row;

typedef struct location_row {
    uint64_t build_id, file, address, lines_end;
} location_row;

typedef struct sample_row {
    uint64_t stack_end, labels_end;
    int64_t values[];
} sample_row;

/* ---- rows ------------------------------------------------------------------------------------ */

#define ROWS(type, buffer) ((const type *)(const void *)(buffer).ptr)

static void add_row(pd_compact *c, pd_buffer *rows, const void *row, size_t size)
{
    pd_write_raw(&c->writer, rows, row, size);
}

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
    if (c->writer.status)
        return;
    const function_row row = {.key = pd_function_key_of(string_key(c, name),
                                                        string_key(c, system_name),
                                                        string_key(c, filename), start_line),
                              .name = name,
                              .system_name = system_name,
                              .file = filename,
                              .start_line = start_line};
    add_row(c, &c->function_bytes, &row, sizeof row);
}

void pd_compact_tables_line(pd_compact *c, uint32_t function, int64_t line, int64_t column)
{
    const line_row row = {function, line, column};
    add_row(c, &c->lines, &row, sizeof row);
}

/* The number of the name without the mark of a deleted file. */
static uint32_t unmarked(pd_compact *c, uint32_t filename)
{
    pd_bytes text = pd_otlp_text_of(c, filename), file = pd_filename_unmarked(text);
    if (file.len == text.len)
        return filename;
    c->scratch.len = 0;
    pd_write_raw(&c->writer, &c->scratch, file.ptr, file.len); /* strings move */
    return pd_compact_string(c, (pd_bytes){c->scratch.ptr, c->scratch.len});
}

static size_t lines_end(const pd_compact *c, size_t locations)
{
    return locations ? ROWS(location_row, c->location_bytes)[locations - 1].lines_end : 0;
}

uint32_t pd_compact_tables_location(pd_compact *c, uint32_t mapping, uint64_t address,
                                    bool is_folded)
{
    const pd_compact_mapping *m = mapping ? &c->mapping_list[mapping - 1] : NULL;
    pd_keymap *known = &c->otlp.location_contents;
    if (c->writer.status)
        return 0;
    location_row row = {.build_id = m ? m->build_id : 0, .file = m ? unmarked(c, m->filename) : 0};
    pd_bytes build_id = pd_otlp_text_of(c, (uint32_t)row.build_id);
    pd_key file = pd_file_key(pd_otlp_text_of(c, (uint32_t)row.file), build_id);
    pd_place place = m ? pd_place_in_file(file, m->start, m->file_offset) : PD_NOWHERE_MAPPED;
    size_t first = lines_end(c, known->len), end = c->lines.len / sizeof(line_row);
    bool is_by_lines = !address && end > first;
    pd_key key = is_by_lines ? pd_location_key_lines_begin(is_folded)
                             : pd_location_key_address(place, address, is_folded);
    for (size_t i = first; i < end && (is_by_lines || !build_id.len); i++) {
        const line_row *l = &ROWS(line_row, c->lines)[i];
        const pd_key none = {0, 0};
        key = pd_location_key_line(
            key, l->function ? ROWS(function_row, c->function_bytes)[l->function - 1].key : none,
            l->line, l->column);
    }
    row.address = address ? address + place.bias : 0;
    row.lines_end = end;
    bool is_new;
    uint32_t number = pd_compact_intern(c, known, key, &is_new);
    if (is_new)
        add_row(c, &c->location_bytes, &row, sizeof row);
    else
        c->lines.len = first * sizeof(line_row);
    return number + 1;
}

void pd_compact_tables_sample(pd_compact *c, const int64_t *values, size_t len)
{
    const sample_row row = {c->stack.len, c->labels.len / sizeof(pd_compact_label)};
    uint8_t *p = pd_write_room(&c->writer, &c->out, sizeof row + len * sizeof *values);
    if (!p)
        return;
    memcpy(p, &row, sizeof row);
    memcpy(p + sizeof row, values, len * sizeof *values);
    pd_write_done(&c->out, p + sizeof row + len * sizeof *values);
}

static const sample_row *sample_at(const pd_compact *c, size_t index)
{
    size_t size = sizeof(sample_row) + c->otlp.types * sizeof(int64_t);
    return (const void *)(c->out.ptr + index * size);
}

static size_t samples_len(const pd_compact *c)
{
    return c->out.len / (sizeof(sample_row) + c->otlp.types * sizeof(int64_t));
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* The locations of a sample, packed. */
static pd_bytes stack_of(const pd_compact *c, size_t sample)
{
    uint64_t from = sample ? sample_at(c, sample - 1)->stack_end : 0;
    uint64_t end = sample_at(c, sample)->stack_end;
    return (pd_bytes){end > from ? c->stack.ptr + from : NULL, (size_t)(end - from)};
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
    size_t len = samples_len(c);
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

static pd_arrow_at table_at(pprofdelta_table *table)
{
    return (pd_arrow_at){&table->schema, &table->array};
}

/* A struct column without nulls. */
static pd_arrow_at make_struct(pd_arrow *a, pd_arrow_at at, const char *name, size_t children,
                               size_t length)
{
    pd_arrow_make(a, at, &(pd_arrow_kind){.name = name, .format = "+s", .children = children},
                  length, 0);
    return at;
}

static void *make_plain(pd_arrow *a, pd_arrow_at at, const char *name, const char *format,
                        size_t length)
{
    return pd_arrow_make(a, at, &(pd_arrow_kind){.name = name, .format = format}, length, 0);
}

static int32_t *make_list(pd_arrow *a, pd_arrow_at at, const char *name, size_t length)
{
    return pd_arrow_make(a, at, &(pd_arrow_kind){.name = name, .format = "+l", .children = 1},
                         length, 0);
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
    size_t len = c->otlp.stacks.len;
    const uint32_t *first = ROWS(uint32_t, c->tables.first);
    pd_arrow_at at = make_struct(a, table_at(&c->tables.out.stacks), "", 2, len);
    pd_arrow_at lists = pd_arrow_child(at, 1);
    int64_t *ids = make_plain(a, pd_arrow_child(at, 0), "stack_id", "l", len);
    int32_t *ends = make_list(a, lists, "location_ids", len);
    uint64_t *out = make_plain(a, pd_arrow_child(lists, 0), "item", "l", c->tables.places);
    if (!out)
        return NULL;
    const uint64_t *known = c->tables.out.locations.array.children[0]->buffers[1];
    for (size_t i = 0; i < len; i++) {
        pd_bytes stack = stack_of(c, first[i]);
        uint64_t *from = out + ends[i], *end = from;
        for (const uint8_t *p = stack.ptr, *stop = p + stack.len; p < stop;)
            *end++ = known[next_location(&p) - 1];
        ids[i] = stack_id(from, (size_t)(end - from));
        ends[i + 1] = (int32_t)(end - out);
    }
    return ids;
}

/* ---- strings --------------------------------------------------------------------------------- */

/* A column of strings: each is the number of a string, a uint64_t in each row of some struct. */
typedef struct strings {
    const void *rows; /* of the first row */
    size_t size;      /* of a row */
    size_t len;
    bool is_nullable; /* the empty string is null */
} strings;

static uint64_t string_at(const strings *s, size_t row)
{
    uint64_t string;
    memcpy(&string, (const uint8_t *)s->rows + row * s->size, sizeof string);
    return string;
}

static void make_texts(pd_compact *c, pd_arrow *a, pd_arrow_at at, const char *name,
                       const strings *s)
{
    size_t bytes = 0;
    for (size_t i = 0; i < s->len; i++)
        bytes += pd_otlp_text_of(c, (uint32_t)string_at(s, i)).len;
    int32_t *ends =
        pd_arrow_make(a, at, &(pd_arrow_kind){.name = name, .format = "u"}, s->len, bytes);
    for (size_t i = 0; ends && i < s->len; i++) {
        pd_bytes text = pd_otlp_text_of(c, (uint32_t)string_at(s, i));
        ends[i + 1] = ends[i] + (int32_t)text.len;
        if (text.len)
            memcpy(pd_arrow_text(at) + ends[i], text.ptr, text.len);
    }
}

/* In the order of first use. `indices` has the index of each string, and behind it the strings of the
 * dictionary. */
static void make_dictionary(pd_compact *c, pd_arrow *a, pd_arrow_at at, const char *name,
                            const strings *s)
{
    pd_arrow_kind kind = {
        .name = name, .format = "i", .is_nullable = s->is_nullable, .has_dictionary = true};
    int32_t *out = pd_arrow_make(a, at, &kind, s->len, 0);
    size_t known = c->strings.len;
    c->tables.indices.len = 0;
    uint64_t *index =
        (void *)pd_write_room(&c->writer, &c->tables.indices, 2 * known * sizeof *index);
    if (!out || !index)
        return;
    strings used = {.rows = index + known, .size = sizeof *index};
    memset(index, 0, known * sizeof *index);
    for (size_t i = 0; i < s->len; i++) {
        uint64_t string = string_at(s, i);
        bool is_null = s->is_nullable && !string;
        if (!index[string] && !is_null) {
            index[known + used.len] = string;
            index[string] = ++used.len;
        }
        out[i] = is_null ? 0 : (int32_t)index[string] - 1;
        if (is_null)
            pd_arrow_null(at, i);
    }
    make_texts(c, a, pd_arrow_child(at, 0), "", &used);
}

/* The numbers of strings in a member of rows, and the values of a column in one. */
#define STRINGS(type, member, buffer, count)                                                       \
    &(strings)                                                                                     \
    {                                                                                              \
        (buffer).ptr ? (buffer).ptr + offsetof(type, member) : NULL, sizeof(type), (count), false  \
    }

/* ---- functions and locations ----------------------------------------------------------------- */

static void make_functions(pd_compact *c, pd_arrow *a)
{
    const pd_buffer *b = &c->function_bytes;
    const function_row *rows = ROWS(function_row, *b);
    size_t len = b->len / sizeof *rows;
    pd_arrow_at at = make_struct(a, table_at(&c->tables.out.functions), "", 5, len);
    int64_t *ids = make_plain(a, pd_arrow_child(at, 0), "function_id", "l", len);
    make_texts(c, a, pd_arrow_child(at, 1), "name", STRINGS(function_row, name, *b, len));
    make_texts(c, a, pd_arrow_child(at, 2), "system_name",
               STRINGS(function_row, system_name, *b, len));
    make_dictionary(c, a, pd_arrow_child(at, 3), "file", STRINGS(function_row, file, *b, len));
    int64_t *start_lines = make_plain(a, pd_arrow_child(at, 4), "start_line", "l", len);
    for (size_t i = 0; start_lines && i < len; i++) {
        ids[i] = (int64_t)rows[i].key.lo;
        start_lines[i] = rows[i].start_line;
    }
}

static void make_lines(pd_compact *c, pd_arrow *a, pd_arrow_at lists, size_t locations)
{
    const location_row *rows = ROWS(location_row, c->location_bytes);
    const line_row *lines = ROWS(line_row, c->lines);
    size_t len = lines_end(c, locations);
    int32_t *ends = make_list(a, lists, "lines", locations);
    pd_arrow_at at = make_struct(a, pd_arrow_child(lists, 0), "item", 3, len);
    int64_t *functions = make_plain(a, pd_arrow_child(at, 0), "function_id", "l", len);
    int64_t *numbers = make_plain(a, pd_arrow_child(at, 1), "line", "l", len);
    uint8_t *inlined = make_plain(a, pd_arrow_child(at, 2), "inlined", "b", len);
    if (!inlined)
        return;
    memset(inlined, 0xff, (len + 7) / 8);
    for (size_t i = 0; i < locations; i++) {
        ends[i + 1] = (int32_t)rows[i].lines_end;
        if (ends[i + 1] > ends[i])
            inlined[(ends[i + 1] - 1) / 8] &= (uint8_t) ~(1u << (ends[i + 1] - 1) % 8);
    }
    for (size_t i = 0; i < len; i++) {
        uint64_t f = lines[i].function;
        functions[i] = f ? (int64_t)ROWS(function_row, c->function_bytes)[f - 1].key.lo : 0;
        numbers[i] = lines[i].line;
    }
}

static void make_locations(pd_compact *c, pd_arrow *a)
{
    const pd_buffer *b = &c->location_bytes;
    const location_row *rows = ROWS(location_row, *b);
    size_t len = b->len / sizeof *rows;
    pd_arrow_at at = make_struct(a, table_at(&c->tables.out.locations), "", 5, len);
    int64_t *ids = make_plain(a, pd_arrow_child(at, 0), "location_id", "l", len);
    make_dictionary(c, a, pd_arrow_child(at, 1), "build_id",
                    STRINGS(location_row, build_id, *b, len));
    make_dictionary(c, a, pd_arrow_child(at, 2), "file", STRINGS(location_row, file, *b, len));
    uint64_t *addresses = make_plain(a, pd_arrow_child(at, 3), "address", "L", len);
    make_lines(c, a, pd_arrow_child(at, 4), len);
    for (size_t i = 0; addresses && i < len; i++) {
        ids[i] = (int64_t)c->otlp.location_contents.keys[i].lo;
        addresses[i] = rows[i].address;
    }
}

/* ---- samples --------------------------------------------------------------------------------- */

enum { TARGET, FROM, TIME, SEQUENCE, ATTEMPT, RESTART, STACK_ID, VALUES };

static const char *const fixed[] = {"target",  "from",    "time",     "sequence",
                                    "attempt", "restart", "stack_id", "labels"};

static void make_labels(pd_compact *c, pd_arrow *a, pd_arrow_at lists, size_t samples)
{
    const pd_buffer *b = &c->labels;
    const pd_compact_label *labels = ROWS(pd_compact_label, *b);
    size_t len = b->len / sizeof *labels;
    strings *key = STRINGS(pd_compact_label, key, *b, len);
    strings *str = STRINGS(pd_compact_label, str, *b, len);
    strings *unit = STRINGS(pd_compact_label, num_unit, *b, len);
    str->is_nullable = unit->is_nullable = true;
    int32_t *ends = make_list(a, lists, "labels", samples);
    pd_arrow_at at = make_struct(a, pd_arrow_child(lists, 0), "item", 4, len),
                num = pd_arrow_child(at, 2);
    make_dictionary(c, a, pd_arrow_child(at, 0), "key", key);
    make_dictionary(c, a, pd_arrow_child(at, 1), "str", str);
    int64_t *nums = pd_arrow_make(
        a, num, &(pd_arrow_kind){.name = "num", .format = "l", .is_nullable = true}, len, 0);
    make_dictionary(c, a, pd_arrow_child(at, 3), "unit", unit);
    if (a->status)
        return;
    for (size_t i = 0; i < samples; i++)
        ends[i + 1] = (int32_t)sample_at(c, i)->labels_end;
    for (size_t i = 0; i < len; i++) {
        nums[i] = labels[i].num;
        if (labels[i].str && !labels[i].num)
            pd_arrow_null(num, i);
    }
}

/* A column with one value; 0 is null. */
static void make_constant(pd_arrow *a, pd_arrow_at at, const char *name, const char *format,
                          size_t len, int64_t value)
{
    pd_arrow_kind kind = {.name = name, .format = format, .is_nullable = true};
    int64_t *out = pd_arrow_make(a, at, &kind, len, 0);
    for (size_t i = 0; out && i < len; i++)
        out[i] = value;
    if (out && !value) {
        memset((uint8_t *)at.array->buffers[0], 0, (len + 7) / 8);
        at.array->null_count = (int64_t)len;
    }
}

/* Is the name that of another column? Those before `column` are made. */
static bool is_taken(pd_arrow_at table, size_t column, const char *name)
{
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (!strcmp(fixed[i], name))
            return true;
    for (size_t i = VALUES; i < column; i++)
        if (!strcmp(table.schema->children[i]->name, name))
            return true;
    return !*name;
}

static bool has_namesake(const pd_compact *c, size_t type)
{
    for (size_t i = 0; i < c->otlp.types; i++)
        if (i != type && c->otlp.type_names[i][0] == c->otlp.type_names[type][0])
            return true;
    return false;
}

/* The type, "type/unit", "type/unit/2" and so on: the first that no other column has. In c->scratch. */
static const char *name_of(pd_compact *c, pd_arrow_at table, size_t type)
{
    pd_bytes name = pd_otlp_text_of(c, c->otlp.type_names[type][0]);
    pd_bytes unit = pd_otlp_text_of(c, c->otlp.type_names[type][1]);
    size_t room = name.len + unit.len + 32;
    c->scratch.len = 0;
    char *out = (char *)pd_write_room(&c->writer, &c->scratch, room);
    for (unsigned i = has_namesake(c, type); out; i++) {
        int len = snprintf(out, room, "%.*s", (int)name.len, (const char *)name.ptr);
        if (i)
            len += snprintf(out + len, room - (size_t)len, "/%.*s", (int)unit.len,
                            (const char *)unit.ptr);
        if (i > 1)
            snprintf(out + len, room - (size_t)len, "/%u", i);
        if (!is_taken(table, VALUES + type, out))
            break;
    }
    return out;
}

static void make_values(pd_compact *c, pd_arrow *a, pd_arrow_at at, size_t len, const int64_t *ids)
{
    int64_t *values[PPROFDELTA_MAX_TYPES];
    size_t types = c->otlp.types;
    const uint32_t *stack_of_sample = ROWS(uint32_t, c->tables.stack_of);
    int64_t *stacks = make_plain(a, pd_arrow_child(at, STACK_ID), "stack_id", "l", len);
    for (size_t i = 0; i < types; i++) {
        const char *name = a->status ? NULL : name_of(c, at, i);
        values[i] = name ? make_plain(a, pd_arrow_child(at, VALUES + i), name, "l", len) : NULL;
        if (!values[i])
            return;
    }
    for (size_t i = 0; stacks && i < len; i++) {
        const sample_row *row = sample_at(c, i);
        stacks[i] = ids[stack_of_sample[i]];
        for (size_t type = 0; type < types; type++)
            values[type][i] = row->values[type];
    }
}

static void make_samples(pd_compact *c, pd_arrow *a, const int64_t *ids)
{
    const pprofdelta_stamp *stamp = &c->tables.stamp;
    const uint64_t target = c->tables.target;
    const strings same = {.rows = &target, .len = samples_len(c)};
    size_t len = same.len, columns = VALUES + c->otlp.types + 1;
    pd_arrow_at at = make_struct(a, table_at(&c->tables.out.samples), "", columns, len);
    make_dictionary(c, a, pd_arrow_child(at, TARGET), "target", &same);
    make_constant(a, pd_arrow_child(at, FROM), "from", "tsn:UTC", len, stamp->from_nanos);
    make_constant(a, pd_arrow_child(at, TIME), "time", "tsn:UTC", len, stamp->to_nanos);
    make_constant(a, pd_arrow_child(at, SEQUENCE), "sequence", "l", len, (int64_t)stamp->sequence);
    make_constant(a, pd_arrow_child(at, ATTEMPT), "attempt", "l", len, (int64_t)stamp->attempt);
    uint8_t *restart = make_plain(a, pd_arrow_child(at, RESTART), "restart", "b", len);
    if (restart)
        memset(restart, stamp->restart ? 0xff : 0, (len + 7) / 8);
    make_values(c, a, at, len, ids);
    make_labels(c, a, pd_arrow_child(at, columns - 1), len);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* As pd_stamp_of reads it from a profile. */
static pprofdelta_stamp stamp_of(const pd_compact *c, const pd_compact_header *h)
{
    pprofdelta_stamp stamp = {.to_nanos = h->time_nanos};
    if (!h->time_nanos || h->duration_nanos <= 0 ||
        __builtin_sub_overflow(h->time_nanos, h->duration_nanos, &stamp.from_nanos))
        stamp.from_nanos = 0;
    for (int live = 0; live < 2; live++) {
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

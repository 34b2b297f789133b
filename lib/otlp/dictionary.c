#include "otlp/dictionary.h"

#include "base/utf8.h"
#include "otlp/any_value.h"
#include "otlp/request.h"
#include "encode/encode.h"

#include <inttypes.h>
#include <stddef.h>

/* ---- rows ------------------------------------------------------------------------------------ */

#define STRING       PD_REQUEST_STRING
#define INDEX(table) (PD_REQUEST_INDEX + PD_OTLP_DICTIONARY_##table##_TABLE)

const pd_rows pd_request_dictionary_rows =
    PD_ROWS("dictionary", [1] = {PD_FIELD_PART, 0, "mapping_table"},
            [2] = {PD_FIELD_PART, 0, "location_table"}, [3] = {PD_FIELD_PART, 0, "function_table"},
            [4] = {PD_FIELD_PART, 0, "link_table"}, [5] = {PD_FIELD_PART, 0, "string_table"},
            [6] = {PD_FIELD_PART, 0, "attribute_table"}, [7] = {PD_FIELD_PART, 0, "stack_table"});

const pd_rows pd_request_attribute_rows = PD_ROWS(
    "attribute_table",
    [1] = {INDEX(STRING), offsetof(pd_request_attribute, key_at), "attribute_table.key_strindex"},
    [2] = {PD_FIELD_PART, 0, "attribute_table.value"},
    [3] = {INDEX(STRING), offsetof(pd_request_attribute, unit_at),
           "attribute_table.unit_strindex"});

/* The next four are read into arrays of numbers, in the order of the fields that pprof has for them. */
#define NTH(n) ((n) * sizeof(uint64_t))

enum { MAPPING_NUMBERS = 4, FUNCTION_NUMBERS = 4, LOCATION_NUMBERS = 2, LINE_NUMBERS = 3 };

const pd_rows pd_request_mapping_rows =
    PD_ROWS("mapping_table", [1] = {PD_FIELD_NUMBER, NTH(0), "mapping_table.memory_start"},
            [2] = {PD_FIELD_NUMBER, NTH(1), "mapping_table.memory_limit"},
            [3] = {PD_FIELD_NUMBER, NTH(2), "mapping_table.file_offset"},
            [4] = {STRING, NTH(3), "mapping_table.filename_strindex"},
            [5] = {PD_FIELD_LIST, 0, "mapping_table.attribute_indices"});

const pd_rows pd_request_function_rows =
    PD_ROWS("function_table", [1] = {STRING, NTH(0), "function_table.name_strindex"},
            [2] = {STRING, NTH(1), "function_table.system_name_strindex"},
            [3] = {STRING, NTH(2), "function_table.filename_strindex"},
            [4] = {PD_FIELD_NUMBER, NTH(3), "function_table.start_line"});

const pd_rows pd_request_location_rows =
    PD_ROWS("location_table", [1] = {INDEX(MAPPING), NTH(0), "location_table.mapping_index"},
            [2] = {PD_FIELD_NUMBER, NTH(1), "location_table.address"},
            [3] = {PD_FIELD_PART, 0, "location_table.lines"},
            [4] = {PD_FIELD_LIST, 0, "location_table.attribute_indices"});

const pd_rows pd_request_line_rows = PD_ROWS(
    "location_table.lines", [1] = {INDEX(FUNCTION), NTH(0), "location_table.lines.function_index"},
    [2] = {PD_FIELD_NUMBER, NTH(1), "location_table.lines.line"},
    [3] = {PD_FIELD_NUMBER, NTH(2), "location_table.lines.column"});

const pd_rows pd_request_link_rows =
    PD_ROWS("link_table", [1] = {PD_FIELD_PART, 0, "link_table.trace_id"},
            [2] = {PD_FIELD_PART, 0, "link_table.span_id"});

const pd_rows pd_request_stack_rows =
    PD_ROWS("stack_table", [1] = {PD_FIELD_LIST, 0, "stack_table.location_indices"});

static const char *table_name(unsigned table)
{
    return pd_row_of(&pd_request_dictionary_rows, table)->name;
}

/* ---- for all readers ---------------------------------------------------------------------- */

void pd_request_spend(pd_request *r, uint64_t bytes)
{
    if (bytes <= r->left) {
        r->left -= bytes;
    } else if (!r->parse.status) {
        r->left = 0;
        r->parse.status =
            PD_FAIL(r->parse.err, PPROFDELTA_E_LIMIT, PPROFDELTA_STAGE_PROFILE, "samples",
                    "the conversion of this OTLP request takes more than %" PRIu64
                    " bytes: %d times its size, and %d MiB",
                    r->most, PD_REQUEST_TIMES, PD_REQUEST_ALWAYS >> 20);
    }
}

/* Checks an index into a table of the dictionary (a field number of Dictionary) and returns it; 0
 * after an error. Entry 0 always exists. */
static uint32_t check_index(pd_request *r, const char *field, const uint8_t *at, uint64_t index,
                            unsigned table)
{
    size_t len = r->dictionary.tables[table].len;
    if (index == 0 || index < len)
        return (uint32_t)index;
    PD_REQUEST_FAIL(r, field, at, "index %" PRId64 " is outside the %s, which has %zu entr%s",
                    (int64_t)index, table_name(table), len, len == 1 ? "y" : "ies");
    return 0;
}

pd_bytes pd_request_string(const pd_request *r, uint64_t index)
{
    return index ? r->dictionary.tables[PD_OTLP_DICTIONARY_STRING_TABLE].entries[index]
                 : pd_bytes_of("");
}

uint32_t pd_request_number(pd_request *r, pd_bytes text)
{
    bool is_new;
    pd_key key = pd_key_of_bytes(text.ptr, text.len, 0);
    uint32_t number = pd_write_key(&r->parse.writer, &r->dictionary.numbers, key, &is_new);
    if (is_new)
        pd_write_bytes(&r->parse.writer, &r->profile, PD_PROFILE_STRING_TABLE, text);
    return number;
}

bool pd_request_is_text(const pd_request *r, uint64_t number, const char *text)
{
    pd_bytes bytes = pd_bytes_of(text);
    return pd_key_equal(r->dictionary.numbers.keys[number],
                        pd_key_of_bytes(bytes.ptr, bytes.len, 0));
}

static void check_text(pd_request *r, const char *name, pd_bytes text, const uint8_t *at)
{
    if (!r->parse.status && !pd_utf8_is_valid(text))
        PD_REQUEST_FAIL(r, name, at, "a string that is not UTF-8");
}

static uint32_t read_index(pd_request *r, const char *name, const pd_field *f, unsigned table)
{
    return check_index(r, name, f->start, pd_parse_number(&r->parse, name, f), table);
}

void pd_request_field(pd_parse *parse, unsigned kind, const char *name, const pd_field *f, void *to)
{
    pd_request *r = (void *)parse; /* its first member */
    if (kind == PD_REQUEST_TEXT) {
        pd_bytes *text = to;
        *text = pd_reader_bytes(pd_parse_body(parse, name, f));
        check_text(r, name, *text, f->start);
    } else if (kind == PD_REQUEST_STRING) {
        *(uint64_t *)to =
            r->dictionary.strings[read_index(r, name, f, PD_OTLP_DICTIONARY_STRING_TABLE)];
    } else {
        *(uint64_t *)to = read_index(r, name, f, kind - PD_REQUEST_INDEX);
    }
}

/* The next element of a list of indices of a table. */
static bool next_index(pd_request *r, pd_list *list, unsigned table)
{
    if (pd_list_next(&r->parse, list))
        check_index(r, list->name, list->at, list->value, table);
    else
        return false;
    return !r->parse.status;
}

void pd_request_attributes_begin(pd_request *r)
{
    r->dictionary.mark++;
}

bool pd_request_attributes_next(pd_request *r, pd_list *list)
{
    pd_dictionary *d = &r->dictionary;
    if (!next_index(r, list, PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE))
        return false;
    if (!list->value) {
        PD_REQUEST_FAIL(r, list->name, list->at, "attribute 0 is not allowed: it means none");
        return false;
    }
    uint64_t *mark = &d->marks[d->attributes[list->value].key];
    if (*mark == d->mark)
        PD_REQUEST_FAIL(r, list->name, list->at,
                        "attribute %" PRIu64 " has a key that is there already", list->value);
    *mark = d->mark;
    return !r->parse.status;
}

/* ---- the entries -------------------------------------------------------------------------- */

void pd_dictionary_find(pd_request *r, const pd_field *field)
{
    pd_dictionary *d = &r->dictionary;
    pd_message body = {pd_parse_body(&r->parse, "dictionary", field), &pd_request_dictionary_rows,
                       d};
    const pd_field_row *row;
    pd_field f;
    if (d->is_found)
        PD_REQUEST_FAIL(r, "dictionary", field->start, "a second dictionary");
    d->is_found = true;
    while ((row = pd_message_next(&r->parse, &body, &f))) {
        pd_request_table *table = &d->tables[f.number];
        r->parse.element = table->len;
        pd_reader entry = pd_parse_body(&r->parse, row->name, &f);
        if (table->len == INT32_MAX)
            PD_REQUEST_FAIL(r, row->name, f.start, "more than %d entries", INT32_MAX);
        if (PD_PARSE_GROW(&r->parse, table->entries, table->len + 1))
            table->entries[table->len++] = pd_reader_bytes(entry);
        if (!r->parse.status)
            r->parse.element = PPROFDELTA_NOWHERE;
    }
}

/* A table that is there begins with the zero value: no known field has a byte that is not 0. */
static void require_zero(pd_request *r, unsigned table, const pd_rows *rows, pd_bytes entry)
{
    pd_reader reader = pd_request_reader(entry);
    bool is_zero = rows || !entry.len;
    pd_field f;
    while (rows && pd_reader_next(&reader, &f)) {
        bool is_body = f.wire == PD_WIRE_BYTES, is_known = pd_row_of(rows, f.number)->kind;
        is_zero &= is_body || !f.value || !is_known;
        while (is_body && is_known && f.body.at != f.body.end)
            is_zero &= !*f.body.at++;
    }
    if (!is_zero)
        PD_REQUEST_FAIL(r, table_name(table), entry.ptr, "the first entry is not the zero value");
}

static void read_strings(pd_request *r)
{
    pd_dictionary *d = &r->dictionary;
    const pd_request_table *t = &d->tables[PD_OTLP_DICTIONARY_STRING_TABLE];
    pd_request_number(r, (pd_bytes){(const uint8_t *)"", 0});
    PD_PARSE_GROW(&r->parse, d->strings, t->len + 1);
    if (!r->parse.status)
        d->strings[0] = 0; /* without a table, too */
    for (size_t i = 0; i < t->len && !r->parse.status; i++) {
        r->parse.element = i;
        if (!i)
            require_zero(r, PD_OTLP_DICTIONARY_STRING_TABLE, NULL, t->entries[0]);
        check_text(r, "string_table", t->entries[i], t->entries[i].ptr);
        d->strings[i] = pd_request_number(r, t->entries[i]);
    }
    size_t before = PD_CAP(d->marks);
    PD_PARSE_GROW(&r->parse, d->marks, d->numbers.len);
    if (PD_CAP(d->marks) > before)
        memset(d->marks + before, 0, (PD_CAP(d->marks) - before) * sizeof *d->marks);
}

static void read_attribute(pd_request *r, pd_reader body)
{
    pd_request_attribute *out = &r->dictionary.attributes[r->parse.element];
    *out = (pd_request_attribute){0};
    pd_message message = {body, &pd_request_attribute_rows, out};
    const pd_field_row *row;
    pd_field f;
    for (size_t values = 0; (row = pd_message_next(&r->parse, &message, &f)); values++) {
        pd_reader value = pd_parse_body(&r->parse, row->name, &f);
        if (values)
            PD_REQUEST_FAIL(r, row->name, f.start, "an attribute with two values");
        out->value = pd_any_value_walk(r, row->name, value, NULL);
    }
    if (r->parse.status)
        return;
    out->key = r->dictionary.strings[out->key_at];
    out->unit = r->dictionary.strings[out->unit_at];
    out->is_label = pd_any_value_is_label(r, out->value, out->unit != 0);
}

/* ---- mappings ----------------------------------------------------------------------------- */

/* The attributes of a mapping that a profile has fields for. */
enum { GNU, GO, HTLHASH, BUILD_IDS };
typedef struct mapping_facts {
    uint32_t build_id[BUILD_IDS];        /* numbers of strings */
    uint64_t has[PD_OTLP_MAPPING_FLAGS]; /* the fields from PD_MAPPING_HAS_FUNCTIONS on */
} mapping_facts;

static void set_string(pd_request *r, void *cookie, uint32_t string)
{
    (void)r;
    *(uint32_t *)cookie = string;
}

pd_bytes pd_request_value(pd_request *r, uint64_t index)
{
    pd_bytes value = r->dictionary.attributes[index].value;
    pd_request_spend(r, value.len);
    return value;
}

static void take_of_mapping(pd_request *r, mapping_facts *facts, uint64_t index)
{
    static const char *const ids[] = {
        [GNU] = "process.executable.build_id.gnu",
        [GO] = "process.executable.build_id.go",
        [HTLHASH] = "process.executable.build_id.htlhash",
    };
    const pd_request_attribute *attribute = &r->dictionary.attributes[index];
    for (size_t i = 0; i < BUILD_IDS; i++)
        if (pd_request_is_text(r, attribute->key, ids[i])) {
            pd_any_value_strings(r, pd_request_value(r, index), set_string, &facts->build_id[i]);
            return;
        }
    for (unsigned i = 0; i < PD_OTLP_MAPPING_FLAGS; i++)
        if (pd_request_is_text(r, attribute->key, pd_otlp_mapping_has[i])) {
            if (pd_any_value_is_true(attribute->value))
                facts->has[i] = 1;
            return;
        }
    r->facts.unshown++;
}

static void read_mapping(pd_request *r, pd_reader body)
{
    mapping_facts facts = {.has = {0}};
    uint64_t numbers[MAPPING_NUMBERS] = {0}, build_id = 0;
    pd_message message = {body, &pd_request_mapping_rows, numbers};
    const pd_field_row *row;
    pd_field f;
    pd_request_attributes_begin(r);
    while ((row = pd_message_next(&r->parse, &message, &f))) {
        pd_list list = pd_list_of(&r->parse, row->name, &f);
        while (pd_request_attributes_next(r, &list))
            take_of_mapping(r, &facts, list.value);
    }
    for (size_t i = 0; i < BUILD_IDS && !build_id; i++)
        build_id = facts.build_id[i];
    pd_write_varints(&r->parse.writer, &r->part, PD_MAPPING_MEMORY_START, numbers, MAPPING_NUMBERS);
    pd_write_varint(&r->parse.writer, &r->part, PD_MAPPING_BUILD_ID, build_id);
    pd_write_varints(&r->parse.writer, &r->part, PD_MAPPING_HAS_FUNCTIONS, facts.has,
                     PD_OTLP_MAPPING_FLAGS);
}

/* ---- functions and locations ---------------------------------------------------------------- */

static void read_function(pd_request *r, pd_reader body)
{
    uint64_t numbers[FUNCTION_NUMBERS] = {0};
    pd_message_read(&r->parse, body, &pd_request_function_rows, numbers);
    pd_write_varints(&r->parse.writer, &r->part, PD_FUNCTION_NAME, numbers, FUNCTION_NUMBERS);
}

uint64_t pd_request_zero(pd_request *r, unsigned table, uint32_t field)
{
    pd_dictionary *d = &r->dictionary;
    uint64_t id = d->tables[table].len ? d->tables[table].len : 1;
    if (d->has_zero[table])
        return id;
    size_t from = r->profile.len;
    d->has_zero[table] = true;
    pd_write_varint(&r->parse.writer, &r->profile, PD_LOCATION_ID, id); /* field 1 in all of them */
    pd_write_wrap(&r->parse.writer, &r->profile, from, field);
    return id;
}

/* A pprof profile has no line without a function. */
static void read_line(pd_request *r, pd_reader body)
{
    uint64_t numbers[LINE_NUMBERS] = {0};
    pd_message_read(&r->parse, body, &pd_request_line_rows, numbers);
    if (!numbers[0])
        numbers[0] = pd_request_zero(r, PD_OTLP_DICTIONARY_FUNCTION_TABLE, PD_PROFILE_FUNCTION);
    size_t from = r->part.len;
    pd_write_varints(&r->parse.writer, &r->part, PD_LINE_FUNCTION_ID, numbers, LINE_NUMBERS);
    pd_write_wrap(&r->parse.writer, &r->part, from, PD_LOCATION_LINE);
}

static void take_of_location(pd_request *r, uint64_t index, bool *is_folded)
{
    const pd_request_attribute *attribute = &r->dictionary.attributes[index];
    if (!pd_request_is_text(r, attribute->key, "pprof.location.is_folded"))
        r->facts.unshown++;
    else if (pd_any_value_is_true(attribute->value))
        *is_folded = true;
}

static void read_location(pd_request *r, pd_reader body)
{
    uint64_t numbers[LOCATION_NUMBERS] = {0};
    pd_message message = {body, &pd_request_location_rows, numbers};
    const pd_field_row *row;
    pd_field f;
    bool is_folded = false;
    pd_request_attributes_begin(r);
    while ((row = pd_message_next(&r->parse, &message, &f))) {
        if (f.number == PD_OTLP_LOCATION_LINES) {
            read_line(r, pd_parse_body(&r->parse, row->name, &f));
            continue;
        }
        pd_list list = pd_list_of(&r->parse, row->name, &f);
        while (pd_request_attributes_next(r, &list))
            take_of_location(r, list.value, &is_folded);
    }
    pd_write_varints(&r->parse.writer, &r->part, PD_LOCATION_MAPPING_ID, numbers, LOCATION_NUMBERS);
    pd_write_varint(&r->parse.writer, &r->part, PD_LOCATION_IS_FOLDED, is_folded);
}

/* ---- links and stacks --------------------------------------------------------------------- */

static void read_link(pd_request *r, pd_reader body)
{
    static const size_t lens[] = {[PD_OTLP_LINK_TRACE_ID] = 16, [PD_OTLP_LINK_SPAN_ID] = 8};
    pd_message message = {body, &pd_request_link_rows, NULL};
    const pd_field_row *row;
    pd_field f;
    while ((row = pd_message_next(&r->parse, &message, &f))) {
        pd_bytes id = pd_reader_bytes(pd_parse_body(&r->parse, row->name, &f));
        if (id.len && id.len != lens[f.number])
            PD_REQUEST_FAIL(r, row->name, f.start, "an id of %zu bytes; it has %zu", id.len,
                            lens[f.number]);
    }
}

static void read_stack(pd_request *r, pd_reader body)
{
    pd_message message = {body, &pd_request_stack_rows, NULL};
    const pd_field_row *row;
    pd_field f;
    while ((row = pd_message_next(&r->parse, &message, &f))) {
        pd_list list = pd_list_of(&r->parse, row->name, &f);
        while (next_index(r, &list, PD_OTLP_DICTIONARY_LOCATION_TABLE))
            continue;
    }
}

/* ---- all of them -------------------------------------------------------------------------- */

/* Reads each entry of a table. Its record, if it has one, gets the index as its id. What is written of
 * entry 0 is thrown away. */
static void read_table(pd_request *r, unsigned table, const pd_rows *rows, uint32_t field,
                       void (*read)(pd_request *r, pd_reader body))
{
    const pd_request_table *t = &r->dictionary.tables[table];
    for (size_t i = 0; i < t->len && !r->parse.status; i++) {
        r->parse.element = i;
        r->part.len = 0;
        if (field) /* the id is field 1 in all of them */
            pd_write_varint(&r->parse.writer, &r->part, PD_MAPPING_ID, i);
        read(r, pd_request_reader(t->entries[i]));
        if (!i)
            require_zero(r, table, rows, t->entries[0]);
        else if (field)
            pd_write_part(&r->parse.writer, &r->profile, field, &r->part);
    }
    r->part.len = 0;
    r->parse.element = PPROFDELTA_NOWHERE;
}

#define READ(name, NAME, field)                                                                    \
    read_table(r, PD_OTLP_DICTIONARY_##NAME##_TABLE, &pd_request_##name##_rows, field, read_##name)

void pd_dictionary_read(pd_request *r)
{
    pd_dictionary *d = &r->dictionary;
    read_strings(r);
    PD_PARSE_GROW(&r->parse, d->attributes, d->tables[PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE].len);
    READ(attribute, ATTRIBUTE, 0);
    READ(mapping, MAPPING, PD_PROFILE_MAPPING);
    READ(function, FUNCTION, PD_PROFILE_FUNCTION);
    READ(location, LOCATION, PD_PROFILE_LOCATION);
    READ(link, LINK, 0);
    READ(stack, STACK, 0);
}

void pd_dictionary_clear(pd_dictionary *d)
{
    for (unsigned i = 1; i <= PD_OTLP_DICTIONARY_STACK_TABLE; i++)
        d->tables[i].len = 0;
    pd_keymap_clear(&d->numbers);
    d->is_found = false;
    memset(d->has_zero, 0, sizeof d->has_zero);
}

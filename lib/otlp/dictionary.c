#include "otlp/dictionary.h"

#include "base/utf8.h"
#include "otlp/any_value.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const char *const table_names[] = {
    [PD_OTLP_DICTIONARY_MAPPING_TABLE] = "mapping_table",
    [PD_OTLP_DICTIONARY_LOCATION_TABLE] = "location_table",
    [PD_OTLP_DICTIONARY_FUNCTION_TABLE] = "function_table",
    [PD_OTLP_DICTIONARY_LINK_TABLE] = "link_table",
    [PD_OTLP_DICTIONARY_STRING_TABLE] = "string_table",
    [PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE] = "attribute_table",
    [PD_OTLP_DICTIONARY_STACK_TABLE] = "stack_table",
};

/* ---- for all readers ---------------------------------------------------------------------- */

void pd_request_fail(pd_request_reading *r, const char *field, const uint8_t *at,
                     const char *format, ...)
{
    char text[256];
    va_list args;
    if (r->parse.status)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->parse.status = pd_fail(r->parse.err, PPROFDELTA_E_PROFILE, "profile", field,
                              r->parse.element, pd_parse_offset(&r->parse, at), "%s", text);
}

void pd_request_spend(pd_request_reading *r, uint64_t bytes)
{
    if (bytes <= r->left) {
        r->left -= bytes;
    } else if (!r->parse.status) {
        r->left = 0;
        r->parse.status = pd_fail(r->parse.err, PPROFDELTA_E_LIMIT, "profile", "samples",
                                  PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                                  "the conversion of this OTLP request makes more than %" PRIu64
                                  " bytes: %d times its size, and %d MiB",
                                  r->most, PD_REQUEST_TIMES, PD_REQUEST_ALWAYS >> 20);
    }
}

uint32_t pd_request_index(pd_request_reading *r, const char *field, const uint8_t *at,
                          uint64_t index, unsigned table)
{
    size_t len = r->dictionary->tables[table].len;
    if (index == 0 || index < len)
        return (uint32_t)index;
    pd_request_fail(r, field, at, "index %" PRId64 " is outside the %s, which has %zu entr%s",
                    (int64_t)index, table_names[table], len, len == 1 ? "y" : "ies");
    return 0;
}

uint32_t pd_request_number(pd_request_reading *r, pd_bytes text)
{
    pd_keymap *numbers = &r->dictionary->numbers;
    pd_key key = pd_key_of_bytes(text.ptr, text.len, 0);
    if (!r->parse.status)
        r->parse.status = r->writer.status;
    if (!r->parse.status)
        r->parse.status = pd_keymap_room(numbers, r->parse.mem, key, r->parse.err);
    if (r->parse.status)
        return 0;
    size_t before = numbers->len;
    uint32_t number = pd_keymap_add(numbers, key);
    if (number == before)
        pd_write_bytes(&r->writer, r->profile, PD_PROFILE_STRING_TABLE, text.ptr, text.len);
    r->parse.status = r->writer.status;
    return number;
}

uint32_t pd_request_string_of(pd_request_reading *r, const char *name, const pd_field *f)
{
    uint32_t index = pd_request_index_of(r, name, f, PD_OTLP_DICTIONARY_STRING_TABLE);
    return index ? r->dictionary->strings[index] : 0;
}

pd_bytes pd_request_text(pd_request_reading *r, const char *name, const pd_field *f)
{
    pd_reader body = pd_parse_body(&r->parse, name, f);
    pd_bytes text = {body.at, (size_t)(body.end - body.at)};
    if (!r->parse.status && !pd_utf8_is_valid(text))
        pd_request_fail(r, name, f->start, "a string that is not UTF-8");
    return text;
}

void pd_request_list(pd_request_reading *r, const char *name, const pd_field *f,
                     pd_request_taker *take, void *cookie)
{
    if (f->wire == PD_WIRE_VARINT) {
        take(r, cookie, f->value, f->start);
        return;
    }
    pd_reader body = pd_parse_body(&r->parse, name, f);
    uint64_t value;
    const uint8_t *at = body.at;
    for (; !r->parse.status && pd_reader_varint(&body, &value); at = body.at)
        take(r, cookie, value, at);
    pd_parse_end(&r->parse, name, &body);
}

void pd_request_attributes_begin(pd_request_reading *r)
{
    r->dictionary->mark++;
}

typedef struct attribute_taker {
    const char *name;
    pd_request_taker *take;
    void *cookie;
} attribute_taker;

static void take_attribute(pd_request_reading *r, void *cookie, uint64_t value, const uint8_t *at)
{
    const attribute_taker *t = cookie;
    pd_dictionary *d = r->dictionary;
    uint32_t index = pd_request_index(r, t->name, at, value, PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE);
    if (!index)
        pd_request_fail(r, t->name, at, "attribute 0 is not allowed: it means none");
    if (r->parse.status)
        return;
    uint64_t *mark = &d->marks[d->attributes[index].key];
    if (*mark == d->mark)
        pd_request_fail(r, t->name, at, "attribute %" PRIu32 " has a key that is there already",
                        index);
    *mark = d->mark;
    if (!r->parse.status && t->take)
        t->take(r, t->cookie, index, at);
}

void pd_request_attributes(pd_request_reading *r, const char *name, const pd_field *f,
                           pd_request_taker *take, void *cookie)
{
    attribute_taker taker = {name, take, cookie};
    pd_request_list(r, name, f, take_attribute, &taker);
}

/* ---- the entries -------------------------------------------------------------------------- */

void pd_dictionary_find(pd_request_reading *r, const pd_field *field)
{
    pd_dictionary *d = r->dictionary;
    pd_reader body = pd_parse_body(&r->parse, "dictionary", field);
    pd_field f;
    if (d->is_found)
        pd_request_fail(r, "dictionary", field->start, "a second dictionary");
    d->is_found = true;
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        if (f.number > PD_OTLP_DICTIONARY_STACK_TABLE) {
            r->parse.unknown_fields++;
            continue;
        }
        pd_request_table *table = &d->tables[f.number];
        r->parse.element = table->len;
        pd_reader entry = pd_parse_body(&r->parse, table_names[f.number], &f);
        if (table->len == INT32_MAX)
            pd_request_fail(r, table_names[f.number], f.start, "more than %d entries", INT32_MAX);
        if (!r->parse.status)
            r->parse.status = pd_mem_grow(r->parse.mem, &table->entries, &table->cap,
                                          table->len + 1, sizeof *table->entries, r->parse.err);
        if (!r->parse.status)
            table->entries[table->len++] = (pd_bytes){entry.at, (size_t)(entry.end - entry.at)};
    }
    r->parse.element = PPROFDELTA_NOWHERE;
    pd_parse_end(&r->parse, "dictionary", &body);
}

/* A table that is there begins with the zero value. What is written of entry 0 is thrown away. */
static void require_zero(pd_request_reading *r, unsigned table, bool is_zero)
{
    if (!r->parse.element && !is_zero)
        pd_request_fail(r, table_names[table], r->dictionary->tables[table].entries[0].ptr,
                        "the first entry is not the zero value");
}

static void read_strings(pd_request_reading *r)
{
    pd_dictionary *d = r->dictionary;
    const pd_request_table *t = &d->tables[PD_OTLP_DICTIONARY_STRING_TABLE];
    pd_request_number(r, (pd_bytes){(const uint8_t *)"", 0});
    if (!r->parse.status)
        r->parse.status = pd_mem_grow(r->parse.mem, &d->strings, &d->strings_cap, t->len + 1,
                                      sizeof *d->strings, r->parse.err);
    for (size_t i = 0; i < t->len && !r->parse.status; i++) {
        r->parse.element = i;
        pd_field f = {.start = t->entries[i].ptr,
                      .wire = PD_WIRE_BYTES,
                      .body = pd_request_reader(t->entries[i])};
        require_zero(r, PD_OTLP_DICTIONARY_STRING_TABLE, !t->entries[i].len);
        d->strings[i] = pd_request_number(r, pd_request_text(r, "string_table", &f));
    }
    size_t before = d->marks_cap;
    if (!r->parse.status)
        r->parse.status = pd_mem_grow(r->parse.mem, &d->marks, &d->marks_cap, d->numbers.len,
                                      sizeof *d->marks, r->parse.err);
    if (!r->parse.status && d->marks_cap > before)
        memset(d->marks + before, 0, (d->marks_cap - before) * sizeof *d->marks);
}

static void read_attribute(pd_request_reading *r, pd_reader body, pd_request_attribute *out)
{
    pd_field f;
    *out = (pd_request_attribute){0};
    size_t values = 0;
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        switch (f.number) {
        case PD_OTLP_ATTRIBUTE_KEY_STRINDEX:
            out->key = pd_request_string_of(r, "attribute_table.key_strindex", &f);
            out->key_at = r->parse.status ? 0 : (uint32_t)f.value;
            break;
        case PD_OTLP_ATTRIBUTE_VALUE: {
            pd_reader value = pd_parse_body(&r->parse, "attribute_table.value", &f);
            if (values++)
                pd_request_fail(r, "attribute_table.value", f.start,
                                "an attribute with two values");
            pd_any_value_check(r, "attribute_table.value", value);
            out->value = (pd_bytes){value.at, (size_t)(value.end - value.at)};
            break;
        }
        case PD_OTLP_ATTRIBUTE_UNIT_STRINDEX:
            out->unit = pd_request_string_of(r, "attribute_table.unit_strindex", &f);
            break;
        default:
            r->parse.unknown_fields++;
        }
    }
    pd_parse_end(&r->parse, "attribute_table", &body);
    require_zero(r, PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE, !out->key && !out->unit && !out->value.len);
    if (!r->parse.status)
        out->value = pd_any_value_known(out->value);
}

static void read_attributes(pd_request_reading *r)
{
    pd_dictionary *d = r->dictionary;
    const pd_request_table *t = &d->tables[PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE];
    if (!r->parse.status)
        r->parse.status = pd_mem_grow(r->parse.mem, &d->attributes, &d->attributes_cap, t->len,
                                      sizeof *d->attributes, r->parse.err);
    for (size_t i = 0; i < t->len && !r->parse.status; i++) {
        r->parse.element = i;
        read_attribute(r, pd_request_reader(t->entries[i]), &d->attributes[i]);
    }
}

/* ---- mappings ----------------------------------------------------------------------------- */

/* The attributes of a mapping that a profile has fields for. */
enum { GNU, GO, HTLHASH, BUILD_IDS };
typedef struct mapping_facts {
    uint32_t build_id[BUILD_IDS]; /* numbers of strings */
    unsigned has;                 /* bit n: field PD_MAPPING_HAS_FUNCTIONS + n */
} mapping_facts;

static bool is_key(pd_request_reading *r, uint32_t number, const char *key)
{
    pd_bytes text = pd_bytes_of(key);
    return pd_key_equal(r->dictionary->numbers.keys[number],
                        pd_key_of_bytes(text.ptr, text.len, 0));
}

static void set_string(pd_request_reading *r, void *cookie, uint32_t string)
{
    (void)r;
    *(uint32_t *)cookie = string;
}

uint32_t pd_request_attribute_text(pd_request_reading *r, uint64_t index)
{
    pd_request_attribute *attribute = &r->dictionary->attributes[index];
    if (!attribute->has_text)
        pd_any_value_strings(r, attribute->value, set_string, &attribute->text);
    attribute->has_text = true;
    return attribute->text;
}

static void take_of_mapping(pd_request_reading *r, void *cookie, uint64_t index, const uint8_t *at)
{
    static const char *const ids[] = {
        [GNU] = "process.executable.build_id.gnu",
        [GO] = "process.executable.build_id.go",
        [HTLHASH] = "process.executable.build_id.htlhash",
    };
    static const char *const has[] = {"pprof.mapping.has_functions", "pprof.mapping.has_filenames",
                                      "pprof.mapping.has_line_numbers",
                                      "pprof.mapping.has_inline_frames"};
    const pd_request_attribute *attribute = &r->dictionary->attributes[index];
    mapping_facts *facts = cookie;
    (void)at;
    for (size_t i = 0; i < BUILD_IDS; i++)
        if (is_key(r, attribute->key, ids[i])) {
            facts->build_id[i] = pd_request_attribute_text(r, index);
            return;
        }
    for (unsigned i = 0; i < sizeof has / sizeof *has; i++)
        if (is_key(r, attribute->key, has[i])) {
            if (pd_any_value_is_true(attribute->value))
                facts->has |= 1u << i;
            return;
        }
    r->dictionary->unshown++;
}

static void write_facts(pd_request_reading *r, const mapping_facts *facts)
{
    uint32_t build_id = 0;
    for (size_t i = 0; i < BUILD_IDS && !build_id; i++)
        build_id = facts->build_id[i];
    pd_write_varint(&r->writer, r->part, PD_MAPPING_BUILD_ID, build_id);
    for (uint32_t i = 0; i < 4; i++)
        pd_write_varint(&r->writer, r->part, PD_MAPPING_HAS_FUNCTIONS + i, facts->has >> i & 1);
}

static void read_mapping(pd_request_reading *r, pd_reader body)
{
    static const char name[] = "mapping_table.attribute_indices";
    static const char *const numbers[] = {"", "mapping_table.memory_start",
                                          "mapping_table.memory_limit",
                                          "mapping_table.file_offset"};
    mapping_facts facts = {.has = 0};
    uint64_t places[PD_OTLP_MAPPING_FILE_OFFSET + 1] = {0};
    uint32_t file = 0;
    bool has_attributes = false;
    pd_field f;
    pd_request_attributes_begin(r);
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        if (f.number <= PD_OTLP_MAPPING_FILE_OFFSET) {
            places[f.number] = pd_parse_number(&r->parse, numbers[f.number], &f);
        } else if (f.number == PD_OTLP_MAPPING_FILENAME_STRINDEX) {
            file = pd_request_string_of(r, "mapping_table.filename_strindex", &f);
        } else if (f.number == PD_OTLP_MAPPING_ATTRIBUTE_INDICES) {
            pd_request_attributes(r, name, &f, take_of_mapping, &facts);
            has_attributes = true;
        } else {
            r->parse.unknown_fields++;
        }
    }
    pd_parse_end(&r->parse, "mapping_table", &body);
    require_zero(r, PD_OTLP_DICTIONARY_MAPPING_TABLE,
                 !places[1] && !places[2] && !places[3] && !file && !has_attributes);
    for (uint32_t i = PD_OTLP_MAPPING_MEMORY_START; i <= PD_OTLP_MAPPING_FILE_OFFSET; i++)
        pd_write_varint(&r->writer, r->part,
                        i - PD_OTLP_MAPPING_MEMORY_START + PD_MAPPING_MEMORY_START, places[i]);
    pd_write_varint(&r->writer, r->part, PD_MAPPING_FILENAME, file);
    write_facts(r, &facts);
}

/* ---- functions ---------------------------------------------------------------------------- */

static void read_function(pd_request_reading *r, pd_reader body)
{
    static const struct {
        const char *name;
        uint32_t field;
    } fields[] = {
        [PD_OTLP_FUNCTION_NAME_STRINDEX] = {"function_table.name_strindex", PD_FUNCTION_NAME},
        [PD_OTLP_FUNCTION_SYSTEM_NAME_STRINDEX] = {"function_table.system_name_strindex",
                                                   PD_FUNCTION_SYSTEM_NAME},
        [PD_OTLP_FUNCTION_FILENAME_STRINDEX] = {"function_table.filename_strindex",
                                                PD_FUNCTION_FILENAME},
        [PD_OTLP_FUNCTION_START_LINE] = {"function_table.start_line", PD_FUNCTION_START_LINE},
    };
    enum { LAST = PD_OTLP_FUNCTION_START_LINE };
    uint64_t values[LAST + 1] = {0}, any = 0;
    pd_field f;
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        if (f.number < LAST)
            values[f.number] = pd_request_string_of(r, fields[f.number].name, &f);
        else if (f.number == LAST)
            values[f.number] = pd_parse_number(&r->parse, fields[f.number].name, &f);
        else
            r->parse.unknown_fields++;
    }
    pd_parse_end(&r->parse, "function_table", &body);
    for (uint32_t i = 1; i <= LAST; i++) {
        pd_write_varint(&r->writer, r->part, fields[i].field, values[i]);
        any |= values[i];
    }
    require_zero(r, PD_OTLP_DICTIONARY_FUNCTION_TABLE, !any);
}

/* ---- locations ---------------------------------------------------------------------------- */

static void read_line(pd_request_reading *r, const pd_field *field)
{
    pd_reader body = pd_parse_body(&r->parse, "location_table.lines", field);
    uint64_t function = 0, line = 0, column = 0;
    pd_field f;
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        switch (f.number) {
        case PD_OTLP_LINE_FUNCTION_INDEX:
            function = pd_request_index_of(r, "location_table.lines.function_index", &f,
                                           PD_OTLP_DICTIONARY_FUNCTION_TABLE);
            break;
        case PD_OTLP_LINE_LINE:
            line = pd_parse_number(&r->parse, "location_table.lines.line", &f);
            break;
        case PD_OTLP_LINE_COLUMN:
            column = pd_parse_number(&r->parse, "location_table.lines.column", &f);
            break;
        default:
            r->parse.unknown_fields++;
        }
    }
    pd_parse_end(&r->parse, "location_table.lines", &body);
    pd_write_varint(&r->writer, r->inner, PD_LINE_FUNCTION_ID, function);
    pd_write_varint(&r->writer, r->inner, PD_LINE_LINE, line);
    pd_write_varint(&r->writer, r->inner, PD_LINE_COLUMN, column);
    pd_write_part(&r->writer, r->part, PD_LOCATION_LINE, r->inner);
}

static void take_of_location(pd_request_reading *r, void *cookie, uint64_t index, const uint8_t *at)
{
    const pd_request_attribute *attribute = &r->dictionary->attributes[index];
    (void)at;
    if (!is_key(r, attribute->key, "pprof.location.is_folded"))
        r->dictionary->unshown++;
    else if (pd_any_value_is_true(attribute->value))
        *(bool *)cookie = true;
}

static void read_location(pd_request_reading *r, pd_reader body)
{
    static const char name[] = "location_table.attribute_indices";
    uint64_t mapping = 0, address = 0;
    bool is_folded = false, has_more = false;
    pd_field f;
    pd_request_attributes_begin(r);
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        switch (f.number) {
        case PD_OTLP_LOCATION_MAPPING_INDEX:
            mapping = pd_request_index_of(r, "location_table.mapping_index", &f,
                                          PD_OTLP_DICTIONARY_MAPPING_TABLE);
            break;
        case PD_OTLP_LOCATION_ADDRESS:
            address = pd_parse_number(&r->parse, "location_table.address", &f);
            break;
        case PD_OTLP_LOCATION_LINES:
            read_line(r, &f);
            has_more = true;
            break;
        case PD_OTLP_LOCATION_ATTRIBUTE_INDICES:
            pd_request_attributes(r, name, &f, take_of_location, &is_folded);
            has_more = true;
            break;
        default:
            r->parse.unknown_fields++;
        }
    }
    pd_parse_end(&r->parse, "location_table", &body);
    require_zero(r, PD_OTLP_DICTIONARY_LOCATION_TABLE, !mapping && !address && !has_more);
    pd_write_varint(&r->writer, r->part, PD_LOCATION_MAPPING_ID, mapping);
    pd_write_varint(&r->writer, r->part, PD_LOCATION_ADDRESS, address);
    pd_write_varint(&r->writer, r->part, PD_LOCATION_IS_FOLDED, is_folded);
}

/* ---- links and stacks --------------------------------------------------------------------- */

static bool is_zero(pd_reader bytes)
{
    while (bytes.at != bytes.end)
        if (*bytes.at++)
            return false;
    return true;
}

static void read_link(pd_request_reading *r, pd_reader body)
{
    static const struct {
        const char *name;
        size_t len;
    } ids[] = {[PD_OTLP_LINK_TRACE_ID] = {"link_table.trace_id", 16},
               [PD_OTLP_LINK_SPAN_ID] = {"link_table.span_id", 8}};
    bool is_none = true;
    pd_field f;
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        if (f.number > PD_OTLP_LINK_SPAN_ID) {
            r->parse.unknown_fields++;
            continue;
        }
        pd_reader id = pd_parse_body(&r->parse, ids[f.number].name, &f);
        size_t len = (size_t)(id.end - id.at);
        if (len && len != ids[f.number].len)
            pd_request_fail(r, ids[f.number].name, f.start, "an id of %zu bytes; it has %zu", len,
                            ids[f.number].len);
        is_none = is_none && is_zero(id);
    }
    pd_parse_end(&r->parse, "link_table", &body);
    require_zero(r, PD_OTLP_DICTIONARY_LINK_TABLE, is_none);
}

static void take_location(pd_request_reading *r, void *cookie, uint64_t value, const uint8_t *at)
{
    pd_request_index(r, "stack_table.location_indices", at, value,
                     PD_OTLP_DICTIONARY_LOCATION_TABLE);
    ++*(size_t *)cookie;
}

static void read_stack(pd_request_reading *r, pd_reader body)
{
    size_t len = 0;
    pd_field f;
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        if (f.number == PD_OTLP_STACK_LOCATION_INDICES)
            pd_request_list(r, "stack_table.location_indices", &f, take_location, &len);
        else
            r->parse.unknown_fields++;
    }
    pd_parse_end(&r->parse, "stack_table", &body);
    require_zero(r, PD_OTLP_DICTIONARY_STACK_TABLE, !len);
}

/* ---- all of them -------------------------------------------------------------------------- */

/* Reads each entry of a table. Its record, if it has one, gets the index as its id. */
static void read_table(pd_request_reading *r, unsigned table, uint32_t field,
                       void (*read)(pd_request_reading *r, pd_reader body))
{
    const pd_request_table *t = &r->dictionary->tables[table];
    for (size_t i = 0; i < t->len && !r->parse.status; i++) {
        r->parse.element = i;
        r->part->len = 0;
        if (field) /* the id is field 1 in all of them */
            pd_write_varint(&r->writer, r->part, PD_MAPPING_ID, i);
        read(r, pd_request_reader(t->entries[i]));
        if (field && i)
            pd_write_part(&r->writer, r->profile, field, r->part);
        if (!r->parse.status)
            r->parse.status = r->writer.status;
    }
    r->part->len = 0;
    r->parse.element = PPROFDELTA_NOWHERE;
}

static void begin_pieces(pd_request_reading *r, unsigned table)
{
    pd_request_table *t = &r->dictionary->tables[table];
    if (!r->parse.status)
        r->parse.status = pd_mem_grow(r->parse.mem, &t->pieces, &t->pieces_cap, t->len,
                                      sizeof *t->pieces, r->parse.err);
    if (!r->parse.status && t->len)
        memset(t->pieces, 0, t->len * sizeof *t->pieces);
}

void pd_dictionary_read(pd_request_reading *r)
{
    read_strings(r);
    read_attributes(r);
    read_table(r, PD_OTLP_DICTIONARY_MAPPING_TABLE, PD_PROFILE_MAPPING, read_mapping);
    read_table(r, PD_OTLP_DICTIONARY_FUNCTION_TABLE, PD_PROFILE_FUNCTION, read_function);
    read_table(r, PD_OTLP_DICTIONARY_LOCATION_TABLE, PD_PROFILE_LOCATION, read_location);
    read_table(r, PD_OTLP_DICTIONARY_LINK_TABLE, 0, read_link);
    read_table(r, PD_OTLP_DICTIONARY_STACK_TABLE, 0, read_stack);
    begin_pieces(r, PD_OTLP_DICTIONARY_LINK_TABLE);
    begin_pieces(r, PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE);
    begin_pieces(r, PD_OTLP_DICTIONARY_STACK_TABLE);
}

void pd_dictionary_clear(pd_dictionary *d)
{
    for (unsigned i = 1; i <= PD_OTLP_DICTIONARY_STACK_TABLE; i++)
        d->tables[i].len = 0;
    pd_keymap_clear(&d->numbers);
    d->is_found = d->has_nowhere = false;
    d->unshown = 0;
    d->pieces.len = 0;
}

void pd_dictionary_release(pd_dictionary *d, pd_mem *mem)
{
    for (unsigned i = 1; i <= PD_OTLP_DICTIONARY_STACK_TABLE; i++) {
        pd_request_table *t = &d->tables[i];
        pd_mem_release(mem, &t->entries, &t->cap, sizeof *t->entries);
        pd_mem_release(mem, &t->pieces, &t->pieces_cap, sizeof *t->pieces);
    }
    pd_buffer_release(mem, &d->pieces);
    pd_keymap_release(&d->numbers, mem);
    pd_mem_release(mem, &d->strings, &d->strings_cap, sizeof *d->strings);
    pd_mem_release(mem, &d->attributes, &d->attributes_cap, sizeof *d->attributes);
    pd_mem_release(mem, &d->marks, &d->marks_cap, sizeof *d->marks);
    *d = (pd_dictionary){0};
}

/* The first pass: decodes the top level, except the samples. */
#include "profile/tables.h"

#include "profile/fields.h"
#include "profile/stamp.h"

#include <inttypes.h>
#include <stddef.h>

/* Appends an element to the table `name` of *t and returns a pointer to it, or NULL. */
#define APPEND(p, t, name)                                                                         \
    (PD_PARSE_GROW((p), (t)->name, (t)->name##_len + 1) ? &(t)->name[(t)->name##_len++] : NULL)

/* ---- rows ------------------------------------------------------------------------------------ */

const pd_rows pd_sample_type_rows = PD_ROWS(
    "sample_type", [1] = {PD_FIELD_STRING, offsetof(pd_value_type, type), "sample_type.type"},
    [2] = {PD_FIELD_STRING, offsetof(pd_value_type, unit), "sample_type.unit"});

const pd_rows pd_period_type_rows = PD_ROWS(
    "period_type", [1] = {PD_FIELD_STRING, offsetof(pd_value_type, type), "period_type.type"},
    [2] = {PD_FIELD_STRING, offsetof(pd_value_type, unit), "period_type.unit"});

const pd_rows pd_mapping_rows =
    PD_ROWS("mapping", [1] = {PD_FIELD_NUMBER, offsetof(pd_mapping, id), "mapping.id"},
            [2] = {PD_FIELD_NUMBER, offsetof(pd_mapping, start), "mapping.memory_start"},
            [3] = {PD_FIELD_NUMBER, offsetof(pd_mapping, limit), "mapping.memory_limit"},
            [4] = {PD_FIELD_NUMBER, offsetof(pd_mapping, file_offset), "mapping.file_offset"},
            [5] = {PD_FIELD_STRING, offsetof(pd_mapping, filename), "mapping.filename"},
            [6] = {PD_FIELD_STRING, offsetof(pd_mapping, build_id), "mapping.build_id"},
            [7] = {PD_FIELD_FLAG, offsetof(pd_mapping, has[0]), "mapping.has_functions"},
            [8] = {PD_FIELD_FLAG, offsetof(pd_mapping, has[1]), "mapping.has_filenames"},
            [9] = {PD_FIELD_FLAG, offsetof(pd_mapping, has[2]), "mapping.has_line_numbers"},
            [10] = {PD_FIELD_FLAG, offsetof(pd_mapping, has[3]), "mapping.has_inline_frames"});

const pd_rows pd_function_rows =
    PD_ROWS("function", [1] = {PD_FIELD_NUMBER, offsetof(pd_function, id), "function.id"},
            [2] = {PD_FIELD_STRING, offsetof(pd_function, name), "function.name"},
            [3] = {PD_FIELD_STRING, offsetof(pd_function, system_name), "function.system_name"},
            [4] = {PD_FIELD_STRING, offsetof(pd_function, filename), "function.filename"},
            [5] = {PD_FIELD_NUMBER, offsetof(pd_function, start_line), "function.start_line"});

const pd_rows pd_location_rows =
    PD_ROWS("location", [1] = {PD_FIELD_NUMBER, offsetof(pd_location, id), "location.id"},
            [2] = {PD_FIELD_NUMBER, offsetof(pd_location, mapping), "location.mapping_id"},
            [3] = {PD_FIELD_NUMBER, offsetof(pd_location, address), "location.address"},
            [4] = {PD_FIELD_PART, 0, "location.line"},
            [5] = {PD_FIELD_FLAG, offsetof(pd_location, is_folded), "location.is_folded"});

const pd_rows pd_line_rows =
    PD_ROWS("location.line",
            [1] = {PD_FIELD_NUMBER, offsetof(pd_line, function), "location.line.function_id"},
            [2] = {PD_FIELD_NUMBER, offsetof(pd_line, line), "location.line.line"},
            [3] = {PD_FIELD_NUMBER, offsetof(pd_line, column), "location.line.column"});

/* The top level. A part has the offset of the number of its elements, if there may be many. */
const pd_rows pd_profile_rows =
    PD_ROWS(NULL, [1] = {PD_FIELD_PART, offsetof(pd_tables, types_len), "sample_type"},
            [2] = {PD_FIELD_PART, offsetof(pd_tables, samples), "sample"},
            [3] = {PD_FIELD_PART, offsetof(pd_tables, mappings_len), "mapping"},
            [4] = {PD_FIELD_PART, offsetof(pd_tables, locations_len), "location"},
            [5] = {PD_FIELD_PART, offsetof(pd_tables, functions_len), "function"},
            [6] = {PD_FIELD_PART, offsetof(pd_tables, strings_len), "string_table"},
            [7] = {PD_FIELD_STRING_REF, offsetof(pd_tables, header.drop_frames), "drop_frames"},
            [8] = {PD_FIELD_STRING_REF, offsetof(pd_tables, header.keep_frames), "keep_frames"},
            [9] = {PD_FIELD_NUMBER, offsetof(pd_tables, header.time_nanos), "time_nanos"},
            [10] = {PD_FIELD_NUMBER, offsetof(pd_tables, header.duration_nanos), "duration_nanos"},
            [11] = {PD_FIELD_PART, 0, "period_type"},
            [12] = {PD_FIELD_NUMBER, offsetof(pd_tables, header.period), "period"},
            [13] = {PD_FIELD_LIST, offsetof(pd_tables, comments_len), "comment"},
            [14] = {PD_FIELD_STRING_REF, offsetof(pd_tables, header.default_sample_type),
                    "default_sample_type"},
            [15] = {PD_FIELD_STRING_REF, offsetof(pd_tables, header.doc_url), "doc_url"});

/* ---- ids --------------------------------------------------------------------------------------- */

static pd_key key_of_id(const pd_idmap *map, uint64_t id)
{
    return pd_key_of_number(id, map->seed);
}

static void idmap_clear(pd_idmap *map)
{
    map->sequential = 0;
    pd_keymap_clear(&map->others);
}

uint32_t pd_idmap_find_other(const pd_idmap *map, uint64_t id)
{
    uint32_t position = pd_keymap_find(&map->others, key_of_id(map, id));
    return position == PD_KEYMAP_NONE ? PD_IDMAP_NONE : (uint32_t)map->sequential + position;
}

/* ---- the parts of a profile -------------------------------------------------------------------- */

/* Gives the id the next index. After a failure the map cannot be used. */
static void add_id(pd_parse *p, pd_idmap *map, const pd_rows *rows, uint64_t id, uint64_t off)
{
    size_t len = map->sequential + map->others.len;
    bool is_new = id - 1 >= map->sequential;
    if (!map->others.len)
        map->seed = (uintptr_t)map;
    if (id == len + 1 && len == map->sequential && len < PD_KEYMAP_MAX) {
        map->sequential++;
        return;
    }
    if (!p->status && len == PD_KEYMAP_MAX)
        p->status = PD_FAIL(p->err, PPROFDELTA_E_LIMIT, PPROFDELTA_STAGE_PROFILE, NULL,
                            "a table of more than %u elements", PD_KEYMAP_MAX);
    if (id && is_new)
        pd_write_key(&p->writer, &map->others, key_of_id(map, id), &is_new);
    if (!id || !is_new)
        PD_PARSE_FAIL(p, PPROFDELTA_E_PROFILE, pd_row_of(rows, 1)->name, off,
                      "the id %" PRIu64 " %s", id,
                      id ? "belongs to an earlier element" : "is not allowed: it means none");
}

static void read_mapping(pd_parse *p, pd_tables *t, pd_reader r, uint64_t off)
{
    pd_mapping *mapping = APPEND(p, t, mappings);
    if (!mapping)
        return;
    *mapping = (pd_mapping){.off = off};
    pd_message_read(p, r, &pd_mapping_rows, mapping);
    add_id(p, &t->mapping_map, &pd_mapping_rows, mapping->id, off);
}

static void read_function(pd_parse *p, pd_tables *t, pd_reader r, uint64_t off)
{
    pd_function *function = APPEND(p, t, functions);
    if (!function)
        return;
    *function = (pd_function){.off = off};
    pd_message_read(p, r, &pd_function_rows, function);
    add_id(p, &t->function_map, &pd_function_rows, function->id, off);
}

static void read_location(pd_parse *p, pd_tables *t, pd_reader r, uint64_t off)
{
    pd_location *location = APPEND(p, t, locations);
    if (!location)
        return;
    *location = (pd_location){.off = off, .lines_first = t->lines_len};
    pd_message message = {r, &pd_location_rows, location};
    const pd_field_row *row;
    pd_field f;
    while ((row = pd_message_next(p, &message, &f))) {
        pd_reader body = pd_parse_body(p, row->name, &f);
        pd_line *line = APPEND(p, t, lines);
        if (line) {
            *line = (pd_line){0};
            pd_message_read(p, body, &pd_line_rows, line);
        }
    }
    location->lines_len = t->lines_len - location->lines_first;
    add_id(p, &t->location_map, &pd_location_rows, location->id, off);
}

static void read_string(pd_parse *p, pd_tables *t, pd_reader r, uint64_t off)
{
    if (t->strings_len == UINT32_MAX - 1)
        PD_PARSE_FAIL(p, PPROFDELTA_E_LIMIT, "string_table", off, "more than %u strings",
                      UINT32_MAX);
    pd_bytes *string = APPEND(p, t, strings);
    if (string)
        *string = pd_reader_bytes(r);
}

static void read_comments(pd_parse *p, pd_tables *t, const char *name, const pd_field *field)
{
    pd_list list = pd_list_of(p, name, field);
    while (pd_list_next(p, &list)) {
        uint64_t off = pd_parse_offset(p, list.at);
        if (list.value >= UINT32_MAX)
            pd_parse_string_range(p, name, off, (int64_t)list.value);
        pd_string_ref *comment = APPEND(p, t, comments);
        if (comment)
            *comment = (pd_string_ref){(uint32_t)list.value, off};
        p->element = t->comments_len;
    }
}

/* The number of elements of a top-level field so far: the index of the next one. */
static uint64_t count_elements(const pd_tables *t, const pd_field_row *row)
{
    if (row->kind != PD_FIELD_PART && row->kind != PD_FIELD_LIST)
        return PPROFDELTA_NOWHERE;
    return row->at ? *(const size_t *)(const void *)((const char *)t + row->at)
                   : PPROFDELTA_NOWHERE;
}

/* Reports an error of the top-level reader with the name of the field, if its tag can be read. */
void pd_tables_read_end(pd_tables *t, pd_parse *p, const pd_reader *r)
{
    uint64_t tag = 0;
    p->element = PPROFDELTA_NOWHERE;
    if (!r->trouble || !pd_varint_decode(r->at, r->end, &tag) || (tag & 7) == 3 || (tag & 7) == 4 ||
        (tag & 7) > PD_WIRE_FIXED32 || tag >> 3 >= pd_profile_rows.len) {
        pd_parse_end(p, NULL, r);
    } else {
        const pd_field_row *row = pd_row_of(&pd_profile_rows, (uint32_t)(tag >> 3));
        p->element = count_elements(t, row);
        pd_parse_end(p, row->name, r);
    }
    t->unknown_fields = p->unknown_fields;
}

static void read_part(pd_parse *p, pd_tables *t, const pd_field_row *row, const pd_field *f)
{
    uint64_t off = pd_parse_offset(p, f->start);
    if (f->number == PD_PROFILE_COMMENT) {
        read_comments(p, t, row->name, f);
        return;
    }
    pd_reader r = pd_parse_body(p, row->name, f);
    pd_value_type *type;
    switch (f->number) {
    case PD_PROFILE_SAMPLE_TYPE:
        type = APPEND(p, t, types);
        if (!type)
            break;
        *type = (pd_value_type){.off = off};
        pd_message_read(p, r, &pd_sample_type_rows, type);
        break;
    case PD_PROFILE_SAMPLE:
        if (!t->samples++)
            t->samples_off = off;
        t->samples_len += p->status ? 0 : (uint64_t)(r.end - f->start);
        break;
    case PD_PROFILE_MAPPING:
        read_mapping(p, t, r, off);
        break;
    case PD_PROFILE_LOCATION:
        read_location(p, t, r, off);
        break;
    case PD_PROFILE_FUNCTION:
        read_function(p, t, r, off);
        break;
    case PD_PROFILE_STRING_TABLE:
        read_string(p, t, r, off);
        break;
    default:
        t->header.has_period_type = true;
        t->header.period_type.off = off;
        pd_message_read(p, r, &pd_period_type_rows, &t->header.period_type);
    }
}

void pd_tables_read(pd_tables *t, pd_parse *p, pd_reader *top)
{
    pd_field f;
    bool had_strings = t->strings_len;
    while (!p->status && pd_reader_next_quick(top, &f)) {
        const pd_field_row *row = pd_row_of(&pd_profile_rows, f.number);
        p->element = count_elements(t, row);
        if (!pd_field_read(p, &pd_profile_rows, &f, t))
            read_part(p, t, row, &f);
    }
    if (!had_strings && t->strings_len)
        t->first_string_off = pd_parse_offset(p, t->strings[0].ptr);
}

void pd_tables_begin(pd_tables *t)
{
    t->base = t->len = t->first_string_off = 0;
    t->header = (pd_header){0};
    t->types_len = t->comments_len = t->strings_len = t->mappings_len = t->functions_len = 0;
    t->lines_len = t->locations_len = 0;
    t->samples = t->samples_off = t->samples_len = 0;
    t->unknown_fields = t->sample_unknown_fields = t->by_address = t->by_lines = 0;
    t->is_stamped = false;
    idmap_clear(&t->mapping_map);
    idmap_clear(&t->function_map);
    idmap_clear(&t->location_map);
}

/* ---- sealing ----------------------------------------------------------------------------------- */

static void check_string(pd_parse *p, const pd_tables *t, uint32_t index, const char *field,
                         uint64_t off)
{
    if (__builtin_expect(index >= t->strings_len, 0))
        PD_PARSE_FAIL(p, PPROFDELTA_E_PROFILE, field, off,
                      "string index %" PRIu32 " is outside the string table, which has %zu entries",
                      index, t->strings_len);
}

/* Checks the string indices of an element, which was read by these rows. */
static void check_element(pd_parse *p, const pd_tables *t, const pd_rows *rows, const void *element,
                          uint64_t nth, uint64_t off)
{
    p->element = nth;
    for (uint32_t number = 1; number < rows->len; number++) {
        const pd_field_row *row = pd_row_of(rows, number);
        const void *at = (const char *)element + row->at;
        const pd_string_ref *ref = at;
        if (row->kind == PD_FIELD_STRING)
            check_string(p, t, *(const uint32_t *)at, row->name, off);
        else if (row->kind == PD_FIELD_STRING_REF)
            check_string(p, t, ref->index, row->name, ref->off);
    }
}

static void check_strings(pd_parse *p, const pd_tables *t)
{
    const pd_value_type *period = &t->header.period_type;
    for (size_t i = 0; i < t->types_len; i++)
        check_element(p, t, &pd_sample_type_rows, &t->types[i], i, t->types[i].off);
    for (size_t i = 0; i < t->mappings_len; i++)
        check_element(p, t, &pd_mapping_rows, &t->mappings[i], i, t->mappings[i].off);
    for (size_t i = 0; i < t->functions_len; i++)
        check_element(p, t, &pd_function_rows, &t->functions[i], i, t->functions[i].off);
    for (p->element = 0; p->element < t->comments_len; p->element++) {
        const pd_string_ref *comment = &t->comments[p->element];
        check_string(p, t, comment->index, "comment", comment->off);
    }
    check_element(p, t, &pd_period_type_rows, period, PPROFDELTA_NOWHERE, period->off);
    check_element(p, t, &pd_profile_rows, t, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE);
}

/* Checks that there are strings and types. */
static pprofdelta_status check_first(const pd_tables *t, pprofdelta_error *err)
{
    if (!t->len)
        return PD_FAIL(err, PPROFDELTA_E_PROFILE, PPROFDELTA_STAGE_PROFILE, NULL,
                       "it is empty: 0 bytes");
    if (!t->strings_len)
        return PD_FAIL(err, PPROFDELTA_E_PROFILE, PPROFDELTA_STAGE_PROFILE, "string_table",
                       "it has no string table: not a pprof profile, or cut off");
    if (t->strings[0].len)
        return pd_fail(err, PPROFDELTA_E_PROFILE, PPROFDELTA_STAGE_PROFILE, "string_table", 0,
                       t->first_string_off, "the first string is not empty");
    if (!t->types_len)
        return PD_FAIL(err, PPROFDELTA_E_PROFILE, PPROFDELTA_STAGE_PROFILE, "sample_type",
                       "it has no sample types: not a pprof profile, or cut off");
    if (t->types_len > PPROFDELTA_MAX_TYPES)
        return pd_fail(err, PPROFDELTA_E_LIMIT, PPROFDELTA_STAGE_PROFILE, "sample_type",
                       PPROFDELTA_MAX_TYPES, t->types[PPROFDELTA_MAX_TYPES].off,
                       "%zu sample types; at most %d are supported", t->types_len,
                       PPROFDELTA_MAX_TYPES);
    return PPROFDELTA_OK;
}

/* Replaces the id at *ref by its index plus one. */
static void resolve_id(pd_parse *p, uint64_t *ref, const pd_idmap *map, const char *field,
                       const char *what, uint64_t off)
{
    uint64_t id = *ref;
    uint32_t index = pd_idmap_find(map, id);
    if (__builtin_expect(index == PD_IDMAP_NONE, 0))
        PD_PARSE_FAIL(p, PPROFDELTA_E_PROFILE, field, off, "no %s has the id %" PRIu64, what, id);
    *ref = index + UINT64_C(1);
}

static void resolve_references(pd_parse *p, pd_tables *t)
{
    for (p->element = 0; p->element < t->locations_len; p->element++) {
        pd_location *location = &t->locations[p->element];
        if (location->mapping)
            resolve_id(p, &location->mapping, &t->mapping_map, "location.mapping_id", "mapping",
                       location->off);
        for (size_t j = 0; j < location->lines_len; j++)
            resolve_id(p, &t->lines[location->lines_first + j].function, &t->function_map,
                       "location.line.function_id", "function", location->off);
    }
}

/* ---- identities -------------------------------------------------------------------------------- */

/* Begins with no key of a string. Each is made when it is first needed: many lines, or many mappings,
 * may refer to one long string. */
static pprofdelta_status begin_keys(pd_tables *t, pd_mem *mem, pprofdelta_error *err)
{
    PD_TRY(PD_RESERVE(mem, t->string_keys, t->strings_len, err));
    memset(t->string_keys, 0, t->strings_len * sizeof *t->string_keys);
    return PPROFDELTA_OK;
}

static pd_key key_of_string(const pd_tables *t, uint32_t index)
{
    pd_key *key = &t->string_keys[index];
    if (!pd_key_is_set(*key))
        *key = pd_string_key(t->strings[index]);
    return *key;
}

static pd_key key_of_lines(const pd_tables *t, const pd_location *location)
{
    pd_key key = pd_location_key_lines_begin(location->address, location->is_folded);
    for (size_t i = 0; i < location->lines_len; i++) {
        const pd_line *line = &t->lines[location->lines_first + i];
        const pd_function *f = &t->functions[line->function - 1];
        pd_key function =
            pd_function_key_of(key_of_string(t, f->name), key_of_string(t, f->system_name),
                               key_of_string(t, f->filename), f->start_line);
        key = pd_location_key_line(key, function, line->line, line->column);
    }
    return key;
}

/* First the mappings without a build id, then the others: a string may be the name of one mapping and
 * the build id of another. */
pprofdelta_status pd_tables_place(pd_tables *t, pd_mem *mem, pprofdelta_error *err)
{
    PD_TRY(PD_RESERVE(mem, t->places, t->mappings_len, err));
    for (unsigned has_id = 0; has_id < 2; has_id++) {
        PD_TRY(begin_keys(t, mem, err));
        for (size_t i = 0; i < t->mappings_len; i++) {
            const pd_mapping *m = &t->mappings[i];
            if ((t->strings[m->build_id].len > 0) != has_id)
                continue;
            pd_key *key = &t->string_keys[has_id ? m->build_id : m->filename];
            if (!pd_key_is_set(*key))
                *key = pd_file_key(t->strings[m->filename], t->strings[m->build_id]);
            t->places[i] = pd_place_in_file(*key, m->start, m->limit, m->file_offset);
        }
    }
    return pd_tables_identify(t, mem, err);
}

pprofdelta_status pd_tables_identify(pd_tables *t, pd_mem *mem, pprofdelta_error *err)
{
    PD_TRY(PD_RESERVE(mem, t->idents, t->locations_len, err));
    t->by_address = t->by_lines = t->by_both = 0;
    t->has_addresses_of_files = false;
    for (size_t i = 0; i < t->mappings_len; i++)
        t->mappings[i].stays = false;
    for (size_t i = 0; i < t->locations_len; i++) {
        const pd_location *location = &t->locations[i];
        pd_place place = location->mapping ? t->places[location->mapping - 1] : PD_NOWHERE_MAPPED;
        if (location->lines_len && pd_location_is_by_lines(place, location->address)) {
            if (!t->by_lines++)
                PD_TRY(begin_keys(t, mem, err));
            t->idents[i] = key_of_lines(t, location);
            t->by_both += location->address != 0;
            continue;
        }
        if (pd_place_is_before(place, location->address))
            t->has_addresses_of_files = t->mappings[location->mapping - 1].stays = true;
        t->idents[i] = pd_location_key_address(place, location->address, location->is_folded);
        t->by_address++;
    }
    return PPROFDELTA_OK;
}

pprofdelta_status pd_tables_seal(pd_tables *tables, pd_mem *mem, pprofdelta_error *err)
{
    pd_parse parse = {.err = err};
    PD_TRY(check_first(tables, err));
    check_strings(&parse, tables);
    resolve_references(&parse, tables);
    PD_TRY(parse.status);
    for (size_t i = 0; i < tables->comments_len; i++)
        tables->is_stamped |= pd_is_stamp(tables->strings[tables->comments[i].index]);
    return pd_tables_place(tables, mem, err);
}

pprofdelta_status pd_tables_parse(pd_tables *t, pd_mem *mem, pd_bytes bytes, pprofdelta_error *err)
{
    pd_parse parse = {.mem = mem, .err = err, .zero = bytes.ptr, .element = PPROFDELTA_NOWHERE};
    pd_reader top = pd_reader_of(bytes.ptr, bytes.len);
    pd_tables_begin(t);
    t->bytes = bytes;
    t->len = bytes.len;
    pd_tables_read(t, &parse, &top);
    pd_tables_read_end(t, &parse, &top);
    return parse.status ? parse.status : pd_tables_seal(t, mem, err);
}

void pd_tables_trim(pd_tables *t, pd_mem *mem)
{
    PD_TRIM(mem, t->strings, t->strings_len);
    PD_TRIM(mem, t->functions, t->functions_len);
    PD_TRIM(mem, t->lines, t->lines_len);
    PD_TRIM(mem, t->locations, t->locations_len);
}

/* The first pass: decodes the top level, except the samples. */
#include "profile/tables.h"

#include "profile/fields.h"

#include <inttypes.h>
#include <stddef.h>

/* Appends an element to the table `name` of *t and returns a pointer to it, or NULL. */
#define APPEND(p, t, name)                                                                         \
    (pd_parse_grow((p), &(t)->name, &(t)->name##_cap, (t)->name##_len + 1, sizeof *(t)->name)      \
         ? &(t)->name[(t)->name##_len++]                                                           \
         : NULL)

/* ---- rows ------------------------------------------------------------------------------------ */

static const pd_field_row sample_type_fields[] = {
    [1] = {PD_FIELD_STRING, offsetof(pd_value_type, type), "sample_type.type"},
    [2] = {PD_FIELD_STRING, offsetof(pd_value_type, unit), "sample_type.unit"},
};

static const pd_field_row period_type_fields[] = {
    [1] = {PD_FIELD_STRING, offsetof(pd_value_type, type), "period_type.type"},
    [2] = {PD_FIELD_STRING, offsetof(pd_value_type, unit), "period_type.unit"},
};

/* What is read of a mapping. The entry of the table comes first: so the fields of the rows have the
 * same offsets in the entry. */
enum { FLAGS = 4 };
typedef struct mapping_message {
    pd_mapping entry;
    bool has[FLAGS];
} mapping_message;

static const pd_field_row mapping_fields[] = {
    [1] = {PD_FIELD_NUMBER, offsetof(pd_mapping, id), "mapping.id"},
    [2] = {PD_FIELD_NUMBER, offsetof(pd_mapping, start), "mapping.memory_start"},
    [3] = {PD_FIELD_NUMBER, offsetof(pd_mapping, limit), "mapping.memory_limit"},
    [4] = {PD_FIELD_NUMBER, offsetof(pd_mapping, file_offset), "mapping.file_offset"},
    [5] = {PD_FIELD_STRING, offsetof(pd_mapping, filename), "mapping.filename"},
    [6] = {PD_FIELD_STRING, offsetof(pd_mapping, build_id), "mapping.build_id"},
    [7] = {PD_FIELD_FLAG, offsetof(mapping_message, has[0]), "mapping.has_functions"},
    [8] = {PD_FIELD_FLAG, offsetof(mapping_message, has[1]), "mapping.has_filenames"},
    [9] = {PD_FIELD_FLAG, offsetof(mapping_message, has[2]), "mapping.has_line_numbers"},
    [10] = {PD_FIELD_FLAG, offsetof(mapping_message, has[3]), "mapping.has_inline_frames"},
};

static const pd_field_row function_fields[] = {
    [1] = {PD_FIELD_NUMBER, offsetof(pd_function, id), "function.id"},
    [2] = {PD_FIELD_STRING, offsetof(pd_function, name), "function.name"},
    [3] = {PD_FIELD_STRING, offsetof(pd_function, system_name), "function.system_name"},
    [4] = {PD_FIELD_STRING, offsetof(pd_function, filename), "function.filename"},
    [5] = {PD_FIELD_NUMBER, offsetof(pd_function, start_line), "function.start_line"},
};

static const pd_field_row location_fields[] = {
    [1] = {PD_FIELD_NUMBER, offsetof(pd_location, id), "location.id"},
    [2] = {PD_FIELD_NUMBER, offsetof(pd_location, mapping), "location.mapping_id"},
    [3] = {PD_FIELD_NUMBER, offsetof(pd_location, address), "location.address"},
    [4] = {PD_FIELD_PART, 0, "location.line"},
    [5] = {PD_FIELD_FLAG, offsetof(pd_location, is_folded), "location.is_folded"},
};

static const pd_field_row line_fields[] = {
    [1] = {PD_FIELD_NUMBER, offsetof(pd_line, function), "location.line.function_id"},
    [2] = {PD_FIELD_NUMBER, offsetof(pd_line, line), "location.line.line"},
    [3] = {PD_FIELD_NUMBER, offsetof(pd_line, column), "location.line.column"},
};

/* The top level. A part has the offset of the number of its elements, if there may be many. */
static const pd_field_row profile_fields[] = {
    [1] = {PD_FIELD_PART, offsetof(pd_tables, types_len), "sample_type"},
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
    [15] = {PD_FIELD_STRING_REF, offsetof(pd_tables, header.doc_url), "doc_url"},
};

const pd_rows pd_sample_type_rows = PD_ROWS("sample_type", sample_type_fields);
const pd_rows pd_period_type_rows = PD_ROWS("period_type", period_type_fields);
const pd_rows pd_mapping_rows = PD_ROWS("mapping", mapping_fields);
const pd_rows pd_function_rows = PD_ROWS("function", function_fields);
const pd_rows pd_location_rows = PD_ROWS("location", location_fields);
const pd_rows pd_line_rows = PD_ROWS("location.line", line_fields);
const pd_rows pd_profile_rows = PD_ROWS(NULL, profile_fields);

/* ---- the parts of a profile -------------------------------------------------------------------- */

static void read_type(pd_parse *p, pd_tables *t, pd_reader r, uint64_t off)
{
    pd_value_type *type = APPEND(p, t, types);
    if (!type)
        return;
    *type = (pd_value_type){.off = off};
    pd_message_read(p, r, &pd_sample_type_rows, type);
}

static void read_period_type(pd_parse *p, pd_tables *t, pd_reader r, uint64_t off)
{
    t->header.has_period_type = true;
    t->header.period_type.off = off;
    pd_message_read(p, r, &pd_period_type_rows, &t->header.period_type);
}

static void add_id(pd_parse *p, pd_idmap *map, const pd_rows *rows, uint64_t id, uint64_t off)
{
    bool is_new = true;
    if (!p->status)
        p->status = pd_idmap_add(map, p->mem, id, &is_new, p->err);
    if (!is_new)
        p->status = pd_fail(p->err, PPROFDELTA_E_PROFILE, "profile", pd_row_of(rows, 1)->name,
                            p->element, off, "the id %" PRIu64 " %s", id,
                            id ? "belongs to an earlier element" : "is not allowed: it means none");
}

static void read_mapping(pd_parse *p, pd_tables *t, pd_reader r, uint64_t off)
{
    mapping_message m = {.entry = {.off = off}};
    pd_message_read(p, r, &pd_mapping_rows, &m);
    for (unsigned bit = 0; bit < FLAGS; bit++)
        m.entry.has |= (uint32_t)m.has[bit] << bit;
    pd_mapping *mapping = APPEND(p, t, mappings);
    if (mapping)
        *mapping = m.entry;
    add_id(p, &t->mapping_map, &pd_mapping_rows, m.entry.id, off);
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

static void read_line(pd_parse *p, pd_tables *t, pd_reader r)
{
    pd_line *line = APPEND(p, t, lines);
    if (!line)
        return;
    *line = (pd_line){0};
    pd_message_read(p, r, &pd_line_rows, line);
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
    while ((row = pd_message_next(p, &message, &f)))
        read_line(p, t, pd_parse_body(p, row->name, &f));
    location->lines_len = t->lines_len - location->lines_first;
    add_id(p, &t->location_map, &pd_location_rows, location->id, off);
}

static void read_string(pd_parse *p, pd_tables *t, pd_reader r, uint64_t off)
{
    if (!p->status && t->strings_len == UINT32_MAX - 1)
        p->status = pd_fail(p->err, PPROFDELTA_E_LIMIT, "profile", "string_table", p->element, off,
                            "more than %u strings", UINT32_MAX);
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
static uint64_t elements(const pd_tables *t, const pd_field_row *row)
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
        p->element = elements(t, row);
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
    switch (f->number) {
    case PD_PROFILE_SAMPLE_TYPE:
        read_type(p, t, r, off);
        break;
    case PD_PROFILE_SAMPLE:
        if (!t->samples++)
            t->samples_off = off;
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
        read_period_type(p, t, r, off);
    }
}

void pd_tables_read(pd_tables *t, pd_parse *p, pd_reader *top)
{
    pd_field f;
    while (!p->status && pd_reader_next_quick(top, &f)) {
        const pd_field_row *row = pd_row_of(&pd_profile_rows, f.number);
        p->element = elements(t, row);
        if (!pd_field_read(p, &pd_profile_rows, &f, t))
            read_part(p, t, row, &f);
    }
}

void pd_tables_begin(pd_tables *t)
{
    t->base = t->len = t->first_string_off = 0;
    t->header = (pd_header){0};
    t->types_len = t->comments_len = t->strings_len = t->mappings_len = t->functions_len = 0;
    t->lines_len = t->locations_len = 0;
    t->samples = t->samples_off = 0;
    t->unknown_fields = t->sample_unknown_fields = t->by_address = t->by_lines = 0;
    t->is_stamped = false;
    pd_idmap_clear(&t->mapping_map);
    pd_idmap_clear(&t->function_map);
    pd_idmap_clear(&t->location_map);
}

void pd_tables_release(pd_tables *t, pd_mem *mem)
{
    pd_mem_release(mem, &t->types, &t->types_cap, sizeof *t->types);
    pd_mem_release(mem, &t->comments, &t->comments_cap, sizeof *t->comments);
    pd_mem_release(mem, &t->strings, &t->strings_cap, sizeof *t->strings);
    pd_mem_release(mem, &t->mappings, &t->mappings_cap, sizeof *t->mappings);
    pd_mem_release(mem, &t->functions, &t->functions_cap, sizeof *t->functions);
    pd_mem_release(mem, &t->lines, &t->lines_cap, sizeof *t->lines);
    pd_mem_release(mem, &t->locations, &t->locations_cap, sizeof *t->locations);
    pd_mem_release(mem, &t->idents, &t->idents_cap, sizeof *t->idents);
    pd_mem_release(mem, &t->places, &t->places_cap, sizeof *t->places);
    pd_mem_release(mem, &t->string_keys, &t->string_keys_cap, sizeof *t->string_keys);
    pd_idmap_release(&t->mapping_map, mem);
    pd_idmap_release(&t->function_map, mem);
    pd_idmap_release(&t->location_map, mem);
    *t = (pd_tables){0};
}

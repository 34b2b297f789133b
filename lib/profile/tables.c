/* The first pass: decodes the top level, except the samples. */
#include "profile/tables.h"

#include "profile/lookalike.h"
#include "profile/parse.h"

/* Appends an element to the table `name` of *t and returns a pointer to it, or NULL. */
#define APPEND(p, t, name)                                                                         \
    (append((p), &(t)->name, &(t)->name##_cap, (t)->name##_len, sizeof *(t)->name)                 \
         ? &(t)->name[(t)->name##_len++]                                                           \
         : NULL)

static bool append(pd_parse *p, void *array, size_t *cap, size_t len, size_t size)
{
    if (p->status)
        return false;
    if (len < *cap)
        return true;
    p->status = pd_mem_grow(p->mem, array, cap, len + 1, size, p->err);
    return p->status == PPROFDELTA_OK;
}

/* The names of a value type and its fields, for errors. */
typedef struct value_type_names {
    const char *whole, *type, *unit;
} value_type_names;

static void read_value_type(pd_parse *p, pd_value_type *out, pd_reader r,
                            const value_type_names *names)
{
    pd_field f;
    while (!p->status && pd_reader_next_quick(&r, &f)) {
        switch (f.number) {
        case PD_VALUE_TYPE_TYPE:
            out->type = pd_parse_string(p, names->type, &f);
            break;
        case PD_VALUE_TYPE_UNIT:
            out->unit = pd_parse_string(p, names->unit, &f);
            break;
        default:
            p->unknown_fields++;
        }
    }
    pd_parse_end(p, names->whole, &r);
}

static void read_mapping(pd_parse *p, pd_tables *t, const pd_field *field)
{
    pd_reader r = pd_parse_body(p, "mapping", field);
    pd_mapping *mapping = APPEND(p, t, mappings);
    if (!mapping)
        return;
    *mapping = (pd_mapping){.off = pd_parse_offset(p, field->start)};
    uint64_t id = 0;
    pd_field f;
    while (!p->status && pd_reader_next_quick(&r, &f)) {
        switch (f.number) {
        case PD_MAPPING_ID:
            id = pd_parse_number(p, "mapping.id", &f);
            break;
        case PD_MAPPING_MEMORY_START:
            mapping->start = pd_parse_number(p, "mapping.memory_start", &f);
            break;
        case PD_MAPPING_MEMORY_LIMIT:
            mapping->limit = pd_parse_number(p, "mapping.memory_limit", &f);
            break;
        case PD_MAPPING_FILE_OFFSET:
            mapping->file_offset = pd_parse_number(p, "mapping.file_offset", &f);
            break;
        case PD_MAPPING_FILENAME:
            mapping->filename = pd_parse_string(p, "mapping.filename", &f);
            break;
        case PD_MAPPING_BUILD_ID:
            mapping->build_id = pd_parse_string(p, "mapping.build_id", &f);
            break;
        case PD_MAPPING_HAS_FUNCTIONS:
        case PD_MAPPING_HAS_FILENAMES:
        case PD_MAPPING_HAS_LINE_NUMBERS:
        case PD_MAPPING_HAS_INLINE_FRAMES: {
            static const char *const names[] = {"mapping.has_functions", "mapping.has_filenames",
                                                "mapping.has_line_numbers",
                                                "mapping.has_inline_frames"};
            uint32_t nth = f.number - PD_MAPPING_HAS_FUNCTIONS, bit = UINT32_C(1) << nth;
            bool set = pd_parse_number(p, names[nth], &f) != 0;
            mapping->has = set ? mapping->has | bit : mapping->has & ~bit;
            break;
        }
        default:
            p->unknown_fields++;
        }
    }
    pd_parse_end(p, "mapping", &r);
    if (!p->status)
        p->status = pd_idmap_add(&t->mapping_map, p->mem, id, p->err);
}

static void read_function(pd_parse *p, pd_tables *t, const pd_field *field)
{
    pd_reader r = pd_parse_body(p, "function", field);
    pd_function *function = APPEND(p, t, functions);
    if (!function)
        return;
    *function = (pd_function){.off = pd_parse_offset(p, field->start)};
    uint64_t id = 0;
    pd_field f;
    while (!p->status && pd_reader_next_quick(&r, &f)) {
        switch (f.number) {
        case PD_FUNCTION_ID:
            id = pd_parse_number(p, "function.id", &f);
            break;
        case PD_FUNCTION_NAME:
            function->name = pd_parse_string(p, "function.name", &f);
            break;
        case PD_FUNCTION_SYSTEM_NAME:
            function->system_name = pd_parse_string(p, "function.system_name", &f);
            break;
        case PD_FUNCTION_FILENAME:
            function->filename = pd_parse_string(p, "function.filename", &f);
            break;
        case PD_FUNCTION_START_LINE:
            function->start_line = (int64_t)pd_parse_number(p, "function.start_line", &f);
            break;
        default:
            p->unknown_fields++;
        }
    }
    pd_parse_end(p, "function", &r);
    if (!p->status)
        p->status = pd_idmap_add(&t->function_map, p->mem, id, p->err);
}

static void read_line(pd_parse *p, pd_tables *t, const pd_field *field)
{
    pd_reader r = pd_parse_body(p, "location.line", field);
    pd_line *line = APPEND(p, t, lines);
    if (!line)
        return;
    *line = (pd_line){0};
    pd_field f;
    while (!p->status && pd_reader_next_quick(&r, &f)) {
        switch (f.number) {
        case PD_LINE_FUNCTION_ID:
            line->function = pd_parse_number(p, "location.line.function_id", &f);
            break;
        case PD_LINE_LINE:
            line->line = (int64_t)pd_parse_number(p, "location.line.line", &f);
            break;
        case PD_LINE_COLUMN:
            line->column = (int64_t)pd_parse_number(p, "location.line.column", &f);
            break;
        default:
            p->unknown_fields++;
        }
    }
    pd_parse_end(p, "location.line", &r);
}

static void read_location(pd_parse *p, pd_tables *t, const pd_field *field)
{
    pd_reader r = pd_parse_body(p, "location", field);
    pd_location *location = APPEND(p, t, locations);
    if (!location)
        return;
    *location = (pd_location){.off = pd_parse_offset(p, field->start), .lines_first = t->lines_len};
    uint64_t id = 0;
    pd_field f;
    while (!p->status && pd_reader_next_quick(&r, &f)) {
        switch (f.number) {
        case PD_LOCATION_ID:
            id = pd_parse_number(p, "location.id", &f);
            break;
        case PD_LOCATION_MAPPING_ID:
            location->mapping = pd_parse_number(p, "location.mapping_id", &f);
            break;
        case PD_LOCATION_ADDRESS:
            location->address = pd_parse_number(p, "location.address", &f);
            break;
        case PD_LOCATION_LINE:
            read_line(p, t, &f);
            break;
        case PD_LOCATION_IS_FOLDED:
            location->is_folded = pd_parse_number(p, "location.is_folded", &f) != 0;
            break;
        default:
            p->unknown_fields++;
        }
    }
    pd_parse_end(p, "location", &r);
    size_t lines = t->lines_len - location->lines_first;
    if (lines > UINT32_MAX && !p->status)
        p->status = pd_fail(p->err, PPROFDELTA_E_LIMIT, "profile", "location.line", p->element,
                            location->off, "a location of more than %u lines", UINT32_MAX);
    location->lines_len = (uint32_t)lines;
    if (!p->status)
        p->status = pd_idmap_add(&t->location_map, p->mem, id, p->err);
}

static void read_string(pd_parse *p, pd_tables *t, const pd_field *field)
{
    pd_reader r = pd_parse_body(p, "string_table", field);
    if (!p->status && t->strings_len == UINT32_MAX - 1)
        p->status = pd_fail(p->err, PPROFDELTA_E_LIMIT, "profile", "string_table", p->element,
                            pd_parse_offset(p, field->start), "more than %u strings", UINT32_MAX);
    pd_bytes *string = APPEND(p, t, strings);
    if (string)
        *string = (pd_bytes){r.at, (size_t)(r.end - r.at)};
}

static void add_comment(pd_parse *p, pd_tables *t, const uint8_t *at, uint64_t index)
{
    if (index >= UINT32_MAX)
        pd_parse_string_range(p, "comment", pd_parse_offset(p, at), (int64_t)index);
    pd_string_ref *comment = APPEND(p, t, comments);
    if (comment)
        *comment = (pd_string_ref){(uint32_t)index, pd_parse_offset(p, at)};
    p->element = t->comments_len;
}

static void read_comments(pd_parse *p, pd_tables *t, const pd_field *field)
{
    if (field->wire != PD_WIRE_BYTES) {
        add_comment(p, t, field->start, pd_parse_number(p, "comment", field));
        return;
    }
    pd_reader r = field->body;
    const uint8_t *at = r.at;
    uint64_t index;
    for (; !p->status && pd_reader_varint(&r, &index); at = r.at)
        add_comment(p, t, at, index);
    pd_parse_end(p, "comment", &r);
}

static pd_string_ref read_string_ref(pd_parse *p, const char *name, const pd_field *field)
{
    return (pd_string_ref){pd_parse_string(p, name, field), pd_parse_offset(p, field->start)};
}

static const value_type_names sample_type_names = {"sample_type", "sample_type.type",
                                                   "sample_type.unit"};
static const value_type_names period_type_names = {"period_type", "period_type.type",
                                                   "period_type.unit"};

static void read_scalar(pd_parse *p, pd_header *h, const pd_field *f)
{
    switch (f->number) {
    case PD_PROFILE_DROP_FRAMES:
        h->drop_frames = read_string_ref(p, "drop_frames", f);
        break;
    case PD_PROFILE_KEEP_FRAMES:
        h->keep_frames = read_string_ref(p, "keep_frames", f);
        break;
    case PD_PROFILE_DEFAULT_SAMPLE_TYPE:
        h->default_sample_type = read_string_ref(p, "default_sample_type", f);
        break;
    case PD_PROFILE_DOC_URL:
        h->doc_url = read_string_ref(p, "doc_url", f);
        break;
    case PD_PROFILE_TIME_NANOS:
        h->time_nanos = (int64_t)pd_parse_number(p, "time_nanos", f);
        break;
    case PD_PROFILE_DURATION_NANOS:
        h->duration_nanos = (int64_t)pd_parse_number(p, "duration_nanos", f);
        break;
    case PD_PROFILE_PERIOD:
        h->period = (int64_t)pd_parse_number(p, "period", f);
        break;
    case PD_PROFILE_PERIOD_TYPE:
        h->has_period_type = true;
        h->period_type.off = pd_parse_offset(p, f->start);
        read_value_type(p, &h->period_type, pd_parse_body(p, "period_type", f), &period_type_names);
        break;
    default:
        p->unknown_fields++;
    }
}

static void read_type(pd_parse *p, pd_tables *t, const pd_field *field)
{
    pd_reader r = pd_parse_body(p, "sample_type", field);
    pd_value_type *type = APPEND(p, t, types);
    if (!type)
        return;
    *type = (pd_value_type){.off = pd_parse_offset(p, field->start)};
    read_value_type(p, type, r, &sample_type_names);
}

static void count_sample(pd_parse *p, pd_tables *t, const pd_field *field)
{
    pd_parse_body(p, "sample", field);
    pd_tables_count_sample(t, pd_parse_offset(p, field->start));
}

/* The number of elements of a top-level field so far: the index of the next one. */
static uint64_t elements(const pd_tables *t, uint32_t field)
{
    switch (field) {
    case PD_PROFILE_SAMPLE_TYPE:
        return t->types_len;
    case PD_PROFILE_SAMPLE:
        return t->samples;
    case PD_PROFILE_MAPPING:
        return t->mappings_len;
    case PD_PROFILE_LOCATION:
        return t->locations_len;
    case PD_PROFILE_FUNCTION:
        return t->functions_len;
    case PD_PROFILE_STRING_TABLE:
        return t->strings_len;
    case PD_PROFILE_COMMENT:
        return t->comments_len;
    default:
        return PPROFDELTA_NOWHERE;
    }
}

/* Reports an error of the top-level reader with the name of the field, if its tag can be read. */
void pd_tables_read_end(pd_tables *t, pd_parse *p, const pd_reader *r)
{
    static const char *const names[] = {
        [PD_PROFILE_SAMPLE_TYPE] = "sample_type",
        [PD_PROFILE_SAMPLE] = "sample",
        [PD_PROFILE_MAPPING] = "mapping",
        [PD_PROFILE_LOCATION] = "location",
        [PD_PROFILE_FUNCTION] = "function",
        [PD_PROFILE_STRING_TABLE] = "string_table",
        [PD_PROFILE_DROP_FRAMES] = "drop_frames",
        [PD_PROFILE_KEEP_FRAMES] = "keep_frames",
        [PD_PROFILE_TIME_NANOS] = "time_nanos",
        [PD_PROFILE_DURATION_NANOS] = "duration_nanos",
        [PD_PROFILE_PERIOD_TYPE] = "period_type",
        [PD_PROFILE_PERIOD] = "period",
        [PD_PROFILE_COMMENT] = "comment",
        [PD_PROFILE_DEFAULT_SAMPLE_TYPE] = "default_sample_type",
        [PD_PROFILE_DOC_URL] = "doc_url",
    };
    uint64_t tag = 0;
    p->element = PPROFDELTA_NOWHERE;
    if (!r->trouble || !pd_varint_decode(r->at, r->end, &tag) || (tag & 7) == 3 || (tag & 7) == 4 ||
        (tag & 7) > PD_WIRE_FIXED32 || tag >> 3 >= sizeof names / sizeof *names) {
        pd_parse_end(p, NULL, r);
    } else {
        p->element = elements(t, (uint32_t)(tag >> 3));
        pd_parse_end(p, names[tag >> 3], r);
    }
    t->unknown_fields = p->unknown_fields;
}

void pd_tables_read(pd_tables *t, pd_parse *p, pd_reader *top)
{
    pd_field f;
    while (!p->status && pd_reader_next_quick(top, &f)) {
        p->element = elements(t, f.number);
        switch (f.number) {
        case PD_PROFILE_SAMPLE_TYPE:
            read_type(p, t, &f);
            break;
        case PD_PROFILE_SAMPLE:
            count_sample(p, t, &f);
            break;
        case PD_PROFILE_MAPPING:
            read_mapping(p, t, &f);
            break;
        case PD_PROFILE_LOCATION:
            read_location(p, t, &f);
            break;
        case PD_PROFILE_FUNCTION:
            read_function(p, t, &f);
            break;
        case PD_PROFILE_STRING_TABLE:
            read_string(p, t, &f);
            break;
        case PD_PROFILE_COMMENT:
            read_comments(p, t, &f);
            break;
        default:
            read_scalar(p, &t->header, &f);
        }
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

/* An empty large table gets room for one element in USUAL_BYTES bytes of the profile, up to
 * USUAL_MOST. */
enum { USUAL_BYTES = 256, USUAL_MOST = 4096 };

#define MAKE_ROOM(p, t, name) make_room((p), (t), &(t)->name, &(t)->name##_cap, sizeof *(t)->name)

static void make_room(pd_parse *p, const pd_tables *t, void *array, size_t *cap, size_t size)
{
    size_t usual = t->bytes.len / USUAL_BYTES;
    usual = usual < USUAL_MOST ? usual : USUAL_MOST;
    if (!p->status && !p->mem->is_tight && !*cap && usual <= pd_mem_left(p->mem) / 4 / size)
        p->status = pd_mem_reserve(p->mem, array, cap, usual, size, p->err);
}

void pd_tables_make_room(pd_tables *tables, pd_parse *parse)
{
    MAKE_ROOM(parse, tables, strings);
    MAKE_ROOM(parse, tables, functions);
    MAKE_ROOM(parse, tables, lines);
    MAKE_ROOM(parse, tables, locations);
}

void pd_tables_trim(pd_tables *t, pd_mem *mem)
{
    pd_mem_trim(mem, &t->types, &t->types_cap, t->types_len, sizeof *t->types);
    pd_mem_trim(mem, &t->comments, &t->comments_cap, t->comments_len, sizeof *t->comments);
    pd_mem_trim(mem, &t->strings, &t->strings_cap, t->strings_len, sizeof *t->strings);
    pd_mem_trim(mem, &t->mappings, &t->mappings_cap, t->mappings_len, sizeof *t->mappings);
    pd_mem_trim(mem, &t->functions, &t->functions_cap, t->functions_len, sizeof *t->functions);
    pd_mem_trim(mem, &t->lines, &t->lines_cap, t->lines_len, sizeof *t->lines);
    pd_mem_trim(mem, &t->locations, &t->locations_cap, t->locations_len, sizeof *t->locations);
    pd_mem_trim(mem, &t->idents, &t->idents_cap, t->locations_len, sizeof *t->idents);
    pd_mem_trim(mem, &t->places, &t->places_cap, t->mappings_len, sizeof *t->places);
    pd_mem_trim(mem, &t->string_keys, &t->string_keys_cap, 0, sizeof *t->string_keys);
    pd_idmap_trim(&t->mapping_map, mem);
    pd_idmap_trim(&t->function_map, mem);
    pd_idmap_trim(&t->location_map, mem);
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

/* The first pass: walk the top level once and decode everything but the samples. */
#include "profile/tables.h"

#include "profile/parse.h"
#include "profile/seal.h"

/* Appends one zeroed element to the table `name` of *t and yields a pointer to it, or NULL. */
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

static void read_value_type(pd_parse *p, pd_value_type *out, pd_reader r, const char *name)
{
    pd_field f;
    while (!p->status && pd_reader_next_quick(&r, &f)) {
        switch (f.number) {
        case PD_VALUE_TYPE_TYPE:
            out->type = pd_parse_string(p, name, &f);
            break;
        case PD_VALUE_TYPE_UNIT:
            out->unit = pd_parse_string(p, name, &f);
            break;
        default:
            p->unknown_fields++;
        }
    }
    pd_parse_end(p, name, &r);
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
            uint32_t bit = UINT32_C(1) << (f.number - PD_MAPPING_HAS_FUNCTIONS);
            bool set = pd_parse_number(p, "mapping.has_...", &f) != 0;
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
    uint32_t *comment = APPEND(p, t, comments);
    if (!comment)
        return;
    if (index >= UINT32_MAX)
        pd_parse_string_range(p, "comment", pd_parse_offset(p, at), (int64_t)index);
    *comment = (uint32_t)index;
}

static void read_comments(pd_parse *p, pd_tables *t, const pd_field *field)
{
    t->header.strings_off = pd_parse_offset(p, field->start);
    if (field->wire != PD_WIRE_BYTES) {
        add_comment(p, t, field->start, pd_parse_number(p, "comment", field));
        return;
    }
    pd_reader r = field->body;
    uint64_t index;
    while (!p->status && pd_reader_varint(&r, &index))
        add_comment(p, t, field->start, index);
    pd_parse_end(p, "comment", &r);
}

static void read_header_string(pd_parse *p, pd_header *header, uint32_t *out, const char *name,
                               const pd_field *field)
{
    *out = pd_parse_string(p, name, field);
    header->strings_off = pd_parse_offset(p, field->start);
}

static void read_scalar(pd_parse *p, pd_header *h, const pd_field *f)
{
    switch (f->number) {
    case PD_PROFILE_DROP_FRAMES:
        read_header_string(p, h, &h->drop_frames, "drop_frames", f);
        break;
    case PD_PROFILE_KEEP_FRAMES:
        read_header_string(p, h, &h->keep_frames, "keep_frames", f);
        break;
    case PD_PROFILE_DEFAULT_SAMPLE_TYPE:
        read_header_string(p, h, &h->default_sample_type, "default_sample_type", f);
        break;
    case PD_PROFILE_DOC_URL:
        read_header_string(p, h, &h->doc_url, "doc_url", f);
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
        read_value_type(p, &h->period_type, pd_parse_body(p, "period_type", f), "period_type");
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
    read_value_type(p, type, r, "sample_type");
}

/* Counts a sample and those that follow it at once, as they mostly do. */
static void count_samples(pd_parse *p, pd_tables *t, const pd_field *field, pd_reader *top)
{
    const uint8_t *start;
    pd_reader body;
    pd_parse_body(p, "sample", field);
    if (!t->samples++)
        t->samples_off = (size_t)pd_parse_offset(p, field->start);
    while (pd_reader_expect(top, PD_TAG_SAMPLE, &start, &body))
        t->samples++;
}

static void read_top_level(pd_parse *p, pd_tables *t)
{
    pd_reader r = pd_reader_of(t->bytes.ptr, t->bytes.len);
    pd_field f;
    while (!p->status && pd_reader_next_quick(&r, &f)) {
        switch (f.number) {
        case PD_PROFILE_SAMPLE_TYPE:
            p->element = t->types_len;
            read_type(p, t, &f);
            break;
        case PD_PROFILE_SAMPLE:
            p->element = t->samples;
            count_samples(p, t, &f, &r);
            break;
        case PD_PROFILE_MAPPING:
            p->element = t->mappings_len;
            read_mapping(p, t, &f);
            break;
        case PD_PROFILE_LOCATION:
            p->element = t->locations_len;
            read_location(p, t, &f);
            break;
        case PD_PROFILE_FUNCTION:
            p->element = t->functions_len;
            read_function(p, t, &f);
            break;
        case PD_PROFILE_STRING_TABLE:
            p->element = t->strings_len;
            read_string(p, t, &f);
            break;
        case PD_PROFILE_COMMENT:
            p->element = t->comments_len;
            read_comments(p, t, &f);
            break;
        default:
            p->element = PPROFDELTA_NOWHERE;
            read_scalar(p, &t->header, &f);
        }
    }
    p->element = PPROFDELTA_NOWHERE;
    pd_parse_end(p, NULL, &r);
}

static void clear(pd_tables *t)
{
    t->header = (pd_header){0};
    t->types_len = t->comments_len = t->strings_len = t->mappings_len = t->functions_len = 0;
    t->lines_len = t->locations_len = 0;
    t->samples = t->samples_off = 0;
    t->unknown_fields = t->by_address = t->by_lines = 0;
    t->is_stamped = false;
    pd_idmap_clear(&t->mapping_map);
    pd_idmap_clear(&t->function_map);
    pd_idmap_clear(&t->location_map);
}

pprofdelta_status pd_tables_parse(pd_tables *tables, pd_mem *mem, pd_bytes bytes,
                                  pprofdelta_error *err)
{
    static const uint8_t nothing[1] = {0};
    if (!bytes.len)
        bytes.ptr = nothing; /* so that there is something to count offsets from */
    clear(tables);
    tables->bytes = bytes;
    pd_parse parse = {.mem = mem, .err = err, .zero = bytes.ptr, .element = PPROFDELTA_NOWHERE};
    read_top_level(&parse, tables);
    tables->unknown_fields = parse.unknown_fields;
    if (parse.status)
        return parse.status;
    return pd_tables_seal(tables, mem, err);
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
    pd_idmap_release(&t->mapping_map, mem);
    pd_idmap_release(&t->function_map, mem);
    pd_idmap_release(&t->location_map, mem);
    *t = (pd_tables){0};
}

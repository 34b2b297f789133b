#include "model/transfer.h"

#include "profile/samples.h"

pprofdelta_status pd_transfer_begin(pd_transfer *t, pd_mem *mem, const pd_tables *tables,
                                    pd_model *model, pprofdelta_error *err)
{
    const size_t lens[] = {tables->strings_len, tables->functions_len, tables->mappings_len,
                           tables->locations_len};
    t->tables = tables;
    t->model = model;
    t->more = NULL;
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        PD_TRY(pd_mem_reserve(mem, &t->ids[i], &t->caps[i], lens[i], sizeof *t->ids[i], err));
        if (lens[i])
            memset(t->ids[i], 0, lens[i] * sizeof *t->ids[i]);
    }
    return PPROFDELTA_OK;
}

uint32_t pd_transfer_string(pd_transfer *t, uint32_t index)
{
    if (!t->strings[index])
        t->strings[index] = pd_model_string(t->model, t->tables->strings[index]) + 1;
    return t->strings[index] - 1;
}

/* Mappings are equal if file, offset and length are; without a file, if place and name are. */
static pd_key mapping_key(const pd_tables *t, uint32_t index)
{
    const pd_mapping *m = &t->mappings[index];
    pd_key file = t->places[index].file;
    bool has_file = pd_key_is_set(file);
    pd_bytes name = pd_filename_unmarked(t->strings[m->filename]);
    pd_key named = has_file ? (pd_key){0, 0} : pd_key_of_bytes(name.ptr, name.len, 0);
    uint64_t words[] = {
        file.lo,  file.hi, m->file_offset, m->limit - m->start, has_file, has_file ? 0 : m->start,
        named.lo, named.hi};
    return pd_key_of_words(words, 8, 0);
}

uint32_t pd_transfer_mapping(pd_transfer *t, uint32_t index)
{
    if (t->mappings[index])
        return t->mappings[index];
    pd_key key = mapping_key(t->tables, index);
    uint32_t id = pd_model_find_mapping(t->model, key);
    if (!id) {
        const pd_mapping *m = &t->tables->mappings[index];
        pd_model_mapping out = {
            .start = m->start,
            .limit = m->limit,
            .file_offset = m->file_offset,
            .filename = pd_transfer_string(t, m->filename),
            .build_id = pd_transfer_string(t, m->build_id),
        };
        for (uint32_t bit = 0; bit < sizeof m->has / sizeof *m->has; bit++)
            out.has |= (uint32_t)m->has[bit] << bit;
        id = pd_model_add_mapping(t->model, key, &out);
        if (t->more)
            t->more->entry(t->more->cookie, t->model, PD_OWNER_MAPPING, index, id);
    }
    return t->mappings[index] = id;
}

void pd_transfer_expect_mappings(pd_transfer *t)
{
    for (uint32_t i = 0; i < t->tables->mappings_len; i++)
        pd_model_expect_mapping(t->model, mapping_key(t->tables, i), t->tables->mappings[i].start);
}

static uint32_t transfer_function(pd_transfer *t, uint32_t index)
{
    if (t->functions[index])
        return t->functions[index];
    const pd_function *f = &t->tables->functions[index];
    pd_model_function out = {.start_line = f->start_line};
    out.name = pd_transfer_string(t, f->name);
    out.system_name = pd_transfer_string(t, f->system_name);
    out.filename = pd_transfer_string(t, f->filename);
    return t->functions[index] = pd_model_add_function(t->model, &out);
}

/* The first use of a location here. Another transfer may have added it. */
static void first_location(pd_transfer *t, uint32_t index)
{
    const pd_tables *tables = t->tables;
    const pd_location *location = &tables->locations[index];
    pd_key ident = tables->idents[index];
    uint32_t mapping = 0, id = pd_model_find_location(t->model, ident);
    uint64_t address = location->address;
    t->locations[index] = pd_encode_id(id);
    if (id)
        return;
    for (size_t i = 0; i < location->lines_len; i++) {
        const pd_line *line = &tables->lines[location->lines_first + i];
        uint32_t function = transfer_function(t, (uint32_t)line->function);
        pd_model_add_line(t->model, function, line->line, line->column);
    }
    if (location->mapping != PD_NONE) {
        uint32_t m = (uint32_t)location->mapping;
        mapping = pd_transfer_mapping(t, m);
        if (address)
            address += pd_model_mapping_start(t->model, mapping) - tables->mappings[m].start;
    }
    id = pd_model_add_location(t->model, ident, mapping, address, location->is_folded);
    if (t->more)
        t->more->entry(t->more->cookie, t->model, PD_OWNER_LOCATION, index, id);
    t->locations[index] = pd_encode_id(id);
}

static inline pd_encoded transfer_location(pd_transfer *t, uint64_t id)
{
    uint32_t index = pd_idmap_find(&t->tables->location_map, id);
    if (__builtin_expect(!t->locations[index], 0))
        first_location(t, index);
    return t->locations[index];
}

static void transfer_stack(pd_transfer *t, const pd_field *f)
{
    bool is_packed = f->wire == PD_WIRE_BYTES;
    pd_reader ids = is_packed ? f->body : (pd_reader){0};
    size_t most = is_packed ? (size_t)(ids.end - ids.at) : 1;
    uint8_t *out = most ? pd_model_stack(t->model, most) : NULL;
    uint64_t id;
    if (!out)
        return;
    if (!is_packed)
        out = pd_model_stack_put(out, transfer_location(t, f->value));
    while (pd_reader_varint(&ids, &id))
        out = pd_model_stack_put(out, transfer_location(t, id));
    pd_model_stack_end(t->model, out);
}

/* Unknown fields were counted by the second pass. */
static void transfer_label(pd_transfer *t, pd_reader body)
{
    pd_parse parse = {.zero = body.at};
    pd_label label = {.num = 0};
    pd_message_read(&parse, body, &pd_label_rows, &label);
    uint32_t key = pd_transfer_string(t, label.key.index);
    uint32_t str = pd_transfer_string(t, label.str.index);
    uint32_t num_unit = pd_transfer_string(t, label.num_unit.index);
    pd_model_add_label(t->model, key, str, label.num, num_unit);
}

void pd_transfer_sample(pd_transfer *t, uint64_t origin, const int64_t *values)
{
    pd_bytes bytes = t->tables->bytes;
    size_t at = (size_t)(origin - t->tables->base);
    pd_reader top = pd_reader_of(bytes.ptr + at, bytes.len - at);
    pd_reader body;
    const uint8_t *start;
    pd_field f = {.number = 0};
    if (!pd_reader_expect(&top, PD_TAG_SAMPLE, &start, &body)) {
        if (!pd_reader_next(&top, &f))
            return;
        body = f.body;
    }
    while (pd_reader_next_quick(&body, &f)) {
        if (f.number == PD_SAMPLE_LABEL)
            transfer_label(t, f.body);
        else if (f.number == PD_SAMPLE_LOCATION_ID)
            transfer_stack(t, &f);
    }
    if (t->more)
        t->more->labels(t->more->cookie, t->model, origin);
    pd_model_add_sample(t->model, values);
}

void pd_transfer_release(pd_transfer *t, pd_mem *mem)
{
    for (size_t i = 0; i < sizeof t->ids / sizeof *t->ids; i++)
        pd_mem_release(mem, &t->ids[i], &t->caps[i], sizeof *t->ids[i]);
}

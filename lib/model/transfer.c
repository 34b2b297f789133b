#include "model/transfer.h"

#include "profile/samples.h"

static pprofdelta_status begin_transfer(pd_transfer *t, pd_mem *mem, const size_t lens[4],
                                        pd_model *model, pprofdelta_error *err)
{
    t->model = model;
    t->more = NULL;
    for (size_t i = 0; i < sizeof t->ids / sizeof *t->ids; i++) {
        PD_TRY(PD_RESERVE(mem, t->ids[i], lens[i], err));
        if (lens[i])
            memset(t->ids[i], 0, lens[i] * sizeof *t->ids[i]);
    }
    return PPROFDELTA_OK;
}

pprofdelta_status pd_transfer_begin(pd_transfer *t, pd_mem *mem, const pd_tables *tables,
                                    pd_model *model, pprofdelta_error *err)
{
    t->tables = tables;
    t->from = NULL;
    t->location_map = &tables->location_map;
    return begin_transfer(t, mem,
                          (const size_t[]){tables->strings_len, tables->functions_len,
                                           tables->mappings_len, tables->locations_len},
                          model, err);
}

pprofdelta_status pd_transfer_begin_model(pd_transfer *t, pd_mem *mem, const pd_model *from,
                                          pd_model *model, pprofdelta_error *err)
{
    static const pd_idmap dense = {.sequential = SIZE_MAX};
    t->tables = NULL;
    t->from = from;
    t->location_map = &dense;
    return begin_transfer(t, mem,
                          (const size_t[]){from->string_keys.len, from->function_keys.len,
                                           from->mappings_len, from->location_keys.len},
                          model, err);
}

/* ---- the source --------------------------------------------------------------------------------- */

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

/* What the source has at an index, as a model has it: with the source's ids, which are its indices plus one. */

static pd_model_mapping mapping_at(const pd_transfer *t, uint32_t index)
{
    if (t->from)
        return t->from->mappings[index];
    const pd_mapping *m = &t->tables->mappings[index];
    pd_model_mapping mapping = {.key = mapping_key(t->tables, index),
                                .start = m->start,
                                .stays = m->stays,
                                .limit = m->limit,
                                .file_offset = m->file_offset,
                                .filename = m->filename,
                                .build_id = m->build_id};
    for (uint32_t bit = 0; bit < sizeof m->has / sizeof *m->has; bit++)
        mapping.has |= (uint32_t)m->has[bit] << bit;
    return mapping;
}

static uint64_t mapping_start(const pd_transfer *t, uint32_t index)
{
    return t->from ? t->from->mappings[index].start : t->tables->mappings[index].start;
}

static pd_model_function function_at(const pd_transfer *t, uint32_t index)
{
    if (t->from)
        return t->from->functions[index];
    const pd_function *f = &t->tables->functions[index];
    return (pd_model_function){f->name, f->system_name, f->filename, f->start_line};
}

static pd_model_location location_at(const pd_transfer *t, uint32_t index, size_t *lines_begin)
{
    if (t->from) {
        *lines_begin = pd_model_lines_begin(t->from, index + 1);
        return t->from->locations[index];
    }
    const pd_location *l = &t->tables->locations[index];
    *lines_begin = l->lines_first;
    return (pd_model_location){.address = l->address,
                               .lines_end = l->lines_first + l->lines_len,
                               .mapping = (uint32_t)l->mapping,
                               .is_folded = l->is_folded};
}

/* ---- what a sample refers to -------------------------------------------------------------------- */

static __attribute__((cold)) uint32_t first_string(pd_transfer *t, uint32_t index)
{
    const pd_model *from = t->from;
    uint32_t id = from ? pd_model_string_of_key(t->model, pd_model_text_of(from, index),
                                                from->string_keys.keys[index])
                       : pd_model_string(t->model, t->tables->strings[index]);
    t->strings[index] = id + 1;
    return id;
}

uint32_t pd_transfer_string(pd_transfer *t, uint32_t index)
{
    uint32_t known = t->strings[index];
    return known ? known - 1 : first_string(t, index);
}

uint32_t pd_transfer_mapping(pd_transfer *t, uint32_t index)
{
    if (t->mappings[index])
        return t->mappings[index];
    pd_model_mapping m = mapping_at(t, index);
    pd_key key = m.key;
    if (m.stays && !pd_model_may_start(t->model, key, m.start)) {
        uint64_t words[] = {key.lo, key.hi, m.start};
        key = pd_key_of_words(words, 3, 0);
    }
    uint32_t id = pd_model_find_mapping(t->model, key);
    if (!id) {
        m.filename = pd_transfer_string(t, m.filename);
        m.build_id = pd_transfer_string(t, m.build_id);
        id = pd_model_add_mapping(t->model, key, &m);
        if (t->more)
            t->more->entry(t->more->cookie, t->model, PD_OWNER_MAPPING, index, id);
    }
    if (id && m.stays) {
        t->model->mappings[id - 1].key = m.key;
        t->model->mappings[id - 1].stays = true;
    }
    return t->mappings[index] = id;
}

void pd_transfer_expect_mappings(pd_transfer *t)
{
    for (uint32_t i = 0; i < t->tables->mappings_len; i++)
        pd_model_expect_mapping(t->model, mapping_key(t->tables, i), mapping_start(t, i));
}

/* id 0: none. */
static uint32_t transfer_function(pd_transfer *t, uint32_t id)
{
    if (!id || t->functions[id - 1])
        return id ? t->functions[id - 1] : 0;
    pd_model_function f = function_at(t, id - 1);
    f.name = pd_transfer_string(t, f.name);
    f.system_name = pd_transfer_string(t, f.system_name);
    f.filename = pd_transfer_string(t, f.filename);
    return t->functions[id - 1] = pd_model_add_function(t->model, &f);
}

/* The first use of a location here. Another transfer may have added it. */
static void first_location(pd_transfer *t, uint32_t index)
{
    pd_key ident = t->from ? t->from->location_keys.keys[index] : t->tables->idents[index];
    uint32_t mapping = 0, id = pd_model_find_location(t->model, ident);
    size_t line;
    t->locations[index] = pd_encode_id(id);
    if (id)
        return;
    pd_model_location l = location_at(t, index, &line);
    for (; line < l.lines_end; line++) {
        const pd_line *at = t->from ? &t->from->lines[line] : &t->tables->lines[line];
        uint32_t function = transfer_function(t, (uint32_t)at->function);
        pd_model_add_line(t->model, function, at->line, at->column);
    }
    if (l.mapping) {
        mapping = pd_transfer_mapping(t, l.mapping - 1);
        if (l.address)
            l.address +=
                pd_model_mapping_start(t->model, mapping) - mapping_start(t, l.mapping - 1);
    }
    id = pd_model_add_location(t->model, ident, mapping, l.address, l.is_folded);
    if (t->more)
        t->more->entry(t->more->cookie, t->model, PD_OWNER_LOCATION, index, id);
    t->locations[index] = pd_encode_id(id);
}

/* Loads into the cache what the next locations refer to that were not added yet, one step after the other for all of
 * them: each alone would wait at each step. Moves `ids` behind them. */
static void load_locations(const pd_transfer *t, pd_reader *ids)
{
    enum { MOST = 32 };
    const pd_tables *from = t->tables;
    uint32_t next[MOST];
    size_t len = 0;
    uint64_t id;
    while (from && len < MOST && pd_reader_varint(ids, &id)) {
        uint32_t index = pd_idmap_find(t->location_map, id);
        if (t->locations[index] || !from->locations[index].lines_len)
            continue;
        pd_keymap_prefetch(&t->model->location_keys, from->idents[index]);
        next[len++] = (uint32_t)from->locations[index].lines_first;
    }
    for (size_t i = 0; i < len; i++)
        next[i] = (uint32_t)from->lines[next[i]].function - 1;
    for (size_t i = 0; i < len; i++)
        next[i] = from->functions[next[i]].name;
    for (size_t i = 0; i < len; i++)
        pd_prefetch(from->strings[next[i]].ptr);
}

/* ---- samples ------------------------------------------------------------------------------------ */

/* ahead: the ids of the stack whose locations were not loaded yet. */
static inline pd_encoded transfer_location(pd_transfer *t, uint64_t id, pd_reader *ahead)
{
    uint32_t index = pd_idmap_find(t->location_map, id);
    if (__builtin_expect(!t->locations[index], 0)) {
        load_locations(t, ahead);
        first_location(t, index);
    }
    return t->locations[index];
}

static void transfer_stack(pd_transfer *t, const pd_field *f)
{
    bool is_packed = f->wire == PD_WIRE_BYTES;
    pd_reader ids = is_packed ? f->body : (pd_reader){0}, ahead = ids;
    size_t most = is_packed ? (size_t)(ids.end - ids.at) : 1;
    uint8_t *out = most ? pd_model_stack(t->model, most) : NULL;
    uint64_t id;
    if (!out)
        return;
    if (!is_packed)
        out = pd_model_stack_put(out, transfer_location(t, f->value, &ahead));
    while (pd_reader_varint(&ids, &id))
        out = pd_model_stack_put(out, transfer_location(t, id, &ahead));
    pd_model_stack_end(t->model, out);
}

/* A label of the source. That of a profile was checked by the second pass. */
static pd_model_label label_at(const pd_field *f)
{
    uint64_t fields[PD_LABEL_NUM_UNIT + 1] = {0};
    pd_reader body = f->body;
    pd_field field;
    while (pd_reader_next_quick(&body, &field))
        if (field.number <= PD_LABEL_NUM_UNIT)
            fields[field.number] = field.value;
    return (pd_model_label){.key = (uint32_t)fields[PD_LABEL_KEY],
                            .str = (uint32_t)fields[PD_LABEL_STR],
                            .num_unit = (uint32_t)fields[PD_LABEL_NUM_UNIT],
                            .num = (int64_t)fields[PD_LABEL_NUM]};
}

static void transfer_label(pd_transfer *t, const pd_field *f)
{
    pd_model_label label = label_at(f);
    uint32_t key = pd_transfer_string(t, label.key);
    uint32_t str = pd_transfer_string(t, label.str);
    pd_model_add_label(t->model, key, str, label.num, pd_transfer_string(t, label.num_unit));
}

/* The bytes of the source from its offset `offset` on: a model has samples as a profile has them. */
static pd_reader read_from(const pd_transfer *t, uint64_t offset)
{
    pd_bytes bytes =
        t->from ? (pd_bytes){t->from->encoded.ptr, t->from->encoded.len} : t->tables->bytes;
    size_t at = (size_t)(offset - (t->from ? 0 : t->tables->base));
    return pd_reader_of(bytes.ptr + at, bytes.len - at);
}

void pd_transfer_sample(pd_transfer *t, uint64_t offset)
{
    pd_reader top = read_from(t, offset), body;
    const uint8_t *start;
    pd_field f = {.number = 0};
    if (!pd_reader_expect(&top, PD_TAG_SAMPLE, &start, &body)) {
        if (!pd_reader_next(&top, &f))
            return;
        body = f.body;
    }
    while (pd_reader_next_quick(&body, &f)) {
        if (f.number == PD_SAMPLE_LABEL)
            transfer_label(t, &f);
        else if (f.number == PD_SAMPLE_LOCATION_ID)
            transfer_stack(t, &f);
    }
    if (t->more)
        t->more->labels(t->more->cookie, t->model, offset);
}

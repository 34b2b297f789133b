/* What both formats share: interning, and the life of the buffers. */
#include "profile/compact_format.h"
#include "profile/fields.h"

static const pd_compact_format *format_of(const pd_compact *c)
{
    return c->format == PPROFDELTA_OTLP ? &pd_compact_as_otlp : &pd_compact_as_pprof;
}

void pd_compact_begin(pd_compact *c, pd_mem *mem, pprofdelta_error *err)
{
    c->writer = (pd_writer){.mem = mem, .err = err};
    for (size_t i = 0; i < sizeof c->buffers / sizeof *c->buffers; i++)
        c->buffers[i].len = 0;
    for (size_t i = 0; i < sizeof c->maps / sizeof *c->maps; i++)
        pd_keymap_clear(&c->maps[i]);
    c->samples = c->mapping_len = 0;
    if (c->format == PPROFDELTA_OTLP)
        pd_compact_otlp_begin(c);
    pd_compact_string(c, (pd_bytes){0});
}

uint32_t pd_compact_intern(pd_compact *c, pd_keymap *map, pd_key key, bool *is_new)
{
    *is_new = false;
    if (!c->writer.status)
        c->writer.status = pd_keymap_room(map, c->writer.mem, key, c->writer.err);
    if (c->writer.status)
        return 0;
    size_t before = map->len;
    uint32_t index = pd_keymap_add(map, key);
    *is_new = map->len > before;
    return index;
}

uint32_t pd_compact_string(pd_compact *c, pd_bytes string)
{
    bool is_new;
    if (c->format == PPROFDELTA_OTLP)
        string = pd_compact_otlp_text(c, string);
    uint32_t index =
        pd_compact_intern(c, &c->strings, pd_key_of_bytes(string.ptr, string.len, 0), &is_new);
    if (is_new)
        format_of(c)->string(c, string);
    return index;
}

void pd_compact_type(pd_compact *c, uint32_t type, uint32_t unit)
{
    format_of(c)->type(c, type, unit);
}

void pd_compact_value_type(pd_compact *c, pd_buffer *to, uint32_t number, uint32_t type,
                           uint32_t unit)
{
    const pd_compact_format *format = format_of(c);
    PD_WRITE_VARINTS(&c->writer, &c->scratch, PD_VALUE_TYPE_TYPE, format->index(c, type),
                     format->index(c, unit));
    pd_write_part(&c->writer, to, number, &c->scratch);
}

/* What is known of the key; a new one gets this start. Makes room before the key is added. NULL: it
 * failed. */
static pd_compact_known *known_of(pd_compact *c, pd_key key, uint64_t start)
{
    bool is_new;
    pd_writer *w = &c->writer;
    if (!w->status)
        w->status = pd_mem_grow(w->mem, &c->known, &c->known_cap, c->mappings.len + 1,
                                sizeof *c->known, w->err);
    uint32_t number = pd_compact_intern(c, &c->mappings, key, &is_new);
    if (is_new)
        c->known[number] = (pd_compact_known){.start = start};
    return w->status ? NULL : &c->known[number];
}

void pd_compact_expect_mapping(pd_compact *c, pd_key key, uint64_t start)
{
    known_of(c, key, start);
}

uint32_t pd_compact_find_mapping(const pd_compact *c, pd_key key)
{
    uint32_t number = pd_keymap_find(&c->mappings, key);
    return number == PD_KEYMAP_NONE ? 0 : c->known[number].id;
}

/* Puts a mapping with its start as written into the list, if it is not there. Returns its id. */
static uint32_t list_mapping(pd_compact *c, const pd_compact_mapping *m, uint64_t start)
{
    pd_writer *w = &c->writer;
    pd_compact_mapping listed = *m;
    listed.start = start;
    listed.limit = m->limit - m->start + start;
    if (!w->status)
        w->status = pd_mem_grow(w->mem, &c->mapping_list, &c->mapping_cap, c->mapping_len + 1,
                                sizeof *c->mapping_list, w->err);
    uint32_t id = format_of(c)->mapping_id(c, &listed);
    if (!w->status && id > c->mapping_len)
        c->mapping_list[c->mapping_len++] = listed;
    return w->status ? 0 : id;
}

uint32_t pd_compact_add_mapping(pd_compact *c, pd_key key, const pd_compact_mapping *m)
{
    pd_compact_known *known = known_of(c, key, m->start);
    if (known && !known->id)
        known->id = list_mapping(c, m, known->start);
    return known ? known->id : 0;
}

void pd_compact_mapping_has(pd_compact *c, uint32_t id, uint32_t has)
{
    if (!c->writer.status)
        c->mapping_list[id - 1].has |= has;
}

uint32_t pd_compact_add_function(pd_compact *c, uint32_t name, uint32_t system_name,
                                 uint32_t filename, int64_t start_line)
{
    bool is_new;
    const pd_compact_format *format = format_of(c);
    pd_writer *w = &c->writer;
    uint64_t words[] = {name, system_name, filename, (uint64_t)start_line};
    if (!format->has_ids && !(name | system_name | filename | (uint64_t)start_line))
        return 0;
    uint32_t id = pd_compact_intern(c, &c->functions, pd_key_of_words(words, 4, 0), &is_new) + 1;
    if (is_new) {
        if (format->has_ids)
            pd_write_varint(w, &c->scratch, PD_FUNCTION_ID, id);
        PD_WRITE_VARINTS(w, &c->scratch,
                         format->has_ids ? PD_FUNCTION_NAME : PD_OTLP_FUNCTION_NAME_STRINDEX,
                         format->index(c, name), format->index(c, system_name),
                         format->index(c, filename), (uint64_t)start_line);
        pd_write_part(w, &c->function_bytes, format->function, &c->scratch);
    }
    return w->status ? 0 : id;
}

uint32_t pd_compact_find_location(const pd_compact *c, pd_key ident)
{
    uint32_t number = pd_keymap_find(&c->locations, ident);
    return number == PD_KEYMAP_NONE || c->writer.status ? 0 : c->location_ids[number];
}

void pd_compact_add_line(pd_compact *c, uint32_t function, int64_t line, int64_t column)
{
    PD_WRITE_VARINTS(&c->writer, &c->scratch, PD_LINE_FUNCTION_ID, function, (uint64_t)line,
                     (uint64_t)column);
    pd_write_part(&c->writer, &c->lines, format_of(c)->line, &c->scratch);
}

uint32_t pd_compact_add_location(pd_compact *c, pd_key ident, uint32_t mapping, uint64_t address,
                                 bool is_folded)
{
    bool is_new;
    pd_writer *w = &c->writer;
    uint32_t number = pd_compact_intern(c, &c->locations, ident, &is_new), id = number + 1;
    if (!w->status)
        w->status = pd_mem_grow(w->mem, &c->location_ids, &c->location_ids_cap, id,
                                sizeof *c->location_ids, w->err);
    if (id > PD_ENCODED_MAX && !w->status)
        w->status = pd_fail(w->err, PPROFDELTA_E_LIMIT, "write", "location", PPROFDELTA_NOWHERE,
                            PPROFDELTA_NOWHERE, "more than %d locations", PD_ENCODED_MAX);
    id = format_of(c)->location(c, id, mapping, address, is_folded);
    if (w->status)
        return 0;
    return c->location_ids[number] = id;
}

void pd_compact_sample_label(pd_compact *c, uint32_t key, uint32_t str, int64_t num,
                             uint32_t num_unit)
{
    format_of(c)->label(c, &(pd_compact_label){key, str, num_unit, num});
}

pd_encoded pd_encode_id(uint32_t id)
{
    pd_encoded encoded = 0;
    for (unsigned shift = 0; id; shift += 8, id >>= 7)
        encoded |= ((id & 0x7f) | (id > 0x7f ? 0x80 : 0)) << shift;
    return encoded;
}

void pd_compact_sample_end(pd_compact *c, const int64_t *values, size_t len)
{
    format_of(c)->sample(c, values, len);
}

void pd_compact_comment(pd_compact *c, uint32_t string)
{
    uint8_t *p = pd_write_room(&c->writer, &c->comments, PD_VARINT_MAX);
    if (p)
        pd_write_done(&c->comments, pd_varint_encode(p, string));
}

size_t pd_compact_strings(const pd_compact *c)
{
    return c->format == PPROFDELTA_OTLP ? (size_t)c->otlp.table_len + 1 : c->strings.len;
}

pprofdelta_status pd_compact_finish(pd_compact *c, const pd_compact_header *h, pd_bytes *out)
{
    pd_writer *w = &c->writer;
    for (uint32_t id = 1; id <= c->mapping_len && !w->status; id++)
        format_of(c)->mapping(c, id, &c->mapping_list[id - 1]);
    format_of(c)->end(c, h);
    if (w->status)
        return w->status;
    *out = (pd_bytes){c->out.ptr, c->out.len};
    return PPROFDELTA_OK;
}

void pd_compact_release(pd_compact *c, pd_mem *mem)
{
    for (size_t i = 0; i < sizeof c->buffers / sizeof *c->buffers; i++)
        pd_buffer_release(mem, &c->buffers[i]);
    for (size_t i = 0; i < sizeof c->maps / sizeof *c->maps; i++)
        pd_keymap_release(&c->maps[i], mem);
    pd_mem_release(mem, &c->known, &c->known_cap, sizeof *c->known);
    pd_mem_release(mem, &c->mapping_list, &c->mapping_cap, sizeof *c->mapping_list);
    pd_mem_release(mem, &c->location_ids, &c->location_ids_cap, sizeof *c->location_ids);
    if (c->format == PPROFDELTA_OTLP)
        pd_compact_otlp_release(&c->otlp, mem);
}

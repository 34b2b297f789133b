#include "profile/compact.h"

#include "profile/fields.h"

void pd_compact_begin(pd_compact *c, pd_mem *mem, pprofdelta_error *err)
{
    c->writer = (pd_writer){.mem = mem, .err = err};
    for (size_t i = 0; i < sizeof c->buffers / sizeof *c->buffers; i++)
        c->buffers[i].len = 0;
    pd_keymap_clear(&c->strings);
    pd_keymap_clear(&c->mappings);
    pd_keymap_clear(&c->expected);
    pd_keymap_clear(&c->functions);
    pd_keymap_clear(&c->locations);
    c->samples = 0;
    pd_compact_string(c, (pd_bytes){0});
}

/* Returns the number of the key in the set. *is_new: it was added. */
static uint32_t intern(pd_compact *c, pd_keymap *map, pd_key key, bool *is_new)
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
    uint32_t index = intern(c, &c->strings, pd_key_of_bytes(string.ptr, string.len, 0), &is_new);
    if (is_new)
        pd_write_bytes(&c->writer, &c->string_bytes, PD_PROFILE_STRING_TABLE, string.ptr,
                       string.len);
    return index;
}

void pd_compact_type(pd_compact *c, uint32_t type, uint32_t unit)
{
    pd_write_varint(&c->writer, &c->scratch, PD_VALUE_TYPE_TYPE, type);
    pd_write_varint(&c->writer, &c->scratch, PD_VALUE_TYPE_UNIT, unit);
    pd_write_part(&c->writer, &c->out, PD_PROFILE_SAMPLE_TYPE, &c->scratch);
}

/* Interns a mapping and its start; the first start of a key stays. Makes room for the start before
 * the key is added. Returns the number + 1, or 0 on failure. */
static uint32_t intern_start(pd_compact *c, pd_keymap *map, uint64_t **starts, size_t *cap,
                             pd_key key, uint64_t start)
{
    bool is_new;
    if (!c->writer.status)
        c->writer.status =
            pd_mem_grow(c->writer.mem, starts, cap, map->len + 1, sizeof **starts, c->writer.err);
    uint32_t index = intern(c, map, key, &is_new);
    if (is_new)
        (*starts)[index] = start;
    return c->writer.status ? 0 : index + 1;
}

void pd_compact_expect_mapping(pd_compact *c, pd_key key, uint64_t start)
{
    intern_start(c, &c->expected, &c->expected_starts, &c->expected_starts_cap, key, start);
}

uint32_t pd_compact_find_mapping(const pd_compact *c, pd_key key, uint64_t *start)
{
    uint32_t index = pd_keymap_find(&c->mappings, key);
    if (index == PD_KEYMAP_NONE)
        return 0;
    *start = c->mapping_starts[index];
    return index + 1;
}

uint32_t pd_compact_add_mapping(pd_compact *c, pd_key key, const pd_compact_mapping *m,
                                uint64_t *start)
{
    pd_writer *w = &c->writer;
    uint32_t id = pd_compact_find_mapping(c, key, start);
    if (id)
        return id;
    uint32_t expected = pd_keymap_find(&c->expected, key);
    *start = expected == PD_KEYMAP_NONE ? m->start : c->expected_starts[expected];
    id = intern_start(c, &c->mappings, &c->mapping_starts, &c->mapping_starts_cap, key, *start);
    pd_write_varint(w, &c->scratch, PD_MAPPING_ID, id);
    pd_write_varint(w, &c->scratch, PD_MAPPING_MEMORY_START, *start);
    pd_write_varint(w, &c->scratch, PD_MAPPING_MEMORY_LIMIT, m->limit - m->start + *start);
    pd_write_varint(w, &c->scratch, PD_MAPPING_FILE_OFFSET, m->file_offset);
    pd_write_varint(w, &c->scratch, PD_MAPPING_FILENAME, m->filename);
    pd_write_varint(w, &c->scratch, PD_MAPPING_BUILD_ID, m->build_id);
    for (uint32_t bit = 0; bit < 4; bit++)
        pd_write_varint(w, &c->scratch, PD_MAPPING_HAS_FUNCTIONS + bit, m->has >> bit & 1);
    pd_write_part(w, &c->mapping_bytes, PD_PROFILE_MAPPING, &c->scratch);
    return w->status ? 0 : id;
}

uint32_t pd_compact_add_function(pd_compact *c, uint32_t name, uint32_t system_name,
                                 uint32_t filename, int64_t start_line)
{
    bool is_new;
    uint64_t words[] = {name, system_name, filename, (uint64_t)start_line};
    uint32_t id = intern(c, &c->functions, pd_key_of_words(words, 4, 0), &is_new) + 1;
    if (is_new) {
        pd_write_varint(&c->writer, &c->scratch, PD_FUNCTION_ID, id);
        pd_write_varint(&c->writer, &c->scratch, PD_FUNCTION_NAME, name);
        pd_write_varint(&c->writer, &c->scratch, PD_FUNCTION_SYSTEM_NAME, system_name);
        pd_write_varint(&c->writer, &c->scratch, PD_FUNCTION_FILENAME, filename);
        pd_write_varint(&c->writer, &c->scratch, PD_FUNCTION_START_LINE, (uint64_t)start_line);
        pd_write_part(&c->writer, &c->function_bytes, PD_PROFILE_FUNCTION, &c->scratch);
    }
    return c->writer.status ? 0 : id;
}

uint32_t pd_compact_find_location(const pd_compact *c, pd_key ident)
{
    return pd_keymap_find(&c->locations, ident) + 1; /* PD_KEYMAP_NONE + 1 is 0 */
}

void pd_compact_add_line(pd_compact *c, uint32_t function, int64_t line, int64_t column)
{
    pd_buffer *part = &c->scratch;
    pd_write_varint(&c->writer, part, PD_LINE_FUNCTION_ID, function);
    pd_write_varint(&c->writer, part, PD_LINE_LINE, (uint64_t)line);
    pd_write_varint(&c->writer, part, PD_LINE_COLUMN, (uint64_t)column);
    pd_write_part(&c->writer, &c->lines, PD_LOCATION_LINE, part);
}

uint32_t pd_compact_add_location(pd_compact *c, pd_key ident, uint32_t mapping, uint64_t address,
                                 bool is_folded)
{
    bool is_new;
    uint32_t id = intern(c, &c->locations, ident, &is_new) + 1;
    pd_writer *w = &c->writer;
    if (id > PD_ENCODED_MAX && !w->status)
        w->status = pd_fail(w->err, PPROFDELTA_E_LIMIT, "write", "location", PPROFDELTA_NOWHERE,
                            PPROFDELTA_NOWHERE, "more than %d locations", PD_ENCODED_MAX);
    pd_write_varint(w, &c->scratch, PD_LOCATION_ID, id);
    pd_write_varint(w, &c->scratch, PD_LOCATION_MAPPING_ID, mapping);
    pd_write_varint(w, &c->scratch, PD_LOCATION_ADDRESS, address);
    pd_write_raw(w, &c->scratch, c->lines.ptr, c->lines.len);
    c->lines.len = 0;
    pd_write_varint(w, &c->scratch, PD_LOCATION_IS_FOLDED, is_folded);
    pd_write_part(w, &c->location_bytes, PD_PROFILE_LOCATION, &c->scratch);
    return w->status ? 0 : id;
}

void pd_compact_sample_label(pd_compact *c, uint32_t key, uint32_t str, int64_t num,
                             uint32_t num_unit)
{
    pd_write_varint(&c->writer, &c->scratch, PD_LABEL_KEY, key);
    pd_write_varint(&c->writer, &c->scratch, PD_LABEL_STR, str);
    pd_write_varint(&c->writer, &c->scratch, PD_LABEL_NUM, (uint64_t)num);
    pd_write_varint(&c->writer, &c->scratch, PD_LABEL_NUM_UNIT, num_unit);
    pd_write_part(&c->writer, &c->labels, PD_SAMPLE_LABEL, &c->scratch);
}

pd_encoded pd_encode_id(uint32_t id)
{
    pd_encoded encoded = 0;
    for (unsigned shift = 0; id; shift += 8, id >>= 7)
        encoded |= ((id & 0x7f) | (id > 0x7f ? 0x80 : 0)) << shift;
    return encoded;
}

/* Copies a few bytes in pieces: up to PIECE bytes after them are read and written. */
enum { PIECE = 32 };

static uint8_t *put_bytes(uint8_t *p, const uint8_t *ptr, size_t len)
{
    for (size_t at = 0; at < len; at += PIECE)
        memcpy(p + at, ptr + at, PIECE);
    return p + len;
}

static uint8_t *put_run(uint8_t *p, uint32_t number, const uint8_t *ptr, size_t len)
{
    p = pd_varint_encode(p, number << 3 | PD_WIRE_BYTES);
    return put_bytes(pd_varint_encode(p, len), ptr, len);
}

void pd_compact_sample_end(pd_compact *c, const int64_t *values, size_t len)
{
    uint8_t packed[PPROFDELTA_MAX_TYPES * PD_VARINT_MAX + PIECE], *end = packed;
    for (size_t i = 0; i < len; i++)
        end = pd_varint_encode(end, (uint64_t)values[i]);
    size_t values_len = (size_t)(end - packed), stack_len = c->stack.len;
    size_t body = 1 + pd_varint_size(values_len) + values_len + c->labels.len;
    if (stack_len)
        body += 1 + pd_varint_size(stack_len) + stack_len;
    uint8_t *p = pd_write_room(&c->writer, &c->out, body + 1 + PD_VARINT_MAX + PIECE);
    if (!p || !pd_write_room(&c->writer, &c->labels, PIECE)) /* put_bytes reads so far */
        return;
    p = pd_varint_encode(p, PD_TAG_SAMPLE);
    p = pd_varint_encode(p, body);
    if (stack_len)
        p = put_run(p, PD_SAMPLE_LOCATION_ID, c->stack.ptr, stack_len);
    p = put_run(p, PD_SAMPLE_VALUE, packed, values_len);
    pd_write_done(&c->out, put_bytes(p, c->labels.ptr, c->labels.len));
    c->stack.len = c->labels.len = 0;
    c->samples++;
}

void pd_compact_comment(pd_compact *c, uint32_t string)
{
    uint8_t *p = pd_write_room(&c->writer, &c->comments, PD_VARINT_MAX);
    if (p)
        pd_write_done(&c->comments, pd_varint_encode(p, string));
}

pprofdelta_status pd_compact_end(pd_compact *c, const pd_compact_header *h)
{
    pd_writer *w = &c->writer;
    pd_buffer *tail = &c->tail;
    pd_write_varint(w, tail, PD_PROFILE_DROP_FRAMES, h->drop_frames);
    pd_write_varint(w, tail, PD_PROFILE_KEEP_FRAMES, h->keep_frames);
    pd_write_varint(w, tail, PD_PROFILE_TIME_NANOS, (uint64_t)h->time_nanos);
    pd_write_varint(w, tail, PD_PROFILE_DURATION_NANOS, (uint64_t)h->duration_nanos);
    if (h->has_period_type) {
        pd_write_varint(w, &c->scratch, PD_VALUE_TYPE_TYPE, h->period_type);
        pd_write_varint(w, &c->scratch, PD_VALUE_TYPE_UNIT, h->period_unit);
        pd_write_part(w, tail, PD_PROFILE_PERIOD_TYPE, &c->scratch);
    }
    pd_write_varint(w, tail, PD_PROFILE_PERIOD, (uint64_t)h->period);
    if (c->comments.len)
        pd_write_part(w, tail, PD_PROFILE_COMMENT, &c->comments);
    pd_write_varint(w, tail, PD_PROFILE_DEFAULT_SAMPLE_TYPE, h->default_sample_type);
    pd_write_varint(w, tail, PD_PROFILE_DOC_URL, h->doc_url);
    return w->status;
}

pprofdelta_status pd_compact_finish(pd_compact *c, const pd_compact_header *h, pd_bytes *out)
{
    const pd_buffer *const parts[] = {&c->mapping_bytes, &c->location_bytes, &c->function_bytes,
                                      &c->string_bytes, &c->tail};
    pd_writer *w = &c->writer;
    pd_compact_end(c, h);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        pd_write_raw(w, &c->out, parts[i]->ptr, parts[i]->len);
    if (!w->status)
        *out = (pd_bytes){c->out.ptr, c->out.len};
    return w->status;
}

void pd_compact_release(pd_compact *c, pd_mem *mem)
{
    for (size_t i = 0; i < sizeof c->buffers / sizeof *c->buffers; i++)
        pd_buffer_release(mem, &c->buffers[i]);
    pd_keymap_release(&c->strings, mem);
    pd_keymap_release(&c->mappings, mem);
    pd_keymap_release(&c->expected, mem);
    pd_keymap_release(&c->functions, mem);
    pd_keymap_release(&c->locations, mem);
    pd_mem_release(mem, &c->mapping_starts, &c->mapping_starts_cap, sizeof *c->mapping_starts);
    pd_mem_release(mem, &c->expected_starts, &c->expected_starts_cap, sizeof *c->expected_starts);
}

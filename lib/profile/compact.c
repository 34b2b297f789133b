#include "profile/compact_format.h"
#include "profile/fields.h"

/* ---- strings and types ----------------------------------------------------------------------- */

void pd_compact_begin(pd_compact *c, pd_mem *mem, pprofdelta_error *err)
{
    c->writer = (pd_writer){.mem = mem, .err = err};
    for (size_t i = 0; i < sizeof c->buffers / sizeof *c->buffers; i++)
        c->buffers[i].len = 0;
    for (size_t i = 0; i < sizeof c->maps / sizeof *c->maps; i++)
        pd_keymap_clear(&c->maps[i]);
    c->samples = c->mapping_len = 0;
    if (c->format != PPROFDELTA_PPROF)
        pd_otlp_begin(c);
    if (c->format == PPROFDELTA_TABLES)
        pd_compact_tables_begin(c);
    pd_compact_string(c, (pd_bytes){0});
}

uint32_t pd_compact_string(pd_compact *c, pd_bytes string)
{
    bool is_new, is_pprof = c->format == PPROFDELTA_PPROF;
    if (!is_pprof)
        string = pd_otlp_text(c, string);
    uint32_t index =
        pd_write_key(&c->writer, &c->strings, pd_key_of_bytes(string.ptr, string.len, 0), &is_new);
    if (is_new && !is_pprof)
        pd_otlp_add_string(c, string);
    else if (is_new)
        pd_write_bytes(&c->writer, &c->string_bytes, PD_PROFILE_STRING_TABLE, string.ptr,
                       string.len);
    return index;
}

void pd_compact_value_type(pd_compact *c, pd_buffer *to, uint32_t number, uint32_t type,
                           uint32_t unit)
{
    PD_WRITE_VARINTS(&c->writer, &c->scratch, PD_VALUE_TYPE_TYPE, type, unit);
    pd_write_part(&c->writer, to, number, &c->scratch);
}

void pd_compact_type(pd_compact *c, uint32_t type, uint32_t unit)
{
    if (c->format != PPROFDELTA_PPROF)
        pd_otlp_add_type(c, type, unit);
    if (c->format == PPROFDELTA_TABLES)
        pd_compact_tables_type(c);
    else if (c->format == PPROFDELTA_PPROF)
        pd_compact_value_type(c, &c->out, PD_PROFILE_SAMPLE_TYPE, type, unit);
}

/* ---- mappings, functions and locations ------------------------------------------------------- */

/* Makes room before the key is added. */
pd_compact_known *pd_compact_expect_mapping(pd_compact *c, pd_key key, uint64_t start)
{
    bool is_new;
    pd_writer *w = &c->writer;
    if (!w->status)
        w->status = PD_GROW(w->mem, c->known, c->mappings.len + 1, w->err);
    uint32_t number = pd_write_key(&c->writer, &c->mappings, key, &is_new);
    if (is_new)
        c->known[number] = (pd_compact_known){.start = start};
    return w->status ? NULL : &c->known[number];
}

uint32_t pd_compact_find_mapping(const pd_compact *c, pd_key key)
{
    uint32_t number = pd_keymap_find(&c->mappings, key);
    return number == PD_KEYMAP_NONE ? 0 : c->known[number].id;
}

uint32_t pd_compact_add_mapping(pd_compact *c, pd_key key, const pd_compact_mapping *m)
{
    pd_writer *w = &c->writer;
    pd_compact_known *known = pd_compact_expect_mapping(c, key, m->start);
    if (!known || known->id)
        return known ? known->id : 0;
    pd_compact_mapping listed = *m;
    listed.start = known->start;
    listed.limit = m->limit - m->start + known->start;
    w->status = PD_GROW(w->mem, c->mapping_list, c->mapping_len + 1, w->err);
    uint32_t id = c->format == PPROFDELTA_OTLP ? pd_otlp_mapping_id(c, &listed)
                                               : (uint32_t)c->mapping_len + 1;
    if (w->status)
        return 0;
    if (id > c->mapping_len) /* it is not in the list */
        c->mapping_list[c->mapping_len++] = listed;
    return known->id = id;
}

void pd_compact_mapping_has(pd_compact *c, uint32_t id, uint32_t has)
{
    if (!c->writer.status)
        c->mapping_list[id - 1].has |= has;
}

uint32_t pd_compact_add_function(pd_compact *c, uint32_t name, uint32_t system_name,
                                 uint32_t filename, int64_t start_line)
{
    bool is_new, is_otlp = c->format == PPROFDELTA_OTLP;
    pd_writer *w = &c->writer;
    uint64_t words[] = {name, system_name, filename, (uint64_t)start_line};
    if (is_otlp && !(name | system_name | filename | (uint64_t)start_line))
        return 0;
    uint32_t id =
        pd_write_key(&c->writer, &c->functions, pd_key_of_words(words, 4, 0), &is_new) + 1;
    if (is_new && is_otlp) {
        pd_otlp_add_function(c, name, system_name, filename, start_line);
    } else if (is_new && c->format == PPROFDELTA_TABLES) {
        pd_compact_tables_function(c, name, system_name, filename, start_line);
    } else if (is_new) {
        PD_WRITE_VARINTS(w, &c->scratch, PD_FUNCTION_ID, id, name, system_name, filename,
                         (uint64_t)start_line);
        pd_write_part(w, &c->function_bytes, PD_PROFILE_FUNCTION, &c->scratch);
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
    if (c->format == PPROFDELTA_TABLES) {
        pd_compact_tables_line(c, function, line, column);
        return;
    }
    if (!function) /* OTLP: nothing is known of it */
        return;
    PD_WRITE_VARINTS(&c->writer, &c->scratch, PD_LINE_FUNCTION_ID, function, (uint64_t)line,
                     (uint64_t)column);
    pd_write_part(&c->writer, &c->lines,
                  c->format == PPROFDELTA_OTLP ? PD_OTLP_LOCATION_LINES : PD_LOCATION_LINE,
                  &c->scratch);
}

uint32_t pd_compact_add_location(pd_compact *c, pd_key ident, uint32_t mapping, uint64_t address,
                                 bool is_folded)
{
    bool is_new;
    pd_writer *w = &c->writer;
    uint32_t number = pd_write_key(&c->writer, &c->locations, ident, &is_new), id = number + 1;
    if (!w->status)
        w->status = PD_GROW(w->mem, c->location_ids, id, w->err);
    if (id > PD_ENCODED_MAX && !w->status)
        w->status = PD_FAIL(w->err, PPROFDELTA_E_LIMIT, "write", "location",
                            "more than %d locations", PD_ENCODED_MAX);
    if (c->format == PPROFDELTA_OTLP) {
        id = pd_otlp_add_location(c, mapping, address, is_folded);
    } else if (c->format == PPROFDELTA_TABLES) {
        id = pd_compact_tables_location(c, mapping, address, is_folded);
    } else {
        PD_WRITE_VARINTS(w, &c->scratch, PD_LOCATION_ID, id, mapping, address);
        pd_write_raw(w, &c->scratch, c->lines.ptr, c->lines.len);
        pd_write_varint(w, &c->scratch, PD_LOCATION_IS_FOLDED, is_folded);
        pd_write_part(w, &c->location_bytes, PD_PROFILE_LOCATION, &c->scratch);
    }
    c->lines.len = 0;
    if (w->status)
        return 0;
    return c->location_ids[number] = id;
}

pd_encoded pd_encode_id(const pd_compact *c, uint32_t id)
{
    pd_encoded encoded = 0;
    if (c->format == PPROFDELTA_TABLES)
        return id ? id | PD_ENCODED_WHOLE : 0;
    for (unsigned shift = 0; id; shift += 8, id >>= 7)
        encoded |= ((id & 0x7f) | (id > 0x7f ? 0x80 : 0)) << shift;
    return encoded;
}

/* ---- samples --------------------------------------------------------------------------------- */

void pd_compact_sample_label(pd_compact *c, uint32_t key, uint32_t str, int64_t num,
                             uint32_t num_unit)
{
    const pd_compact_label label = {key, str, num_unit, num};
    if (c->format == PPROFDELTA_TABLES)
        pd_compact_tables_label(c, &label);
    else if (c->format == PPROFDELTA_OTLP)
        pd_write_raw(&c->writer, &c->labels, (const uint8_t *)&label, sizeof label);
    if (c->format != PPROFDELTA_PPROF)
        return;
    PD_WRITE_VARINTS(&c->writer, &c->scratch, PD_LABEL_KEY, key, str, (uint64_t)num, num_unit);
    pd_write_part(&c->writer, &c->labels, PD_SAMPLE_LABEL, &c->scratch);
}

static uint8_t *put_run(uint8_t *p, uint32_t number, const uint8_t *ptr, size_t len)
{
    p = pd_varint_encode(p, number << 3 | PD_WIRE_BYTES);
    return pd_put_bytes(pd_varint_encode(p, len), ptr, len);
}

static void put_sample(pd_compact *c, const int64_t *values, size_t len)
{
    uint8_t packed[PPROFDELTA_MAX_TYPES * PD_VARINT_MAX + PD_PIECE], *end = packed;
    for (size_t i = 0; i < len; i++)
        end = pd_varint_encode(end, (uint64_t)values[i]);
    size_t values_len = (size_t)(end - packed), stack_len = c->stack.len;
    size_t body = 1 + pd_varint_size(values_len) + values_len + c->labels.len;
    if (stack_len)
        body += 1 + pd_varint_size(stack_len) + stack_len;
    uint8_t *p = pd_write_room(&c->writer, &c->out, body + 1 + PD_VARINT_MAX + PD_PIECE);
    if (!p || !pd_write_room(&c->writer, &c->labels, PD_PIECE)) /* pd_put_bytes reads so far */
        return;
    p = pd_varint_encode(p, PD_TAG_SAMPLE);
    p = pd_varint_encode(p, body);
    if (stack_len)
        p = put_run(p, PD_SAMPLE_LOCATION_ID, c->stack.ptr, stack_len);
    p = put_run(p, PD_SAMPLE_VALUE, packed, values_len);
    pd_write_done(&c->out, pd_put_bytes(p, c->labels.ptr, c->labels.len));
}

void pd_compact_sample_end(pd_compact *c, const int64_t *values, size_t len)
{
    c->samples++;
    if (c->format == PPROFDELTA_TABLES)
        pd_compact_tables_sample(c, values, len);
    else if (c->format == PPROFDELTA_OTLP)
        pd_otlp_add_sample(c, values, len);
    else
        put_sample(c, values, len);
    c->stack.len = c->labels.len = 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

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

static void put_end(pd_compact *c, const pd_compact_header *h)
{
    pd_writer *w = &c->writer;
    pd_buffer *tail = &c->tail;
    for (uint32_t i = 0; i < c->mapping_len && !w->status; i++) {
        const pd_compact_mapping *m = &c->mapping_list[i];
        PD_WRITE_VARINTS(w, &c->scratch, PD_MAPPING_ID, i + 1, m->start, m->limit, m->file_offset,
                         m->filename, m->build_id);
        for (uint32_t bit = 0; bit < 4; bit++)
            pd_write_varint(w, &c->scratch, PD_MAPPING_HAS_FUNCTIONS + bit, m->has >> bit & 1);
        pd_write_part(w, &c->mapping_bytes, PD_PROFILE_MAPPING, &c->scratch);
    }
    PD_WRITE_VARINTS(w, tail, PD_PROFILE_DROP_FRAMES, h->drop_frames, h->keep_frames,
                     (uint64_t)h->time_nanos, (uint64_t)h->duration_nanos);
    if (h->has_period_type)
        pd_compact_value_type(c, tail, PD_PROFILE_PERIOD_TYPE, h->period_type, h->period_unit);
    pd_write_varint(w, tail, PD_PROFILE_PERIOD, (uint64_t)h->period);
    if (c->comments.len)
        pd_write_part(w, tail, PD_PROFILE_COMMENT, &c->comments);
    pd_write_varint(w, tail, PD_PROFILE_DEFAULT_SAMPLE_TYPE, h->default_sample_type);
    pd_write_varint(w, tail, PD_PROFILE_DOC_URL, h->doc_url);
    const pd_buffer *const buffers[] = {&c->mapping_bytes, &c->location_bytes, &c->function_bytes,
                                        &c->string_bytes, tail};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        pd_write_raw(w, &c->out, buffers[i]->ptr, buffers[i]->len);
}

pprofdelta_status pd_compact_finish(pd_compact *c, const pd_compact_header *h, pd_bytes *out)
{
    if (c->format == PPROFDELTA_TABLES)
        return pd_compact_tables_end(c, h, out);
    if (c->format == PPROFDELTA_OTLP)
        pd_otlp_end(c, h);
    else
        put_end(c, h);
    if (c->writer.status)
        return c->writer.status;
    *out = (pd_bytes){c->out.ptr, c->out.len};
    return PPROFDELTA_OK;
}

void pd_compact_release(pd_compact *c, pd_mem *mem)
{
    for (size_t i = 0; i < sizeof c->buffers / sizeof *c->buffers; i++)
        pd_buffer_release(mem, &c->buffers[i]);
    for (size_t i = 0; i < sizeof c->maps / sizeof *c->maps; i++)
        pd_keymap_release(&c->maps[i], mem);
    PD_RELEASE(mem, c->known);
    PD_RELEASE(mem, c->mapping_list);
    PD_RELEASE(mem, c->location_ids);
    if (c->format != PPROFDELTA_PPROF)
        pd_otlp_release(&c->otlp, mem);
    if (c->format == PPROFDELTA_TABLES)
        pd_compact_tables_release(c, mem);
}

/* The compact writer's output as pprof: see compact.h. */
#include "profile/compact_format.h"
#include "profile/fields.h"

static void put_string(pd_compact *c, pd_bytes string)
{
    pd_write_bytes(&c->writer, &c->string_bytes, PD_PROFILE_STRING_TABLE, string.ptr, string.len);
}

static void put_type(pd_compact *c, uint32_t type, uint32_t unit)
{
    pd_compact_value_type(c, &c->out, PD_PROFILE_SAMPLE_TYPE, type, unit);
}

static uint32_t index_of(pd_compact *c, uint32_t string)
{
    (void)c;
    return string;
}

static uint32_t mapping_id(pd_compact *c, const pd_compact_mapping *m)
{
    (void)m;
    return (uint32_t)c->mapping_len + 1;
}

static void put_mapping(pd_compact *c, uint32_t id, const pd_compact_mapping *m)
{
    pd_writer *w = &c->writer;
    PD_WRITE_VARINTS(w, &c->scratch, PD_MAPPING_ID, id, m->start, m->limit, m->file_offset,
                     m->filename, m->build_id);
    for (uint32_t bit = 0; bit < 4; bit++)
        pd_write_varint(w, &c->scratch, PD_MAPPING_HAS_FUNCTIONS + bit, m->has >> bit & 1);
    pd_write_part(w, &c->mapping_bytes, PD_PROFILE_MAPPING, &c->scratch);
}

static uint32_t put_location(pd_compact *c, uint32_t id, uint32_t mapping, uint64_t address,
                             bool is_folded)
{
    pd_writer *w = &c->writer;
    PD_WRITE_VARINTS(w, &c->scratch, PD_LOCATION_ID, id, mapping, address);
    pd_write_raw(w, &c->scratch, c->lines.ptr, c->lines.len);
    c->lines.len = 0;
    pd_write_varint(w, &c->scratch, PD_LOCATION_IS_FOLDED, is_folded);
    pd_write_part(w, &c->location_bytes, PD_PROFILE_LOCATION, &c->scratch);
    return id;
}

static void put_label(pd_compact *c, const pd_compact_label *l)
{
    pd_writer *w = &c->writer;
    PD_WRITE_VARINTS(w, &c->scratch, PD_LABEL_KEY, l->key, l->str, (uint64_t)l->num, l->num_unit);
    pd_write_part(w, &c->labels, PD_SAMPLE_LABEL, &c->scratch);
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
    c->stack.len = c->labels.len = 0;
    c->samples++;
}

static void put_end(pd_compact *c, const pd_compact_header *h)
{
    pd_writer *w = &c->writer;
    pd_buffer *tail = &c->tail;
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

const pd_compact_format pd_compact_as_pprof = {
    .string = put_string,
    .type = put_type,
    .index = index_of,
    .mapping_id = mapping_id,
    .mapping = put_mapping,
    .location = put_location,
    .label = put_label,
    .sample = put_sample,
    .end = put_end,
    .line = PD_LOCATION_LINE,
    .function = PD_PROFILE_FUNCTION,
    .has_ids = true,
};

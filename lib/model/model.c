#include "model/model.h"

#include "profile/fields.h"
#include "profile/stamp.h"

/* ---- from begin to release --------------------------------------------------------------------- */

void pd_model_begin(pd_model *m, pd_mem *mem, pprofdelta_error *err)
{
    m->writer = (pd_writer){.mem = mem, .err = err};
    for (size_t i = 0; i < sizeof m->buffers / sizeof *m->buffers; i++)
        m->buffers[i].len = 0;
    for (size_t i = 0; i < sizeof m->keys / sizeof *m->keys; i++)
        pd_keymap_clear(&m->keys[i]);
    for (size_t i = 0; i < PD_OWNERS; i++)
        m->owned[i].len = 0;
    m->types_len = m->mappings_len = m->lines_len = m->comments_len = m->samples_off = 0;
    m->samples = m->labels_len = 0;
    m->has_zeros = false;
    pd_model_string(m, (pd_bytes){0});
}

void pd_model_go_on(pd_model *m, pd_mem *mem, pprofdelta_error *err)
{
    size_t locations = m->location_keys.len;
    m->writer = (pd_writer){.mem = mem, .err = err};
    m->stack.len = m->labels.len = m->scratch.len = 0;
    m->lines_len = locations ? m->locations[locations - 1].lines_end : 0;
}

/* Makes room for one more element of a list. Returns whether there is. */
#define HAS_ROOM(m, list, len)                                                                     \
    (!(m)->writer.status &&                                                                        \
     ((len) < PD_CAP((m)->list) ||                                                                 \
      !((m)->writer.status = PD_GROW((m)->writer.mem, (m)->list, (len) + 1, (m)->writer.err))))

/* ---- strings, types, comments ------------------------------------------------------------------ */

uint32_t pd_model_string(pd_model *m, pd_bytes string)
{
    return pd_model_string_of_key(m, string, pd_key_of_bytes(string.ptr, string.len, 0));
}

uint32_t pd_model_string_of_key(pd_model *m, pd_bytes string, pd_key key)
{
    bool is_new;
    if (!HAS_ROOM(m, strings, m->string_keys.len) ||
        !pd_write_room(&m->writer, &m->texts, string.len + 1))
        return 0;
    uint32_t number = pd_write_key(&m->writer, &m->string_keys, key, &is_new);
    if (is_new) {
        m->strings[number] = (pd_model_text){m->texts.len, string.len};
        pd_buffer_put(&m->texts, string.ptr, string.len);
    }
    return number;
}

void pd_model_add_type(pd_model *m, uint32_t type, uint32_t unit)
{
    m->types[m->types_len++] = (pd_model_type){type, unit};
    PD_WRITE_VARINTS(&m->writer, &m->scratch, PD_VALUE_TYPE_TYPE, type, unit);
    pd_write_part(&m->writer, &m->encoded, PD_PROFILE_SAMPLE_TYPE, &m->scratch);
    m->samples_off = m->encoded.len;
}

void pd_model_add_comment(pd_model *m, uint32_t string)
{
    if (HAS_ROOM(m, comments, m->comments_len))
        m->comments[m->comments_len++] = string;
}

void pd_model_add_stamp(pd_model *m, const pprofdelta_stamp *stamp, int64_t pid)
{
    char text[PD_STAMP_MAX];
    pd_stamp_write(stamp, pid, text);
    pd_model_add_comment(m, pd_model_string(m, pd_bytes_of(text)));
}

/* ---- mappings, functions and locations --------------------------------------------------------- */

/* Makes room before the key is added. */
pd_model_known *pd_model_expect_mapping(pd_model *m, pd_key key, uint64_t start)
{
    bool is_new;
    if (!HAS_ROOM(m, known, m->mapping_keys.len))
        return NULL;
    uint32_t number = pd_write_key(&m->writer, &m->mapping_keys, key, &is_new);
    if (is_new)
        m->known[number] = (pd_model_known){.start = start};
    return m->writer.status ? NULL : &m->known[number];
}

uint32_t pd_model_find_mapping(const pd_model *m, pd_key key)
{
    uint32_t number = pd_keymap_find(&m->mapping_keys, key);
    return number == PD_KEYMAP_NONE ? 0 : m->known[number].id;
}

bool pd_model_may_start(const pd_model *m, pd_key key, uint64_t start)
{
    uint32_t number = pd_keymap_find(&m->mapping_keys, key);
    return number == PD_KEYMAP_NONE || m->known[number].start == start;
}

uint32_t pd_model_add_mapping(pd_model *m, pd_key key, const pd_model_mapping *mapping)
{
    pd_model_known *known = pd_model_expect_mapping(m, key, mapping->start);
    if (!known || known->id)
        return known ? known->id : 0;
    if (!HAS_ROOM(m, mappings, m->mappings_len))
        return 0;
    pd_model_mapping *added = &m->mappings[m->mappings_len++];
    *added = *mapping;
    added->key = key;
    added->start = known->start;
    added->limit = mapping->limit - mapping->start + known->start;
    return known->id = (uint32_t)m->mappings_len;
}

void pd_model_mapping_has(pd_model *m, uint32_t mapping, uint32_t has)
{
    if (!m->writer.status)
        m->mappings[mapping - 1].has |= has;
}

uint32_t pd_model_add_function(pd_model *m, const pd_model_function *f)
{
    bool is_new;
    uint64_t words[] = {f->name, f->system_name, f->filename, (uint64_t)f->start_line};
    if (!HAS_ROOM(m, functions, m->function_keys.len))
        return 0;
    uint32_t number =
        pd_write_key(&m->writer, &m->function_keys, pd_key_of_words(words, 4, 0), &is_new);
    if (is_new)
        m->functions[number] = *f;
    return m->writer.status ? 0 : number + 1;
}

uint32_t pd_model_find_location(const pd_model *m, pd_key ident)
{
    uint32_t number = pd_keymap_find(&m->location_keys, ident);
    return number == PD_KEYMAP_NONE || m->writer.status ? 0 : number + 1;
}

void pd_model_add_line(pd_model *m, uint32_t function, int64_t line, int64_t column)
{
    if (HAS_ROOM(m, lines, m->lines_len))
        m->lines[m->lines_len++] = (pd_line){function, line, column};
}

uint32_t pd_model_add_location(pd_model *m, pd_key ident, uint32_t mapping, uint64_t address,
                               bool is_folded)
{
    bool is_new;
    pd_writer *w = &m->writer;
    if (m->location_keys.len >= PD_ENCODED_MAX && !w->status)
        w->status = PD_FAIL(w->err, PPROFDELTA_E_LIMIT, PPROFDELTA_STAGE_WRITE, "location",
                            "more than %d locations", PD_ENCODED_MAX);
    if (!HAS_ROOM(m, locations, m->location_keys.len))
        return 0;
    uint32_t number = pd_write_key(w, &m->location_keys, ident, &is_new);
    if (w->status)
        return 0;
    m->locations[number] = (pd_model_location){
        .address = address, .lines_end = m->lines_len, .mapping = mapping, .is_folded = is_folded};
    return number + 1;
}

/* ---- samples ------------------------------------------------------------------------------------ */

void pd_model_add_label(pd_model *m, uint32_t key, uint32_t str, int64_t num, uint32_t num_unit)
{
    const uint64_t fields[] = {key, str, (uint64_t)num, num_unit};      /* from PD_LABEL_KEY on */
    enum { HEAD = 2, FIELDS = 4, MOST = FIELDS * (1 + PD_VARINT_MAX) }; /* a length of one byte */
    uint8_t *head = pd_write_room(&m->writer, &m->labels, HEAD + MOST);
    if (!head)
        return;
    uint8_t *end = head + HEAD;
    for (uint32_t i = 0; i < FIELDS; i++)
        if (fields[i])
            end = pd_varint_encode(pd_varint_encode(end, (PD_LABEL_KEY + i) << 3), fields[i]);
    head[0] = PD_SAMPLE_LABEL << 3 | PD_WIRE_BYTES;
    head[1] = (uint8_t)(end - head - HEAD);
    pd_write_done(&m->labels, end);
    m->labels_len++;
}

void pd_model_drop_labels(pd_model *m, size_t len)
{
    pd_bytes rest = {m->labels.ptr, m->labels.len};
    pd_model_label label;
    while (len-- && pd_model_next_label(&rest, &label))
        m->labels_len--;
    if (rest.len)
        memmove(m->labels.ptr, rest.ptr, rest.len);
    m->labels.len = rest.len;
}

/* Copies a few bytes in pieces: up to PIECE bytes after them are read and written. */
enum { PIECE = 32 };

static inline uint8_t *put_bytes(uint8_t *p, const uint8_t *ptr, size_t len)
{
    for (size_t at = 0; at < len; at += PIECE)
        memcpy(p + at, ptr + at, PIECE);
    return p + len;
}

static uint8_t *put_list(uint8_t *p, uint32_t number, const uint8_t *ptr, size_t len)
{
    p = pd_varint_encode(p, number << 3 | PD_WIRE_BYTES);
    return put_bytes(pd_varint_encode(p, len), ptr, len);
}

void pd_model_add_sample(pd_model *m, const int64_t *values)
{
    uint8_t packed[PPROFDELTA_MAX_TYPES * PD_VARINT_MAX + PIECE], *end = packed;
    for (size_t i = 0; i < m->types_len; i++)
        end = pd_varint_encode(end, (uint64_t)values[i]);
    size_t values_len = (size_t)(end - packed), stack_len = m->stack.len;
    size_t body = 1 + pd_varint_size(values_len) + values_len + m->labels.len;
    if (stack_len)
        body += 1 + pd_varint_size(stack_len) + stack_len;
    uint8_t *p = pd_write_room(&m->writer, &m->encoded, body + 1 + PD_VARINT_MAX + PIECE);
    if (p && pd_write_room(&m->writer, &m->labels, PIECE)) { /* put_bytes reads so far */
        p = pd_varint_encode(p, PD_TAG_SAMPLE);
        p = pd_varint_encode(p, body);
        if (stack_len)
            p = put_list(p, PD_SAMPLE_LOCATION_ID, m->stack.ptr, stack_len);
        p = put_list(p, PD_SAMPLE_VALUE, packed, values_len);
        pd_write_done(&m->encoded, put_bytes(p, m->labels.ptr, m->labels.len));
        m->samples++;
    }
    m->has_zeros |= !pd_model_has_value(values, m->types_len);
    m->stack.len = m->labels.len = 0;
}

/* ---- reading samples ---------------------------------------------------------------------------- */

/* Reads the length behind the tag at p. Returns where the content begins. These bytes are our own. */
static const uint8_t *pass_intro(const uint8_t *p, const uint8_t *end, uint64_t *len)
{
    return pd_varint_decode(p + 1, end, len);
}

bool pd_model_next_sample(const pd_model *m, size_t *at, pd_model_sample *s)
{
    uint64_t len, value = 0;
    if (*at >= m->encoded.len || m->encoded.ptr[*at] != PD_TAG_SAMPLE)
        return false;
    const uint8_t *p = m->encoded.ptr + *at, *end = m->encoded.ptr + m->encoded.len;
    p = pass_intro(p, end, &len);
    end = p + len;
    *at = (size_t)(end - m->encoded.ptr);
    s->stack = (pd_bytes){0};
    if (*p == (PD_SAMPLE_LOCATION_ID << 3 | PD_WIRE_BYTES)) {
        p = pass_intro(p, end, &len);
        s->stack = (pd_bytes){p, (size_t)len};
        p += len;
    }
    p = pass_intro(p, end, &len);
    for (size_t i = 0; i < m->types_len; i++) {
        p = pd_varint_decode(p, end, &value);
        s->values[i] = (int64_t)value;
    }
    s->labels = (pd_bytes){p, (size_t)(end - p)};
    return true;
}

bool pd_model_next_label(pd_bytes *labels, pd_model_label *label)
{
    uint64_t fields[PD_LABEL_NUM_UNIT + 1] = {0}, len;
    if (!labels->len)
        return false;
    const uint8_t *end = labels->ptr + labels->len, *p = pass_intro(labels->ptr, end, &len);
    *labels = (pd_bytes){p + len, (size_t)(end - p) - (size_t)len};
    for (end = p + len; p < end;) {
        uint8_t field = *p++ >> 3;
        p = pd_varint_decode(p, end, &fields[field]);
    }
    *label = (pd_model_label){.key = (uint32_t)fields[PD_LABEL_KEY],
                              .str = (uint32_t)fields[PD_LABEL_STR],
                              .num_unit = (uint32_t)fields[PD_LABEL_NUM_UNIT],
                              .num = (int64_t)fields[PD_LABEL_NUM]};
    return true;
}

/* ---- attributes --------------------------------------------------------------------------------- */

uint32_t pd_model_attribute_of(pd_model *m, uint32_t key, uint32_t unit, pd_bytes value)
{
    bool is_new;
    pd_key content = pd_key_of_bytes(value.ptr, value.len, 0);
    uint64_t words[] = {key, unit, content.lo, content.hi};
    if (!HAS_ROOM(m, attributes, m->attribute_keys.len))
        return 0;
    uint32_t number =
        pd_write_key(&m->writer, &m->attribute_keys, pd_key_of_words(words, 4, 0), &is_new);
    if (is_new) {
        m->attributes[number] = (pd_model_attribute){key, unit, m->attribute_values.len, value.len};
        pd_write_raw(&m->writer, &m->attribute_values, value);
    }
    return m->writer.status ? 0 : number + 1;
}

void pd_model_own(pd_model *m, pd_model_owner kind, uint64_t owner, uint32_t attribute)
{
    pd_model_owned_list *owned = &m->owned[kind];
    if (HAS_ROOM(m, owned[kind].list, owned->len))
        owned->list[owned->len++] = (pd_model_owned){owner, attribute};
}

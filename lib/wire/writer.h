/* Appends protobuf fields to a buffer.
 *
 * A failure to allocate is sticky, as in the reader: the caller writes all fields and checks once.
 * As in proto3, fields with the default value are omitted unless the function says otherwise. */
#ifndef PD_WIRE_WRITER_H
#define PD_WIRE_WRITER_H

#include "base/keymap.h"
#include "wire/reader.h"

#include <string.h>

typedef struct pd_writer {
    pd_mem *mem;
    pprofdelta_error *err;
    pprofdelta_status status; /* sticky */
} pd_writer;

/* Makes room for `more` bytes, at least one, after buffer->len. Returns where they go, or NULL on
 * failure. */
static inline uint8_t *pd_write_room(pd_writer *writer, pd_buffer *buffer, size_t more)
{
    if (!writer->status)
        writer->status = pd_buffer_room(writer->mem, buffer, more, writer->err);
    return writer->status ? NULL : buffer->ptr + buffer->len;
}

static inline void pd_write_done(pd_buffer *buffer, const uint8_t *end)
{
    buffer->len = (size_t)(end - buffer->ptr);
}

/* A varint field, also if value is 0. */
static inline void pd_write_varint_always(pd_writer *writer, pd_buffer *buffer, uint32_t number,
                                          uint64_t value)
{
    uint8_t *p = pd_write_room(writer, buffer, 5 + PD_VARINT_MAX);
    if (!p)
        return;
    p = pd_varint_encode(p, number << 3 | PD_WIRE_VARINT);
    pd_write_done(buffer, pd_varint_encode(p, value));
}

static inline void pd_write_varint(pd_writer *writer, pd_buffer *buffer, uint32_t number,
                                   uint64_t value)
{
    if (value)
        pd_write_varint_always(writer, buffer, number, value);
}

/* Varint fields with successive numbers, from `first` on: PD_WRITE_VARINTS(w, b, 1, id, start, ...). */
#define PD_WRITE_VARINTS(writer, buffer, first, ...)                                               \
    pd_write_varints((writer), (buffer), (first), (const uint64_t[]){__VA_ARGS__},                 \
                     sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static inline void pd_write_varints(pd_writer *writer, pd_buffer *buffer, uint32_t first,
                                    const uint64_t *values, size_t len)
{
    for (size_t i = 0; i < len; i++)
        pd_write_varint(writer, buffer, first + (uint32_t)i, values[i]);
}

/* A varint without a tag: an element of a packed list. */
static inline void pd_write_element(pd_writer *writer, pd_buffer *buffer, uint64_t value)
{
    uint8_t *p = pd_write_room(writer, buffer, PD_VARINT_MAX);
    if (p)
        pd_write_done(buffer, pd_varint_encode(p, value));
}

/* A length-delimited field, also if it is empty. */
static inline void pd_write_bytes(pd_writer *writer, pd_buffer *buffer, uint32_t number,
                                  pd_bytes bytes)
{
    size_t most = bytes.len > SIZE_MAX - 16 ? SIZE_MAX : bytes.len + 5 + PD_VARINT_MAX;
    uint8_t *p = pd_write_room(writer, buffer, most);
    if (!p)
        return;
    p = pd_varint_encode(p, number << 3 | PD_WIRE_BYTES);
    p = pd_varint_encode(p, bytes.len);
    if (bytes.ptr) /* an empty buffer may have no memory */
        memcpy(p, bytes.ptr, bytes.len);
    pd_write_done(buffer, p + bytes.len);
}

/* The content of `part` as a length-delimited field. Empties part for the next message. */
static inline void pd_write_part(pd_writer *writer, pd_buffer *buffer, uint32_t number,
                                 pd_buffer *part)
{
    pd_write_bytes(writer, buffer, number, pd_buffer_bytes(part));
    part->len = 0;
}

/* Makes a length-delimited field of what is in the buffer from this offset on. */
static inline void pd_write_wrap(pd_writer *writer, pd_buffer *buffer, size_t from, uint32_t number)
{
    uint64_t tag = number << 3 | PD_WIRE_BYTES;
    size_t len = buffer->len - from, intro = pd_varint_size(tag) + pd_varint_size(len);
    if (!pd_write_room(writer, buffer, intro))
        return;
    uint8_t *p = buffer->ptr + from;
    memmove(p + intro, p, len);
    pd_varint_encode(pd_varint_encode(p, tag), len);
    buffer->len += intro;
}

static inline void pd_write_fixed64(pd_writer *writer, pd_buffer *buffer, uint32_t number,
                                    uint64_t value)
{
    uint8_t *p = pd_write_room(writer, buffer, 5 + sizeof value);
    if (!p)
        return;
    p = pd_varint_encode(p, number << 3 | PD_WIRE_FIXED64);
    value = pd_le64(value);
    memcpy(p, &value, sizeof value);
    pd_write_done(buffer, p + sizeof value);
}

/* Bytes without a tag. */
static inline void pd_write_raw(pd_writer *writer, pd_buffer *buffer, pd_bytes bytes)
{
    uint8_t *p = bytes.ptr && bytes.len ? pd_write_room(writer, buffer, bytes.len) : NULL;
    if (!p)
        return;
    memcpy(p, bytes.ptr, bytes.len);
    pd_write_done(buffer, p + bytes.len);
}

/* Returns the number of the key in a set, to which it is added if it is new; 0 after a failure. *is_new: it was
 * added. */
static inline uint32_t pd_write_key(pd_writer *writer, pd_keymap *map, pd_key key, bool *is_new)
{
    *is_new = false;
    if (!writer->status)
        writer->status = pd_keymap_room(map, writer->mem, key, writer->err);
    if (writer->status)
        return 0;
    size_t before = map->len;
    uint32_t number = pd_keymap_add(map, key);
    *is_new = map->len > before;
    return number;
}

#endif

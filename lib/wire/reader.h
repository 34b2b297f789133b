/* Reads a protobuf message field by field. Has no knowledge of profiles.
 *
 * A reader is a run of bytes with a sticky error: the caller reads fields until there are no more
 * and checks for an error once, at the end. The body of a length-delimited field is a reader of its
 * own, so a submessage cannot read past its parent.
 *
 *     pd_field f;
 *     while (pd_reader_next(&r, &f))
 *         switch (f.number) { ... }
 *     if (r.trouble) ... */
#ifndef PD_WIRE_READER_H
#define PD_WIRE_READER_H

#include "wire/varint.h"

enum { PD_WIRE_VARINT = 0, PD_WIRE_FIXED64 = 1, PD_WIRE_BYTES = 2, PD_WIRE_FIXED32 = 5 };

typedef struct pd_reader {
    const uint8_t *at, *end; /* at: the next byte; after an error, the first byte of the field */
    const char *trouble;     /* the error, a static string; NULL: none */
} pd_reader;

typedef struct pd_field {
    const uint8_t *start; /* its tag */
    uint32_t number;
    uint32_t wire;
    uint64_t value; /* of a varint, fixed64 or fixed32; profiles use only varints */
    pd_reader body; /* of PD_WIRE_BYTES */
} pd_field;

static inline pd_reader pd_reader_of(const uint8_t *ptr, size_t len)
{
    return (pd_reader){ptr, ptr + len, NULL};
}

/* Reads the next field. Returns false at the end of the message and on error. */
bool pd_reader_next(pd_reader *reader, pd_field *field);

/* Reads fields until one with this number. Returns false at the end and on error. */
bool pd_reader_find(pd_reader *reader, uint32_t number, pd_field *field);

/* The same as pd_reader_next, with the common case inline, for hot loops: a tag of one byte, then a varint of up to
 * two bytes, or a body with a length of up to two bytes. */
static inline bool pd_reader_next_quick(pd_reader *reader, pd_field *field)
{
    const uint8_t *p = reader->at, *end = reader->end;
    if (__builtin_expect(end - p < 3, 0))
        return pd_reader_next(reader, field);
    uint32_t tag = p[0];
    uint64_t value = p[1];
    p += 2;
    if (value >= 0x80) {
        value += ((uint64_t)*p << 7) - 0x80;
        if (__builtin_expect(*p++ >= 0x80, 0))
            return pd_reader_next(reader, field);
    }
    bool has_body = (tag & 7) == PD_WIRE_BYTES;
    if (__builtin_expect(tag - 8 >= 0x78 || (tag & 5) || (has_body && value > (size_t)(end - p)),
                         0))
        return pd_reader_next(reader, field);
    field->start = reader->at;
    field->number = tag >> 3;
    field->wire = tag & 7;
    field->value = value;
    if (has_body) {
        field->body = (pd_reader){p, p + value, NULL};
        p += value;
    }
    reader->at = p;
    return true;
}

/* Reads the next field if it is a body with this tag of one byte and a length of one or two bytes.
 * Otherwise returns false and reads nothing: pd_reader_next then reads the field or finds the
 * error. */
static inline bool pd_reader_expect(pd_reader *reader, uint8_t tag, const uint8_t **start,
                                    pd_reader *body)
{
    const uint8_t *p = reader->at, *end = reader->end;
    if (__builtin_expect(end - p < 3 || *p != tag, 0))
        return false;
    size_t len = p[1];
    p += 2;
    if (len >= 0x80) {
        if (*p >= 0x80)
            return false;
        len += ((size_t)*p++ << 7) - 0x80;
    }
    if (__builtin_expect(len > (size_t)(end - p), 0))
        return false;
    *start = reader->at;
    *body = (pd_reader){p, p + len, NULL};
    reader->at = p + len;
    return true;
}

/* After an error: the size of the field at `at` in bytes, or UINT64_MAX if it does not fit. If the
 * result is at most the bytes that are left, the error is not caused by missing bytes. */
uint64_t pd_reader_lacks(const pd_reader *reader);

/* Reads a bare varint: an element of a packed field. Returns false at the end and on error. */
static inline bool pd_reader_varint(pd_reader *reader, uint64_t *value)
{
    if (reader->at == reader->end)
        return false;
    const uint8_t *next = pd_varint_decode(reader->at, reader->end, value);
    if (__builtin_expect(!next, 0)) {
        reader->trouble = "a varint is cut off or longer than 64 bits";
        return false;
    }
    reader->at = next;
    return true;
}

#endif

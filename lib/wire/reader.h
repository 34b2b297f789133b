/* A protobuf message, field by field.
 *
 * A reader is a run of bytes with a sticky trouble: reading code asks for fields until there are no
 * more and looks once, at the end, whether that was the end or an error. The body of a
 * length-delimited field is a reader of its own, so a submessage cannot read past its parent.
 *
 *     pd_field f;
 *     while (pd_reader_next(&r, &f))
 *         switch (f.number) { ... }
 *     if (r.trouble) ...
 *
 * It knows protobuf and nothing of profiles. */
#ifndef PD_WIRE_READER_H
#define PD_WIRE_READER_H

#include "wire/varint.h"

enum { PD_WIRE_VARINT = 0, PD_WIRE_FIXED64 = 1, PD_WIRE_BYTES = 2, PD_WIRE_FIXED32 = 5 };

typedef struct pd_reader {
    const uint8_t *at, *end; /* at: the next byte; where there is trouble, the byte it began at */
    const char *trouble;     /* static; NULL while all is well */
} pd_reader;

typedef struct pd_field {
    const uint8_t *start; /* its tag */
    uint32_t number;
    uint32_t wire;
    uint64_t value; /* of a varint; of a fixed64 or fixed32 too, though no profile has any */
    pd_reader body; /* of PD_WIRE_BYTES */
} pd_field;

static inline pd_reader pd_reader_of(const uint8_t *ptr, size_t len)
{
    return (pd_reader){ptr, ptr + len, NULL};
}

/* Reads the next field. False at the end of the message and on trouble. */
bool pd_reader_next(pd_reader *reader, pd_field *field);

/* The same with the common case in line, for the loops that matter: a tag of one byte, a varint of
 * up to two bytes or a body whose length has as many. */
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

/* Reads the next field where it is the expected one: a body behind a tag of one byte, its length of
 * one or two. False, and nothing read, where it is not: then pd_reader_next tells what it is. */
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

/* To pass over large input is to wait for memory: what comes so far behind `at` is asked for
 * early. */
static inline void pd_reader_ask_ahead(const uint8_t *at)
{
    enum { AHEAD = 1024 };
    __builtin_prefetch(at + AHEAD);
}

/* Of a reader that got stuck: how many bytes from `at` on the field would take, or UINT64_MAX where
 * that cannot be counted. No more than are there: it is not for want of bytes. */
uint64_t pd_reader_lacks(const pd_reader *reader);

/* Reads a bare varint: an element of a packed field. False at the end and on trouble. */
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

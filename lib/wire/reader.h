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

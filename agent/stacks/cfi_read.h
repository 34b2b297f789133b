/* Reading call frame information: numbers of fixed and of variable length, and encoded pointers.
 * An error is sticky: the caller reads on and checks `bad` once. */
#ifndef PD_AGENT_CFI_READ_H
#define PD_AGENT_CFI_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct cursor {
    const uint8_t *at, *end;
    bool bad; /* a read went beyond the end, or found an unknown encoding */
} cursor;

static inline void read_into(cursor *c, void *out, size_t len)
{
    if (c->bad || (size_t)(c->end - c->at) < len) {
        c->bad = true;
        memset(out, 0, len);
        return;
    }
    memcpy(out, c->at, len);
    c->at += len;
}

static inline uint8_t read_u8(cursor *c)
{
    uint8_t value;
    read_into(c, &value, sizeof value);
    return value;
}

static inline uint16_t read_u16(cursor *c)
{
    uint16_t value;
    read_into(c, &value, sizeof value);
    return value;
}

static inline uint32_t read_u32(cursor *c)
{
    uint32_t value;
    read_into(c, &value, sizeof value);
    return value;
}

static inline uint64_t read_uleb(cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = read_u8(c);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    c->bad = true;
    return 0;
}

static inline int64_t read_sleb(cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
        uint8_t byte = read_u8(c);
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80))
            return (int64_t)(byte & 0x40 && shift < 64 ? value | ~UINT64_C(0) << shift : value);
    }
    c->bad = true;
    return 0;
}

static inline void skip(cursor *c, uint64_t len)
{
    if (c->bad || (uint64_t)(c->end - c->at) < len)
        c->bad = true;
    else
        c->at += len;
}

/* The encoding of a pointer: a format, and what the pointer is relative to. */
enum {
    ENC_ABSOLUTE = 0x00,
    ENC_U4 = 0x03,
    ENC_U8 = 0x04,
    ENC_S4 = 0x0b,
    ENC_S8 = 0x0c,
    ENC_FORMAT = 0x0f,
    ENC_PC_RELATIVE = 0x10,
    ENC_BASE = 0x70,
    ENC_OMITTED = 0xff,
    ENC_HEADER_TABLE =
        0x3b /* the table that linkers write: 4 bytes, signed, relative to the header */
};

static inline uint64_t read_pointer(cursor *c, uint8_t encoding)
{
    uint64_t here = (uint64_t)(uintptr_t)c->at, value = 0;
    switch (encoding & ENC_FORMAT) {
    case ENC_ABSOLUTE:
    case ENC_U8:
    case ENC_S8:
        read_into(c, &value, sizeof value);
        break;
    case ENC_U4:
        value = read_u32(c);
        break;
    case ENC_S4:
        value = (uint64_t)(int64_t)(int32_t)read_u32(c);
        break;
    default:
        c->bad = true;
    }
    if ((encoding & ENC_BASE) == ENC_PC_RELATIVE)
        return value + here;
    if (encoding & ENC_BASE)
        c->bad = true;
    return value;
}

#endif

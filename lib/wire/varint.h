/* Base-128 varints, the one number format of protobuf.
 *
 * One and two bytes are decoded in line: that is nearly every tag, length and location id of a real
 * profile. The rest goes out of line, so that the loops that call this stay small. */
#ifndef PD_WIRE_VARINT_H
#define PD_WIRE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PD_VARINT_MAX 10 /* bytes of the longest varint */

/* Decodes the varint at p (p < end is not required) into *value and returns the byte behind it, or
 * NULL where it is cut off or does not fit 64 bits. */
const uint8_t *pd_varint_decode_long(const uint8_t *p, const uint8_t *end, uint64_t *value);

static inline const uint8_t *pd_varint_decode(const uint8_t *p, const uint8_t *end, uint64_t *value)
{
    if (__builtin_expect(end - p >= 2, 1)) {
        if (p[0] < 0x80) {
            *value = p[0];
            return p + 1;
        }
        if (p[1] < 0x80) {
            *value = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
            return p + 2;
        }
    }
    return pd_varint_decode_long(p, end, value);
}

/* Writes value at p, which has room for PD_VARINT_MAX bytes, and returns the byte behind it. */
static inline uint8_t *pd_varint_encode(uint8_t *p, uint64_t value)
{
    while (value >= 0x80) {
        *p++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *p++ = (uint8_t)value;
    return p;
}

static inline size_t pd_varint_size(uint64_t value)
{
    return (size_t)(63 - __builtin_clzll(value | 1)) / 7 + 1;
}

#endif

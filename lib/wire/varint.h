/* Base-128 varints, the number format of protobuf.
 *
 * Varints of up to three bytes are decoded inline: most tags, lengths and location ids of real
 * profiles. Longer ones are decoded out of line, so that the calling loops stay small. */
#ifndef PD_WIRE_VARINT_H
#define PD_WIRE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PD_VARINT_MAX 10 /* bytes of the longest varint */

/* Decodes the varint at p into *value and returns the byte after it, or NULL if it is truncated or
 * does not fit in 64 bits. p may be at end. */
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
        if (end - p >= 3 && p[2] < 0x80) {
            *value = (uint64_t)(p[0] & 0x7f) | (uint64_t)(p[1] & 0x7f) << 7 | (uint64_t)p[2] << 14;
            return p + 3;
        }
    }
    uint64_t decoded = 0; /* so that the caller's may be a register */
    p = pd_varint_decode_long(p, end, &decoded);
    *value = decoded;
    return p;
}

/* Eight bytes as a little endian number. */
static inline uint64_t pd_load64(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

#define PD_VARINT_CONTINUATION UINT64_C(0x8080808080808080) /* the continuation bit of each byte */

/* Joins the seven-bit groups of a varint's bytes. */
static inline uint64_t pd_varint_join(uint64_t word)
{
    word &= ~PD_VARINT_CONTINUATION;
    word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
}

static inline uint32_t pd_varint_join_four(uint32_t word)
{
    word &= 0x7f7f7f7f;
    word = (word & 0x007f007f) | (word & 0x7f007f00) >> 1;
    return (word & 0x00003fff) | (word & 0x3fff0000) >> 2;
}

/* Decodes a varint of up to 8 bytes without a branch on its length. 8 bytes must be readable at p.
 * Returns NULL if the varint is longer. Varints of up to four bytes, the most frequent ones, take
 * half the work. */
static inline const uint8_t *pd_varint_decode_short(const uint8_t *p, uint64_t *value)
{
    uint64_t word = pd_load64(p);
    uint64_t stops = ~word & PD_VARINT_CONTINUATION;
    uint32_t early = (uint32_t)stops;
    if (__builtin_expect(early != 0, 1)) { /* the last byte is among the first four */
        *value = pd_varint_join_four((uint32_t)word & (early ^ (early - 1)));
        return p + ((unsigned)__builtin_ctz(early) >> 3) + 1;
    }
    if (!stops)
        return NULL;
    *value = pd_varint_join(word & (stops ^ (stops - 1)));
    return p + ((unsigned)__builtin_ctzll(stops) >> 3) + 1;
}

/* Writes value at p, which has room for PD_VARINT_MAX bytes, and returns the byte after it. */
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

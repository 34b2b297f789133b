/* zlib's inflate in memory of the caller's: for streams where ISA-L is not to be had, and for what
 * only zlib can say, which is where a block begins (member.c) and what is wrong with deflate data
 * (damage.c). */
#ifndef PD_CODEC_INFLATE_ZLIB_H
#define PD_CODEC_INFLATE_ZLIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* zlib allocates its state and, later, the 32 KiB of the window: about 40 KiB together. zlib-ng,
 * which has zlib's interface, takes some more. */
enum { PD_ZLIB_ROOM = 64 << 10 };

typedef struct pd_zlib {
    z_stream z;
    size_t used; /* bytes of room that zlib has; a multiple of PD_ZLIB_ALIGN */
    _Alignas(max_align_t) uint8_t room[PD_ZLIB_ROOM];
} pd_zlib; /* it need not be cleared, and nothing is to be given back */

/* Begins at the first byte of raw deflate data. False: zlib needs more than the room. */
bool pd_zlib_begin(pd_zlib *zlib);

/* zlib counts in unsigned ints: the length of the part of [from, end) that one call can take. */
static inline uInt pd_zlib_len(const uint8_t *from, const uint8_t *end)
{
    const size_t most = 1u << 30;
    return (uInt)((size_t)(end - from) < most ? (size_t)(end - from) : most);
}

#endif

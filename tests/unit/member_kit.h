/* Input that compresses more or less; a gzip member of parts, joined one after the other; and whether
 * what came out is one gzip member of the input. */
#ifndef PD_TESTS_MEMBER_KIT_H
#define PD_TESTS_MEMBER_KIT_H

#include "codec/member_check.h"
#include "rng.h"
#include "test.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <zlib.h>

enum { SPLIT = 256 << 10, LONGEST = 3 << 20 };

typedef struct kept {
    uint8_t bytes[LONGEST + (1 << 16)];
    size_t len;
    bool refuses;
    size_t most; /* calls that it takes before it refuses, or 0 */
    size_t calls;
} kept;

static inline int keep(void *cookie, const void *data, size_t len)
{
    kept *k = cookie;
    k->calls++;
    if (k->refuses || (k->most && k->calls > k->most) || len > sizeof k->bytes - k->len)
        return -1;
    if (len)
        memcpy(k->bytes + k->len, data, len);
    k->len += len;
    return 0;
}

static uint8_t in[LONGEST], back[LONGEST + 1];
static kept out;

/* Runs of what was there before, of one byte, and of noise. */
static void make(rng *r, size_t len, unsigned noise)
{
    for (size_t at = 0; at < len;) {
        size_t run = 1 + rng_below(r, 300), kind = rng_below(r, 100);
        run = run < len - at ? run : len - at;
        size_t far = at ? 1 + rng_below(r, at < 40000 ? at : 40000) : 0;
        for (size_t i = 0; i < run; i++)
            in[at + i] = kind < noise ? (uint8_t)rng_next(r) : far ? in[at + i - far] : 7;
        at += run;
    }
}

/* Puts a member of `in` together in `out`. */
typedef struct joiner {
    struct libdeflate_compressor *gzip;
    size_t at; /* in `in` */
} joiner;

static inline joiner join_begin(int level)
{
    joiner j = {libdeflate_alloc_compressor(level), 0};
    if (!j.gzip)
        abort();
    pd_member_head(out.bytes);
    out.len = PD_MEMBER_HEAD;
    return j;
}

/* The next `len` bytes. */
static inline void join_part(joiner *j, size_t len, bool is_last)
{
    static pd_member_check check;
    uint8_t *at = out.bytes + out.len;
    size_t made = libdeflate_deflate_compress(j->gzip, in + j->at, len, at,
                                              sizeof out.bytes - out.len - PD_MEMBER_JOINT);
    j->at += len;
    out.len += is_last ? made : pd_member_open(&check, at, made);
    if (!is_last)
        return;
    pd_member_tail(at + made, libdeflate_crc32(0, in, j->at), j->at);
    out.len += PD_MEMBER_TAIL;
    libdeflate_free_compressor(j->gzip);
}

/* Is it one member, to the last byte, of this input? */
static bool is_member_of(size_t len)
{
    z_stream z = {.next_in = out.bytes,
                  .avail_in = (uInt)out.len,
                  .next_out = back,
                  .avail_out = sizeof back};
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return false;
    int end = inflate(&z, Z_FINISH);
    bool is_whole = end == Z_STREAM_END && !z.avail_in && z.total_out == len;
    inflateEnd(&z);
    return is_whole && !memcmp(back, in, len);
}

#endif

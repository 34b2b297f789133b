/* What is read a piece at a time: content of every kind, files of it, and a reader that takes steps
 * of any length. */
#ifndef PD_TESTS_STREAM_KIT_H
#define PD_TESTS_STREAM_KIT_H

#include "codec/stream.h"
#include "pack.h"
#include "rng.h"
#include "test.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PLENTY (UINT64_C(1) << 30)

/* Noise, one byte, few letters, near copies, far copies: deflate data of every kind. */
static inline buf draw_content(arena *a, rng *r, size_t len)
{
    buf b = {.arena = a, .ptr = arena_alloc(a, len + 1), .len = len};
    size_t kind = rng_below(r, 5), period = 1 + rng_below(r, kind == 3 ? 30 : 40000);
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = (uint8_t)(rng_next(r) >> 56);
        b.ptr[i] = kind == 0                ? byte
                   : kind == 1              ? 'x'
                   : kind == 2              ? (uint8_t)(byte % 9 * (byte % 5))
                   : i < period || byte < 3 ? byte
                                            : b.ptr[i - period];
    }
    return b;
}

static inline buf gzip_by_zlib(arena *a, buf in, int level, int strategy)
{
    z_stream z = {0};
    buf out = {.arena = a, .cap = in.len + in.len / 4 + 1000};
    out.ptr = arena_alloc(a, out.cap);
    if (deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, strategy) != Z_OK)
        abort();
    z.next_in = in.ptr;
    z.avail_in = (uInt)in.len;
    z.next_out = out.ptr;
    z.avail_out = (uInt)out.cap;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    out.len = out.cap - z.avail_out;
    deflateEnd(&z);
    return out;
}

static inline buf gzip_by_libdeflate(arena *a, buf in, int level)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
    buf out = {.arena = a, .cap = libdeflate_gzip_compress_bound(c, in.len)};
    out.ptr = arena_alloc(a, out.cap);
    out.len = libdeflate_gzip_compress(c, in.ptr, in.len, out.ptr, out.cap);
    libdeflate_free_compressor(c);
    return out;
}

static inline buf draw_file(arena *a, rng *r, buf content)
{
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
    switch (rng_below(r, 6)) {
    case 0:
        return gzip_by_libdeflate(a, content, (int)rng_below(r, 13));
    case 1:
        return pack_gzip(a, content, 1 + (unsigned)rng_below(r, 4));
    case 2:
        return pack_zstd(a, content, 1 + (unsigned)rng_below(r, 4));
    case 3:
        return content.len && pd_format_of(content.ptr, content.len) == PD_FORMAT_PLAIN
                   ? content
                   : pack_zstd(a, content, 1);
    default:
        return gzip_by_zlib(a, content, (int)rng_below(r, 10), strategies[rng_below(r, 4)]);
    }
}

/* How a file is read. */
typedef struct stream_way {
    pd_mem *mem;
    size_t piece;
} stream_way;

/* Reads a file to its end by steps of any length, and appends what it got to *got. */
static inline pprofdelta_status read_stream(pd_stream *s, const stream_way *how, buf file, rng *r,
                                            buf *got, pprofdelta_error *err)
{
    size_t piece = how->piece;
    pprofdelta_status status =
        pd_stream_begin(s, how->mem, (pd_bytes){file.ptr, file.len}, piece, err);
    for (uint64_t from = 0; !status;) {
        pd_bytes out;
        size_t need = 1 + rng_below(r, rng_chance(r, 80) ? piece : piece * 5);
        status = pd_stream_reach(s, from, need, &out, err);
        if (status)
            break;
        size_t take = out.len < need ? out.len : need + rng_below(r, out.len - need + 1);
        CHECK(s->is_done || out.len >= need);
        buf_add(got, out.ptr, take);
        from += take;
        if (s->is_done && take == out.len) {
            CHECK(pd_stream_len(s) == from);
            return pd_stream_finish(s, err);
        }
    }
    return status;
}

#endif

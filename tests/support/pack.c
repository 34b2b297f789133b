#include "pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

typedef void pack_part(buf *out, const uint8_t *in, size_t len);

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "the test could not %s\n", what);
    abort();
}

static buf pack(arena *a, buf in, unsigned parts, pack_part *part)
{
    buf out = buf_begin(a);
    size_t at = 0;
    for (unsigned left = parts ? parts : 1; left; left--) {
        size_t len = left == 1 ? in.len - at : (in.len - at) / left;
        part(&out, in.ptr + at, len);
        at += len;
    }
    return out;
}

static void deflate_member(buf *out, const uint8_t *in, size_t len, int level, int strategy)
{
    z_stream z = {0};
    must(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, strategy) == Z_OK, "set zlib up");
    uLong cap = deflateBound(&z, (uLong)len);
    uint8_t *packed = arena_alloc(out->arena, cap);
    z.next_in = (Bytef *)(uintptr_t)in;
    z.avail_in = (uInt)len;
    z.next_out = packed;
    z.avail_out = (uInt)cap;
    must(deflate(&z, Z_FINISH) == Z_STREAM_END, "gzip");
    buf_add(out, packed, cap - z.avail_out);
    deflateEnd(&z);
}

static void gzip_member(buf *out, const uint8_t *in, size_t len)
{
    deflate_member(out, in, len, 1, Z_DEFAULT_STRATEGY);
}

static void zstd_frame(buf *out, const uint8_t *in, size_t len)
{
    size_t cap = ZSTD_compressBound(len);
    uint8_t *packed = arena_alloc(out->arena, cap);
    size_t packed_len = ZSTD_compress(packed, cap, in, len, 1);
    must(!ZSTD_isError(packed_len), "compress with zstd");
    buf_add(out, packed, packed_len);
}

buf pack_gzip(arena *a, buf in, unsigned members)
{
    return pack(a, in, members, gzip_member);
}

buf pack_gzip_as(arena *a, buf in, int level, int strategy)
{
    buf out = buf_begin(a);
    deflate_member(&out, in.ptr, in.len, level, strategy);
    return out;
}

buf pack_zstd(arena *a, buf in, unsigned frames)
{
    return pack(a, in, frames, zstd_frame);
}

static bool gunzip(const uint8_t *in, size_t len, buf *out)
{
    uint8_t piece[16 << 10];
    z_stream z = {0};
    must(inflateInit2(&z, 15 + 16) == Z_OK, "set zlib up");
    z.next_in = (Bytef *)(uintptr_t)in;
    z.avail_in = (uInt)len;
    int status = Z_OK;
    while (status == Z_OK) {
        z.next_out = piece;
        z.avail_out = sizeof piece;
        status = inflate(&z, Z_NO_FLUSH);
        buf_add(out, piece, sizeof piece - z.avail_out);
        if (status == Z_STREAM_END && z.avail_in)
            status = inflateReset(&z);
    }
    inflateEnd(&z);
    return status == Z_STREAM_END;
}

static bool unzstd(const uint8_t *in, size_t len, buf *out)
{
    uint8_t piece[16 << 10];
    ZSTD_DStream *z = ZSTD_createDStream();
    must(z != NULL, "set zstd up");
    ZSTD_inBuffer from = {in, len, 0};
    size_t left = 1;
    bool more = true;
    while (more && !ZSTD_isError(left)) {
        ZSTD_outBuffer to = {piece, sizeof piece, 0};
        left = ZSTD_decompressStream(z, &to, &from);
        buf_add(out, piece, to.pos);
        more = from.pos < from.size || (left && to.pos == to.size);
    }
    ZSTD_freeDStream(z);
    return left == 0;
}

bool unpack(arena *a, const void *in, size_t len, buf *out)
{
    const uint8_t *bytes = in;
    *out = buf_begin(a);
    buf_add(out, NULL, 0);
    if (len >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0)
        return gunzip(bytes, len, out);
    if (len >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0)
        return unzstd(bytes, len, out);
    buf_add(out, bytes, len);
    return true;
}

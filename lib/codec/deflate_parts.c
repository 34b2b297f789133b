/* The compressors, for what comes a part at a time. */
#include "codec/deflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { ROOM = 64 << 10 }; /* what is made for more output, at least */

void pd_deflate_end(pd_deflater *d)
{
    if (d->zlib)
        deflateEnd(d->zlib);
    free(d->zlib);
    d->zlib = NULL;
}

static pprofdelta_status begin_gzip(pd_deflater *d, pprofdelta_error *err)
{
    enum { GZIP_WINDOW = 15 + 16, MEMORY = 8 };
    int level = d->level ? d->level : PD_GZIP_DEFAULT_LEVEL;
    pd_deflate_end(d);
    z_stream *zlib = calloc(1, sizeof *zlib);
    if (zlib && deflateInit2(zlib, level, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY)) {
        free(zlib);
        zlib = NULL;
    }
    d->zlib = zlib;
    return zlib ? PPROFDELTA_OK : pd_deflate_fail("no memory for a gzip compressor", err);
}

pprofdelta_status pd_deflate_begin(pd_deflater *d, pprofdelta_error *err)
{
    d->out.len = 0;
    if (d->compression == PPROFDELTA_GZIP)
        return begin_gzip(d, err);
    if (d->compression == PPROFDELTA_PLAIN)
        return PPROFDELTA_OK;
    pprofdelta_status status = pd_deflate_zstd(d, err);
    if (!status)
        ZSTD_CCtx_reset(d->zstd, ZSTD_reset_session_only);
    return status;
}

static uInt at_most(size_t len)
{
    return len < UINT32_MAX / 2 ? (uInt)len : UINT32_MAX / 2;
}

/* Takes some of in[*pos..len) and makes some output; *is_done where there is nothing left to do. */
static pprofdelta_status step_gzip(pd_deflater *d, const uint8_t *in, size_t len, size_t *pos,
                                   bool is_last, bool *is_done, pprofdelta_error *err)
{
    z_stream *zlib = d->zlib;
    uInt given = at_most(len - *pos), room = at_most(d->out.cap - d->out.len);
    bool is_end = is_last && given == len - *pos;
    zlib->next_in = (z_const Bytef *)(in + *pos);
    zlib->avail_in = given;
    zlib->next_out = d->out.ptr + d->out.len;
    zlib->avail_out = room;
    int got = deflate(zlib, is_end ? Z_FINISH : Z_NO_FLUSH);
    if (got == Z_STREAM_ERROR)
        return pd_deflate_fail("the gzip compressor is out of order", err);
    *pos += given - zlib->avail_in;
    d->out.len += room - zlib->avail_out;
    *is_done = is_last ? got == Z_STREAM_END : *pos == len;
    return PPROFDELTA_OK;
}

static pprofdelta_status step_zstd(pd_deflater *d, const uint8_t *in, size_t len, size_t *pos,
                                   bool is_last, bool *is_done, pprofdelta_error *err)
{
    ZSTD_inBuffer from = {in, len, *pos};
    ZSTD_outBuffer to = {d->out.ptr, d->out.cap, d->out.len};
    size_t left = ZSTD_compressStream2(d->zstd, &to, &from, is_last ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left))
        return pd_deflate_fail(ZSTD_getErrorName(left), err);
    *pos = from.pos;
    d->out.len = to.pos;
    *is_done = is_last ? left == 0 : *pos == len;
    return PPROFDELTA_OK;
}

static pprofdelta_status copy(pd_deflater *d, pd_mem *mem, const uint8_t *in, size_t len,
                              pprofdelta_error *err)
{
    pprofdelta_status status = pd_buffer_room(mem, &d->out, len, err);
    if (status || !len)
        return status;
    memcpy(d->out.ptr + d->out.len, in, len);
    d->out.len += len;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_deflate_part(pd_deflater *d, pd_mem *mem, const uint8_t *in, size_t len,
                                  bool is_last, pprofdelta_error *err)
{
    if (d->compression == PPROFDELTA_PLAIN)
        return copy(d, mem, in, len, err);
    static const uint8_t nothing[1] = {0};
    pprofdelta_status status = PPROFDELTA_OK;
    size_t pos = 0;
    if (!len)
        in = nothing; /* so that there is something to point to */
    for (bool is_done = false; !status && !is_done;) {
        status = pd_buffer_room(mem, &d->out, ROOM, err);
        if (!status)
            status = d->compression == PPROFDELTA_GZIP
                         ? step_gzip(d, in, len, &pos, is_last, &is_done, err)
                         : step_zstd(d, in, len, &pos, is_last, &is_done, err);
    }
    if (is_last)
        pd_deflate_end(d);
    return status;
}

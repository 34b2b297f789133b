/* The compressors, for what comes a part at a time.
 *
 * zstd's takes it as it comes. For gzip so much is collected that compressing it by itself costs
 * little room, and becomes a part of one member (member.h). */
#include "codec/deflate.h"
#include "codec/member.h"

#include <libdeflate.h>
#include <string.h>
#include <zstd.h>

enum {
    GATHERED = 256 << 10, /* bytes that are compressed at a time */
    ROOM = 64 << 10       /* what is made for more output of zstd's, at least */
};

static pprofdelta_status begin_gzip(pd_deflater *d, pd_mem *mem, pprofdelta_error *err)
{
    size_t none = 0;
    pd_deflate_end(d, mem);
    d->parts.crc = 0;
    d->parts.len = 0;
    if (!pd_deflate_has_gzip(d))
        return pd_deflate_fail("no memory for a gzip compressor", err);
    pprofdelta_status status =
        pd_mem_reserve(mem, &d->parts.check, &none, 1, sizeof *d->parts.check, err);
    if (!status)
        status = pd_buffer_room(mem, &d->parts.in, GATHERED, err);
    if (!status)
        status = pd_buffer_room(mem, &d->out, PD_MEMBER_HEAD, err);
    if (status)
        return status;
    pd_member_head(d->out.ptr);
    d->out.len = PD_MEMBER_HEAD;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_deflate_begin(pd_deflater *d, pd_mem *mem, pprofdelta_error *err)
{
    d->out.len = 0;
    if (d->compression == PPROFDELTA_GZIP)
        return begin_gzip(d, mem, err);
    if (d->compression == PPROFDELTA_PLAIN)
        return PPROFDELTA_OK;
    pprofdelta_status status = pd_deflate_zstd(d, err);
    if (!status)
        ZSTD_CCtx_reset(d->zstd, ZSTD_reset_session_only);
    return status;
}

/* Appends in[0..len) to the member, and the tail where it is the last of it. */
static pprofdelta_status compress(pd_deflater *d, pd_mem *mem, const uint8_t *in, size_t len,
                                  bool is_last, pprofdelta_error *err)
{
    size_t bound = libdeflate_deflate_compress_bound(d->gzip, len);
    pprofdelta_status status =
        pd_buffer_room(mem, &d->out, bound + PD_MEMBER_JOINT + PD_MEMBER_TAIL, err);
    if (status)
        return status;
    uint8_t *at = d->out.ptr + d->out.len;
    size_t made = libdeflate_deflate_compress(d->gzip, in, len, at, bound);
    if (made && !is_last)
        made = pd_member_open(d->parts.check, at, made);
    if (!made)
        return pd_deflate_fail("the gzip compressor has not enough room", err);
    d->parts.crc = libdeflate_crc32(d->parts.crc, in, len);
    d->parts.len += len;
    d->out.len += made;
    if (is_last) {
        pd_member_tail(at + made, d->parts.crc, d->parts.len);
        d->out.len += PD_MEMBER_TAIL;
    }
    return PPROFDELTA_OK;
}

static pprofdelta_status gzip_part(pd_deflater *d, pd_mem *mem, const uint8_t *in, size_t len,
                                   bool is_last, pprofdelta_error *err)
{
    pd_buffer *gathered = &d->parts.in;
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && len) {
        size_t room = GATHERED - gathered->len, some = len < room ? len : room;
        if (some == GATHERED) {
            status = compress(d, mem, in, some, false, err);
        } else {
            memcpy(gathered->ptr + gathered->len, in, some);
            gathered->len += some;
        }
        if (gathered->len == GATHERED) {
            status = compress(d, mem, gathered->ptr, GATHERED, false, err);
            gathered->len = 0;
        }
        in += some;
        len -= some;
    }
    if (!status && is_last)
        status = compress(d, mem, gathered->ptr, gathered->len, true, err);
    return status;
}

static pprofdelta_status zstd_part(pd_deflater *d, pd_mem *mem, const uint8_t *in, size_t len,
                                   bool is_last, pprofdelta_error *err)
{
    ZSTD_inBuffer from = {in, len, 0};
    for (bool is_done = false; !is_done;) {
        pprofdelta_status status = pd_buffer_room(mem, &d->out, ROOM, err);
        if (status)
            return status;
        ZSTD_outBuffer to = {d->out.ptr, d->out.cap, d->out.len};
        size_t left =
            ZSTD_compressStream2(d->zstd, &to, &from, is_last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return pd_deflate_fail(ZSTD_getErrorName(left), err);
        d->out.len = to.pos;
        is_done = is_last ? left == 0 : from.pos == len;
    }
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
    pprofdelta_status status = d->compression == PPROFDELTA_GZIP
                                   ? gzip_part(d, mem, in, len, is_last, err)
                                   : zstd_part(d, mem, in, len, is_last, err);
    if (is_last)
        pd_deflate_end(d, mem);
    return status;
}

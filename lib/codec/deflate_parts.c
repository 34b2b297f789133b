/* The compressors, for what comes a part at a time.
 *
 * For gzip each part becomes one of a member (member.h). zstd's gets what is short in one call, and
 * what is long as it comes (deflate_zstd.c). */
#include "codec/cut.h"
#include "codec/deflate.h"
#include "codec/member.h"

#include <libdeflate.h>
#include <string.h>

static pprofdelta_status begin_gzip(pd_deflater *d, pd_mem *mem, pprofdelta_error *err)
{
    if (!pd_deflate_has_gzip(d))
        return pd_deflate_fail("no memory for a gzip compressor", err);
    pprofdelta_status status = pd_buffer_room(mem, &d->out, PD_MEMBER_HEAD, err);
    if (status)
        return status;
    pd_member_head(d->out.ptr);
    d->out.len = PD_MEMBER_HEAD;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_deflate_begin(pd_deflater *d, pd_mem *mem, pprofdelta_error *err)
{
    d->out.len = d->parts.in.len = 0;
    d->parts.len = 0;
    d->parts.crc = 0;
    d->parts.is_long = false;
    return d->compression == PPROFDELTA_GZIP ? begin_gzip(d, mem, err) : PPROFDELTA_OK;
}

/* Appends in[0..len) to the member, and the tail where it is the last of it. */
static pprofdelta_status gzip_part(pd_deflater *d, pd_mem *mem, pd_bytes in, bool is_last,
                                   pprofdelta_error *err)
{
    size_t bound = libdeflate_deflate_compress_bound(d->gzip, in.len), has = d->parts.check != NULL;
    pprofdelta_status status =
        pd_buffer_room(mem, &d->out, bound + PD_MEMBER_JOINT + PD_MEMBER_TAIL, err);
    if (!status && !is_last)
        status = pd_mem_reserve(mem, &d->parts.check, &has, 1, sizeof *d->parts.check, err);
    if (status)
        return status;
    uint8_t *at = d->out.ptr + d->out.len;
    size_t made = libdeflate_deflate_compress(d->gzip, in.ptr, in.len, at, bound);
    if (made && !is_last)
        made = pd_member_open(d->parts.check, at, made);
    if (!made)
        return pd_deflate_fail("the gzip compressor has not enough room", err);
    if (in.len)
        d->parts.crc = libdeflate_crc32(d->parts.crc, in.ptr, in.len);
    d->out.len += made;
    if (is_last) {
        pd_member_tail(at + made, d->parts.crc, d->parts.len);
        d->out.len += PD_MEMBER_TAIL;
    }
    return PPROFDELTA_OK;
}

static pprofdelta_status append(pd_mem *mem, pd_buffer *to, pd_bytes in, pprofdelta_error *err)
{
    pprofdelta_status status = pd_buffer_room(mem, to, in.len, err);
    if (status || !in.len)
        return status;
    memcpy(to->ptr + to->len, in.ptr, in.len);
    to->len += in.len;
    return PPROFDELTA_OK;
}

/* All of what is short, at the end. */
static pprofdelta_status end_short(pd_deflater *d, pd_mem *mem, pprofdelta_error *err)
{
    pd_bytes out, in = {d->parts.in.ptr, d->parts.in.len};
    pprofdelta_status status = pd_deflate_prepare(d, mem, in.len, err);
    return status ? status : pd_deflate_whole(d, in.ptr, in.len, &out, err);
}

static pprofdelta_status zstd_part(pd_deflater *d, pd_mem *mem, pd_bytes in, bool is_last,
                                   pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    if (!d->parts.is_long && d->parts.len > PD_ZSTD_SHORT) {
        status = pd_zstd_begin_long(d, mem, err);
        if (!status)
            status = pd_zstd_add_long(d, mem, (pd_bytes){d->parts.in.ptr, d->parts.in.len}, err);
        pd_buffer_release(mem, &d->parts.in);
        d->parts.is_long = true;
    }
    if (!status)
        status = d->parts.is_long ? pd_zstd_add_long(d, mem, in, err)
                                  : append(mem, &d->parts.in, in, err);
    if (status || !is_last)
        return status;
    return d->parts.is_long ? pd_zstd_end_long(d, mem, d->parts.len, err) : end_short(d, mem, err);
}

pprofdelta_status pd_deflate_part(pd_deflater *d, pd_mem *mem, const uint8_t *in, size_t len,
                                  bool is_last, pprofdelta_error *err)
{
    pd_bytes part = {in, len};
    pprofdelta_status status;
    d->parts.len += len;
    if (d->compression == PPROFDELTA_GZIP)
        status = gzip_part(d, mem, part, is_last, err);
    else if (d->compression == PPROFDELTA_ZSTD)
        status = zstd_part(d, mem, part, is_last, err);
    else
        status = append(mem, &d->out, part, err);
    if (is_last && mem->is_tight)
        pd_deflate_end(d, mem);
    return status;
}

/* The parts of a whole, one after the other. */
static pprofdelta_status cut(pd_deflater *d, pd_mem *mem, pd_bytes in, size_t early, size_t part,
                             pprofdelta_error *err)
{
    size_t at = 0, rest = pd_cut_rest(part, in.len - early / part * part);
    pprofdelta_status status = pd_deflate_begin(d, mem, err);
    for (size_t left = early / part + rest; left && !status; left--) {
        size_t len = left > rest ? part : (in.len - at) / left;
        status = pd_deflate_part(d, mem, in.ptr + at, len, left == 1, err);
        at += len;
    }
    return status;
}

pprofdelta_status pd_deflate_cut(pd_deflater *d, pd_mem *mem, pd_bytes in, size_t early,
                                 size_t part, pd_bytes *out, pprofdelta_error *err)
{
    pprofdelta_status status;
    if (d->compression != PPROFDELTA_GZIP || (early < part && pd_cut_rest(part, in.len) == 1)) {
        status = pd_deflate_prepare(d, mem, in.len, err);
        return status ? status : pd_deflate_whole(d, in.ptr, in.len, out, err);
    }
    status = cut(d, mem, in, early, part, err);
    *out = (pd_bytes){d->out.ptr, d->out.len};
    return status;
}

/* Room for the whole output is made first, by the compression library's own bound, so that nothing
 * is compressed twice. Compressor and output buffer are kept for the next call. */
#include "codec/compress.h"
#include "codec/member.h"

#include <inttypes.h>

enum { AROUND = PD_MEMBER_HEAD + PD_MEMBER_TAIL };

void pd_compressor_fini(pd_compressor *compressor, pd_mem *mem)
{
    pd_gzip_free(compressor->gzip);
    pd_zstd_free(compressor->zstd);
    pd_buffer_release(mem, &compressor->out);
    compressor->gzip = compressor->zstd = NULL;
}

pprofdelta_status pd_compress_failed(const char *why, pprofdelta_error *err)
{
    return pd_fail(err, PPROFDELTA_E_MEMORY, "memory", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                   "%s", why);
}

pprofdelta_status pd_compress_refused(uint64_t len, pprofdelta_error *err)
{
    return pd_fail(err, PPROFDELTA_E_SINK, "write", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                   "the output of %" PRIu64 " bytes was refused", len);
}

static pprofdelta_status to_gzip(pd_compressor *c, pd_mem *mem, pd_bytes in, pprofdelta_error *err)
{
    pprofdelta_status status = pd_gzip_ready(&c->gzip, c->level, err);
    if (status)
        return status;
    size_t bound = pd_gzip_bound(in.len);
    c->out.len = 0;
    status = pd_buffer_room(mem, &c->out, bound + AROUND, err);
    if (status)
        return status;
    uint8_t *data = c->out.ptr + PD_MEMBER_HEAD;
    size_t made = pd_gzip_deflate(c->gzip, in, data, bound);
    if (!made)
        return pd_compress_failed("the gzip compressor has not enough room", err);
    pd_member_head(c->out.ptr);
    pd_member_tail(data + made, pd_gzip_crc(0, in), in.len);
    c->out.len = made + AROUND;
    return PPROFDELTA_OK;
}

static pprofdelta_status to_short_zstd(pd_compressor *c, pd_mem *mem, pd_bytes in,
                                       pprofdelta_error *err)
{
    const char *why;
    c->out.len = 0;
    pprofdelta_status status = pd_buffer_room(mem, &c->out, pd_zstd_bound(in.len), err);
    if (status)
        return status;
    c->out.len = pd_zstd_short(c->zstd, in, c->out.ptr, c->out.cap, &why);
    return c->out.len ? PPROFDELTA_OK : pd_compress_failed(why, err);
}

static pprofdelta_status to_long_zstd(pd_compressor *c, pd_mem *mem, pd_bytes in,
                                      pprofdelta_error *err)
{
    pprofdelta_status status = pd_zstd_begin(c->zstd, mem, &c->out, err);
    if (!status)
        status = pd_zstd_add(c->zstd, mem, in, &c->out, err);
    return status ? status : pd_zstd_end(c->zstd, mem, in.len, &c->out, err);
}

static pprofdelta_status to_zstd(pd_compressor *c, pd_mem *mem, pd_bytes in, pprofdelta_error *err)
{
    pprofdelta_status status = pd_zstd_ready(&c->zstd, c->level, err);
    if (status)
        return status;
    return in.len > PD_ZSTD_SHORT ? to_long_zstd(c, mem, in, err) : to_short_zstd(c, mem, in, err);
}

pprofdelta_status pd_compress(pd_compressor *c, pd_mem *mem, pd_bytes in,
                              const pprofdelta_sink *sink, uint64_t *written, pprofdelta_error *err)
{
    pd_bytes out = in;
    pprofdelta_status status = PPROFDELTA_OK;
    if (c->compression != PPROFDELTA_PLAIN) {
        status =
            c->compression == PPROFDELTA_GZIP ? to_gzip(c, mem, in, err) : to_zstd(c, mem, in, err);
        out = (pd_bytes){c->out.ptr, c->out.len};
    }
    if (status)
        return status;
    if (sink->write(sink->cookie, out.ptr, out.len) != 0)
        return pd_compress_refused(out.len, err);
    *written = out.len;
    return PPROFDELTA_OK;
}

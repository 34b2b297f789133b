/* The compressors. Each compresses a whole buffer into one that its own bound has sized, so that
 * there is no loop and no second attempt; compressor and buffer are kept for the next window. */
#include "codec/deflate.h"
#include "codec/member.h"

#include <inttypes.h>
#include <libdeflate.h>
#include <zstd.h>

enum { AROUND = PD_MEMBER_HEAD + PD_MEMBER_TAIL };

void pd_deflate_end(pd_deflater *d, pd_mem *mem)
{
    size_t one = d->parts.check != NULL;
    pd_mem_release(mem, &d->parts.check, &one, sizeof *d->parts.check);
    pd_buffer_release(mem, &d->parts.in);
}

void pd_deflater_fini(pd_deflater *deflater, pd_mem *mem)
{
    pd_deflate_end(deflater, mem);
    libdeflate_free_compressor(deflater->gzip);
    ZSTD_freeCCtx(deflater->zstd);
    pd_buffer_release(mem, &deflater->out);
    deflater->gzip = deflater->zstd = NULL;
}

pprofdelta_status pd_deflate_fail(const char *what, pprofdelta_error *err)
{
    return pd_fail(err, PPROFDELTA_E_MEMORY, "memory", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                   "%s", what);
}

/* Chosen for speed, on heap profiles and their deltas: gzip's 2 saves 4 to 6 percent over its 1 for
 * 6 percent of a whole run where the delta is large and nothing where it is small, its 3 saves
 * hardly more; zstd's 3 takes hardly longer than its 1 on an output as small as a delta and saves
 * 4 to 7, from its 5 on it takes twice as long. */
void *pd_deflate_new_gzip(const pd_deflater *deflater)
{
    return libdeflate_alloc_compressor(deflater->level ? deflater->level : PD_GZIP_DEFAULT_LEVEL);
}

bool pd_deflate_has_gzip(pd_deflater *deflater)
{
    if (!deflater->gzip)
        deflater->gzip = pd_deflate_new_gzip(deflater);
    return deflater->gzip != NULL;
}

void pd_deflate_warm_gzip(void *gzip)
{
    uint8_t in[1024], out[2048];
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)(i * i >> 3);
    libdeflate_gzip_compress(gzip, in, sizeof in, out, sizeof out);
}

void pd_deflate_warm(pd_deflater *deflater)
{
    if (deflater->compression == PPROFDELTA_GZIP && pd_deflate_has_gzip(deflater))
        pd_deflate_warm_gzip(deflater->gzip);
}

static ZSTD_CCtx *new_zstd(int level)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (zstd && (ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level)) ||
                 ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1)))) {
        ZSTD_freeCCtx(zstd);
        return NULL;
    }
    return zstd;
}

pprofdelta_status pd_deflate_zstd(pd_deflater *deflater, pprofdelta_error *err)
{
    int level = deflater->level ? deflater->level : PD_ZSTD_DEFAULT_LEVEL;
    if (!deflater->zstd && !(deflater->zstd = new_zstd(level)))
        return pd_deflate_fail("no memory for a zstd compressor", err);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_deflate_prepare(pd_deflater *deflater, pd_mem *mem, size_t len,
                                     pprofdelta_error *err)
{
    size_t bound;
    if (deflater->compression == PPROFDELTA_PLAIN)
        return PPROFDELTA_OK;
    if (deflater->compression == PPROFDELTA_GZIP) {
        if (!pd_deflate_has_gzip(deflater))
            return pd_deflate_fail("no memory for a gzip compressor", err);
        bound = libdeflate_deflate_compress_bound(deflater->gzip, len) + AROUND;
    } else {
        pprofdelta_status status = pd_deflate_zstd(deflater, err);
        if (status)
            return status;
        bound = ZSTD_compressBound(len) + (len > PD_ZSTD_SHORT ? 2 * PD_ZSTD_ROOM : 0);
    }
    return pd_mem_grow(mem, &deflater->out.ptr, &deflater->out.cap, bound, 1, err);
}

/* The header is that of what is cut into parts, for every level. */
static pprofdelta_status to_gzip(pd_deflater *deflater, const uint8_t *in, size_t len,
                                 pprofdelta_error *err)
{
    pd_buffer *out = &deflater->out;
    uint8_t *data = out->ptr + PD_MEMBER_HEAD;
    size_t made = libdeflate_deflate_compress(deflater->gzip, in, len, data, out->cap - AROUND);
    if (!made)
        return pd_deflate_fail("the gzip compressor has not enough room", err);
    pd_member_head(out->ptr);
    pd_member_tail(data + made, libdeflate_crc32(0, in, len), len);
    out->len = made + AROUND;
    return PPROFDELTA_OK;
}

/* What is long has room enough: nothing is allocated. */
static pprofdelta_status to_long_zstd(pd_deflater *deflater, pd_bytes in, pprofdelta_error *err)
{
    pd_mem none = {.limit = 0};
    pprofdelta_status status = pd_zstd_begin_long(deflater, &none, err);
    if (!status)
        status = pd_zstd_add_long(deflater, &none, in, err);
    return status ? status : pd_zstd_end_long(deflater, &none, in.len, err);
}

static pprofdelta_status to_zstd(pd_deflater *deflater, const uint8_t *in, size_t len,
                                 pprofdelta_error *err)
{
    pd_buffer *out = &deflater->out;
    if (len > PD_ZSTD_SHORT)
        return to_long_zstd(deflater, (pd_bytes){in, len}, err);
    size_t made = ZSTD_compress2(deflater->zstd, out->ptr, out->cap, in, len);
    if (ZSTD_isError(made))
        return pd_deflate_fail(ZSTD_getErrorName(made), err);
    out->len = made;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_deflate_refused(uint64_t len, pprofdelta_error *err)
{
    return pd_fail(err, PPROFDELTA_E_SINK, "write", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                   "the output of %" PRIu64 " bytes was refused", len);
}

pprofdelta_status pd_deflate_hand_over(pd_bytes out, const pprofdelta_sink *sink, uint64_t *written,
                                       pprofdelta_error *err)
{
    if (sink->write(sink->cookie, out.ptr, out.len) != 0)
        return pd_deflate_refused(out.len, err);
    *written = out.len;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_deflate_whole(pd_deflater *deflater, const uint8_t *in, size_t len,
                                   pd_bytes *out, pprofdelta_error *err)
{
    *out = (pd_bytes){in, len};
    if (deflater->compression == PPROFDELTA_PLAIN)
        return PPROFDELTA_OK;
    pprofdelta_status status = deflater->compression == PPROFDELTA_GZIP
                                   ? to_gzip(deflater, in, len, err)
                                   : to_zstd(deflater, in, len, err);
    *out = (pd_bytes){deflater->out.ptr, deflater->out.len};
    return status;
}

pprofdelta_status pd_deflate(pd_deflater *deflater, pd_mem *mem, const uint8_t *in, size_t len,
                             const pprofdelta_sink *sink, uint64_t *written, pprofdelta_error *err)
{
    pd_bytes out;
    pprofdelta_status status = pd_deflate_prepare(deflater, mem, len, err);
    if (!status)
        status = pd_deflate_whole(deflater, in, len, &out, err);
    return status ? status : pd_deflate_hand_over(out, sink, written, err);
}

pprofdelta_status pd_deflate_write(const pd_deflater *deflater, const pprofdelta_sink *sink,
                                   uint64_t *written, pprofdelta_error *err)
{
    return pd_deflate_hand_over((pd_bytes){deflater->out.ptr, deflater->out.len}, sink, written,
                                err);
}

/* Room for the whole output is made first, by the compression library's own bound, so that nothing
 * is compressed twice (unless memory is short). Compressor and output buffer are kept for the next call. */
#include "codec/compress.h"

void pd_compressor_fini(pd_compressor *compressor, pd_mem *mem)
{
    pd_gzip_free(compressor->gzip);
    pd_zstd_free(compressor->zstd);
    pd_buffer_release(mem, &compressor->out);
    compressor->gzip = compressor->zstd = NULL;
}

pprofdelta_status pd_compress_bytes(pd_compressor *c, pd_mem *mem, pd_bytes in, pd_bytes *out,
                                    pprofdelta_error *err)
{
    if (c->compression == PPROFDELTA_PLAIN) {
        *out = in;
        return PPROFDELTA_OK;
    }
    c->out.len = 0;
    /* What is added to a buffer is not touched before it is used, and most of the bound is not. An
     * allocator may make all of a new buffer ready. */
    pprofdelta_status status = pd_buffer_room(mem, &c->out, 1, err);
    if (!status)
        status = c->compression == PPROFDELTA_GZIP ? pd_gzip_compress(c, mem, in, err)
                                                   : pd_zstd_compress(c, mem, in, err);
    if (!status)
        *out = (pd_bytes){c->out.ptr, c->out.len};
    return status;
}

pprofdelta_status pd_compress_write(pd_bytes bytes, const pprofdelta_sink *sink, uint64_t *written,
                                    pprofdelta_error *err)
{
    if (sink->write(sink->cookie, bytes.ptr, bytes.len) != 0)
        return pd_fail(err, PPROFDELTA_E_SINK, "write", NULL, PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "the output of %zu bytes was refused", bytes.len);
    *written = bytes.len;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_compress(pd_compressor *c, pd_mem *mem, pd_bytes in,
                              const pprofdelta_sink *sink, uint64_t *written, pprofdelta_error *err)
{
    pd_bytes out;
    pprofdelta_status status = pd_compress_bytes(c, mem, in, &out, err);
    return status ? status : pd_compress_write(out, sink, written, err);
}

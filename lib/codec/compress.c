/* Room for the whole output is made first, by the compression library's own bound, so that nothing
 * is compressed twice (unless memory is short). Compressor and output buffer are kept for the next call. */
#include "codec/compress.h"

static const pd_packer *packer_of(const pd_compressor *c)
{
    return c->compression == PPROFDELTA_GZIP ? &pd_gzip_packer : &pd_zstd_packer;
}

void pd_compressor_fini(pd_compressor *c, pd_mem *mem)
{
    if (c->state)
        packer_of(c)->end(c->state);
    c->state = NULL;
    pd_buffer_release(mem, &c->out);
}

pprofdelta_status pd_compress_bytes(pd_compressor *c, pd_mem *mem, pd_bytes in, pd_bytes *out,
                                    pprofdelta_error *err)
{
    if (c->compression == PPROFDELTA_PLAIN) {
        *out = in;
        return PPROFDELTA_OK;
    }
    const pd_packer *packer = packer_of(c);
    if (!packer->bound)
        return pd_refuse(err, "options.compression: this build of the library does not compress");
    size_t bound = packer->bound(c, in.len);
    size_t room = mem->is_tight ? bound / 2 + 64 : bound; /* profiles shrink 3 to 10 times */
    for (c->out.len = 0; bound; room = bound) {
        pprofdelta_status status = pd_buffer_room(mem, &c->out, room, err);
        if (status)
            return status;
        c->out.len = packer->pack(c, in);
        *out = (pd_bytes){c->out.ptr, c->out.len};
        if (c->out.len)
            return PPROFDELTA_OK;
        if (room == bound)
            break;
    }
    return pd_no_memory(err, "a compressor");
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
    pd_bytes out = {NULL, 0};
    pprofdelta_status status = pd_compress_bytes(c, mem, in, &out, err);
    return status ? status : pd_compress_write(out, sink, written, err);
}

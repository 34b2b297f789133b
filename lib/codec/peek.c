/* Beside unpack.h, which wants the whole file: there, zstd's frames are checked before they are
 * inflated. */
#include "codec/peek.h"

#include "codec/unpack.h"

#include <string.h>
#include <zstd.h>

static pprofdelta_status peek_zstd(pd_bytes in, ZSTD_outBuffer *to, bool *is_good,
                                   pprofdelta_error *err)
{
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    if (!zstd)
        return pd_no_memory(err, "a zstd decompressor");
    ZSTD_inBuffer from = {in.ptr, in.len, 0};
    size_t left = 0;
    while (!ZSTD_isError(left) && from.pos < from.size && to->pos < to->size)
        left = ZSTD_decompressStream(zstd, to, &from);
    *is_good = to->pos || left == 0;
    ZSTD_freeDCtx(zstd);
    return PPROFDELTA_OK;
}

static pprofdelta_status peek_gzip(pd_mem *mem, pd_bytes in, ZSTD_outBuffer *to, bool *is_good,
                                   pprofdelta_error *err)
{
    pd_unpacker unpacker = {0};
    pprofdelta_status status = pd_unpack_begin(&unpacker, mem, in.ptr, in.len, err);
    if (!status)
        *is_good = !pd_unpack_some(&unpacker, to->dst, to->size, &to->pos, NULL);
    if (!*is_good)
        to->pos = 0;
    pd_unpack_end(&unpacker);
    return status;
}

pprofdelta_status pd_peek(pd_mem *mem, pd_bytes in, uint8_t *out, size_t room, size_t *made,
                          bool *is_good, pprofdelta_error *err)
{
    ZSTD_outBuffer to = {out, room, 0};
    pprofdelta_status status = PPROFDELTA_OK;
    *is_good = true;
    switch (pd_format_of(in.ptr, in.len)) {
    case PD_FORMAT_GZIP:
        status = peek_gzip(mem, in, &to, is_good, err);
        break;
    case PD_FORMAT_ZSTD:
        status = peek_zstd(in, &to, is_good, err);
        break;
    case PD_FORMAT_PLAIN:
        to.pos = in.len < room ? in.len : room;
        if (to.pos)
            memcpy(out, in.ptr, to.pos);
        break;
    }
    *made = to.pos;
    return status;
}

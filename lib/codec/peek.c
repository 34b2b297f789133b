/* Beside unpack.h, which wants the whole file: there, zstd's frames are checked before they are
 * inflated. */
#include "codec/peek.h"

#include "codec/unpack.h"

#include <string.h>

static pprofdelta_status peek_gzip(pd_mem *mem, pd_bytes in, uint8_t *out, size_t room,
                                   size_t *made, bool *is_good, pprofdelta_error *err)
{
    pd_unpacker unpacker = {0};
    pprofdelta_status status = pd_unpack_begin(&unpacker, mem, in.ptr, in.len, err);
    if (!status)
        *is_good = !pd_unpack_some(&unpacker, out, room, made, NULL);
    if (!*is_good)
        *made = 0;
    pd_unpack_end(&unpacker);
    return status;
}

pprofdelta_status pd_peek(pd_mem *mem, pd_bytes in, uint8_t *out, size_t room, size_t *made,
                          bool *is_good, pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    *made = 0;
    *is_good = true;
    switch (pd_format_of(in.ptr, in.len)) {
    case PD_FORMAT_GZIP:
        status = peek_gzip(mem, in, out, room, made, is_good, err);
        break;
    case PD_FORMAT_ZSTD:
        status = pd_zstd_peek(in, out, room, made, is_good, err);
        break;
    case PD_FORMAT_PLAIN:
        *made = in.len < room ? in.len : room;
        if (*made)
            memcpy(out, in.ptr, *made);
        break;
    }
    return status;
}

/* zstd's compressor for what is long.
 *
 *     [ magic | descriptor | window | length | blocks ... | checksum ]
 *
 * The length is not known while the first blocks are made, so the library is not told it and leaves
 * it out; its place in the frame's header is kept free, and filled at the end. The library is given
 * the bytes and told of the end in separate calls. Then it cuts them into the same blocks however
 * they come, which it does not where one call does both. */
#include "codec/deflate.h"

#include <string.h>
#include <zstd.h>

enum {
    DESCRIPTOR = 4,      /* where the frame's descriptor is */
    HEAD = 6,            /* what the library writes up to the blocks */
    LENGTH = 8,          /* bytes of the content's length */
    HAS_LENGTH = 3 << 6, /* in the descriptor: there is one of 8 bytes */
};

pprofdelta_status pd_zstd_begin_long(pd_deflater *d, pd_mem *mem, pprofdelta_error *err)
{
    d->out.len = 0;
    pprofdelta_status status = pd_deflate_zstd(d, err);
    if (!status)
        status = pd_buffer_room(mem, &d->out, LENGTH + PD_ZSTD_ROOM, err);
    if (status)
        return status;
    ZSTD_CCtx_reset(d->zstd, ZSTD_reset_session_only);
    d->out.len = LENGTH;
    return PPROFDELTA_OK;
}

/* Hands in[0..len) to the library, or tells it of the end. */
static pprofdelta_status hand_in(pd_deflater *d, pd_mem *mem, pd_bytes in, bool is_end,
                                 pprofdelta_error *err)
{
    ZSTD_inBuffer from = {in.ptr, in.len, 0};
    for (bool is_done = false; !is_done;) {
        pprofdelta_status status = pd_buffer_room(mem, &d->out, PD_ZSTD_ROOM, err);
        if (status)
            return status;
        ZSTD_outBuffer to = {d->out.ptr, d->out.cap, d->out.len};
        size_t left =
            ZSTD_compressStream2(d->zstd, &to, &from, is_end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return pd_deflate_fail(ZSTD_getErrorName(left), err);
        d->out.len = to.pos;
        is_done = is_end ? left == 0 : from.pos == in.len;
    }
    return PPROFDELTA_OK;
}

pprofdelta_status pd_zstd_add_long(pd_deflater *d, pd_mem *mem, pd_bytes in, pprofdelta_error *err)
{
    return in.len ? hand_in(d, mem, in, false, err) : PPROFDELTA_OK;
}

pprofdelta_status pd_zstd_end_long(pd_deflater *d, pd_mem *mem, uint64_t len, pprofdelta_error *err)
{
    pprofdelta_status status = hand_in(d, mem, (pd_bytes){NULL, 0}, true, err);
    if (status)
        return status;
    uint8_t *head = d->out.ptr;
    memmove(head, head + LENGTH, HEAD);
    head[DESCRIPTOR] |= HAS_LENGTH;
    for (int i = 0; i < LENGTH; i++)
        head[HEAD + i] = (uint8_t)(len >> 8 * i);
    return PPROFDELTA_OK;
}

#include "codec/unpack.h"

#include <string.h>

pprofdelta_status pd_unpack_begin(pd_unpacker *u, pd_mem *mem, const uint8_t *in, size_t len,
                                  pprofdelta_error *err)
{
    u->mem = mem;
    u->in = in;
    u->in_len = len;
    u->pos = u->member_off = 0;
    u->format = pd_format_of(in, len);
    u->is_done = u->in_member = false;
    u->len = 0;
    if (u->format != PD_FORMAT_GZIP)
        return PPROFDELTA_OK;
    u->backend = u->backend ? u->backend : pd_inflate_backend_used();
    return pd_mem_reserve(mem, &u->state, &u->state_cap, u->backend->size, 1, err);
}

static pprofdelta_status copy_plain(pd_unpacker *u, uint8_t *out, size_t room, size_t *made)
{
    size_t left = u->in_len - u->pos;
    *made = room < left ? room : left;
    if (*made)
        memcpy(out, u->in + u->pos, *made);
    u->pos += *made;
    u->len += *made;
    u->is_done = u->pos == u->in_len;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_unpack_some(pd_unpacker *u, uint8_t *out, size_t room, size_t *made,
                                 pprofdelta_error *err)
{
    pprofdelta_status status;
    *made = 0;
    if (u->format == PD_FORMAT_GZIP)
        status = pd_unpack_gzip(u, out, room, made, err);
    else if (u->format == PD_FORMAT_ZSTD)
        status = pd_unpack_zstd(u, out, room, made, err);
    else
        status = copy_plain(u, out, room, made);
    bool is_refused = status == PPROFDELTA_E_INFLATE && u->format == PD_FORMAT_GZIP;
    if ((!status || is_refused) && pd_unpack_is_too_large(u)) {
        uint64_t announced = pd_inflate_announced(u->in, u->in_len);
        status = pd_inflate_too_large(u->mem, announced > u->mem->limit, u->member_off, err);
    }
    return status;
}

void pd_unpack_end(pd_unpacker *u)
{
    if (!u->mem)
        return;
    pd_unpack_zstd_end(u);
    pd_mem_release(u->mem, &u->state, &u->state_cap, 1);
    *u = (pd_unpacker){0};
}

/* gzip, a piece at a time: see gzip.c for what a file consists of. */
#include "codec/gzip.h"
#include "codec/unpack.h"

#include <libdeflate.h>

static pd_gzip_source source_at(const pd_unpacker *u, size_t pos)
{
    return (pd_gzip_source){u->in, u->in_len, pos};
}

static pprofdelta_status read_header(pd_unpacker *u, pprofdelta_error *err)
{
    pd_gzip_source source = source_at(u, u->pos);
    pprofdelta_status status = pd_gzip_read_header(&source, err);
    if (status)
        return status;
    u->pos = u->member_off = source.pos;
    u->member_len = 0;
    u->crc = 0;
    u->in_member = true;
    pd_decode_begin(u->decoder);
    return PPROFDELTA_OK;
}

/* Behind a member: another one, or the end. */
static pprofdelta_status read_trailer(pd_unpacker *u, pprofdelta_error *err)
{
    pd_gzip_source source = source_at(u, u->pos);
    pprofdelta_status status = pd_gzip_read_trailer(&source, u->crc, u->member_len, err);
    if (status)
        return status;
    u->pos = source.pos;
    u->in_member = false;
    u->is_done = pd_format_of(u->in + u->pos, u->in_len - u->pos) != PD_FORMAT_GZIP;
    return u->is_done ? pd_gzip_read_end(&source, err) : PPROFDELTA_OK;
}

pprofdelta_status pd_unpack_gzip(pd_unpacker *u, uint8_t *out, size_t room, size_t *made,
                                 pprofdelta_error *err)
{
    uint8_t *start = out, *end = out + room;
    while (!u->is_done && out < end) {
        pprofdelta_status status = u->in_member ? PPROFDELTA_OK : read_header(u, err);
        if (status)
            return status;
        pd_decode_run run = {u->in + u->pos, u->in + u->in_len, out, end};
        pd_decode_end how = pd_decode(u->decoder, &run);
        u->pos = (size_t)(run.in - u->in);
        u->crc = libdeflate_crc32(u->crc, out, (size_t)(run.out - out));
        u->member_len += (uint64_t)(run.out - out);
        out = run.out;
        if (how == PD_DECODE_BAD) {
            pd_gzip_source body = source_at(u, u->member_off);
            return pd_gzip_explain(&body, err);
        }
        if (how == PD_DECODE_DONE && (status = read_trailer(u, err)))
            return status;
    }
    *made = (size_t)(out - start);
    return PPROFDELTA_OK;
}

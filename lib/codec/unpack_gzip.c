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
    if (u->backend->begin(u->state))
        return PPROFDELTA_OK;
    return pd_no_memory(err, "a gzip decompressor");
}

/* The member was refused, with *err set. Counts all that it inflates to before the damage: how much of
 * that was made when the backend came to the damage depends on the pieces. */
static pprofdelta_status refuse(pd_unpacker *u, pprofdelta_error *err)
{
    pd_gzip_source body = source_at(u, u->member_off);
    uint64_t good;
    pprofdelta_status status = pd_gzip_explain(&body, &good, err);
    u->len += good > u->member_len ? good - u->member_len : 0;
    return status;
}

/* Behind the deflate data: another member, or the end. */
static pprofdelta_status read_trailer(pd_unpacker *u, pprofdelta_error *err)
{
    pd_gzip_source source = source_at(u, u->pos);
    pprofdelta_status status = pd_gzip_read_trailer(&source, u->crc, u->member_len, err);
    if (status)
        return refuse(u, err);
    u->pos = source.pos;
    u->in_member = false;
    u->is_done = pd_format_of(u->in + u->pos, u->in_len - u->pos) != PD_FORMAT_GZIP;
    return u->is_done ? pd_gzip_read_end(&source, err) : PPROFDELTA_OK;
}

/* Inflates a part of the member into run->out. */
static pprofdelta_status read_some(pd_unpacker *u, pd_inflate_run *run, pprofdelta_error *err)
{
    const uint8_t *start = run->out;
    pd_inflate_end how = u->backend->some(u->state, run);
    if (how == PD_INFLATE_BAD) {
        PD_REFUSE(err, u->member_off, "the deflate data is damaged");
        return refuse(u, err);
    }
    size_t made = (size_t)(run->out - start);
    u->crc = libdeflate_crc32(u->crc, start, made);
    u->member_len += made;
    u->len += made;
    u->pos = (size_t)(run->in - u->in);
    return how == PD_INFLATE_DONE ? read_trailer(u, err) : PPROFDELTA_OK;
}

pprofdelta_status pd_unpack_gzip(pd_unpacker *u, uint8_t *out, size_t room, size_t *made,
                                 pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    uint8_t *end = out + room;
    pd_inflate_run run = {.in_end = u->in + u->in_len, .out = out, .out_end = end};
    /* It stops in the member that makes it too large, whatever the room, for that one is named. */
    while (!status && !u->is_done && run.out < run.out_end && !pd_unpack_is_too_large(u)) {
        if (!u->in_member && (status = read_header(u, err)))
            break;
        run.in = u->in + u->pos;
        status = read_some(u, &run, err);
    }
    *made = (size_t)(run.out - out);
    return status;
}

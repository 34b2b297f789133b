/* gzip, a piece at a time: see gzip.c for what a file consists of. */
#include "codec/gzip.h"
#include "codec/stream.h"

#include <libdeflate.h>

static pd_gzip_source source_at(const pd_stream *s, size_t pos)
{
    return (pd_gzip_source){s->in, s->in_len, pos};
}

static pprofdelta_status read_header(pd_stream *s, pprofdelta_error *err)
{
    pd_gzip_source source = source_at(s, s->pos);
    pprofdelta_status status = pd_gzip_read_header(&source, err);
    if (status)
        return status;
    s->pos = s->member_off = source.pos;
    s->member_len = 0;
    s->crc = 0;
    s->in_member = true;
    pd_decode_begin(s->decoder);
    return PPROFDELTA_OK;
}

/* Behind a member: another one, or the end. */
static pprofdelta_status read_trailer(pd_stream *s, pprofdelta_error *err)
{
    pd_gzip_source source = source_at(s, s->pos);
    pprofdelta_status status = pd_gzip_read_trailer(&source, s->crc, s->member_len, err);
    if (status)
        return status;
    s->pos = source.pos;
    s->in_member = false;
    s->is_done = pd_format_of(s->in + s->pos, s->in_len - s->pos) != PD_FORMAT_GZIP;
    return s->is_done ? pd_gzip_read_end(&source, err) : PPROFDELTA_OK;
}

pprofdelta_status pd_stream_gzip(pd_stream *s, uint8_t *out, size_t room, size_t *made,
                                 pprofdelta_error *err)
{
    uint8_t *start = out, *end = out + room;
    while (!s->is_done && out < end) {
        pprofdelta_status status = s->in_member ? PPROFDELTA_OK : read_header(s, err);
        if (status)
            return status;
        pd_decode_run run = {s->in + s->pos, s->in + s->in_len, out, end};
        pd_decode_end how = pd_decode(s->decoder, &run);
        s->pos = (size_t)(run.in - s->in);
        s->crc = libdeflate_crc32(s->crc, out, (size_t)(run.out - out));
        s->member_len += (uint64_t)(run.out - out);
        out = run.out;
        if (how == PD_DECODE_BAD) {
            pd_gzip_source body = source_at(s, s->member_off);
            return pd_gzip_explain(&body, err);
        }
        if (how == PD_DECODE_DONE && (status = read_trailer(s, err)))
            return status;
    }
    *made = (size_t)(out - start);
    return PPROFDELTA_OK;
}

#include "codec/encoder.h"

#include "codec/cut.h"
#include "codec/member.h"

#include <string.h>

static const char NO_ROOM[] = "the gzip compressor has not enough room";

/* ---- input in several pieces --------------------------------------------------------------------- */

/* Where the next byte is. */
typedef struct input {
    const pd_bytes *runs;
    size_t at;        /* in runs[0] */
    bool is_borrowed; /* the bytes stay where they are until the output was written */
} input;

/* Takes the next `len` bytes. *out is in the run itself if may_point allows that and the bytes are in
 * one run; else it is a copy in *kept. On failure *in stays. */
static pprofdelta_status next_bytes(input *in, pd_mem *mem, size_t len, bool may_point,
                                    pd_buffer *kept, pd_bytes *out, pprofdelta_error *err)
{
    for (; len && in->at == in->runs->len; in->runs++)
        in->at = 0;
    if (may_point && (!len || len <= in->runs->len - in->at)) {
        *out = (pd_bytes){len ? in->runs->ptr + in->at : NULL, len};
        in->at += len;
        return PPROFDELTA_OK;
    }
    kept->len = 0;
    pprofdelta_status status = pd_buffer_room(mem, kept, len, err);
    while (!status && kept->len < len) {
        if (in->at == in->runs->len) {
            in->runs++;
            in->at = 0;
        }
        size_t left = in->runs->len - in->at, lacks = len - kept->len;
        size_t some = left < lacks ? left : lacks;
        if (some)
            memcpy(kept->ptr + kept->len, in->runs->ptr + in->at, some);
        kept->len += some;
        in->at += some;
    }
    *out = (pd_bytes){kept->ptr, len};
    return status;
}

/* ---- one part ------------------------------------------------------------------------------------ */

/* Room for what comes out of a gzip part, whether it is the last or not. */
static size_t part_bound(size_t len)
{
    return pd_gzip_bound(len) + PD_MEMBER_JOINT + PD_MEMBER_TAIL;
}

/* Makes what a gzip part is compressed with. */
static pprofdelta_status ready_gzip(const pd_encoder *e, pd_encoder_slot *slot, bool is_last,
                                    pprofdelta_error *err)
{
    size_t has = slot->check != NULL;
    pprofdelta_status status = pd_gzip_ready(&slot->gzip, e->level, err);
    if (status || is_last)
        return status;
    return pd_mem_reserve(e->mem, &slot->check, &has, 1, pd_member_check_size, err);
}

/* Compresses slot->in into out[0..room). Returns 0 if it fails. */
static size_t gzip_part(const pd_encoder_slot *slot, uint8_t *out, size_t room)
{
    size_t data_room = room - PD_MEMBER_JOINT - PD_MEMBER_TAIL;
    size_t made = pd_gzip_deflate(slot->gzip, slot->in, out, data_room);
    return made && !slot->is_last ? pd_member_open(slot->check, out, made) : made;
}

static size_t put_tail(const pd_encoder *e, uint8_t *at)
{
    pd_member_tail(at, e->crc, e->len);
    return PD_MEMBER_TAIL;
}

/* ---- parts and frames ---------------------------------------------------------------------------- */

/* Compresses the next `len` bytes into e->out. */
static pprofdelta_status gzip_here(pd_encoder *e, input *in, size_t len, bool is_last,
                                   pprofdelta_error *err)
{
    pd_encoder_slot *slot = &e->slot;
    size_t bound = part_bound(len);
    pprofdelta_status status = ready_gzip(e, slot, is_last, err);
    if (!status)
        status = pd_buffer_room(e->mem, &e->out, bound, err);
    if (!status)
        status = next_bytes(in, e->mem, len, true, &slot->kept, &slot->in, err);
    if (status)
        return status;
    slot->is_last = is_last;
    size_t made = gzip_part(slot, e->out.ptr + e->out.len, bound);
    if (!made)
        return pd_compress_failed(NO_ROOM, err);
    e->out.len += made;
    if (is_last)
        e->out.len += put_tail(e, e->out.ptr + e->out.len);
    return PPROFDELTA_OK;
}

static pprofdelta_status zstd_here(pd_encoder *e, input *in, size_t len, pprofdelta_error *err)
{
    pd_encoder_slot *slot = &e->slot;
    const char *why;
    pprofdelta_status status = pd_zstd_ready(&e->zstd, e->level, err);
    if (!status)
        status = pd_buffer_room(e->mem, &e->out, pd_zstd_bound(len), err);
    if (!status)
        status = next_bytes(in, e->mem, len, true, &slot->kept, &slot->in, err);
    if (status)
        return status;
    e->out.len = pd_zstd_short(e->zstd, slot->in, e->out.ptr, e->out.cap, &why);
    return e->out.len ? PPROFDELTA_OK : pd_compress_failed(why, err);
}

/* ---- begin and push ------------------------------------------------------------------------------ */

static pprofdelta_status add_head(pd_encoder *e, pprofdelta_error *err)
{
    pprofdelta_status status = pd_buffer_room(e->mem, &e->out, PD_MEMBER_HEAD, err);
    if (status)
        return status;
    pd_member_head(e->out.ptr);
    e->out.len = PD_MEMBER_HEAD;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_encoder_begin(pd_encoder *e, pd_mem *mem, uint64_t source_len,
                                   pprofdelta_error *err)
{
    pd_encoder_drop(e);
    e->mem = mem;
    e->cut = source_len == PD_ENCODER_UNCUT ? SIZE_MAX : pd_cut_part(source_len);
    e->part_len = SIZE_MAX;
    if (e->compression == PPROFDELTA_GZIP) {
        e->part_len = e->cut;
        return add_head(e, err);
    }
    if (e->compression == PPROFDELTA_ZSTD)
        e->part_len = PD_ZSTD_SHORT + 1;
    return PPROFDELTA_OK;
}

static void release_slot(pd_encoder *e, pd_mem *mem)
{
    size_t has = e->slot.check != NULL;
    pd_mem_release(mem, &e->slot.check, &has, pd_member_check_size);
    pd_buffer_release(mem, &e->slot.kept);
}

/* The next `len` bytes are a part; is_last is for gzip. */
static pprofdelta_status encode(pd_encoder *e, input *in, size_t len, bool is_last,
                                pprofdelta_error *err)
{
    return e->compression == PPROFDELTA_GZIP ? gzip_here(e, in, len, is_last, err)
                                             : zstd_here(e, in, len, err);
}

static void count(pd_encoder *e, pd_bytes in)
{
    if (in.len && e->compression == PPROFDELTA_GZIP)
        e->crc = pd_gzip_crc(e->crc, in);
    e->len += in.len;
}

static pprofdelta_status take_gzip(pd_encoder *e, pd_buffer *in, pprofdelta_error *err)
{
    pd_bytes all = {in->ptr, in->len};
    input next = {&all, 0, false};
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && in->len - next.at >= e->cut) {
        count(e, (pd_bytes){in->ptr + next.at, e->cut});
        status = encode(e, &next, e->cut, false, err);
    }
    in->len -= next.at;
    memmove(in->ptr, in->ptr + next.at, in->len);
    return status;
}

/* Begins a long frame. */
static pprofdelta_status begin_long(pd_encoder *e, pprofdelta_error *err)
{
    enum { PIECE = 32 << 10 };
    pprofdelta_status status = pd_zstd_ready(&e->zstd, e->level, err);
    if (!status)
        status = pd_zstd_begin(e->zstd, e->mem, &e->out, err);
    e->is_long = true;
    e->part_len = PIECE;
    return status;
}

static pprofdelta_status take_zstd(pd_encoder *e, pd_buffer *in, pprofdelta_error *err)
{
    bool was_long = e->is_long;
    pd_bytes all = {in->ptr, in->len};
    pprofdelta_status status = was_long ? PPROFDELTA_OK : begin_long(e, err);
    if (!status)
        status = pd_zstd_add(e->zstd, e->mem, all, &e->out, err);
    count(e, all);
    in->len = 0;
    if (!was_long && e->mem->is_tight) /* from here on it holds a piece at a time */
        pd_mem_trim(e->mem, &in->ptr, &in->cap, 2 * e->part_len, 1);
    return status;
}

pprofdelta_status pd_encoder_take(pd_encoder *e, pd_buffer *in, pprofdelta_error *err)
{
    return e->compression == PPROFDELTA_GZIP ? take_gzip(e, in, err) : take_zstd(e, in, err);
}

/* ---- finish -------------------------------------------------------------------------------------- */

static pprofdelta_status finish_gzip(pd_encoder *e, const pd_bytes *runs, size_t left,
                                     pprofdelta_error *err)
{
    input in = {runs, 0, true};
    pprofdelta_status status = PPROFDELTA_OK;
    for (size_t parts = pd_cut_rest(e->cut, left); parts && !status; parts--) {
        size_t len = left / parts;
        status = encode(e, &in, len, parts == 1, err);
        left -= len;
    }
    return status;
}

static pprofdelta_status finish_zstd(pd_encoder *e, const pd_bytes *runs, size_t n,
                                     pprofdelta_error *err)
{
    input in = {runs, 0, true};
    pprofdelta_status status = PPROFDELTA_OK;
    if (e->len <= PD_ZSTD_SHORT)
        return encode(e, &in, (size_t)e->len, false, err);
    if (!e->is_long)
        status = begin_long(e, err);
    for (size_t i = 0; i < n && !status; i++)
        status = pd_zstd_add(e->zstd, e->mem, runs[i], &e->out, err);
    return status ? status : pd_zstd_end(e->zstd, e->mem, e->len, &e->out, err);
}

pprofdelta_status pd_encoder_finish(pd_encoder *e, const pd_bytes *runs, size_t n,
                                    pprofdelta_error *err)
{
    uint64_t before = e->len;
    pprofdelta_status status = PPROFDELTA_OK;
    for (size_t i = 0; i < n; i++)
        count(e, runs[i]);
    if (e->compression == PPROFDELTA_PLAIN) {
        e->runs = runs;
        e->runs_len = n;
    } else if (e->compression == PPROFDELTA_GZIP) {
        status = finish_gzip(e, runs, (size_t)(e->len - before), err);
    } else {
        status = finish_zstd(e, runs, n, err);
    }
    if (e->mem->is_tight)
        release_slot(e, e->mem);
    return status;
}

/* ---- output -------------------------------------------------------------------------------------- */

typedef struct output {
    const pprofdelta_sink *sink;
    uint64_t len;
    bool is_refused;
} output;

static void give(output *o, const uint8_t *bytes, size_t len)
{
    if (len && !o->is_refused)
        o->is_refused = o->sink->write(o->sink->cookie, bytes, len) != 0;
    o->len += len;
}

pprofdelta_status pd_encoder_write(pd_encoder *e, const pprofdelta_sink *sink, uint64_t *written,
                                   pprofdelta_error *err)
{
    output o = {sink, 0, false};
    for (size_t i = 0; i < e->runs_len; i++)
        give(&o, e->runs[i].ptr, e->runs[i].len);
    give(&o, e->out.ptr, e->out.len);
    if (o.is_refused)
        return pd_compress_refused(o.len, err);
    *written = o.len;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_encoder_bytes(pd_encoder *e, pd_bytes *out, pprofdelta_error *err)
{
    if (e->compression == PPROFDELTA_PLAIN)
        return next_bytes(&(input){e->runs, 0, true}, e->mem, (size_t)e->len, true, &e->slot.kept,
                          out, err);
    *out = (pd_bytes){e->out.ptr, e->out.len};
    return PPROFDELTA_OK;
}

pprofdelta_status pd_encode(pd_encoder *e, pd_mem *mem, pd_bytes in, const pprofdelta_sink *sink,
                            uint64_t *written, pprofdelta_error *err)
{
    pprofdelta_status status = pd_encoder_begin(e, mem, PD_ENCODER_UNCUT, err);
    if (!status)
        status = pd_encoder_finish(e, &in, 1, err);
    if (!status)
        status = pd_encoder_write(e, sink, written, err);
    pd_encoder_drop(e); /* `in` need not last */
    return status;
}

/* ---- the rest ------------------------------------------------------------------------------------ */

void pd_encoder_drop(pd_encoder *e)
{
    e->out.len = 0;
    e->len = e->crc = 0;
    e->is_long = false;
    e->part_len = SIZE_MAX;
    e->runs = NULL;
    e->runs_len = 0;
}

void pd_encoder_release(pd_encoder *e, pd_mem *mem)
{
    pd_encoder_drop(e);
    release_slot(e, mem);
    pd_buffer_release(mem, &e->out);
}

void pd_encoder_fini(pd_encoder *e, pd_mem *mem)
{
    pd_encoder_release(e, mem);
    pd_gzip_free(e->slot.gzip);
    e->slot.gzip = NULL;
    pd_zstd_free(e->zstd);
    e->zstd = NULL;
}

/* zstd, a piece at a time: see zstd.c for what a file consists of. The library keeps what copies
 * reach back to in a window of its own, as large as the frame says; that counts as memory of the
 * context. */
#include "codec/stream.h"

#include <zstd.h>
#include <zstd_errors.h>

/* How much the library holds for the frame in[0..len): its window and two blocks. */
static uint64_t window_of(const uint8_t *in, size_t len)
{
    enum { DESCRIPTOR = 4, SINGLE_SEGMENT = 0x20, BLOCKS = 2 * (128 << 10) + 4096 };
    uint64_t window = 0;
    if (len <= DESCRIPTOR + 1 || (in[0] & 0xf0) == 0x50) /* of no content */
        return 0;
    if (in[DESCRIPTOR] & SINGLE_SEGMENT) {
        uint64_t content = ZSTD_getFrameContentSize(in, len);
        window = content < ZSTD_CONTENTSIZE_ERROR ? content : 0;
    } else {
        uint64_t base = UINT64_C(1) << (10 + (in[DESCRIPTOR + 1] >> 3));
        window = base + base / 8 * (in[DESCRIPTOR + 1] & 7);
    }
    return window + BLOCKS;
}

static pprofdelta_status hold(pd_stream *s, uint64_t need, pprofdelta_error *err)
{
    pd_mem *mem = s->mem;
    if (need <= s->zstd_held)
        return PPROFDELTA_OK;
    if (need - s->zstd_held > pd_mem_left(mem))
        return pd_inflate_too_large(mem, true, s->pos, err);
    mem->used += need - s->zstd_held;
    mem->peak = mem->peak > mem->used ? mem->peak : mem->used;
    s->zstd_held = need;
    return PPROFDELTA_OK;
}

static pprofdelta_status new_decompressor(pd_stream *s, pprofdelta_error *err)
{
    int most = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound; /* the limit rules */
    s->zstd = ZSTD_createDCtx();
    if (s->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, most)))
        return PPROFDELTA_OK;
    return pd_fail(err, PPROFDELTA_E_MEMORY, "memory", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                   "no memory for a zstd decompressor");
}

/* Begins a frame, whose form is checked first, or finds the end. */
static pprofdelta_status begin_frame(pd_stream *s, pprofdelta_error *err)
{
    if (s->pos && pd_format_of(s->in + s->pos, s->in_len - s->pos) != PD_FORMAT_ZSTD) {
        s->is_done = true;
        return pd_zstd_read_end(s->in, s->in_len, s->pos, err);
    }
    pprofdelta_status status =
        pd_zstd_read_frame(s->in, s->in_len, s->pos, &s->member_size, &s->member_most, err);
    if (!status)
        status = hold(s, window_of(s->in + s->pos, s->member_size), err);
    if (!status && !s->zstd)
        status = new_decompressor(s, err);
    if (status)
        return status;
    ZSTD_DCtx_reset(s->zstd, ZSTD_reset_session_only);
    s->member_off = s->pos;
    s->member_len = 0;
    s->in_member = true;
    return PPROFDELTA_OK;
}

/* In the words that the library has for the whole of the frame, where there is room for that; else
 * in those for the part, `code`. */
static pprofdelta_status explain(pd_stream *s, size_t code, pprofdelta_error *err)
{
    pd_buffer room = {0};
    uint64_t most = s->member_most < SIZE_MAX ? s->member_most : SIZE_MAX;
    ZSTD_DCtx_reset(s->zstd, ZSTD_reset_session_only);
    if (!pd_mem_reserve(s->mem, &room.ptr, &room.cap, most ? (size_t)most : 1, 1, NULL)) {
        size_t whole = ZSTD_decompressDCtx(s->zstd, room.ptr, (size_t)most, s->in + s->member_off,
                                           s->member_size);
        code = ZSTD_isError(whole) ? whole : code;
    }
    pd_buffer_release(s->mem, &room);
    return pd_zstd_refuse_frame(code, s->member_off, err);
}

static bool holds_what_it_says(const pd_stream *s)
{
    uint64_t content = ZSTD_getFrameContentSize(s->in + s->member_off, s->member_size);
    return content >= ZSTD_CONTENTSIZE_ERROR || content == s->member_len;
}

/* Some of the frame; the whole of one that fits. */
static pprofdelta_status read_some(pd_stream *s, ZSTD_outBuffer *to, pprofdelta_error *err)
{
    const size_t damaged = (size_t)-ZSTD_error_corruption_detected;
    if (s->pos == s->member_off && s->member_most <= to->size - to->pos) {
        size_t made = ZSTD_decompressDCtx(s->zstd, (uint8_t *)to->dst + to->pos,
                                          (size_t)s->member_most, s->in + s->pos, s->member_size);
        if (ZSTD_isError(made))
            return pd_zstd_refuse_frame(made, s->member_off, err);
        to->pos += made;
        s->pos += s->member_size;
        s->in_member = false;
        return PPROFDELTA_OK;
    }
    ZSTD_inBuffer from = {s->in, s->member_off + s->member_size, s->pos};
    size_t before = to->pos, left = ZSTD_decompressStream(s->zstd, to, &from);
    bool is_stuck = from.pos == s->pos && to->pos == before;
    s->pos = from.pos;
    s->member_len += to->pos - before;
    s->in_member = left != 0;
    if (ZSTD_isError(left))
        return explain(s, left, err);
    bool is_end_good = from.pos == from.size && holds_what_it_says(s);
    if (s->member_len > s->member_most || (left ? is_stuck : !is_end_good))
        return explain(s, damaged, err);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_stream_zstd(pd_stream *s, uint8_t *out, size_t room, size_t *made,
                                 pprofdelta_error *err)
{
    ZSTD_outBuffer to = {NULL, room, 0};
    to.dst = out;
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && !s->is_done && to.pos < to.size)
        status = s->in_member ? read_some(s, &to, err) : begin_frame(s, err);
    *made = to.pos;
    return status;
}

void pd_stream_zstd_end(pd_stream *s)
{
    ZSTD_freeDCtx(s->zstd);
    s->zstd = NULL;
    s->mem->used -= s->zstd_held;
    s->zstd_held = 0;
}

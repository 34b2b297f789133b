/* zstd, a piece at a time: see zstd.c for what a file consists of. The library keeps what copies
 * reach back to in a window of its own, as large as the frame says; that counts as memory of the
 * context. */
#include "codec/unpack.h"

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

static pprofdelta_status hold(pd_unpacker *u, uint64_t need, pprofdelta_error *err)
{
    pd_mem *mem = u->mem;
    if (need <= u->zstd_held)
        return PPROFDELTA_OK;
    if (need - u->zstd_held > pd_mem_left(mem))
        return pd_inflate_too_large(mem, true, u->pos, err);
    mem->used += need - u->zstd_held;
    mem->peak = mem->peak > mem->used ? mem->peak : mem->used;
    u->zstd_held = need;
    return PPROFDELTA_OK;
}

static pprofdelta_status new_decompressor(pd_unpacker *u, pprofdelta_error *err)
{
    int most = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound; /* the limit rules */
    u->zstd = ZSTD_createDCtx();
    if (u->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, most)))
        return PPROFDELTA_OK;
    return pd_no_memory(err, "a zstd decompressor");
}

/* Begins a frame, whose form is checked first, or finds the end. */
static pprofdelta_status begin_frame(pd_unpacker *u, pprofdelta_error *err)
{
    if (u->pos && pd_format_of(u->in + u->pos, u->in_len - u->pos) != PD_FORMAT_ZSTD) {
        u->is_done = true;
        return pd_zstd_read_end(u->in, u->in_len, u->pos, err);
    }
    pprofdelta_status status =
        pd_zstd_read_frame(u->in, u->in_len, u->pos, &u->member_size, &u->member_most, err);
    if (!status)
        status = hold(u, window_of(u->in + u->pos, u->member_size), err);
    if (!status && !u->zstd)
        status = new_decompressor(u, err);
    if (status)
        return status;
    ZSTD_DCtx_reset(u->zstd, ZSTD_reset_session_only);
    u->member_off = u->pos;
    u->member_len = 0;
    u->in_member = true;
    return PPROFDELTA_OK;
}

/* In the words that the library has for the whole of the frame, where there is room for that; else
 * in those for the part, `code`. */
static pprofdelta_status explain(pd_unpacker *u, size_t code, pprofdelta_error *err)
{
    pd_buffer room = {0};
    uint64_t most = u->member_most < SIZE_MAX ? u->member_most : SIZE_MAX;
    ZSTD_DCtx_reset(u->zstd, ZSTD_reset_session_only);
    if (!pd_mem_reserve(u->mem, &room.ptr, &room.cap, most ? (size_t)most : 1, 1, NULL)) {
        size_t whole = ZSTD_decompressDCtx(u->zstd, room.ptr, (size_t)most, u->in + u->member_off,
                                           u->member_size);
        code = ZSTD_isError(whole) ? whole : code;
    }
    pd_buffer_release(u->mem, &room);
    return pd_zstd_refuse_frame(code, u->member_off, err);
}

static bool holds_what_it_says(const pd_unpacker *u)
{
    uint64_t content = ZSTD_getFrameContentSize(u->in + u->member_off, u->member_size);
    return content >= ZSTD_CONTENTSIZE_ERROR || content == u->member_len;
}

/* Some of the frame; the whole of one that fits. */
static pprofdelta_status read_some(pd_unpacker *u, ZSTD_outBuffer *to, pprofdelta_error *err)
{
    const size_t damaged = (size_t)-ZSTD_error_corruption_detected;
    if (u->pos == u->member_off && u->member_most <= to->size - to->pos) {
        size_t made = ZSTD_decompressDCtx(u->zstd, (uint8_t *)to->dst + to->pos,
                                          (size_t)u->member_most, u->in + u->pos, u->member_size);
        if (ZSTD_isError(made))
            return pd_zstd_refuse_frame(made, u->member_off, err);
        to->pos += made;
        u->pos += u->member_size;
        u->in_member = false;
        return PPROFDELTA_OK;
    }
    ZSTD_inBuffer from = {u->in, u->member_off + u->member_size, u->pos};
    size_t before = to->pos, left = ZSTD_decompressStream(u->zstd, to, &from);
    bool is_stuck = from.pos == u->pos && to->pos == before;
    u->pos = from.pos;
    u->member_len += to->pos - before;
    u->in_member = left != 0;
    if (ZSTD_isError(left))
        return explain(u, left, err);
    bool is_end_good = from.pos == from.size && holds_what_it_says(u);
    if (u->member_len > u->member_most || (left ? is_stuck : !is_end_good))
        return explain(u, damaged, err);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_unpack_zstd(pd_unpacker *u, uint8_t *out, size_t room, size_t *made,
                                 pprofdelta_error *err)
{
    ZSTD_outBuffer to = {NULL, room, 0};
    to.dst = out;
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && !u->is_done && to.pos < to.size)
        status = u->in_member ? read_some(u, &to, err) : begin_frame(u, err);
    *made = to.pos;
    u->len += to.pos;
    return status;
}

void pd_unpack_zstd_end(pd_unpacker *u)
{
    ZSTD_freeDCtx(u->zstd);
    u->zstd = NULL;
    u->mem->used -= u->zstd_held;
    u->zstd_held = 0;
}

pprofdelta_status pd_zstd_peek(pd_bytes in, void *out, size_t room, size_t *made, bool *is_good,
                               pprofdelta_error *err)
{
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    if (!zstd)
        return pd_no_memory(err, "a zstd decompressor");
    ZSTD_inBuffer from = {in.ptr, in.len, 0};
    ZSTD_outBuffer to = {out, room, 0};
    size_t left = 0;
    while (!ZSTD_isError(left) && from.pos < from.size && to.pos < to.size)
        left = ZSTD_decompressStream(zstd, &to, &from);
    *is_good = to.pos || left == 0;
    *made = to.pos;
    ZSTD_freeDCtx(zstd);
    return PPROFDELTA_OK;
}

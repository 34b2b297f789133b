/* zstd (RFC 8878): frames one behind the other, some of them to be skipped, and nothing else. The library checks a
 * frame's checksum itself.
 *
 * libzstd has two decoders, and they accept different damaged frames without a checksum. Frames are
 * always inflated by the streaming one. ZSTD_decompressStream uses the other one if it gets a whole frame
 * and room for all of its content at once; therefore the first byte of a frame is given to it separately.
 * It copies through a window of its own, as large as the frame says, which counts as memory of the
 * context. */
#include "codec/source.h"

#include <zstd.h>
#include <zstd_errors.h>

/* The most that a byte of a frame inflates to: a block of 4 bytes can be 128 KiB. */
enum { MAX_RATIO = (128 << 10) / 4 };

/* What the library says of a frame in code, in our words where they are better. */
static pprofdelta_status refuse_frame(size_t code, size_t pos, pprofdelta_error *err)
{
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation:
        return pd_no_memory(err, "a zstd decompressor");
    case ZSTD_error_checksum_wrong:
        return PD_REFUSE(err, pos, "the zstd frame's content does not have the checksum it says");
    case ZSTD_error_dstSize_tooSmall:
        return PD_REFUSE(err, pos, "the zstd frame inflates to more than it can hold");
    case ZSTD_error_dictionary_wrong:
        return PD_REFUSE(err, pos, "the zstd frame needs a dictionary");
    default:
        return PD_REFUSE(err, pos, "the zstd frame is damaged: %s", ZSTD_getErrorName(code));
    }
}

/* What the frame says that it inflates to; 0 if it does not say. */
static uint64_t content_of(const uint8_t *frame, size_t len)
{
    uint64_t content = ZSTD_getFrameContentSize(frame, len);
    return content < ZSTD_CONTENTSIZE_ERROR ? content : 0;
}

static uint64_t announced_size(pd_bytes file)
{
    uint64_t content = content_of(file.ptr, file.len);
    return content > (uint64_t)file.len * MAX_RATIO ? 0 : content;
}

/* ---- the window ---------------------------------------------------------------------------- */

enum { BLOCKS = 2 * (128 << 10) + 4096 };

/* How much the library holds for a frame: its window, or the content if that is shorter, and two
 * blocks. */
static uint64_t window_of(const uint8_t *frame, size_t size)
{
    enum { DESCRIPTOR = 4, SINGLE_SEGMENT = 0x20 };
    if (size <= DESCRIPTOR + 1 || (frame[0] & 0xf0) == 0x50) /* of no content */
        return 0;
    uint64_t content = content_of(frame, size);
    uint64_t base = UINT64_C(1) << (10 + (frame[DESCRIPTOR + 1] >> 3));
    uint64_t window = base + base / 8 * (frame[DESCRIPTOR + 1] & 7);
    bool is_all = frame[DESCRIPTOR] & SINGLE_SEGMENT || (content && content < window);
    return (is_all ? content : window) + BLOCKS;
}

static pprofdelta_status reserve_window(pd_source *s, uint64_t need, pprofdelta_error *err)
{
    pd_mem *mem = s->mem;
    if (need <= s->zstd_held)
        return PPROFDELTA_OK;
    if (need - s->zstd_held > pd_mem_left(mem))
        return pd_mem_refuse(mem, PPROFDELTA_STAGE_INFLATE, s->pos,
                             "the window of the zstd frame takes more memory", err);
    pd_mem_count(mem, s->zstd_held, need);
    s->zstd_held = need;
    return PPROFDELTA_OK;
}

static pprofdelta_status new_decompressor(pd_source *s, pprofdelta_error *err)
{
    int most = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound; /* the limit rules */
    s->zstd = ZSTD_createDCtx();
    if (s->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, most)))
        return PPROFDELTA_OK;
    return pd_no_memory(err, "a zstd decompressor");
}

static void end_zstd(pd_source *s)
{
    if (!s->zstd_held && !s->zstd)
        return;
    ZSTD_freeDCtx(s->zstd);
    s->zstd = NULL;
    pd_mem_count(s->mem, s->zstd_held, 0);
    s->zstd_held = 0;
}

uint64_t pd_zstd_own(const pd_source *source)
{
    const uint64_t all = source->zstd ? ZSTD_sizeof_DCtx(source->zstd) : 0;
    return all > source->zstd_held ? all - source->zstd_held : 0;
}

/* ---- frames -------------------------------------------------------------------------------- */

/* Begins a frame, or finds the end. */
static pprofdelta_status begin_frame(pd_source *s, pprofdelta_error *err)
{
    const uint8_t *at = s->file.ptr + s->pos;
    size_t left = s->file.len - s->pos;
    if (s->pos && pd_container_of(at, left) != PD_CONTAINER_ZSTD) {
        if (left)
            return PD_REFUSE(err, s->pos, "bytes after the last zstd frame: %zu, the first 0x%02x",
                             left, *at);
        s->is_done = true;
        return PPROFDELTA_OK;
    }
    uint64_t content = content_of(at, left), need = window_of(at, left);
    if (content > (uint64_t)left * MAX_RATIO)
        return PD_REFUSE(err, s->pos, "the zstd frame is too short for the %llu bytes it announces",
                         (unsigned long long)content);
    if (need && need < s->zstd_held && need != content + BLOCKS)
        end_zstd(
            s); /* which damaged frames are accepted depends on the window, so it is not a larger one */
    PD_TRY(reserve_window(s, need, err));
    if (!s->zstd)
        PD_TRY(new_decompressor(s, err));
    ZSTD_DCtx_reset(s->zstd, ZSTD_reset_session_only);
    s->member_off = s->pos;
    s->member_len = 0;
    s->in_member = true;
    return PPROFDELTA_OK;
}

/* libzstd does not compare them if the last block is empty. */
static bool holds_what_it_says(const pd_source *s)
{
    uint64_t content =
        ZSTD_getFrameContentSize(s->file.ptr + s->member_off, s->file.len - s->member_off);
    return content >= ZSTD_CONTENTSIZE_ERROR || content == s->member_len;
}

/* Inflates a part of the frame. */
static pprofdelta_status read_part(pd_source *s, ZSTD_outBuffer *to, pprofdelta_error *err)
{
    size_t before = to->pos;
    bool is_begun = s->pos > s->member_off;
    ZSTD_inBuffer from = {s->file.ptr, is_begun ? s->file.len : s->pos + 1, s->pos};
    size_t left = ZSTD_decompressStream(s->zstd, to, &from);
    s->pos = from.pos;
    s->member_len += to->pos - before;
    s->in_member = left != 0;
    if (ZSTD_isError(left))
        return refuse_frame(left, s->member_off, err);
    if (left && s->pos == s->file.len && to->pos < to->size)
        return PD_REFUSE(err, s->pos, "the file is cut off in a zstd frame");
    return left || holds_what_it_says(s)
               ? PPROFDELTA_OK
               : refuse_frame((size_t)-ZSTD_error_corruption_detected, s->member_off, err);
}

static pprofdelta_status inflate_some(pd_source *s, uint8_t *out, size_t room, size_t *made,
                                      pprofdelta_error *err)
{
    ZSTD_outBuffer to = {.size = room};
    to.dst = out;
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && !s->is_done && to.pos < to.size)
        status = s->in_member ? read_part(s, &to, err) : begin_frame(s, err);
    *made = to.pos;
    return status;
}

const pd_decoder pd_zstd_decoder = {"zstd", inflate_some, end_zstd, announced_size, NULL};

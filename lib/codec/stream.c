#include "codec/stream.h"

#include <string.h>

void pd_stream_begin_whole(pd_stream *s, pd_mem *mem, pd_bytes whole)
{
    static const uint8_t nothing[1] = {0};
    pd_stream_end(s);
    if (!whole.len)
        whole.ptr = nothing; /* offsets are counted from it */
    *s = (pd_stream){.mem = mem, .is_whole = true, .is_done = true, .whole = whole};
}

/* ---- the window -------------------------------------------------------------------------------- */

pprofdelta_status pd_stream_begin(pd_stream *s, pd_mem *mem, pd_bytes packed, size_t piece,
                                  pprofdelta_error *err)
{
    s->mem = mem;
    s->is_whole = s->is_done = false;
    s->packed = packed;
    s->piece = piece;
    s->window.len = 0;
    s->base = 0;
    return pd_unpack_begin(&s->unpacker, mem, packed.ptr, packed.len, err);
}

pprofdelta_status pd_stream_rewind(pd_stream *s, pprofdelta_error *err)
{
    return s->is_whole ? PPROFDELTA_OK : pd_stream_begin(s, s->mem, s->packed, s->piece, err);
}

/* Forgets what is before the offset `from`. */
static void move_on(pd_stream *s, uint64_t from)
{
    uint64_t end = pd_stream_len(s), keep = from < end ? from : end;
    if (keep <= s->base)
        return;
    size_t gone = (size_t)(keep - s->base);
    s->window.len -= gone;
    memmove(s->window.ptr, s->window.ptr + gone, s->window.len);
    s->base = keep;
}

/* Room for a piece behind what the window holds. */
static pprofdelta_status make_room(pd_stream *s, pprofdelta_error *err)
{
    pd_buffer *w = &s->window;
    size_t need = w->len + s->piece;
    return pd_mem_grow(s->mem, &w->ptr, &w->cap, need < w->len ? SIZE_MAX : need, 1, err);
}

static pprofdelta_status inflate_here(pd_stream *s, pprofdelta_error *err)
{
    pd_buffer *w = &s->window;
    size_t made;
    pprofdelta_status status = pd_unpack_some(&s->unpacker, w->ptr + w->len, s->piece, &made, err);
    s->is_done = s->unpacker.is_done;
    w->len += made;
    return status;
}

/* For a gzip file that was refused. If libdeflate accepts it (see gzip.c) and there is memory for all
 * of it, the window becomes what libdeflate made. */
static pprofdelta_status inflate_by_libdeflate(pd_stream *s)
{
    pd_inflater inflater = {0};
    s->window.len = 0;
    pprofdelta_status status =
        pd_gzip_by_libdeflate(&inflater, s->mem, s->packed.ptr, s->packed.len, &s->window, NULL);
    pd_inflater_fini(&inflater);
    s->base = 0;
    s->is_done = !status;
    return status ? PPROFDELTA_E_INFLATE : PPROFDELTA_OK;
}

static pprofdelta_status inflate_more(pd_stream *s, pprofdelta_error *err)
{
    pprofdelta_status status = inflate_here(s, err);
    bool is_refused = status == PPROFDELTA_E_INFLATE && s->unpacker.format == PD_FORMAT_GZIP;
    return is_refused ? inflate_by_libdeflate(s) : status;
}

pprofdelta_status pd_stream_finish(pd_stream *s, pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && !s->is_done) {
        move_on(s, UINT64_MAX);
        status = make_room(s, err);
        if (!status)
            status = inflate_more(s, err);
    }
    return status;
}

/* The first bytes of the window stay as they are, with nothing else behind them. */
static pprofdelta_status is_there(pd_stream *s, uint64_t from, uint64_t need, pd_bytes *out,
                                  pprofdelta_error *err)
{
    enum { KEPT = 64 };
    uint8_t kept[KEPT];
    size_t at = (size_t)(from - s->base), len = s->window.len - at;
    len = len < KEPT ? len : KEPT;
    memcpy(kept, s->window.ptr + at, len);
    pprofdelta_status status = pd_stream_finish(s, err);
    if (status)
        return status;
    if (need <= pd_stream_len(s) - from)
        return pd_fail(err, PPROFDELTA_E_LIMIT, "memory", NULL, PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "a field takes more memory than %s",
                       pd_mem_who_allows(s->mem));
    memcpy(s->window.ptr, kept, len);
    *out = (pd_bytes){s->window.ptr, len};
    return PPROFDELTA_OK;
}

static pprofdelta_status inflate_up_to(pd_stream *s, uint64_t from, uint64_t need, pd_bytes *out,
                                       pprofdelta_error *err)
{
    while (!s->is_done && (pd_stream_len(s) < from || pd_stream_len(s) - from < need)) {
        pprofdelta_error local;
        move_on(s, from);
        pprofdelta_status status = make_room(s, &local);
        if (status == PPROFDELTA_E_LIMIT && s->window.cap && pd_stream_len(s) > from)
            return is_there(s, from, need, out, err);
        if (status && err)
            *err = local;
        if (!status)
            status = inflate_more(s, err);
        if (status)
            return status;
    }
    uint64_t len = pd_stream_len(s);
    size_t at = from < len ? (size_t)(from - s->base) : s->window.len;
    *out = (pd_bytes){s->window.ptr + at, s->window.len - at};
    return PPROFDELTA_OK;
}

pprofdelta_status pd_stream_reach(pd_stream *s, uint64_t from, uint64_t need, pd_bytes *out,
                                  pprofdelta_error *err)
{
    if (!s->is_whole)
        return inflate_up_to(s, from, need, out, err);
    size_t at = from < s->whole.len ? (size_t)from : s->whole.len;
    *out = (pd_bytes){s->whole.ptr + at, s->whole.len - at};
    return PPROFDELTA_OK;
}

void pd_stream_end(pd_stream *s)
{
    if (!s->mem)
        return;
    pd_unpack_end(&s->unpacker);
    pd_buffer_release(s->mem, &s->window);
    *s = (pd_stream){0};
}

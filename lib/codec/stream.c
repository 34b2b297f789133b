#include "codec/stream.h"

#include <string.h>

void pd_stream_rest(pd_stream *s)
{
    if (s->pump)
        pd_pump_leave(s->pump);
    s->pump = NULL;
}

pprofdelta_status pd_stream_begin(pd_stream *s, pd_mem *mem, const uint8_t *in, size_t len,
                                  size_t piece, pd_pump *pump, pprofdelta_error *err)
{
    pd_stream_rest(s);
    bool has_pump =
        pump && pd_format_of(in, len) == PD_FORMAT_GZIP && pd_pump_begin(pump, in, len, piece);
    s->mem = mem;
    s->pump = has_pump ? pump : NULL;
    s->piece = piece;
    s->window.len = 0;
    s->base = 0;
    s->is_done = false;
    return has_pump ? PPROFDELTA_OK : pd_unpack_begin(&s->unpacker, mem, in, len, err);
}

/* Does a copy reach back into the window? */
static bool has_history(const pd_stream *s)
{
    return !s->pump && s->unpacker.format == PD_FORMAT_GZIP;
}

/* Forgets what nobody needs any more: neither the reader, from `from` on, nor a copy. */
static void move_on(pd_stream *s, uint64_t from)
{
    uint64_t end = pd_stream_len(s), keep = from < end ? from : end;
    if (has_history(s)) {
        uint64_t history = end < PD_DECODE_HISTORY ? 0 : end - PD_DECODE_HISTORY;
        keep = keep < history ? keep : history;
    }
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
    size_t need = w->len + s->piece + PD_DECODE_SLACK;
    return pd_mem_grow(s->mem, &w->ptr, &w->cap, need < w->len ? SIZE_MAX : need, 1, err);
}

static pprofdelta_status inflate_more(pd_stream *s, pprofdelta_error *err)
{
    pd_buffer *w = &s->window;
    uint8_t *out = w->ptr + w->len;
    size_t made;
    pprofdelta_status status;
    if (s->pump) {
        status = pd_pump_take(s->pump, out, &made, &s->is_done, err);
    } else {
        status = pd_unpack_some(&s->unpacker, out, s->piece, &made, err);
        s->is_done = s->unpacker.is_done;
    }
    w->len += made;
    return status;
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
                       PPROFDELTA_NOWHERE, "a field of %llu bytes takes more than the %llu that %s",
                       (unsigned long long)need, (unsigned long long)s->mem->limit,
                       pd_mem_who_allows(s->mem));
    memcpy(s->window.ptr, kept, len);
    *out = (pd_bytes){s->window.ptr, len};
    return PPROFDELTA_OK;
}

pprofdelta_status pd_stream_reach(pd_stream *s, uint64_t from, uint64_t need, pd_bytes *out,
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

void pd_stream_end(pd_stream *s)
{
    if (!s->mem)
        return;
    pd_stream_rest(s);
    pd_unpack_end(&s->unpacker);
    pd_buffer_release(s->mem, &s->window);
    *s = (pd_stream){0};
}

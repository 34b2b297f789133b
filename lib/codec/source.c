#include "codec/source.h"

/* zstd begins with a frame, or with one that carries no content and is to be skipped. Neither can begin a
 * profile: among the bytes is a field of profile.proto with a wire type that it does not have. */
pd_container pd_container_of(const uint8_t *in, size_t len)
{
    const uint32_t FRAME = 0xfd2fb528, SKIPPED = 0x184d2a50, SKIPPED_MASK = 0xfffffff0;
    if (len >= 2 && in[0] == 0x1f && in[1] == 0x8b)
        return PD_CONTAINER_GZIP;
    if (len < 4)
        return PD_CONTAINER_PLAIN;
    uint32_t magic = (uint32_t)pd_little_endian(in, 4);
    bool is_zstd = magic == FRAME || (magic & SKIPPED_MASK) == SKIPPED;
    return is_zstd ? PD_CONTAINER_ZSTD : PD_CONTAINER_PLAIN;
}

static pprofdelta_status copy_plain(pd_inflater *u, uint8_t *out, size_t room, size_t *made,
                                    pprofdelta_error *err)
{
    (void)err;
    size_t left = u->in.len - u->pos;
    *made = room < left ? room : left;
    if (*made)
        memcpy(out, u->in.ptr + u->pos, *made);
    u->pos += *made;
    u->is_done = u->pos == u->in.len;
    return PPROFDELTA_OK;
}

static const pd_decoder plain_decoder = {"plain", copy_plain, NULL, NULL, NULL, NULL},
                        *const decoders[] = {[PD_CONTAINER_PLAIN] = &plain_decoder,
                                             [PD_CONTAINER_GZIP] = &pd_gzip_decoder,
                                             [PD_CONTAINER_ZSTD] = &pd_zstd_decoder};

const char *pd_container_name(pd_container container)
{
    return decoders[container]->name;
}

uint64_t pd_inflate_announced(pd_bytes file)
{
    const pd_decoder *decoder = decoders[pd_container_of(file.ptr, file.len)];
    return decoder->announced ? decoder->announced(file) : file.len;
}

/* PPROFDELTA_E_LIMIT: the input inflates to too much, or says so. */
static pprofdelta_status too_large(const pd_mem *mem, bool says_so, size_t offset,
                                   pprofdelta_error *err)
{
    const char *does = says_so ? "says that it inflates" : "inflates";
    pd_fail(err, PPROFDELTA_E_LIMIT, PPROFDELTA_STAGE_INFLATE, NULL, PPROFDELTA_NOWHERE, offset,
            "the input %s to more bytes than %s", does, pd_mem_who_allows(mem));
    return pd_because(err, pd_mem_reason(mem), PPROFDELTA_E_LIMIT);
}

/* ---- the careful way ----------------------------------------------------------------------- */

/* Gives everything back. */
static void inflate_end(pd_inflater *u)
{
    if (!u->decoder) /* it is zeroed */
        return;
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++)
        if (decoders[i]->end)
            decoders[i]->end(u);
    *u = (pd_inflater){0};
}

/* Goes to the beginning of a file, which is borrowed until the inflater has ended or begins again.
 * is_stream: what inflates to too much is PPROFDELTA_E_LIMIT. */
static void inflate_begin(pd_inflater *u, pd_mem *mem, pd_bytes file, bool is_stream)
{
    if (mem->is_tight)
        inflate_end(u);
    *u = (pd_inflater){.mem = mem,
                       .state = u->state,
                       .gzip = u->gzip,
                       .zstd = u->zstd,
                       .zstd_held = u->zstd_held,
                       .in = file,
                       .decoder = decoders[pd_container_of(file.ptr, file.len)],
                       .is_stream = is_stream,
                       .useful = UINT64_MAX};
}

/* A stream is held nowhere, so no lack of memory ends it. */
static bool is_too_much(const pd_inflater *u)
{
    enum { SHORT = 1 << 20 };
    uint64_t limit = u->mem->limit, most = limit > u->pos ? limit : u->pos;
    bool is_thin = u->len > SHORT && u->len / PD_INFLATE_RATIO > u->pos;
    bool is_idle = u->useful < u->len && u->len - u->useful > most;
    return u->is_stream && (is_thin || is_idle);
}

/* As decoder->some. Stops between two steps, whose offsets do not depend on `room`. */
static pprofdelta_status inflate_some(pd_inflater *u, uint8_t *out, size_t room, size_t *made,
                                      pprofdelta_error *err)
{
    enum { STEP = 128 << 10 };
    pprofdelta_status status = PPROFDELTA_OK;
    *made = 0;
    while (!status && !u->is_done && *made < room) {
        size_t some = 0, left = room - *made, step = STEP - (size_t)(u->len % STEP);
        pd_poll();
        status = u->decoder->some(u, out + *made, left < step ? left : step, &some, err);
        *made += some;
        u->len += some;
        u->is_too_much = !status && u->len % STEP == 0 && is_too_much(u);
        if (u->is_too_much)
            status =
                too_large(u->mem, pd_inflate_announced(u->in) > u->mem->limit, u->member_off, err);
    }
    return status;
}

/* ---- whole --------------------------------------------------------------------------------- */

/* Makes room for what a file announces, and a byte more, which shows that there is no more. An
 * announcement is believed as far as profiles are compressed and the limit allows. */
static pprofdelta_status believe(pd_source *s, uint64_t announced, pprofdelta_error *err)
{
    pd_buffer *w = &s->window;
    if (announced / PD_INFLATE_RATIO > s->file.len || announced >= pd_mem_left(s->mem) + w->cap)
        return PPROFDELTA_OK;
    return pd_mem_reserve(s->mem, &w->ptr, &w->cap, (size_t)announced + 1, 1, err);
}

/* Makes more room, as far as the limit allows. A file that has filled some has shown that it may be as
 * long as it announces. */
static pprofdelta_status grow(pd_source *s, pprofdelta_error *err)
{
    enum { PIECE = 64 << 10 };
    pd_buffer *w = &s->window;
    uint64_t most = pd_mem_left(s->mem) + w->cap, need = (uint64_t)w->cap + PIECE;
    bool says_so = w->len && pd_inflate_announced(s->file) > most;
    if (most > PTRDIFF_MAX)
        most = PTRDIFF_MAX;
    if (says_so || w->cap >= most)
        return too_large(s->mem, says_so, s->inflater.member_off, err);
    return pd_mem_grow(s->mem, &w->ptr, &w->cap, (size_t)(need < most ? need : most), 1, err);
}

static pprofdelta_status inflate_whole(pd_source *s, pprofdelta_error *err)
{
    pd_buffer *w = &s->window;
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && !s->inflater.is_done) {
        size_t made = 0;
        if (w->len == w->cap)
            status = grow(s, err);
        if (!status)
            status = inflate_some(&s->inflater, w->ptr + w->len, w->cap - w->len, &made, err);
        w->len += made;
    }
    return status;
}

static pprofdelta_status read_whole(pd_source *s, pprofdelta_error *err)
{
    pd_buffer *w = &s->window;
    uint64_t announced = pd_inflate_announced(s->file);
    pprofdelta_status status = believe(s, announced, err);
    const pd_decoder *decoder = s->inflater.decoder;
    bool is_quick = decoder->quick && announced <= PD_QUICK_MOST;
    bool is_read = !status && is_quick && decoder->quick(&s->inflater, w);
    if (!status && !is_read)
        status = inflate_whole(s, err);
    if (s->mem
            ->is_tight) { /* what is held depends neither on the limit nor on a false announcement */
        inflate_end(&s->inflater);
        pd_mem_trim(s->mem, &w->ptr, &w->cap, w->len + 1, 1);
    }
    s->whole = (pd_bytes){w->ptr, w->len};
    return status;
}

/* ---- both ---------------------------------------------------------------------------------- */

void pd_source_set(pd_source *s, pd_mem *mem, pd_bytes whole)
{
    static const uint8_t nothing[1] = {0};
    if (!whole.len)
        whole.ptr = nothing; /* offsets are counted from it */
    s->mem = mem;
    s->is_whole = s->is_done = true;
    s->whole = whole;
}

pprofdelta_status pd_source_open(pd_source *s, pd_mem *mem, pd_bytes file, size_t piece,
                                 pprofdelta_error *err)
{
    if (piece && s->is_whole) /* a window of a few pieces is enough */
        pd_source_end(s);
    s->mem = mem;
    s->is_whole = s->is_done = !piece;
    s->file = file;
    s->piece = piece;
    s->window.len = 0;
    s->base = 0;
    inflate_begin(&s->inflater, mem, file, piece != 0);
    if (piece)
        return PPROFDELTA_OK;
    s->whole = file;
    if (s->inflater.decoder != &plain_decoder)
        PD_TRY(read_whole(s, err));
    pd_source_set(s, mem, s->whole);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_source_rewind(pd_source *s, pprofdelta_error *err)
{
    bool has_first = s->is_whole || !s->base;
    return has_first ? PPROFDELTA_OK : pd_source_open(s, s->mem, s->file, s->piece, err);
}

void pd_source_rest(pd_source *s)
{
    inflate_end(&s->inflater);
}

void pd_source_end(pd_source *s)
{
    if (!s->mem)
        return;
    inflate_end(&s->inflater);
    pd_buffer_release(s->mem, &s->window);
    *s = (pd_source){0};
}

/* ---- streamed ------------------------------------------------------------------------------ */

/* Forgets what is before the offset `from`. */
static void move_on(pd_source *s, uint64_t from)
{
    uint64_t end = pd_source_len(s), keep = from < end ? from : end;
    if (keep <= s->base)
        return;
    size_t gone = (size_t)(keep - s->base);
    s->window.len -= gone;
    memmove(s->window.ptr, s->window.ptr + gone, s->window.len);
    s->base = keep;
}

/* Room for a piece behind what the window holds. */
static pprofdelta_status make_room(pd_source *s, pprofdelta_error *err)
{
    pd_buffer *w = &s->window;
    size_t need = w->len + s->piece;
    return pd_mem_grow(s->mem, &w->ptr, &w->cap, need < w->len ? SIZE_MAX : need, 1, err);
}

static pprofdelta_status inflate_more(pd_source *s, pprofdelta_error *err)
{
    pd_buffer *w = &s->window;
    size_t made;
    pprofdelta_status status = inflate_some(&s->inflater, w->ptr + w->len, s->piece, &made, err);
    w->len += made;
    s->is_done = s->inflater.is_done;
    return status;
}

pprofdelta_status pd_source_finish(pd_source *s, pprofdelta_error *err)
{
    while (!s->is_done) {
        move_on(s, UINT64_MAX);
        PD_TRY(make_room(s, err));
        PD_TRY(inflate_more(s, err));
    }
    return PPROFDELTA_OK;
}

static pprofdelta_status inflate_up_to(pd_source *s, uint64_t from, uint64_t need, pd_bytes *out,
                                       pprofdelta_error *err)
{
    while (!s->is_done && (pd_source_len(s) < from || pd_source_len(s) - from < need)) {
        move_on(s, from);
        PD_TRY(make_room(s, err));
        PD_TRY(inflate_more(s, err));
    }
    uint64_t len = pd_source_len(s);
    size_t at = from < len ? (size_t)(from - s->base) : s->window.len;
    *out = (pd_bytes){s->window.ptr + at, s->window.len - at};
    return PPROFDELTA_OK;
}

pprofdelta_status pd_source_reach(pd_source *s, uint64_t from, uint64_t need, pd_bytes *out,
                                  pprofdelta_error *err)
{
    if (!s->is_whole)
        return inflate_up_to(s, from, need, out, err);
    size_t at = from < s->whole.len ? (size_t)from : s->whole.len;
    *out = (pd_bytes){s->whole.ptr + at, s->whole.len - at};
    return PPROFDELTA_OK;
}

/* ---- the head ------------------------------------------------------------------------------ */

pprofdelta_status pd_source_head(pd_mem *mem, pd_bytes file, pd_head *head, pprofdelta_error *err)
{
    pd_inflater u = {0};
    pprofdelta_error why;
    inflate_begin(&u, mem, file, false);
    head->len = 0;
    pprofdelta_status status = (u.decoder->head ? u.decoder->head : u.decoder->some)(
        &u, head->bytes, sizeof head->bytes, &head->len, &why);
    inflate_end(&u);
    head->is_good = !status || head->len;
    return status && status != PPROFDELTA_E_INFLATE ? pd_fail_as(err, &why) : PPROFDELTA_OK;
}

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

static pprofdelta_status copy_plain(pd_source *s, uint8_t *out, size_t room, size_t *made,
                                    pprofdelta_error *err)
{
    (void)err;
    size_t left = s->file.len - s->pos;
    *made = room < left ? room : left;
    if (*made)
        memcpy(out, s->file.ptr + s->pos, *made);
    s->pos += *made;
    s->is_done = s->pos == s->file.len;
    return PPROFDELTA_OK;
}

static const pd_decoder plain_decoder = {"plain", copy_plain, NULL, NULL, NULL},
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

/* The input inflates to too much, or says so. */
static pprofdelta_status too_large(const pd_source *s, bool says_so, pprofdelta_error *err)
{
    return pd_mem_refuse(s->mem, PPROFDELTA_STAGE_INFLATE, s->member_off,
                         says_so ? "the input says that it inflates to more bytes"
                                 : "the input inflates to more bytes",
                         err);
}

/* ---- the careful way ----------------------------------------------------------------------- */

void pd_source_rest(pd_source *s)
{
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++)
        if (decoders[i]->end)
            decoders[i]->end(s);
}

/* Goes to the beginning of a file, which is borrowed. */
static void begin_source(pd_source *s, pd_mem *mem, pd_bytes file, size_t chunk)
{
    if (pd_mem_is_tight(mem))
        pd_source_rest(s);
    *s = (pd_source){.mem = mem,
                     .is_whole = !chunk,
                     .whole = file,
                     .file = file,
                     .chunk = chunk,
                     .useful = UINT64_MAX,
                     .window = {.ptr = s->window.ptr, .cap = s->window.cap},
                     .decoder = decoders[pd_container_of(file.ptr, file.len)],
                     .state = s->state,
                     .gzip = s->gzip,
                     .zstd = s->zstd,
                     .zstd_held = s->zstd_held};
}

/* A stream is held nowhere, so no lack of memory ends it. */
static bool is_too_much(const pd_source *s)
{
    enum { SHORT = 1 << 20 };
    uint64_t limit = pd_mem_whole(s->mem)->limit, most = limit > s->pos ? limit : s->pos;
    uint64_t len = s->base + s->window.len;
    bool is_thin = len > SHORT && len / PD_INFLATE_RATIO > s->pos;
    bool is_idle = s->useful < len && len - s->useful > most;
    return s->chunk && (is_thin || is_idle);
}

/* Inflates the next `room` bytes into the window, which has the room; fewer only at the end. Stops between two steps,
 * whose offsets do not depend on `room`. */
static pprofdelta_status inflate_some(pd_source *s, size_t room, pprofdelta_error *err)
{
    enum { STEP = 128 << 10 };
    pd_buffer *w = &s->window;
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status && !s->is_done && room) {
        size_t made = 0, step = STEP - (size_t)((s->base + w->len) % STEP);
        pd_poll();
        status = s->decoder->some(s, w->ptr + w->len, room < step ? room : step, &made, err);
        w->len += made;
        room -= made;
        s->is_too_much = !status && (s->base + w->len) % STEP == 0 && is_too_much(s);
        if (s->is_too_much)
            status = too_large(s, pd_inflate_announced(s->file) > pd_mem_whole(s->mem)->limit, err);
    }
    return status;
}

/* ---- whole --------------------------------------------------------------------------------- */

/* Makes room for what a file announces, and a byte more, which shows that there is no more. An
 * announcement is believed as far as profiles are compressed and the limit allows. */
static pprofdelta_status reserve_announced(pd_source *s, uint64_t announced, pprofdelta_error *err)
{
    pd_buffer *w = &s->window;
    if (announced / PD_INFLATE_RATIO > s->file.len || announced >= pd_mem_left(s->mem) + w->cap)
        return PPROFDELTA_OK;
    return pd_buffer_reserve(s->mem, w, (size_t)announced + 1, err);
}

/* Makes more room, as far as the limit allows. A file that has filled some has shown that it may be as
 * long as it announces. */
static pprofdelta_status grow_window(pd_source *s, pprofdelta_error *err)
{
    enum { CHUNK = 64 << 10 };
    pd_buffer *w = &s->window;
    uint64_t most = pd_mem_left(s->mem) + w->cap, need = (uint64_t)w->cap + CHUNK;
    bool says_so = w->len && pd_inflate_announced(s->file) > most;
    if (most > PTRDIFF_MAX)
        most = PTRDIFF_MAX;
    if (says_so || w->cap >= most)
        return too_large(s, says_so, err);
    return pd_buffer_room(s->mem, w, (size_t)(need < most ? need : most) - w->len, err);
}

static pprofdelta_status inflate_whole(pd_source *s, pprofdelta_error *err)
{
    while (!s->is_done) {
        if (s->window.len == s->window.cap)
            PD_TRY(grow_window(s, err));
        PD_TRY(inflate_some(s, s->window.cap - s->window.len, err));
    }
    return PPROFDELTA_OK;
}

static pprofdelta_status read_whole(pd_source *s, pprofdelta_error *err)
{
    pd_buffer *w = &s->window;
    uint64_t announced = pd_inflate_announced(s->file);
    pprofdelta_status status = reserve_announced(s, announced, err);
    bool is_quick = s->decoder->quick && announced <= PD_QUICK_MOST;
    if (!status && !(is_quick && s->decoder->quick(s)))
        status = inflate_whole(s, err);
    /* What is held depends neither on the limit nor on a false announcement. */
    if (pd_mem_is_tight(s->mem)) {
        pd_source_rest(s);
        pd_buffer_trim(s->mem, w, w->len + 1);
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

pprofdelta_status pd_source_open(pd_source *s, pd_mem *mem, pd_bytes file, size_t chunk,
                                 pprofdelta_error *err)
{
    if (chunk && s->is_whole) /* a window of a few chunks is enough */
        pd_source_end(s);
    begin_source(s, mem, file, chunk);
    if (chunk)
        return PPROFDELTA_OK;
    pprofdelta_status status = s->decoder == &plain_decoder ? PPROFDELTA_OK : read_whole(s, err);
    pd_source_set(s, mem, s->whole);
    return status;
}

pprofdelta_status pd_source_rewind(pd_source *s, pprofdelta_error *err)
{
    bool has_first = s->is_whole || !s->base;
    return has_first ? PPROFDELTA_OK : pd_source_open(s, s->mem, s->file, s->chunk, err);
}

void pd_source_end(pd_source *s)
{
    pd_source_rest(s);
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

/* Inflates a chunk behind what the window holds from `from` on. */
static pprofdelta_status inflate_more(pd_source *s, uint64_t from, pprofdelta_error *err)
{
    move_on(s, from);
    PD_TRY(pd_buffer_room(s->mem, &s->window, s->chunk, err));
    return inflate_some(s, s->chunk, err);
}

pprofdelta_status pd_source_finish(pd_source *s, pprofdelta_error *err)
{
    while (!s->is_done)
        PD_TRY(inflate_more(s, UINT64_MAX, err));
    return PPROFDELTA_OK;
}

pprofdelta_status pd_source_reach(pd_source *s, uint64_t from, uint64_t need, pd_bytes *out,
                                  pprofdelta_error *err)
{
    while (!s->is_done && (pd_source_len(s) < from || pd_source_len(s) - from < need))
        PD_TRY(inflate_more(s, from, err));
    const pd_bytes there = s->is_whole ? s->whole : (pd_bytes){s->window.ptr, s->window.len};
    const uint64_t len = pd_source_len(s), base = s->is_whole ? 0 : s->base;
    *out = pd_bytes_behind(there, from < len ? (size_t)(from - base) : there.len);
    return PPROFDELTA_OK;
}

/* ---- the head ------------------------------------------------------------------------------ */

pprofdelta_status pd_source_head(pd_mem *mem, pd_bytes file, pd_head *head, pprofdelta_error *err)
{
    pd_source s = {0};
    pprofdelta_error why;
    begin_source(&s, mem, file, 0);
    head->len = 0;
    pprofdelta_status status =
        s.decoder->some(&s, head->bytes, sizeof head->bytes, &head->len, &why);
    pd_source_rest(&s);
    head->is_good = !status || head->len;
    return status && status != PPROFDELTA_E_INFLATE ? pd_fail_as(err, &why) : PPROFDELTA_OK;
}

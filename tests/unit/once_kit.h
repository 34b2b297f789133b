/* Two contexts that are told the same: one may read in one pass, the other may not. Their words and
 * what comes out must not tell which is which. */
#ifndef PD_TESTS_ONCE_KIT_H
#define PD_TESTS_ONCE_KIT_H

#include "parsed/context.h"

#include "pack.h"
#include "run.h"
#include "seeds.h"
#include "serial.h"

#include <stdlib.h>

typedef struct ways {
    pprofdelta *once, *whole;
    arena arena; /* of the last call */
    pprofdelta_status status;
    pprofdelta_error err;
    buf out; /* of the last window that was OK, inflated */
} ways;

static inline void ways_begin(ways *w, const pprofdelta_options *given)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    *w = (ways){0};
    if (given)
        options = *given;
    options.flags &= ~(unsigned)PPROFDELTA_NO_SAVE;
    pprofdelta_status status = pprofdelta_new(&options, NULL, &w->whole, NULL);
    options.flags |= PPROFDELTA_NO_SAVE;
    if (status || pprofdelta_new(&options, NULL, &w->once, NULL))
        abort();
    w->once->piece = 100;
}

static inline void ways_end(ways *w)
{
    pprofdelta_free(w->once);
    pprofdelta_free(w->whole);
    arena_free(&w->arena);
}

/* From a byte at a time to everything at once. */
static inline size_t draw_piece(rng *r)
{
    return rng_chance(r, 20) ? 1 : 1 + rng_below(r, rng_chance(r, 60) ? 300 : 20000);
}

static inline bool same_error(const pprofdelta_error *a, const pprofdelta_error *b)
{
    return a->status == b->status && strcmp(a->stage, b->stage) == 0 &&
           strcmp(a->field, b->field) == 0 && a->element == b->element && a->offset == b->offset &&
           strcmp(a->text, b->text) == 0;
}

static inline bool same_types(const pprofdelta_report *a, const pprofdelta_report *b)
{
    for (size_t i = 0; i < a->types_len; i++) {
        const pprofdelta_type_report *x = &a->types[i], *y = &b->types[i];
        if (strcmp(x->type, y->type) || strcmp(x->unit, y->unit) ||
            x->is_counter != y->is_counter || !pd_sum_equal(x->prev, y->prev) ||
            !pd_sum_equal(x->cur, y->cur) || !pd_sum_equal(x->delta, y->delta) ||
            !pd_sum_equal(x->clamped, y->clamped) || !pd_sum_equal(x->vanished, y->vanished))
            return false;
    }
    return true;
}

/* But for the length of what went out: the ways cut it for the compressor in other places. */
static inline bool same_report(const pprofdelta_report *a, const pprofdelta_report *b)
{
    return a->samples_in == b->samples_in && a->samples_out == b->samples_out &&
           a->matched == b->matched && a->fresh == b->fresh && a->vanished == b->vanished &&
           a->clamped == b->clamped && a->duplicates == b->duplicates &&
           a->by_address == b->by_address && a->by_lines == b->by_lines &&
           a->unknown_fields == b->unknown_fields && a->had_base == b->had_base &&
           a->restart == b->restart && a->from_nanos == b->from_nanos &&
           a->to_nanos == b->to_nanos && a->sequence == b->sequence &&
           a->types_len == b->types_len && same_types(a, b);
}

/* NULL, or what is not the same. */
static inline const char *differ(ways *w, pprofdelta_status want, const pprofdelta_error *err)
{
    if (w->status != want)
        return arena_format(&w->arena, "status %d, not %d", w->status, want);
    if (want && !same_error(&w->err, err))
        return arena_format(&w->arena, "\"%s\" in %s at %" PRIu64 ", not \"%s\" in %s at %" PRIu64,
                            w->err.text, w->err.field, w->err.offset, err->text, err->field,
                            err->offset);
    return NULL;
}

static inline const char *ways_base(ways *w, buf look)
{
    pprofdelta_error err;
    arena_free(&w->arena);
    w->status = pprofdelta_base(w->once, look.ptr, look.len, &w->err);
    return differ(w, pprofdelta_base(w->whole, look.ptr, look.len, &err), &err);
}

/* What is OK is pending in both. */
static inline const char *ways_window(ways *w, buf look)
{
    pprofdelta_error err;
    pprofdelta_report reports[2];
    arena_free(&w->arena);
    collector got = {.bytes = buf_begin(&w->arena)}, want = got;
    pprofdelta_sink sinks[] = {collector_sink(&got), collector_sink(&want)};
    w->status = pprofdelta_window(w->once, look.ptr, look.len, &sinks[0], &reports[0], &w->err);
    pprofdelta_status status =
        pprofdelta_window(w->whole, look.ptr, look.len, &sinks[1], &reports[1], &err);
    const char *wrong = differ(w, status, &err);
    if (wrong || status)
        return wrong;
    buf all;
    if (!unpack(&w->arena, got.bytes.ptr, got.bytes.len, &w->out) ||
        !unpack(&w->arena, want.bytes.ptr, want.bytes.len, &all))
        return "what was written cannot be inflated";
    if (w->out.len != all.len || memcmp(w->out.ptr, all.ptr, all.len))
        return "other bytes";
    return same_report(&reports[0], &reports[1]) ? NULL : "another report";
}

static inline void ways_commit(ways *w)
{
    pprofdelta_commit(w->once);
    pprofdelta_commit(w->whole);
}

static inline void ways_abandon(ways *w)
{
    pprofdelta_abandon(w->once);
    pprofdelta_abandon(w->whole);
}

/* Was it read in one pass? Asked after what was OK. */
static inline bool base_was_once(const pprofdelta *pd)
{
    return pd->naming.is_set;
}

static inline bool window_was_once(const pprofdelta *pd)
{
    return pd->cur.tables.is_once;
}

#endif

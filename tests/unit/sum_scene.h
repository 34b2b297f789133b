/* Windows made by hand or of a made-up process, what an adder makes of them, and the naive sum. */
#ifndef PD_TESTS_SUM_SCENE_H
#define PD_TESTS_SUM_SCENE_H

#include "delta_stage.h"
#include "seeds.h"

#include <stdlib.h>

/* A window by hand. All but the times may be left out. */
typedef struct window {
    long long from, to; /* from 0: without a duration */
    const char *stamp, *values, *comment, *period_type;
    int64_t period;
} window;

static inline buf window_bytes(arena *a, window w)
{
    ENDS(build_free) build b = {0};
    build_types(&b, HEAP_TYPES);
    build_sample(&b, "leaf main", w.values ? w.values : "1 1 5 5");
    b.m.time_nanos = w.to;
    b.m.duration_nanos = w.from ? w.to - w.from : 0;
    b.m.period = w.period;
    if (w.period_type)
        b.m.period_type.type = w.period_type;
    if (w.comment)
        build_comment(&b, w.comment);
    if (w.stamp)
        build_comment(&b, w.stamp);
    return build_bytes_in(a, &b);
}

static inline pprofdelta_options sum_options(unsigned flags)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = flags;
    options.compression = PPROFDELTA_PLAIN;
    return options;
}

/* Adds them up to one that is refused. *out is what was added before it. */
static inline pprofdelta_status sum_up(arena *a, const pprofdelta_options *options,
                                       const buf *bytes, size_t len, buf *out,
                                       pprofdelta_error *err)
{
    pprofdelta_adder *adder = NULL;
    collector c = {.bytes = buf_begin(a)};
    pprofdelta_status status = pprofdelta_adder_new(options, NULL, &adder, err);
    for (size_t i = 0; i < len && !status; i++)
        status = pprofdelta_adder_add(adder, bytes[i].ptr, bytes[i].len, NULL, err);
    if (!status)
        status = pprofdelta_adder_finish(adder, collecting(&c), err);
    else if (status == PPROFDELTA_E_MISMATCH)
        (void)pprofdelta_adder_finish(adder, collecting(&c), NULL);
    pprofdelta_adder_free(adder);
    *out = c.bytes;
    return status;
}

/* Ends the test program on failure. */
static inline reading sum_read(arena *a, buf bytes)
{
    reading r;
    if (reading_make(a, bytes.ptr, bytes.len, &r) != PPROFDELTA_OK) {
        fprintf(stderr, "what was written is not a profile\n");
        abort();
    }
    return r;
}

/* ---- the naive sum --------------------------------------------------------------------------- */

typedef struct rows {
    arena *arena;
    struct row {
        const char *key;
        int64_t values[PPROFDELTA_MAX_TYPES];
    } * list;
    size_t len, cap;
} rows;

static inline struct row *row_of(rows *r, const char *key)
{
    for (size_t i = 0; i < r->len; i++)
        if (!strcmp(r->list[i].key, key))
            return &r->list[i];
    ARENA_PUSH(r->arena, r->list, r->len, r->cap, (struct row){.key = key});
    return &r->list[r->len - 1];
}

/* The column of the model's type `type` in the profile: the nth of equal names. */
static inline size_t column_of(const reading *r, const model *m, size_t type)
{
    const model_type *want = &m->types[type];
    size_t nth = 0, at = 0;
    for (size_t i = 0; i < type; i++)
        nth += !strcmp(m->types[i].type, want->type) && !strcmp(m->types[i].unit, want->unit);
    for (;; at++)
        if (!strcmp(reading_string(r, r->view->sample_type[at]->type), want->type) &&
            !strcmp(reading_string(r, r->view->sample_type[at]->unit), want->unit) && !nth--)
            return at;
}

/* Adds counters, and gauges if they count. */
static inline void rows_add(rows *to, const reading *from, const gen *g, bool gauges)
{
    for (size_t i = 0; i < from->samples_len; i++)
        for (size_t t = 0; t < g->m.types_len; t++)
            if (g->is_counter[t] || gauges)
                row_of(to, from->samples[i].key)->values[t] +=
                    from->samples[i].values[column_of(from, &g->m, t)];
}

/* NULL, or where the profile is not the naive sum without its rows of zeros, or not compact. */
static inline const char *rows_differ(rows *want, const reading *profile, const gen *g)
{
    rows got = {.arena = want->arena};
    size_t found = 0;
    rows_add(&got, profile, g, true);
    for (size_t i = 0; i < want->len; i++) {
        const struct row *w = &want->list[i];
        if (memcmp(row_of(&got, w->key)->values, w->values, sizeof w->values) != 0)
            return w->key;
        found += is_nonzero(w->values, g->m.types_len);
    }
    return found != profile->samples_len ? "other samples" : compare_compact(want->arena, profile);
}

/* ---- a series of profiles of a made-up process, and the deltas that one context made of them -- */

enum { WINDOWS = 7, MOST_SENT = 2 * WINDOWS };

typedef struct film {
    stage s;
    buf looks[MOST_SENT], deltas[MOST_SENT];
    size_t len;
} film;

static inline void film_begin(film *f, uint64_t seed)
{
    f->len = 0;
    stage_begin(&f->s, seed);
    f->s.options.flags &= ~(unsigned)PPROFDELTA_NO_STAMP;
}

static inline void film_end(film *f)
{
    stage_end(&f->s);
}

/* is_lossy: some windows are not sent, some are sent twice, and some are sent but not committed. */
static inline void film_shoot(film *f, unsigned events, bool is_lossy)
{
    ENDS(context_end) pprofdelta *pd = NULL;
    if (!gen_counts(&f->s.g) || pprofdelta_new(&f->s.options, NULL, &pd, NULL) != PPROFDELTA_OK)
        return;
    for (size_t i = 0; i < WINDOWS; i++, gen_evolve(&f->s.g, events)) {
        collector c = {.bytes = buf_begin(&f->s.arena)};
        buf profile = look(&f->s);
        if (pprofdelta_window(pd, profile.ptr, profile.len, collecting(&c), NULL, NULL) !=
            PPROFDELTA_OK)
            continue;
        size_t times = is_lossy ? rng_chance(&f->s.rng, 80) + rng_chance(&f->s.rng, 20) : 1;
        for (; times; times--, f->len++) {
            f->looks[f->len] = profile;
            f->deltas[f->len] = c.bytes;
        }
        if (is_lossy && rng_chance(&f->s.rng, 30))
            pprofdelta_abandon(pd);
        else
            CHECK(!pprofdelta_commit(pd));
    }
}

#endif

/* Profiles read in one pass, look after look: as the oracle says, and to the byte what comes out
 * without it. What each test counts tells that one pass was really taken, and where it must not be
 * that it was not. */
#include "once_kit.h"

enum { LOOKS = 6 };

/* Looks at one process; most are as Go writes them. */
typedef struct film {
    gen g;
    rng rng;
    arena arena;
    pprofdelta_options options;
    buf looks[LOOKS];
    int64_t started[LOOKS];
} film;

static unsigned draw_events(rng *r)
{
    unsigned calm = GEN_DECREASE | GEN_VANISH | GEN_RENAME | GEN_HEADER;
    return rng_chance(r, 50) ? calm : (unsigned)rng_below(r, GEN_ANYTHING + 1);
}

static void film_begin(film *f, uint64_t seed)
{
    *f = (film){.rng = {seed * 2 + 1}};
    rng *r = &f->rng;
    if (rng_chance(r, 85))
        gen_init_as_go(&f->g, seed);
    else
        gen_init(&f->g, seed);
    f->options = draw_options(r, &f->g);
    f->options.flags |= rng_chance(r, 90) ? PPROFDELTA_NO_SAVE : 0;
    unsigned events = draw_events(r);
    serial_style same = serial_draw_as_go(r);
    bool is_same = rng_chance(r, 50);
    for (size_t i = 0; i < LOOKS; i++) {
        serial_style style = rng_chance(r, 85) ? serial_draw_as_go(r) : serial_draw(r);
        f->looks[i] = serial_write(&f->arena, &f->g.m, is_same ? &same : &style);
        f->started[i] = f->g.started_nanos;
        gen_evolve(&f->g, events);
    }
}

static void film_end(film *f)
{
    gen_free(&f->g);
    arena_free(&f->arena);
}

typedef struct counts {
    unsigned long bases, once_bases, windows, once_windows, wrong_ones;
} counts;

static bool may_be_once(const pprofdelta *pd)
{
    return pd->piece && (pd->flags & PPROFDELTA_NO_SAVE) &&
           pd->on_reset != PPROFDELTA_ON_RESET_NEGATIVE;
}

static void count_base(counts *c, const pprofdelta *pd)
{
    c->bases += may_be_once(pd);
    c->once_bases += base_was_once(pd);
    c->wrong_ones += base_was_once(pd) && !may_be_once(pd);
}

static void count_window(counts *c, const pprofdelta *pd, bool base_is_once)
{
    c->windows += may_be_once(pd) && base_is_once;
    c->once_windows += window_was_once(pd);
    c->wrong_ones += window_was_once(pd) && !(may_be_once(pd) && base_is_once);
}

static void check_counts(const counts *c)
{
    CHECK(c->wrong_ones == 0);
    CHECK_MSG(c->once_bases * 2 > c->bases, "%lu of %lu bases", c->once_bases, c->bases);
    CHECK_MSG(c->once_windows * 5 > c->windows, "%lu of %lu windows", c->once_windows, c->windows);
}

TEST(deltas_are_as_the_oracle_says)
{
    seed_range range = seeds(15);
    counts c = {0};
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        film f;
        film_begin(&f, seed + 100000);
        twin t;
        twin_begin(&t, &f.options, NULL);
        const char *wrong = NULL;
        pprofdelta_status status = PPROFDELTA_OK;
        for (size_t i = 0; i < LOOKS && !wrong; i++) {
            bool is_base = rng_chance(&f.rng, i ? 15 : 90), base_is_once = base_was_once(t.pd);
            t.pd->piece = rng_chance(&f.rng, 85) ? draw_piece(&f.rng) : 0;
            if (rng_chance(&f.rng, 20))
                twin_set_started(&t, f.started[i]);
            wrong =
                is_base ? twin_base(&t, f.looks[i], &status) : twin_window(&t, f.looks[i], &status);
            if (!status && is_base)
                count_base(&c, t.pd);
            else if (!status)
                count_window(&c, t.pd, base_is_once);
            rng_chance(&f.rng, 70) ? twin_commit(&t) : twin_abandon(&t);
            AGREE(seed, wrong);
        }
        twin_end(&t);
        film_end(&f);
    }
    if (!getenv("PD_TEST_SEED"))
        check_counts(&c);
}

TEST(the_bytes_are_those_of_two_passes)
{
    seed_range range = seeds(15);
    counts c = {0};
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        film f;
        ways w;
        film_begin(&f, seed + 200000);
        ways_begin(&w, &f.options);
        const char *wrong = NULL;
        for (size_t i = 0; i < LOOKS && !wrong; i++) {
            bool is_base = rng_chance(&f.rng, i ? 15 : 90), base_is_once = base_was_once(w.once);
            w.once->piece = rng_chance(&f.rng, 85) ? draw_piece(&f.rng) : 0;
            wrong = is_base ? ways_base(&w, f.looks[i]) : ways_window(&w, f.looks[i]);
            if (!w.status && is_base)
                count_base(&c, w.once);
            else if (!w.status)
                count_window(&c, w.once, base_is_once);
            rng_chance(&f.rng, 70) ? ways_commit(&w) : ways_abandon(&w);
            AGREE(seed, wrong);
        }
        ways_end(&w);
        film_end(&f);
    }
    if (!getenv("PD_TEST_SEED"))
        check_counts(&c);
}

/* ---------------------------------------------------------------------------------------------
 * Samples that stand still, and come again and move
 * ------------------------------------------------------------------------------------------ */

/* The same stack, or one of other locations that are the same places; with the labels turned
 * around. */
static model_sample *draw_again(gen *g, const model_sample *of)
{
    model_sample *s = arena_alloc(&g->arena, sizeof *s);
    *s = *of;
    s->values = ARENA_ARRAY(&g->arena, int64_t, g->m.types_len);
    for (size_t i = 0; i < g->m.types_len; i++)
        s->values[i] = 1 + rng_magnitude(&g->rng, 10);
    s->labels = ARENA_ARRAY(&g->arena, model_label, of->labels_len + 1);
    for (size_t i = 0; i < of->labels_len; i++)
        s->labels[i] = of->labels[of->labels_len - 1 - i];
    if (!of->depth || rng_chance(&g->rng, 50))
        return s;
    model_location *other = arena_alloc(&g->arena, sizeof *other);
    *other = *of->stack[0];
    if (other->address && rng_chance(&g->rng, 50))
        other->lines_len = 0;
    ARENA_PUSH(&g->arena, g->m.locations, g->m.locations_len, g->m.locations_cap, other);
    s->stack = ARENA_ARRAY(&g->arena, model_location *, of->depth);
    memcpy(s->stack, of->stack, of->depth * sizeof *s->stack);
    s->stack[0] = other;
    return s;
}

/* So many samples come again, somewhere behind all others. */
static void repeat(gen *g, size_t len)
{
    model *m = &g->m;
    size_t samples = m->samples_len;
    for (size_t i = 0; i < len && samples; i++) {
        model_sample *s = draw_again(g, m->samples[rng_below(&g->rng, samples)]);
        ARENA_PUSH(&g->arena, m->samples, m->samples_len, m->samples_cap, s);
    }
}

static void hold_still(gen *g)
{
    for (size_t i = 0; i < g->m.samples_len; i++)
        for (size_t t = 0; t < g->m.types_len; t++)
            if (!g->is_counter[t])
                g->m.samples[i]->values[t] = 0;
}

TEST(late_rows_are_where_they_belong)
{
    seed_range range = seeds(5);
    unsigned long late = 0, too_late = 0, once = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        gen g;
        ways w;
        arena a = {0};
        rng r = {seed};
        pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
        gen_init_as_go(&g, seed + 300000);
        while (g.m.samples_len && g.m.samples_len < 150 && seed % 4 == 1)
            gen_add_sample(&g);
        if (seed % 3 == 0) /* in the base as well, which so has more of them than it has room for */
            repeat(&g, rng_below(&r, 300));
        hold_still(&g);
        serial_style style = serial_draw_as_go(&r);
        style.split_samples = 0;
        style.shuffle_samples = false;
        options.flags = rng_chance(&r, 50) ? PPROFDELTA_VERIFY : 0;
        options.on_reset = PPROFDELTA_ON_RESET_CLAMP;
        ways_begin(&w, &options);
        AGREE(seed, ways_base(&w, serial_write(&a, &g.m, &style)));
        repeat(&g, rng_below(&r, seed % 4 == 1 ? 600 : 40));
        w.once->piece = draw_piece(&r);
        const char *wrong = ways_window(&w, serial_write(&a, &g.m, &style));
        AGREE(seed, wrong);
        once += !w.status && window_was_once(w.once);
        late += !w.status && window_was_once(w.once) && w.once->cur.window.late_len;
        too_late += !w.status && window_was_once(w.once) && !w.once->cur.window.skips_still;
        ways_end(&w);
        gen_free(&g);
        arena_free(&a);
    }
    CHECK_MSG(getenv("PD_TEST_SEED") || (once > 20 && late > 10 && too_late > 2),
              "%lu, %lu late, %lu too late", once, late, too_late);
}

TEST_MAIN(CASE(deltas_are_as_the_oracle_says), CASE(the_bytes_are_those_of_two_passes),
          CASE(late_rows_are_where_they_belong))

/* The subtraction compared with a naive one, and its sums with the conservation law. */
#include "../support/test.h"

#include "ledger/subtract.h"
#include "run.h"
#include "wide.h"

#define PLENTY (UINT64_C(1) << 40)

enum { PEOPLE = 30, COUNTERS_MAX = 3, STRIDE_MAX = 5 };

/* A profile: samples in order, with values, each at most once. */
typedef struct look {
    size_t who[PEOPLE];
    int64_t values[PEOPLE][STRIDE_MAX];
    size_t len;
} look;

typedef struct kit {
    tracker tracker;
    pd_mem mem;
    pd_ledger ledger;
    pd_window window;
    size_t counters, stride;
} kit;

static void begin(kit *k, size_t counters, size_t gauges)
{
    memset(k, 0, sizeof *k);
    pprofdelta_allocator allocator = tracker_allocator(&k->tracker);
    pd_mem_init(&k->mem, &allocator, PLENTY);
    k->counters = counters;
    k->stride = counters + gauges;
    pd_ledger_clear(&k->ledger, counters);
}

static void end(kit *k)
{
    pd_window_release(&k->window, &k->mem);
    pd_ledger_release(&k->ledger, &k->mem);
    CHECK(k->mem.used == 0);
}

static pd_key key_of(size_t who)
{
    return (pd_key){who * 37, who};
}

static void see(kit *k, const look *l)
{
    REQUIRE(pd_window_begin(&k->window, &k->mem, &k->ledger, k->stride, l->len, NULL) ==
            PPROFDELTA_OK);
    for (size_t i = 0; i < l->len; i++)
        REQUIRE(pd_window_add(&k->window, &k->mem, key_of(l->who[i]), i, l->values[i], NULL) ==
                PPROFDELTA_OK);
}

static int64_t draw_value(rng *r, bool is_wild)
{
    static const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, -1,       0,
                                       1,         INT64_MAX - 1, INT64_MAX};
    if (is_wild && rng_chance(r, 30))
        return extremes[rng_below(r, sizeof extremes / sizeof *extremes)];
    if (is_wild)
        return (int64_t)rng_next(r);
    return rng_chance(r, 30) ? 0 : rng_magnitude(r, 62);
}

static void draw(rng *r, bool is_wild, look *out)
{
    size_t order[PEOPLE];
    for (size_t i = 0; i < PEOPLE; i++)
        order[i] = i;
    rng_shuffle(r, order, PEOPLE);
    out->len = rng_below(r, PEOPLE + 1);
    for (size_t i = 0; i < out->len; i++) {
        out->who[i] = order[i];
        for (size_t n = 0; n < STRIDE_MAX; n++)
            out->values[i][n] = draw_value(r, is_wild);
    }
}

/* The sample in a profile, or NULL. */
static const int64_t *values_of(const look *l, size_t who)
{
    for (size_t i = 0; i < l->len; i++)
        if (l->who[i] == who)
            return l->values[i];
    return NULL;
}

static const pd_subtraction ways[] = {PD_SUBTRACT_CLAMP, PD_SUBTRACT_NEGATIVE, PD_SUBTRACT_NOTHING,
                                      PD_SUBTRACT_ALL};

/* What a counter should come to. */
static int64_t subtract_naively(pd_subtraction how, int64_t cur, const int64_t *prev)
{
    if (how == PD_SUBTRACT_ALL)
        return 0;
    if (how == PD_SUBTRACT_NOTHING || !prev)
        return cur;
    if (how == PD_SUBTRACT_CLAMP && cur < *prev)
        return 0;
    return (int64_t)(uint64_t)((wide)cur - *prev);
}

/* Two looks at once: prev is remembered, cur is in the window. */
static void begin_pair(kit *k, rng *r, bool is_wild, look *prev, look *cur)
{
    begin(k, 1 + rng_below(r, COUNTERS_MAX), rng_below(r, STRIDE_MAX - COUNTERS_MAX + 1));
    draw(r, is_wild, prev);
    draw(r, is_wild, cur);
    for (size_t i = 0; i < cur->len; i++) { /* some the same, some nearly */
        const int64_t *before = values_of(prev, cur->who[i]);
        for (size_t n = 0; before && n < STRIDE_MAX && rng_chance(r, 50); n++)
            cur->values[i][n] = before[n] > INT64_MIN ? before[n] - rng_chance(r, 20) : before[n];
    }
    see(k, prev);
    pd_window_commit(&k->window, PD_COMMIT_REPLACE);
    see(k, cur);
}

TEST(rows_equal_a_naive_subtraction)
{
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        rng r = {seed};
        static look prev, cur;
        kit k;
        begin_pair(&k, &r, seed % 2, &prev, &cur);
        for (size_t way = 0; way < 4; way++)
            for (size_t row = 0; row < cur.len; row++) {
                int64_t out[STRIDE_MAX + 1];
                out[k.stride] = 4711;
                const int64_t *before = values_of(&prev, cur.who[row]);
                bool any = pd_subtract_row(&k.window, row, ways[way], out), want_any = false;
                for (size_t n = 0; n < k.stride; n++) {
                    int64_t want = cur.values[row][n];
                    if (n < k.counters)
                        want = subtract_naively(ways[way], want, before ? &before[n] : NULL);
                    CHECK_MSG(out[n] == want, "seed %llu, way %zu", (unsigned long long)seed, way);
                    want_any = want_any || want;
                }
                CHECK(any == want_any && out[k.stride] == 4711);
            }
        pd_window_abandon(&k.window);
        end(&k);
    }
}

TEST(vanished_samples_are_negated)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        rng r = {seed};
        static look prev, cur;
        kit k;
        begin_pair(&k, &r, seed % 2, &prev, &cur);
        for (size_t i = 0; i < prev.len; i++) {
            int64_t out[STRIDE_MAX + 1];
            out[k.stride] = 4711;
            uint32_t entry = pd_keymap_find(&k.ledger.keys, key_of(prev.who[i]));
            bool any = pd_subtract_vanished(&k.window, entry, out), want_any = false;
            for (size_t n = 0; n < k.stride; n++) {
                uint64_t want = n < k.counters ? 0 - (uint64_t)prev.values[i][n] : 0;
                CHECK(out[n] == (int64_t)want);
                want_any = want_any || want;
            }
            CHECK(any == want_any && out[k.stride] == 4711);
        }
        pd_window_abandon(&k.window);
        end(&k);
    }
}

/* ---------------------------------------------------------------------------------------------
 * The books
 * ------------------------------------------------------------------------------------------ */

static wide wide_of(pprofdelta_sum s)
{
    return (wide)s.hi * ((wide)1 << 64) + s.lo;
}

/* Adds up the whole output of a window. */
static void book(const kit *k, pd_subtraction how, pd_tally *tally)
{
    int64_t out[STRIDE_MAX];
    pd_tally_begin(tally, &k->window, how);
    for (size_t row = 0; row < k->window.len; row++)
        if (pd_subtract_row(&k->window, row, how, out))
            pd_tally_output(tally, out, k->stride);
    for (uint32_t entry = 0; how == PD_SUBTRACT_NEGATIVE && entry < k->ledger.committed; entry++)
        if (pd_window_row_of(&k->window, entry) == PD_ROW_NONE &&
            pd_subtract_vanished(&k->window, entry, out))
            pd_tally_output(tally, out, k->stride);
}

typedef struct books {
    uint64_t matched, fresh, vanished, clamped;
    wide prev[STRIDE_MAX], cur[STRIDE_MAX], delta[STRIDE_MAX], behind[STRIDE_MAX], gone[STRIDE_MAX];
} books;

static void book_row_naively(pd_subtraction how, const kit *k, const int64_t *before,
                             const int64_t *now, books *b)
{
    bool is_clamped = false;
    b->matched += before != NULL;
    b->fresh += !before;
    for (size_t n = 0; n < k->stride; n++) {
        bool is_counter = n < k->counters;
        b->cur[n] += now[n];
        b->delta[n] +=
            is_counter ? subtract_naively(how, now[n], before ? &before[n] : NULL) : now[n];
        if (is_counter && how == PD_SUBTRACT_ALL)
            b->prev[n] += now[n];
        if (is_counter && before && how == PD_SUBTRACT_CLAMP && now[n] < before[n]) {
            b->behind[n] += (wide)before[n] - now[n];
            is_clamped = true;
        }
    }
    b->clamped += is_clamped;
}

static void book_naively(pd_subtraction how, const kit *k, const look *prev, const look *cur,
                         books *b)
{
    *b = (books){0};
    bool has_prev = how == PD_SUBTRACT_CLAMP || how == PD_SUBTRACT_NEGATIVE;
    for (size_t i = 0; i < cur->len; i++)
        book_row_naively(how, k, has_prev ? values_of(prev, cur->who[i]) : NULL, cur->values[i], b);
    for (size_t i = 0; has_prev && i < prev->len; i++) {
        bool is_gone = !values_of(cur, prev->who[i]);
        b->vanished += is_gone;
        for (size_t n = 0; n < k->counters; n++) {
            int64_t base = prev->values[i][n];
            b->prev[n] += base;
            if (is_gone && how == PD_SUBTRACT_CLAMP)
                b->gone[n] += base;
            if (is_gone && how == PD_SUBTRACT_NEGATIVE)
                b->delta[n] += (int64_t)(0 - (uint64_t)base);
        }
    }
}

/* The law holds in 64 bits whatever the values; to the last bit where they are what counters are. */
static void check_law(const pd_tally *t, size_t counters, bool is_wild)
{
    CHECK(pd_tally_check(t, counters) == -1);
    for (size_t n = 0; n < counters; n++) {
        const pd_type_sums *s = &t->types[n];
        wide left =
            wide_of(s->prev) + wide_of(s->delta) - wide_of(s->clamped) - wide_of(s->vanished);
        CHECK((uint64_t)left == (uint64_t)wide_of(s->cur));
        CHECK(is_wild || left == wide_of(s->cur));
    }
}

TEST(sums_equal_a_naive_tally_and_keep_the_law)
{
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        rng r = {seed};
        static look prev, cur;
        kit k;
        begin_pair(&k, &r, seed % 2, &prev, &cur);
        for (size_t way = 0; way < 4; way++) {
            pd_tally t;
            books want;
            book(&k, ways[way], &t);
            book_naively(ways[way], &k, &prev, &cur, &want);
            check_law(&t, k.counters, seed % 2);
            CHECK_MSG(t.matched == want.matched && t.fresh == want.fresh &&
                          t.vanished == want.vanished && t.clamped == want.clamped,
                      "seed %llu, way %zu", (unsigned long long)seed, way);
            for (size_t n = 0; n < k.stride; n++) {
                const pd_type_sums *s = &t.types[n];
                CHECK(wide_of(s->prev) == want.prev[n] && wide_of(s->cur) == want.cur[n]);
                CHECK(wide_of(s->delta) == want.delta[n]);
                CHECK(wide_of(s->clamped) == want.behind[n] &&
                      wide_of(s->vanished) == want.gone[n]);
            }
        }
        pd_window_abandon(&k.window);
        end(&k);
    }
}

TEST(an_error_of_one_is_found)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        rng r = {seed};
        static look prev, cur;
        kit k;
        begin_pair(&k, &r, seed % 2, &prev, &cur);
        pd_tally t;
        book(&k, PD_SUBTRACT_CLAMP, &t);
        size_t n = rng_below(&r, k.counters);
        pd_type_sums *s = &t.types[n];
        pprofdelta_sum *sums[] = {&s->prev, &s->cur, &s->delta, &s->clamped, &s->vanished};
        pd_sum_add(sums[rng_below(&r, 5)], rng_chance(&r, 50) ? 1 : -1);
        CHECK(pd_tally_check(&t, k.counters) == (int)n);
        CHECK(pd_tally_check(&t, n) == -1);
        pd_window_abandon(&k.window);
        end(&k);
    }
}

TEST_MAIN()

/* A window against a naive one: rows, duplicates, and what its ledger holds when it is over. */
#include "../support/test.h"

#include "delta/reset.h"
#include "delta/tally.h"
#include "run.h"

#define PLENTY (UINT64_C(1) << 40)

enum { PEOPLE = 120, STRIDE_MAX = 4, SAMPLES_MAX = 300 };

static pd_key key_of(size_t who)
{
    return (pd_key){who * UINT64_C(0x9e3779b97f4a7c15), ~(uint64_t)who};
}

/* ---------------------------------------------------------------------------------------------
 * Samples, and a window that takes them one by one
 * ------------------------------------------------------------------------------------------ */

typedef struct sample {
    size_t who;
    uint64_t origin;
    int64_t values[STRIDE_MAX];
} sample;

typedef struct look {
    sample samples[SAMPLES_MAX];
    size_t len, stride;
} look;

/* Few people, so that many come more than once; now and then in the order of the last time. */
static void draw(rng *r, size_t stride, look *out)
{
    size_t people = 1 + rng_below(r, PEOPLE), in_order = rng_below(r, 3);
    out->stride = stride;
    out->len = rng_below(r, SAMPLES_MAX);
    if (in_order && out->len > people)
        out->len = people;
    for (size_t i = 0; i < out->len; i++) {
        sample *s = &out->samples[i];
        *s = (sample){.who = in_order ? i : rng_below(r, people), .origin = rng_next(r)};
        for (size_t n = 0; n < stride; n++)
            s->values[n] = rng_chance(r, 10) ? (int64_t)rng_next(r) : (int64_t)rng_below(r, 100);
    }
}

/* What the rows should be: first come, first served, values added up modulo 2^64. */
typedef struct rows {
    sample items[PEOPLE];
    size_t len;
    uint64_t duplicates;
} rows;

static void add_naively(const look *l, rows *out)
{
    out->len = 0;
    out->duplicates = 0;
    for (size_t i = 0; i < l->len; i++) {
        const sample *s = &l->samples[i];
        size_t row = 0;
        while (row < out->len && out->items[row].who != s->who)
            row++;
        if (row == out->len) {
            out->items[out->len++] = *s;
            continue;
        }
        out->duplicates++;
        for (size_t n = 0; n < l->stride; n++)
            out->items[row].values[n] =
                (int64_t)((uint64_t)out->items[row].values[n] + (uint64_t)s->values[n]);
    }
}

typedef struct kit {
    tracker tracker;
    pd_mem mem;
    pd_ledger ledger;
    pd_window window;
} kit;

static void begin(kit *k, size_t counters)
{
    memset(k, 0, sizeof *k);
    pprofdelta_allocator allocator = tracker_allocator(&k->tracker);
    pd_mem_init(&k->mem, &allocator, PLENTY);
    pd_ledger_clear(&k->ledger, counters);
}

static void end(kit *k)
{
    pd_window_release(&k->window, &k->mem);
    pd_ledger_release(&k->ledger, &k->mem);
    CHECK(k->mem.used == 0 && k->tracker.live == 0);
}

/* How the window's guess is spoilt before each sample. */
typedef enum spoil { AS_IT_IS, NONE, ALWAYS_FIRST, OUT_OF_BOUNDS, SPOILS } spoil;

static pprofdelta_status fill(kit *k, const look *l, spoil how, pprofdelta_error *err)
{
    pprofdelta_status status =
        pd_window_begin(&k->window, &k->mem, &k->ledger, l->stride, l->len, err);
    for (size_t i = 0; i < l->len && !status; i++) {
        const sample *s = &l->samples[i];
        if (how != AS_IT_IS)
            k->window.guess = how == NONE ? UINT32_MAX : how == ALWAYS_FIRST ? 0 : 5000;
        status = pd_window_add(&k->window, &k->mem, key_of(s->who), s->origin, s->values, err);
    }
    return status;
}

static bool has_rows(const kit *k, const rows *want)
{
    const pd_window *w = &k->window;
    if (w->len != want->len || w->duplicates != want->duplicates)
        return false;
    for (size_t row = 0; row < w->len; row++) {
        const sample *s = &want->items[row];
        if (!pd_key_equal(k->ledger.keys.keys[w->entry[row]], key_of(s->who)) ||
            w->origin[row] != s->origin || pd_window_row_of(w, w->entry[row]) != row ||
            memcmp(pd_window_values(w, row), s->values, w->stride * sizeof *s->values) != 0)
            return false;
    }
    size_t with_row = 0;
    for (size_t entry = 0; entry < k->ledger.keys.len; entry++)
        with_row += pd_window_row_of(w, (uint32_t)entry) != PD_ROW_NONE;
    return with_row == w->len;
}

/* ---------------------------------------------------------------------------------------------
 * What the ledger holds
 * ------------------------------------------------------------------------------------------ */

typedef struct memory {
    size_t who[PEOPLE];
    int64_t base[PEOPLE][STRIDE_MAX];
    bool is_living[PEOPLE];
    size_t len;
} memory;

static void remember_naively(memory *m, const rows *r, size_t counters, pd_commit how)
{
    if (how == PD_COMMIT_REPLACE)
        m->len = 0;
    memset(m->is_living, 0, sizeof m->is_living);
    for (size_t row = 0; row < r->len; row++) {
        const sample *s = &r->items[row];
        size_t at = 0;
        while (at < m->len && m->who[at] != s->who)
            at++;
        bool is_new = at == m->len;
        m->len += is_new;
        m->who[at] = s->who;
        m->is_living[at] = true;
        for (size_t n = 0; n < counters; n++)
            if (is_new || s->values[n] > m->base[at][n])
                m->base[at][n] = s->values[n];
    }
}

/* In any order; the order is the ledger's own test's. */
static bool holds(const kit *k, const memory *m)
{
    const pd_ledger *l = &k->ledger;
    if (l->committed != m->len || l->keys.len != m->len)
        return false;
    for (size_t i = 0; i < m->len; i++) {
        uint32_t entry = pd_keymap_find(&l->keys, key_of(m->who[i]));
        if (entry == PD_KEYMAP_NONE || pd_ledger_is_living(l, entry) != m->is_living[i] ||
            memcmp(pd_ledger_base(l, entry), m->base[i], l->counters * sizeof *m->base[i]) != 0)
            return false;
    }
    return true;
}

/* What commit forgets of its own accord depends on the numbers: here nobody is forgotten. */
static bool would_forget(const memory *m, const rows *r)
{
    size_t unseen = m->len;
    for (size_t row = 0; row < r->len; row++)
        for (size_t i = 0; i < m->len; i++)
            unseen -= m->who[i] == r->items[row].who;
    return unseen > r->len;
}

TEST(a_naive_window_has_the_same_rows)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        static look l;
        static rows want;
        kit k;
        rng r = {seed};
        size_t counters = 1 + rng_below(&r, 2), stride = counters + rng_below(&r, 3);
        memory m = {.len = 0};
        begin(&k, counters);
        for (int i = 0; i < 12; i++) {
            draw(&r, stride, &l);
            add_naively(&l, &want);
            pd_commit how = rng_chance(&r, 20) ? PD_COMMIT_REPLACE : PD_COMMIT_KEEP;
            REQUIRE(fill(&k, &l, AS_IT_IS, NULL) == PPROFDELTA_OK);
            CHECK_MSG(has_rows(&k, &want), "seed %llu, window %d", (unsigned long long)seed, i);
            if (rng_chance(&r, 40) || would_forget(&m, &want)) {
                pd_window_abandon(&k.window);
            } else {
                pd_window_commit(&k.window, how);
                remember_naively(&m, &want, counters, how);
            }
            CHECK_MSG(holds(&k, &m), "seed %llu, window %d", (unsigned long long)seed, i);
            CHECK(k.window.len == 0);
        }
        end(&k);
    }
}

/* The guess only saves time: whatever it is, rows and ledger come out the same, in the same order. */
TEST(a_guess_changes_nothing)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        static look looks[4];
        rng r = {seed};
        for (int i = 0; i < 4; i++)
            draw(&r, 3, &looks[i]);
        static kit kits[SPOILS];
        for (spoil how = AS_IT_IS; how < SPOILS; how++) {
            kit *k = &kits[how], *first = &kits[0];
            begin(k, 2);
            for (int i = 0; i < 4; i++) {
                REQUIRE(fill(k, &looks[i], how, NULL) == PPROFDELTA_OK);
                static rows want;
                add_naively(&looks[i], &want);
                CHECK(has_rows(k, &want));
                pd_window_commit(&k->window, PD_COMMIT_KEEP);
            }
            size_t len = k->ledger.committed;
            REQUIRE(len == first->ledger.committed);
            CHECK(!len || memcmp(k->ledger.keys.keys, first->ledger.keys.keys,
                                 len * sizeof *k->ledger.keys.keys) == 0);
            CHECK(!len || memcmp(k->ledger.base, first->ledger.base,
                                 len * 2 * sizeof *k->ledger.base) == 0);
        }
        for (spoil how = AS_IT_IS; how < SPOILS; how++)
            end(&kits[how]);
    }
}

TEST(a_shuffled_look_holds_the_same)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        static look l, shuffled;
        rng r = {seed};
        draw(&r, 2, &l);
        size_t order[SAMPLES_MAX];
        for (size_t i = 0; i < l.len; i++)
            order[i] = i;
        rng_shuffle(&r, order, l.len);
        shuffled = l;
        for (size_t i = 0; i < l.len; i++)
            shuffled.samples[i] = l.samples[order[i]];
        kit a, b;
        begin(&a, 2);
        begin(&b, 2);
        REQUIRE(fill(&a, &l, AS_IT_IS, NULL) == PPROFDELTA_OK);
        REQUIRE(fill(&b, &shuffled, AS_IT_IS, NULL) == PPROFDELTA_OK);
        CHECK(a.window.len == b.window.len && a.window.duplicates == b.window.duplicates);
        for (size_t row = 0; row < a.window.len; row++) {
            pd_key key = a.ledger.keys.keys[a.window.entry[row]];
            uint32_t entry = pd_keymap_find(&b.ledger.keys, key);
            REQUIRE(entry != PD_KEYMAP_NONE && pd_window_row_of(&b.window, entry) != PD_ROW_NONE);
            const int64_t *values = pd_window_values(&b.window, pd_window_row_of(&b.window, entry));
            CHECK(memcmp(values, pd_window_values(&a.window, row), 2 * sizeof *values) == 0);
        }
        pd_window_abandon(&a.window);
        pd_window_abandon(&b.window);
        end(&a);
        end(&b);
    }
}

/* The rows of one window mean nothing in the next, however the numbers fall. */
TEST(old_rows_are_not_mistaken_for_new_ones)
{
    kit k;
    begin(&k, 1);
    static look l = {.stride = 1};
    for (size_t i = 0; i < 20; i++)
        l.samples[l.len++] = (sample){.who = i, .origin = i};
    REQUIRE(fill(&k, &l, AS_IT_IS, NULL) == PPROFDELTA_OK);
    pd_window_commit(&k.window, PD_COMMIT_KEEP);
    for (size_t missing = 0; missing < 20; missing++) {
        static look part;
        part = (look){.stride = 1};
        for (size_t i = 0; i < 20; i++)
            if (i != missing)
                part.samples[part.len++] = l.samples[i];
        REQUIRE(fill(&k, &part, AS_IT_IS, NULL) == PPROFDELTA_OK);
        for (size_t i = 0; i < 20; i++) {
            uint32_t entry = pd_keymap_find(&k.ledger.keys, key_of(i));
            uint32_t row = pd_window_row_of(&k.window, entry);
            CHECK(i == missing ? row == PD_ROW_NONE : row == (uint32_t)(i - (i > missing)));
        }
        pd_window_abandon(&k.window);
    }
    end(&k);
}

TEST(every_allocation_may_fail)
{
    size_t nth = 1, refused = 1;
    for (; refused; nth++) {
        static look first, second;
        static rows rows_first, rows_second;
        kit k;
        begin(&k, 2);
        memory m = {.len = 0};
        first = second = (look){.stride = 3};
        for (size_t i = 0; i < PEOPLE; i++) {
            second.samples[second.len++] = (sample){.who = i, .values = {1, 2, 3}};
            if (i < 20)
                first.samples[first.len++] = (sample){.who = i, .values = {1, 1, 1}};
        }
        add_naively(&first, &rows_first);
        add_naively(&second, &rows_second);
        REQUIRE(fill(&k, &first, AS_IT_IS, NULL) == PPROFDELTA_OK);
        pd_window_commit(&k.window, PD_COMMIT_KEEP);
        remember_naively(&m, &rows_first, 2, PD_COMMIT_KEEP);
        k.tracker.fail_at = k.tracker.calls + nth;
        pprofdelta_error err = {0};
        pprofdelta_status status = fill(&k, &second, AS_IT_IS, &err);
        refused = k.tracker.refused;
        CHECK(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK) && err.status == status);
        pd_window_abandon(&k.window);
        CHECK_MSG(holds(&k, &m), "allocation %zu", nth);
        k.tracker.fail_at = 0;
        REQUIRE(fill(&k, &second, AS_IT_IS, NULL) == PPROFDELTA_OK);
        CHECK(has_rows(&k, &rows_second));
        pd_window_commit(&k.window, PD_COMMIT_KEEP);
        remember_naively(&m, &rows_second, 2, PD_COMMIT_KEEP);
        CHECK(holds(&k, &m));
        end(&k);
    }
    CHECK(nth > 8);
}

TEST(more_rows_than_can_be_are_refused)
{
    kit k;
    begin(&k, 1);
    static const size_t counts[] = {SIZE_MAX, (size_t)PD_KEYMAP_MAX + 1, SIZE_MAX / 8 + 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        CHECK(pd_window_begin(&k.window, &k.mem, &k.ledger, 64, counts[i], NULL) ==
              PPROFDELTA_E_LIMIT);
    pd_window_abandon(&k.window);
    CHECK(k.tracker.calls == 0);
    end(&k);
}

TEST(a_window_that_never_began_can_be_taken_back)
{
    kit k;
    begin(&k, 1);
    pd_window_abandon(&k.window);
    CHECK(k.window.len == 0 && !k.window.ledger);
    static look nobody = {.stride = 1};
    REQUIRE(fill(&k, &nobody, AS_IT_IS, NULL) == PPROFDELTA_OK);
    pd_window_commit(&k.window, PD_COMMIT_KEEP);
    CHECK(k.ledger.committed == 0 && k.ledger.window == 1);
    end(&k);
}

/* ---------------------------------------------------------------------------------------------
 * Samples that stand still: the window without rows for them, and its twin with all rows
 * ------------------------------------------------------------------------------------------ */

/* A process that does little from look to look: few counters move, most gauges are zero, and some
 * samples come in two records, of which the first may be all that there was the last time. */
static void live_on(rng *r, look *l, size_t counters)
{
    size_t people = l->len ? l->len : 1 + rng_below(r, PEOPLE);
    for (size_t i = 0; i < people; i++) {
        sample *s = &l->samples[i];
        if (l->len == 0)
            *s = (sample){.who = i};
        for (size_t n = 0; n < l->stride; n++)
            if (n >= counters)
                s->values[n] = rng_chance(r, 10) ? (int64_t)rng_below(r, 3) : 0;
            else if (rng_chance(r, 10))
                s->values[n] += (int64_t)rng_below(r, 5) - (rng_chance(r, 20) ? 3 : 0);
    }
    l->len = people;
}

/* The look as it is shown: some vanished, and some said again in a second record. */
static void show(rng *r, const look *l, look *out)
{
    out->stride = l->stride;
    out->len = 0;
    for (size_t i = 0; i < l->len; i++)
        if (!rng_chance(r, 5))
            out->samples[out->len++] = l->samples[i];
    size_t again = rng_chance(r, 10) ? 180 : rng_below(r, 3);
    for (; again && out->len; again--) {
        sample *s = &out->samples[out->len++];
        *s = out->samples[rng_below(r, out->len - 1)];
        for (size_t n = 0; n < l->stride; n++)
            s->values[n] = rng_chance(r, 70) ? 0 : 1;
    }
    for (size_t i = 0; i < out->len; i++) /* they rise, as offsets do; some are too large to note */
        out->samples[i].origin = (i + 1) * (rng_chance(r, 10) ? UINT64_C(1) << 31 : 3) / 3;
    for (size_t i = 1; i < out->len; i++)
        if (out->samples[i].origin <= out->samples[i - 1].origin)
            out->samples[i].origin = out->samples[i - 1].origin + 1;
}

static void same_books(const pd_window *a, const pd_window *b, size_t stride)
{
    pd_reset_facts facts = {.on_reset = PPROFDELTA_ON_RESET_AUTO};
    pd_verdict x = pd_reset_judge(a, &facts), y = pd_reset_judge(b, &facts);
    CHECK(x.restart == y.restart && x.has_decrease == y.has_decrease);
    pd_tally one, other;
    pd_tally_begin(&one, a, PD_SUBTRACT_CLAMP);
    pd_tally_begin(&other, b, PD_SUBTRACT_CLAMP);
    CHECK(one.matched == other.matched && one.fresh == other.fresh &&
          one.vanished == other.vanished && one.clamped == other.clamped);
    CHECK(memcmp(one.types, other.types, stride * sizeof *one.types) == 0);
    CHECK(a->duplicates == b->duplicates);
}

/* What is left of the rows once those that give nothing are gone. */
static void same_output(const pd_window *some, const pd_window *all, size_t stride)
{
    int64_t one[STRIDE_MAX], other[STRIDE_MAX];
    size_t row;
    pd_window_walk walk = {0, 0};
    for (size_t i = 0; i < all->len; i++) {
        if (!pd_subtract_row(all, i, PD_SUBTRACT_CLAMP, other))
            continue;
        while ((row = pd_window_next(some, &walk)) != PD_ROW_NONE &&
               !pd_subtract_row(some, row, PD_SUBTRACT_CLAMP, one))
            ;
        REQUIRE(row != PD_ROW_NONE);
        CHECK(some->entry[row] == all->entry[i] && some->origin[row] == all->origin[i]);
        CHECK(memcmp(one, other, stride * sizeof *one) == 0);
    }
    while ((row = pd_window_next(some, &walk)) != PD_ROW_NONE)
        CHECK(!pd_subtract_row(some, row, PD_SUBTRACT_CLAMP, one));
}

static void same_ledgers(const pd_ledger *a, const pd_ledger *b)
{
    REQUIRE(a->keys.len == b->keys.len && a->living == b->living && a->committed == b->committed);
    for (size_t i = 0; i < a->keys.len; i++)
        CHECK(pd_key_equal(a->keys.keys[i], b->keys.keys[i]) && a->seen[i] == b->seen[i]);
    CHECK(!a->keys.len ||
          memcmp(a->base, b->base, a->keys.len * a->counters * sizeof *a->base) == 0);
}

static void fill_skipping(kit *k, const look *l)
{
    REQUIRE(pd_window_begin(&k->window, &k->mem, &k->ledger, l->stride, 0, NULL) == PPROFDELTA_OK);
    k->window.skips_still = true;
    for (size_t i = 0; i < l->len; i++) {
        const sample *s = &l->samples[i];
        REQUIRE(pd_window_add(&k->window, &k->mem, key_of(s->who), s->origin, s->values, NULL) ==
                PPROFDELTA_OK);
    }
}

TEST(what_stands_still_needs_no_row)
{
    size_t still = 0, late = 0, refilled = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        rng r = {seed};
        size_t stride = 1 + rng_below(&r, STRIDE_MAX), counters = 1 + rng_below(&r, stride);
        kit some, all;
        static look life, shown;
        begin(&some, counters);
        begin(&all, counters);
        life.len = 0;
        life.stride = stride;
        for (int window = 0; window < 5; window++) {
            live_on(&r, &life, counters);
            show(&r, &life, &shown);
            fill_skipping(&some, &shown);
            REQUIRE(fill(&all, &shown, AS_IT_IS, NULL) == PPROFDELTA_OK);
            if (some.window.lacks_rows) { /* as the door does then */
                refilled++;
                pd_window_abandon(&some.window);
                REQUIRE(fill(&some, &shown, AS_IT_IS, NULL) == PPROFDELTA_OK);
            }
            still += some.window.still;
            late += some.window.late_len;
            CHECK(some.window.len + some.window.still == all.window.len);
            same_books(&some.window, &all.window, stride);
            same_output(&some.window, &all.window, stride);
            if (rng_chance(&r, 20)) {
                pd_window_abandon(&some.window);
                pd_window_abandon(&all.window);
            } else {
                pd_window_commit(&some.window, PD_COMMIT_KEEP);
                pd_window_commit(&all.window, PD_COMMIT_KEEP);
            }
            same_ledgers(&some.ledger, &all.ledger);
        }
        end(&some);
        end(&all);
    }
    CHECK_MSG(still > 10000 && late > 100, "%zu stood still, %zu late, %zu refilled", still, late,
              refilled);
}

/* As many late rows as there is room for, and one more. */
TEST(with_too_many_late_rows_the_window_is_filled_anew)
{
    for (size_t late = PD_LATE_MAX - 1; late <= PD_LATE_MAX + 1; late++) {
        static look life, shown;
        kit k;
        begin(&k, 1);
        life = (look){.stride = 1, .len = PEOPLE};
        for (size_t i = 0; i < PEOPLE; i++)
            life.samples[i] = (sample){.who = i, .origin = i, .values = {5}};
        REQUIRE(fill(&k, &life, AS_IT_IS, NULL) == PPROFDELTA_OK);
        pd_window_commit(&k.window, PD_COMMIT_KEEP);
        shown = life;
        shown.samples[PEOPLE - 1].values[0]++; /* a row, in its place; all others are early */
        for (size_t i = 0; i < late; i++)
            shown.samples[shown.len++] =
                (sample){.who = (i * 5) % (PEOPLE - 1), .origin = PEOPLE + i, .values = {1}};
        fill_skipping(&k, &shown);
        CHECK(k.window.lacks_rows == (late > PD_LATE_MAX));
        CHECK(k.window.late_len == (late < PD_LATE_MAX ? late : PD_LATE_MAX));
        pd_window_abandon(&k.window);
        end(&k);
    }
}

TEST_MAIN(CASE(a_naive_window_has_the_same_rows), CASE(a_guess_changes_nothing),
          CASE(a_shuffled_look_holds_the_same), CASE(old_rows_are_not_mistaken_for_new_ones),
          CASE(every_allocation_may_fail), CASE(more_rows_than_can_be_are_refused),
          CASE(a_window_that_never_began_can_be_taken_back), CASE(what_stands_still_needs_no_row),
          CASE(with_too_many_late_rows_the_window_is_filled_anew))

/* A window compared with a naive one: rows, duplicates, and its ledger after a commit. */
#include "window_kit.h"

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

TEST(rows_equal_a_naive_window)
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

/* The guess only saves time: whatever it is, rows and ledger come out the same, in the same
 * order. */
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

TEST(too_many_rows_are_refused)
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

TEST(a_window_that_was_not_begun_can_be_abandoned)
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

TEST_MAIN()

/* Samples that stand still: the window without rows for them, and its twin with all rows. */
#include "window_kit.h"

#include "ledger/reset.h"
#include "ledger/subtract.h"

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

static void same_verdict(const pd_window *a, const pd_window *b)
{
    pd_reset_facts facts = {.on_reset = PPROFDELTA_ON_RESET_AUTO};
    pd_verdict x = pd_reset_judge(a, &facts), y = pd_reset_judge(b, &facts);
    CHECK(x.restart == y.restart && x.has_decrease == y.has_decrease && x.has_loss == y.has_loss &&
          x.has_increase == y.has_increase);
}

static void same_books(const pd_window *a, const pd_window *b, size_t stride)
{
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
    pd_window_walk walk = {0};
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

static void same_bases(const pd_ledger *a, const pd_ledger *b)
{
    REQUIRE(a->committed == b->committed);
    CHECK(!a->committed ||
          memcmp(a->base, b->base, a->committed * a->counters * sizeof *a->base) == 0);
}

static void same_ledgers(pd_ledger *a, pd_ledger *b)
{
    REQUIRE(a->keys.len == b->keys.len && a->living == b->living && a->kept == b->kept);
    for (size_t i = 0; i < a->keys.len; i++)
        CHECK(pd_key_equal(a->keys.keys[i], b->keys.keys[i]) && a->seen[i] == b->seen[i]);
    same_bases(a, b);
    pd_ledger_exchange(a); /* and what the open attempt had */
    pd_ledger_exchange(b);
    same_bases(a, b);
    pd_ledger_exchange(a);
    pd_ledger_exchange(b);
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

TEST(still_samples_have_no_row)
{
    size_t still = 0, late = 0, lifted = 0;
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
            REQUIRE(pd_window_wake_tried(&some.window, &some.mem, NULL) == PPROFDELTA_OK);
            same_verdict(&some.window, &all.window);
            pd_window_lift(&some.window);
            pd_window_lift(&all.window);
            lifted += some.window.lifted_len;
            REQUIRE(pd_window_order(&some.window, &some.mem, NULL) == PPROFDELTA_OK);
            still += some.window.still;
            late += some.window.late_len;
            CHECK(some.window.len + some.window.still == all.window.len);
            same_books(&some.window, &all.window, stride);
            same_output(&some.window, &all.window, stride);
            if (rng_chance(&r, 20)) {
                pd_window_abandon(&some.window);
                pd_window_abandon(&all.window);
            } else if (rng_chance(&r, 40)) { /* an open attempt */
                pd_window_settle(&some.window, PD_COMMIT_KEEP);
                pd_window_settle(&all.window, PD_COMMIT_KEEP);
            } else {
                pd_window_commit(&some.window, PD_COMMIT_KEEP);
                pd_window_commit(&all.window, PD_COMMIT_KEEP);
            }
            same_ledgers(&some.ledger, &all.ledger);
        }
        end(&some);
        end(&all);
    }
    CHECK_MSG(still > 10000 && late > 100 && lifted > 100, "%zu stood still, %zu late, %zu lifted",
              still, late, lifted);
}

/* The rows come by origin, however many of them are late. */
TEST(late_rows_come_where_they_first_appeared)
{
    for (size_t late = 0; late < PEOPLE; late++) {
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
        REQUIRE(pd_window_order(&k.window, &k.mem, NULL) == PPROFDELTA_OK);
        CHECK(k.window.late_len == k.window.len - 1);
        pd_window_walk walk = {0};
        size_t rows = 0;
        uint64_t before = 0;
        for (size_t row; (row = pd_window_next(&k.window, &walk)) != PD_ROW_NONE; rows++) {
            CHECK(!rows || k.window.origin[row] > before);
            before = k.window.origin[row];
        }
        CHECK(rows == k.window.len);
        pd_window_abandon(&k.window);
        end(&k);
    }
}

TEST_MAIN()

/* Laws of deltas that need no oracle: prev and delta add up to cur, windows sum to what
 * was counted. */
#include "delta_stage.h"
#include "seeds.h"
#include "wide.h"

/* The delta of two looks from a context of their own; empty where there is none. */
static buf delta_of(arena *a, const pprofdelta_options *options, buf prev, buf cur)
{
    pprofdelta *pd;
    collector c = {.bytes = buf_begin(a)};
    pprofdelta_sink sink = collector_sink(&c);
    if (pprofdelta_new(options, NULL, &pd, NULL) != PPROFDELTA_OK)
        return c.bytes;
    if (pprofdelta_base(pd, prev.ptr, prev.len, NULL) == PPROFDELTA_OK)
        pprofdelta_window(pd, cur.ptr, cur.len, &sink, NULL, NULL);
    pprofdelta_free(pd);
    return c.bytes;
}

static const reading_sample *find_sample(const reading *r, const char *key)
{
    for (size_t i = 0; i < r->samples_len; i++)
        if (strcmp(r->samples[i].key, key) == 0)
            return &r->samples[i];
    return NULL;
}

/* One sample of cur: is it what prev had, and the delta on top? */
static bool adds_up(const stage *s, const reading_sample *cur, const reading_sample *prev,
                    const reading_sample *delta)
{
    for (size_t t = 0; t < s->g.m.types_len; t++) {
        uint64_t sum = delta ? (uint64_t)delta->values[t] : 0;
        if (s->g.is_counter[t] && prev)
            sum += (uint64_t)prev->values[t];
        if ((uint64_t)cur->values[t] != sum)
            return false;
    }
    return true;
}

TEST(prev_and_delta_add_up_to_cur)
{
    seed_range range = seeds(8);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        stage s;
        stage_begin(&s, seed + 400000);
        s.options.on_reset = PPROFDELTA_ON_RESET_CLAMP;
        buf first = look_in_order(&s);
        gen_evolve(&s.g, GEN_RENAME | GEN_MOVE | GEN_REORDER | GEN_HEADER);
        buf second = look_in_order(&s);
        buf out = delta_of(&s.arena, &s.options, first, second);
        reading a, b, d;
        bool readable = reading_make(&s.arena, first.ptr, first.len, &a) == PPROFDELTA_OK &&
                        reading_make(&s.arena, second.ptr, second.len, &b) == PPROFDELTA_OK &&
                        reading_make(&s.arena, out.ptr, out.len, &d) == PPROFDELTA_OK;
        CHECK_MSG(readable || !gen_counts(&s.g), "seed %" PRIu64, seed);
        for (size_t i = 0; readable && i < b.samples_len; i++) {
            const reading_sample *cur = &b.samples[i];
            CHECK_MSG(adds_up(&s, cur, find_sample(&a, cur->key), find_sample(&d, cur->key)),
                      "seed %" PRIu64 ", sample %zu", seed, i);
        }
        for (size_t i = 0; readable && i < d.samples_len; i++)
            CHECK_MSG(find_sample(&b, d.samples[i].key), "seed %" PRIu64 ", row %zu", seed, i);
        stage_end(&s);
    }
}

/* What each sample was reported to have counted, and the most it ever said it had. */
typedef struct account {
    const char *key;
    wide *sum;
    int64_t *most;
} account;

typedef struct accounts {
    account *items;
    size_t len, cap;
} accounts;

static account *find_account(stage *s, accounts *all, const char *key)
{
    for (size_t i = 0; i < all->len; i++)
        if (strcmp(all->items[i].key, key) == 0)
            return &all->items[i];
    size_t types = s->g.m.types_len;
    account added = {arena_text(&s->arena, key), ARENA_ARRAY(&s->arena, wide, types),
                     ARENA_ARRAY(&s->arena, int64_t, types)};
    for (size_t t = 0; t < types; t++)
        added.most[t] = INT64_MIN;
    ARENA_PUSH(&s->arena, all->items, all->len, all->cap, added);
    return &all->items[all->len - 1];
}

static void book(stage *s, accounts *all, const reading *cur, const reading *delta)
{
    size_t types = s->g.m.types_len;
    for (size_t i = 0; i < cur->samples_len; i++) {
        account *a = find_account(s, all, cur->samples[i].key);
        for (size_t t = 0; t < types; t++)
            if (cur->samples[i].values[t] > a->most[t])
                a->most[t] = cur->samples[i].values[t];
    }
    for (size_t i = 0; i < delta->samples_len; i++) {
        account *a = find_account(s, all, delta->samples[i].key);
        for (size_t t = 0; t < types; t++)
            a->sum[t] += delta->samples[i].values[t];
    }
}

static void check_accounts(const stage *s, const accounts *all, uint64_t seed)
{
    for (size_t i = 0; i < all->len; i++)
        for (size_t t = 0; t < s->g.m.types_len; t++)
            CHECK_MSG(!s->g.is_counter[t] || all->items[i].sum[t] == all->items[i].most[t],
                      "seed %" PRIu64 ": %s: column %zu", seed, all->items[i].key, t);
}

TEST(windows_sum_to_what_was_counted)
{
    seed_range range = seeds(3);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        stage s;
        stage_begin(&s, seed + 900000);
        s.options.on_reset = PPROFDELTA_ON_RESET_CLAMP;
        s.options.first = PPROFDELTA_FIRST_FULL;
        accounts all = {0};
        twin t;
        twin_begin(&t, &s.options, NULL);
        for (size_t windows = 8; windows && gen_counts(&s.g); windows--) {
            buf now = look_in_order(&s);
            pprofdelta_status status;
            reading cur, delta;
            const char *wrong = twin_window(&t, now, &status);
            AGREE(seed, wrong);
            if (status || reading_make(&s.arena, now.ptr, now.len, &cur) ||
                reading_make(&s.arena, t.output.ptr, t.output.len, &delta))
                break;
            twin_commit(&t);
            book(&s, &all, &cur, &delta);
            if (all.len > 2 * cur.samples_len)
                break; /* from here on the ledger forgets */
            check_accounts(&s, &all, seed);
            gen_evolve(&s.g, GEN_DECREASE | GEN_VANISH | GEN_RENAME | GEN_MOVE);
        }
        twin_end(&t);
        stage_end(&s);
    }
}

TEST_MAIN()

/* The ledger compared with a naive list: which entries stay, which go, and in which order. */
#include "../support/test.h"

#include "ledger/ledger.h"
#include "run.h"

#define PLENTY (UINT64_C(1) << 40)

enum { COUNTERS_MAX = 3, ENTRIES_MAX = 4000 };

typedef struct entry {
    uint64_t who;
    int64_t base[COUNTERS_MAX];
    uint32_t seen;
} entry;

typedef struct kit {
    tracker tracker;
    pd_mem mem;
    rng rng;
    pd_ledger ledger;
    entry model[ENTRIES_MAX];
    size_t len;
    uint64_t next; /* who comes next, for the first time */
} kit;

static pd_key key_of(uint64_t who)
{
    return (pd_key){who * UINT64_C(0x9e3779b97f4a7c15), who};
}

static void begin(kit *k, uint64_t seed)
{
    memset(k, 0, sizeof *k);
    pprofdelta_allocator allocator = tracker_allocator(&k->tracker);
    pd_mem_init(&k->mem, &allocator, PLENTY);
    k->rng.state = seed;
    k->ledger.counters = 1 + seed % COUNTERS_MAX;
}

static void end(kit *k)
{
    pd_ledger_release(&k->ledger, &k->mem);
    CHECK(k->mem.used == 0 && k->tracker.live == 0);
}

static bool is_as_modelled(const kit *k)
{
    const pd_ledger *l = &k->ledger;
    if (l->committed != k->len || l->keys.len != k->len)
        return false;
    for (size_t i = 0; i < k->len; i++) {
        const entry *e = &k->model[i];
        if (pd_keymap_find(&l->keys, key_of(e->who)) != i || l->seen[i] != e->seen ||
            memcmp(pd_ledger_base(l, i), e->base, l->counters * sizeof *e->base) != 0 ||
            pd_ledger_is_living(l, i) != (e->seen == l->window))
            return false;
    }
    return true;
}

/* Adds an entry to both, after all others. */
static void meet(kit *k)
{
    pd_ledger *l = &k->ledger;
    size_t len = l->keys.len;
    REQUIRE(len < ENTRIES_MAX);
    if (len == l->keys.cap)
        REQUIRE(pd_ledger_reserve(l, &k->mem, len + 7, NULL) == PPROFDELTA_OK);
    CHECK(pd_keymap_add(&l->keys, key_of(++k->next)) == len);
    k->model[k->len++] = (entry){.who = k->next};
}

static void see(kit *k, size_t i, uint32_t window)
{
    entry *e = &k->model[i];
    e->seen = window;
    for (size_t c = 0; c < k->ledger.counters; c++)
        e->base[c] = (int64_t)rng_next(&k->rng);
    memcpy(pd_ledger_base(&k->ledger, i), e->base, k->ledger.counters * sizeof *e->base);
    k->ledger.seen[i] = window;
}

/* Removes the entry unseen for longest, of several the first. */
static void forget_oldest(kit *k)
{
    size_t oldest = 0;
    for (size_t i = 1; i < k->len; i++)
        if (k->model[i].seen < k->model[oldest].seen)
            oldest = i;
    k->len--;
    memmove(k->model + oldest, k->model + oldest + 1, (k->len - oldest) * sizeof *k->model);
}

/* The entries of the window have their bases already. */
static void commit(pd_ledger *l, uint32_t window, size_t living)
{
    l->window = window;
    l->living = living;
    pd_ledger_commit(l);
}

/* A window with `percent` of the known entries and some new ones. */
static void look(kit *k, unsigned percent, size_t fresh)
{
    uint32_t window = k->ledger.window + 1 + (uint32_t)rng_below(&k->rng, 3);
    size_t living = fresh, known = k->len;
    for (size_t i = 0; i < known; i++)
        if (rng_chance(&k->rng, percent)) {
            see(k, i, window);
            living++;
        }
    for (size_t i = 0; i < fresh; i++) {
        meet(k);
        see(k, known + i, window);
    }
    commit(&k->ledger, window, living);
    while (k->len - living > living)
        forget_oldest(k);
    CHECK(k->ledger.window == window);
}

TEST(equals_a_naive_list)
{
    static kit k;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        begin(&k, seed);
        for (int i = 0; i < 40; i++) {
            static const unsigned percents[] = {0, 2, 20, 50, 90, 100};
            unsigned percent = percents[rng_below(&k.rng, 6)];
            look(&k, percent, rng_below(&k.rng, 60));
            CHECK_MSG(is_as_modelled(&k), "seed %llu, window %d", (unsigned long long)seed, i);
        }
        end(&k);
    }
}

TEST(rollback_removes_uncommitted_entries)
{
    static kit k;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        begin(&k, seed);
        for (int i = 0; i < 20; i++) {
            size_t len = k.len;
            for (size_t n = rng_below(&k.rng, 100); n; n--)
                meet(&k);
            for (size_t n = len; n < k.len; n++)
                CHECK(!pd_ledger_is_living(&k.ledger, n));
            pd_ledger_rollback(&k.ledger);
            k.len = len;
            CHECK(is_as_modelled(&k));
            look(&k, 80, rng_below(&k.rng, 20));
        }
        end(&k);
    }
}

TEST(clear_removes_all)
{
    static kit k;
    begin(&k, 1);
    look(&k, 0, 100);
    size_t calls = k.tracker.calls;
    pd_ledger_clear(&k.ledger, 2);
    CHECK(k.ledger.counters == 2 && k.ledger.committed == 0 && k.ledger.window == 0);
    CHECK(pd_keymap_find(&k.ledger.keys, key_of(1)) == PD_KEYMAP_NONE);
    k.len = 0;
    CHECK(is_as_modelled(&k));
    look(&k, 0, 100);
    CHECK(is_as_modelled(&k) && k.tracker.calls == calls);
    end(&k);
}

/* Room is asked for while the nth allocation fails: nothing that is remembered changes. */
TEST(every_allocation_may_fail)
{
    static kit k;
    size_t nth = 1, refused = 1;
    for (; refused; nth++) {
        begin(&k, 2);
        look(&k, 0, 20);
        k.tracker.fail_at = k.tracker.calls + nth;
        pprofdelta_error err = {0};
        pprofdelta_status status = pd_ledger_reserve(&k.ledger, &k.mem, 300, &err);
        refused = k.tracker.refused;
        CHECK(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK) && err.status == status);
        CHECK(is_as_modelled(&k) && (refused || k.ledger.keys.cap >= 300));
        k.tracker.fail_at = 0;
        for (int i = 0; i < 10; i++) {
            look(&k, 90, 20);
            CHECK(is_as_modelled(&k));
        }
        end(&k);
    }
    CHECK(nth > 4);
}

TEST(too_many_entries_are_refused)
{
    static const size_t needs[] = {SIZE_MAX, SIZE_MAX / 3 + 1, SIZE_MAX / 16,
                                   (size_t)PD_KEYMAP_MAX + 1};
    static kit k;
    begin(&k, 2);
    look(&k, 0, 3);
    k.mem.limit = 1 << 20;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        CHECK(pd_ledger_reserve(&k.ledger, &k.mem, needs[i], NULL) == PPROFDELTA_E_LIMIT);
        CHECK(is_as_modelled(&k));
    }
    end(&k);
}

/* Adds to the model; a new entry comes last. */
static void put_model(kit *k, uint64_t who, const int64_t *values)
{
    size_t i = 0;
    while (i < k->len && k->model[i].who != who)
        i++;
    if (i == k->len)
        k->model[k->len++] = (entry){.who = who, .seen = 1};
    for (size_t c = 0; c < k->ledger.counters; c++)
        k->model[i].base[c] += values[c];
}

/* With room for all from the beginning, and growing on the way; equal ones near and far. */
TEST(equal_keys_add_up_while_the_ledger_grows)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        static kit k;
        begin(&k, seed);
        size_t puts = rng_below(&k.rng, 600), people = 1 + rng_below(&k.rng, 300);
        if (seed % 2)
            REQUIRE(pd_ledger_reserve(&k.ledger, &k.mem, puts, NULL) == PPROFDELTA_OK);
        for (size_t i = 0; i < puts; i++) {
            uint64_t who = 1 + rng_below(&k.rng, rng_chance(&k.rng, 50) ? 5 : people);
            int64_t values[COUNTERS_MAX];
            for (size_t c = 0; c < COUNTERS_MAX; c++)
                values[c] = rng_magnitude(&k.rng, 50);
            put_model(&k, who, values);
            CHECK(pd_ledger_put(&k.ledger, &k.mem, key_of(who), values, NULL) == PPROFDELTA_OK);
        }
        pd_ledger_settle(&k.ledger);
        CHECK_MSG(is_as_modelled(&k), "seed %u", (unsigned)seed);
        end(&k);
    }
}

TEST_MAIN()

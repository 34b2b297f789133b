/* The numbered set of keys compared with a naive one, with the calls in every order. */
#include "../support/test.h"

#include "base/keymap.h"
#include "run.h"

#define PLENTY (UINT64_C(1) << 40)

/* The naive set: a list in order of arrival. */
typedef struct naive {
    pd_key keys[700];
    size_t len;
} naive;

static uint32_t naive_find(const naive *n, pd_key key)
{
    for (size_t i = 0; i < n->len; i++)
        if (n->keys[i].lo == key.lo && n->keys[i].hi == key.hi)
            return (uint32_t)i;
    return PD_KEYMAP_NONE;
}

typedef struct kit {
    tracker tracker;
    pd_mem mem;
    pd_keymap map;
    naive model;
    rng rng;
    pd_key pool[600];
} kit;

/* Keys with many collisions: few different low bits, equal halves, or all zero. */
static pd_key draw_key(rng *r, unsigned kind)
{
    uint64_t lo = rng_next(r), hi = rng_next(r);
    switch (kind) {
    case 0:
        return (pd_key){lo, hi};
    case 1: /* the same home in every table */
        return (pd_key){lo << 32, hi};
    case 2: /* four homes side by side, in the last and the first slots */
        return (pd_key){lo << 32 | ((lo >> 32) % 4 - 2), hi};
    case 3: /* one half says nothing */
        return (pd_key){7, hi % 1000};
    default: /* the other says nothing */
        return (pd_key){lo % 1000, 0};
    }
}

static void begin(kit *k, uint64_t seed)
{
    memset(k, 0, sizeof *k);
    pprofdelta_allocator allocator = tracker_allocator(&k->tracker);
    pd_mem_init(&k->mem, &allocator, PLENTY);
    k->rng.state = seed;
    k->map.is_tight = seed / 6 % 2;
    unsigned kind = (unsigned)(seed % 6);
    for (size_t i = 0; i < sizeof k->pool / sizeof *k->pool; i++)
        k->pool[i] = draw_key(&k->rng, kind < 5 ? kind : (unsigned)rng_below(&k->rng, 5));
}

static void end(kit *k)
{
    pd_keymap_release(&k->map, &k->mem);
    CHECK(k->mem.used == 0 && k->tracker.live == 0);
    CHECK(!k->map.keys && !k->map.slots && !k->map.len && !k->map.cap && !k->map.slots_cap);
}

/* All that the header promises of a map that holds what the model holds. */
static bool is_as_modelled(const kit *k)
{
    const pd_keymap *map = &k->map;
    size_t cap = map->slots_cap, used = 0;
    if (map->len != k->model.len || map->len > map->cap)
        return false;
    if (cap && (map->is_tight ? cap <= map->cap : (cap & (cap - 1)) || cap < 2 * map->len))
        return false;
    for (size_t i = 0; i < cap; i++)
        used += map->slots[i] != 0;
    if (used != map->len)
        return false;
    for (size_t i = 0; i < map->len; i++)
        if (!pd_key_equal(map->keys[i], k->model.keys[i]))
            return false;
    for (size_t i = 0; i < sizeof k->pool / sizeof *k->pool; i++)
        if (pd_keymap_find(map, k->pool[i]) != naive_find(&k->model, k->pool[i]))
            return false;
    return true;
}

static void add(kit *k, pd_key key)
{
    uint32_t want = naive_find(&k->model, key);
    if (want == PD_KEYMAP_NONE) {
        want = (uint32_t)k->model.len;
        k->model.keys[k->model.len++] = key;
    }
    REQUIRE(pd_keymap_room(&k->map, &k->mem, key, NULL) == PPROFDELTA_OK);
    CHECK(pd_keymap_add(&k->map, key) == want);
    uint32_t guess = (uint32_t)rng_below(&k->rng, k->model.len + 2);
    CHECK(pd_keymap_is_at(&k->map, want, key));
    CHECK(pd_keymap_is_at(&k->map, guess, key) == (guess == want));
    CHECK(!pd_keymap_is_at(&k->map, PD_KEYMAP_NONE, key));
}

static void truncate(kit *k, size_t len)
{
    pd_keymap_truncate(&k->map, len);
    k->model.len = len;
}

/* As the ledger drops entries: the others move up, then the map is told. */
static void drop_some(kit *k)
{
    size_t kept = 0;
    for (size_t i = 0; i < k->map.len; i++) {
        if (rng_chance(&k->rng, 30))
            continue;
        k->map.keys[kept] = k->map.keys[i];
        k->model.keys[kept++] = k->model.keys[i];
    }
    k->map.len = k->model.len = kept;
    pd_keymap_reindex(&k->map);
}

/* Room is given back, unless the allocator will not have it. */
static void trim(kit *k)
{
    size_t len = k->model.len, room = len + rng_below(&k->rng, 9), cap = k->map.cap;
    k->tracker.fail_at = rng_chance(&k->rng, 30) ? k->tracker.calls + 1 : 0;
    k->tracker.is_alone = rng_chance(&k->rng, 50);
    size_t refused = k->tracker.refused;
    pd_keymap_trim(&k->map, &k->mem, room);
    k->tracker.fail_at = 0;
    CHECK(k->map.cap == (!room || (room < cap && k->tracker.refused == refused) ? room : cap) ||
          k->tracker.refused > refused);
    CHECK(k->mem.used ==
          k->map.cap * sizeof *k->map.keys + k->map.slots_cap * sizeof *k->map.slots);
}

static void step(kit *k)
{
    size_t len = k->model.len;
    switch (rng_below(&k->rng, 11)) {
    case 10:
        trim(k);
        break;
    case 0: /* a few, taken out slot by slot */
        truncate(k, len - rng_below(&k->rng, len / 20 + 2) * (len > 1));
        break;
    case 1:
        truncate(k, rng_below(&k->rng, len + 1));
        break;
    case 2:
        drop_some(k);
        break;
    case 3:
        if (rng_chance(&k->rng, 10)) {
            pd_keymap_clear(&k->map);
            k->model.len = 0;
        }
        break;
    case 4:
        if (rng_chance(&k->rng, 10)) {
            pd_keymap_release(&k->map, &k->mem);
            k->model.len = 0;
        }
        break;
    default:
        for (size_t n = rng_below(&k->rng, 80); n; n--)
            add(k, k->pool[rng_below(&k->rng, sizeof k->pool / sizeof *k->pool)]);
    }
}

TEST(equals_a_naive_set)
{
    static kit k;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        begin(&k, seed);
        for (int i = 0; i < 40; i++) {
            step(&k);
            CHECK_MSG(is_as_modelled(&k), "seed %llu, step %d", (unsigned long long)seed, i);
        }
        end(&k);
    }
}

TEST(reserved_room_is_enough)
{
    for (size_t need = 0; need < 400; need += need / 7 + 1) {
        static kit k;
        begin(&k, 6 * need + 1);
        REQUIRE(pd_keymap_reserve(&k.map, &k.mem, need, NULL) == PPROFDELTA_OK);
        CHECK(k.map.cap >= need);
        size_t calls = k.tracker.calls;
        for (size_t i = 0; i < need; i++)
            CHECK(pd_keymap_add(&k.map, k.pool[i]) < need);
        CHECK(pd_keymap_reserve(&k.map, &k.mem, need, NULL) == PPROFDELTA_OK);
        CHECK(k.tracker.calls == calls);
        end(&k);
    }
}

/* What is there already needs no room, even where there is none left. */
TEST(room_is_made_for_new_keys_only)
{
    static kit k;
    begin(&k, 6);
    REQUIRE(pd_keymap_reserve(&k.map, &k.mem, 5, NULL) == PPROFDELTA_OK);
    for (size_t i = 0; k.map.len < k.map.cap; i++)
        add(&k, k.pool[i]);
    k.tracker.fail_at = 1;
    for (size_t i = 0; i < k.map.len; i++)
        CHECK(pd_keymap_room(&k.map, &k.mem, k.model.keys[i], NULL) == PPROFDELTA_OK);
    CHECK(pd_keymap_room(&k.map, &k.mem, (pd_key){1, 2}, NULL) == PPROFDELTA_E_MEMORY);
    CHECK(is_as_modelled(&k));
    end(&k);
}

/* Fills a map while the nth allocation fails, tries again, and loses nothing. */
TEST(every_allocation_may_fail)
{
    static kit k;
    size_t nth = 1, refused = 1;
    for (; refused; nth++) {
        begin(&k, 2);
        k.tracker.fail_at = nth;
        refused = 0;
        for (size_t i = 0; i < 300; i++) {
            pd_keymap before = k.map;
            pprofdelta_error err = {0};
            pprofdelta_status status = pd_keymap_room(&k.map, &k.mem, k.pool[i], &err);
            if (status) {
                refused++;
                CHECK(status == PPROFDELTA_E_MEMORY && err.status == status);
                CHECK(k.map.len == before.len && k.map.cap == before.cap &&
                      k.map.keys == before.keys);
                CHECK_MSG(is_as_modelled(&k), "allocation %zu", nth);
                k.tracker.fail_at = 0;
            }
            add(&k, k.pool[i]);
        }
        CHECK(is_as_modelled(&k));
        end(&k);
    }
    CHECK(nth > 10);
}

TEST(too_many_keys_are_refused)
{
    static kit k;
    begin(&k, 1);
    add(&k, (pd_key){1, 2});
    pd_keymap before = k.map;
    size_t calls = k.tracker.calls;
    pprofdelta_error err = {0};
    CHECK(pd_keymap_reserve(&k.map, &k.mem, (size_t)PD_KEYMAP_MAX + 1, &err) == PPROFDELTA_E_LIMIT);
    CHECK(err.status == PPROFDELTA_E_LIMIT);
    CHECK(pd_keymap_reserve(&k.map, &k.mem, SIZE_MAX, NULL) == PPROFDELTA_E_LIMIT);
    CHECK(k.tracker.calls == calls && before.keys == k.map.keys && before.slots == k.map.slots);
    CHECK(before.len == k.map.len && before.cap == k.map.cap &&
          before.slots_cap == k.map.slots_cap);
    end(&k);
}

/* Without its slots a map can only lose keys; room, even what is there already, brings them
 * back. */
TEST(a_folded_map_is_restored_by_reserve)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        static kit k;
        begin(&k, seed);
        size_t before = rng_below(&k.rng, 400), kept = rng_below(&k.rng, before + 1);
        for (size_t i = 0; i < before; i++) {
            REQUIRE(!pd_keymap_room(&k.map, &k.mem, k.pool[i], NULL));
            pd_keymap_add(&k.map, k.pool[i]);
        }
        pd_keymap_fold(&k.map, &k.mem);
        CHECK(k.map.slots_cap == 0);
        kept = kept < k.map.len ? kept : k.map.len;
        pd_keymap_truncate(&k.map, kept);
        pd_keymap_reindex(&k.map);
        REQUIRE(!pd_keymap_reserve(&k.map, &k.mem, kept, NULL));
        for (size_t i = 0; i < kept; i++)
            CHECK(pd_keymap_find(&k.map, k.map.keys[i]) == i);
        for (size_t i = 0; i < before; i++) {
            REQUIRE(!pd_keymap_room(&k.map, &k.mem, k.pool[i], NULL));
            uint32_t number = pd_keymap_add(&k.map, k.pool[i]);
            CHECK(pd_key_equal(k.map.keys[number], k.pool[i]));
        }
        pd_keymap_release(&k.map, &k.mem);
        CHECK(k.tracker.live == 0);
    }
}

TEST_MAIN()

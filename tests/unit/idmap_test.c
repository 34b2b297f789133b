/* The map of ids compared with a naive list, for every kind of numbering. (Allocations that fail are
 * alloc_test.c's.) */
#include "../support/test.h"

#include "profile/tables.h"
#include "run.h"

#define PLENTY (UINT64_C(1) << 40)

enum { IDS_MAX = 600 };

typedef struct ids {
    uint64_t items[IDS_MAX];
    size_t len;
} ids;

static uint32_t naive_find(const ids *all, uint64_t id)
{
    for (size_t i = 0; i < all->len; i++)
        if (all->items[i] == id)
            return (uint32_t)i;
    return PD_IDMAP_NONE;
}

/* The first element whose id is zero or an earlier one's. */
static uint32_t naive_bad(const ids *all)
{
    for (size_t i = 0; i < all->len; i++)
        if (!all->items[i] || naive_find(all, all->items[i]) != i)
            return (uint32_t)i;
    return PD_IDMAP_NONE;
}

typedef enum numbering {
    SEQUENTIAL,
    FROM_ZERO,
    FROM_TWO,
    WITH_GAPS,
    BACKWARDS,
    SHUFFLED,
    SPARSE,
    HUGE_ONES,
    ONE_HUGE, /* nearly sequential, then one out of all bounds */
    NUMBERINGS
} numbering;

static uint64_t draw_id(rng *r, numbering how, size_t i, size_t len)
{
    switch (how) {
    case FROM_ZERO:
        return i;
    case FROM_TWO:
        return i + 2;
    case WITH_GAPS:
        return 3 * i + 1 + rng_below(r, 3);
    case BACKWARDS:
        return len - i;
    case SPARSE:
        return 1 + rng_next(r) % 1000000;
    case HUGE_ONES:
        return rng_chance(r, 50) ? UINT64_MAX - i : rng_next(r) << rng_below(r, 60);
    case ONE_HUGE:
        return i + 1 < len ? i + 1 : UINT64_MAX >> rng_below(r, 64);
    default:
        return i + 1;
    }
}

static void draw(rng *r, numbering how, ids *out)
{
    out->len = rng_below(r, rng_chance(r, 50) ? 12 : IDS_MAX);
    size_t order[IDS_MAX], broken = rng_below(r, out->len + 1);
    for (size_t i = 0; i < out->len; i++)
        order[i] = i;
    if (how == SHUFFLED)
        rng_shuffle(r, order, out->len);
    for (size_t i = 0; i < out->len; i++)
        out->items[i] = draw_id(r, how, order[i], out->len);
    if (rng_chance(r, 50)) /* a sequence that breaks on the way */
        for (size_t i = 0; i < broken; i++)
            out->items[i] = i + 1;
    if (out->len && rng_chance(r, 30))
        out->items[rng_below(r, out->len)] = 0;
    if (out->len && rng_chance(r, 30))
        out->items[rng_below(r, out->len)] = out->items[rng_below(r, out->len)];
}

typedef struct kit {
    tracker tracker;
    pd_mem mem;
    pd_idmap map;
} kit;

static void begin(kit *k)
{
    memset(k, 0, sizeof *k);
    pprofdelta_allocator allocator = tracker_allocator(&k->tracker);
    pd_mem_init(&k->mem, &allocator, PLENTY);
}

static void end(kit *k)
{
    pd_idmap_release(&k->map, &k->mem);
    CHECK(k->mem.used == 0 && k->tracker.live == 0);
}

static pprofdelta_status fill(kit *k, const ids *all, uint32_t *bad, pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK;
    bool is_new = true;
    pd_idmap_clear(&k->map);
    *bad = PD_IDMAP_NONE;
    for (size_t i = 0; i < all->len && !status && is_new; i++) {
        status = pd_idmap_add(&k->map, &k->mem, all->items[i], &is_new, err);
        if (!is_new)
            *bad = (uint32_t)i;
    }
    return status;
}

static bool finds_all(const pd_idmap *map, const ids *all, rng *r)
{
    static const uint64_t others[] = {0, 1, 2, UINT32_MAX, UINT64_MAX, UINT64_C(1) << 63};
    for (size_t i = 0; i < all->len; i++) {
        uint64_t id = all->items[i], near = id + 1 - 2 * rng_below(r, 2);
        if (pd_idmap_find(map, id) != i || pd_idmap_find(map, near) != naive_find(all, near))
            return false;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (pd_idmap_find(map, others[i]) != naive_find(all, others[i]))
            return false;
    for (int i = 0; i < 20; i++) {
        uint64_t id = rng_next(r) >> rng_below(r, 64);
        if (pd_idmap_find(map, id) != naive_find(all, id))
            return false;
    }
    return true;
}

/* One map for all of them, so that each finds what the last one left. */
TEST(equals_a_naive_list)
{
    ENDS(end) kit k;
    begin(&k);
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        rng r = {seed};
        static ids all;
        draw(&r, (numbering)(seed % NUMBERINGS), &all);
        uint32_t bad = 12345;
        REQUIRE(fill(&k, &all, &bad, NULL) == PPROFDELTA_OK);
        CHECK_MSG(bad == naive_bad(&all), "seed %llu: %u, not %u", (unsigned long long)seed, bad,
                  naive_bad(&all));
        if (bad == PD_IDMAP_NONE)
            CHECK_MSG(finds_all(&k.map, &all, &r), "seed %llu", (unsigned long long)seed);
    }
}

TEST(a_plain_sequence_takes_no_memory)
{
    ENDS(end) kit k;
    begin(&k);
    ids all = {.len = IDS_MAX};
    for (size_t i = 0; i < IDS_MAX; i++)
        all.items[i] = i + 1;
    uint32_t bad = 0;
    REQUIRE(fill(&k, &all, &bad, NULL) == PPROFDELTA_OK);
    rng r = {1};
    CHECK(bad == PD_IDMAP_NONE && finds_all(&k.map, &all, &r));
    CHECK(k.tracker.calls == 0);
}

/* An id may be as large as it likes: what it takes depends on how many there are. */
TEST(a_huge_id_takes_no_extra_memory)
{
    uint64_t worst = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
        ENDS(end) kit k;
        begin(&k);
        ids all = {.len = 2, .items = {1, UINT64_C(1) << bit | 2}};
        uint32_t bad = 0;
        REQUIRE(fill(&k, &all, &bad, NULL) == PPROFDELTA_OK);
        rng r = {1};
        CHECK(bad == PD_IDMAP_NONE && finds_all(&k.map, &all, &r));
        worst = k.mem.peak > worst ? k.mem.peak : worst;
    }
    CHECK_MSG(worst < 16384, "%llu bytes", (unsigned long long)worst);
}

/* The sealed tables of a look move with it. */
TEST(a_sealed_map_may_be_moved)
{
    for (uint64_t seed = 1; seed <= NUMBERINGS; seed++) {
        ENDS(end) kit k;
        kit moved;
        begin(&k);
        rng r = {seed};
        static ids all;
        uint32_t bad = 0;
        do {
            draw(&r, (numbering)(seed % NUMBERINGS), &all);
            REQUIRE(fill(&k, &all, &bad, NULL) == PPROFDELTA_OK);
        } while (bad != PD_IDMAP_NONE || all.len < 10);
        memcpy(&moved.map, &k.map, sizeof k.map);
        memset(&k.map, 0, sizeof k.map);
        CHECK_MSG(finds_all(&moved.map, &all, &r), "numbering %d", (int)(seed % NUMBERINGS));
        memcpy(&k.map, &moved.map, sizeof k.map);
    }
}

TEST_MAIN()

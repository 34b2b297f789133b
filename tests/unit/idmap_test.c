/* The map of ids compared with a naive list, for every kind of numbering: which element is zero or there
 * twice, and where each id is. */
#include "../support/test.h"

#include "profile/idmap.h"
#include "rng.h"

enum { IDS_MAX = 300 };

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

/* A sequence that breaks somewhere, then ids with gaps, scattered ids, or huge ones. */
static void draw(rng *r, ids *out)
{
    size_t how = rng_below(r, 3);
    out->len = rng_below(r, rng_chance(r, 50) ? 12 : IDS_MAX);
    size_t sequence = rng_below(r, out->len + 1);
    for (size_t i = 0; i < out->len; i++)
        out->items[i] = i < sequence ? i + 1
                        : how == 0   ? 3 * i + 1 + rng_below(r, 3)
                        : how == 1   ? 1 + rng_next(r) % 1000000
                                     : UINT64_MAX - i;
    if (out->len && rng_chance(r, 30))
        out->items[rng_below(r, out->len)] = 0;
    if (out->len && rng_chance(r, 30))
        out->items[rng_below(r, out->len)] = out->items[rng_below(r, out->len)];
}

/* One map for all of them, so that each finds what the last one left. */
TEST(equals_a_naive_list)
{
    pd_mem mem;
    pd_idmap map = {0};
    pd_mem_init(&mem, NULL, UINT64_C(1) << 30);
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        rng r = {seed};
        static ids all;
        draw(&r, &all);
        uint32_t bad = 12345;
        pd_idmap_clear(&map);
        for (size_t i = 0; i < all.len; i++)
            REQUIRE(pd_idmap_add(&map, &mem, all.items[i], NULL) == PPROFDELTA_OK);
        REQUIRE(pd_idmap_seal(&map, &mem, &bad, NULL) == PPROFDELTA_OK);
        CHECK_MSG(bad == naive_bad(&all), "seed %u: %u, not %u", (unsigned)seed, bad,
                  naive_bad(&all));
        for (size_t i = 0; i < all.len && bad == PD_IDMAP_NONE; i++) {
            uint64_t near = all.items[i] + 1 - 2 * rng_below(&r, 2);
            CHECK_MSG(pd_idmap_find(&map, all.items[i]) == i, "seed %u", (unsigned)seed);
            CHECK_MSG(pd_idmap_find(&map, near) == naive_find(&all, near), "seed %u",
                      (unsigned)seed);
        }
    }
    pd_idmap_release(&map, &mem);
    CHECK(mem.used == 0);
}

TEST_MAIN()

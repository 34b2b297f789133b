/* Memory: the total is exact, the limit is never passed, and a failure changes nothing. */
#include "../support/test.h"

#include "base/mem.h"
#include "ledger/window.h"
#include "run.h"

#define PLENTY (UINT64_C(1) << 40)

/* An array as the library keeps them; every byte of an element tells which element it is. */
typedef struct array {
    uint8_t *ptr;
    size_t cap, size;
} array;

static uint8_t mark(size_t at)
{
    return (uint8_t)(at * 37 + 1);
}

static void fill(const array *a, size_t from)
{
    for (size_t i = from * a->size; i < a->cap * a->size; i++)
        a->ptr[i] = mark(i);
}

static bool is_filled(const array *a, size_t len)
{
    for (size_t i = 0; i < len * a->size; i++)
        if (a->ptr[i] != mark(i))
            return false;
    return true;
}

static pd_mem mem_of(tracker *t, uint64_t limit)
{
    pprofdelta_allocator allocator = tracker_allocator(t);
    pd_mem mem;
    pd_mem_init(&mem, &allocator, limit);
    return mem;
}

/* Grows, reserves or gives back one array, and checks that nothing but the call's effect is
 * there. */
static void step(rng *r, pd_mem *mem, array *a)
{
    size_t before = a->cap, need = rng_below(r, 400);
    uint64_t used = mem->used;
    bool exact = rng_chance(r, 40);
    pprofdelta_status status;
    if (rng_chance(r, 15)) {
        pd_mem_release(mem, &a->ptr, &a->cap, a->size);
        CHECK(!a->ptr && !a->cap && mem->used == used - before * a->size);
        return;
    }
    status = exact ? pd_mem_reserve(mem, &a->ptr, &a->cap, need, a->size, NULL)
                   : pd_mem_grow(mem, &a->ptr, &a->cap, need, a->size, NULL);
    CHECK(is_filled(a, before));
    if (status) {
        CHECK(status == PPROFDELTA_E_LIMIT && (need - before) * a->size > mem->limit - used);
        CHECK(a->cap == before && mem->used == used);
        return;
    }
    CHECK(a->cap >= need && a->cap >= before);
    CHECK(!exact || a->cap == (need > before ? need : before));
    fill(a, before);
}

TEST(used_is_the_sum_of_allocations)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        rng r = {seed};
        tracker t = {0};
        pd_mem mem = mem_of(&t, seed % 2 ? 9000 : PLENTY);
        array arrays[4] = {{.size = 1}, {.size = 4}, {.size = 16}, {.size = 24}};
        uint64_t peak = 0;
        for (int i = 0; i < 100; i++) {
            step(&r, &mem, &arrays[rng_below(&r, 4)]);
            uint64_t held = 0;
            for (int n = 0; n < 4; n++)
                held += arrays[n].cap * arrays[n].size;
            peak = held > peak ? held : peak;
            CHECK_MSG(mem.used == held && t.live == held, "seed %llu", (unsigned long long)seed);
            CHECK(mem.used <= mem.limit && mem.peak == peak);
        }
        for (int n = 0; n < 4; n++)
            pd_mem_release(&mem, &arrays[n].ptr, &arrays[n].cap, arrays[n].size);
        CHECK(mem.used == 0 && t.live == 0 && mem.peak == peak);
    }
}

TEST(impossible_sizes_are_refused)
{
    static const size_t sizes[] = {1, 2, 8, 24, SIZE_MAX / 2, SIZE_MAX};
    tracker t = {0};
    pd_mem mem = mem_of(&t, UINT64_MAX);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i];
        const size_t needs[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / size + 1,
                                (size_t)PTRDIFF_MAX / size + 1};
        for (size_t n = 0; n < sizeof needs / sizeof *needs; n++) {
            array a = {0};
            if (!needs[n]) /* SIZE_MAX / 1 + 1 */
                continue;
            pprofdelta_status grown = pd_mem_grow(&mem, &a.ptr, &a.cap, needs[n], size, NULL);
            pprofdelta_status reserved = pd_mem_reserve(&mem, &a.ptr, &a.cap, needs[n], size, NULL);
            CHECK_MSG(grown == PPROFDELTA_E_LIMIT && reserved == PPROFDELTA_E_LIMIT,
                      "%zu times %zu", needs[n], size);
            CHECK(!a.ptr && !a.cap);
        }
    }
    CHECK(t.calls == 0 && mem.used == 0);
}

/* Whatever is allowed, an array must find another place when it grows. */
TEST(the_limit_is_below_the_address_space)
{
    const uint64_t limits[] = {PD_MEM_MOST - 1, PD_MEM_MOST, PD_MEM_MOST + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        tracker t = {0};
        pd_mem mem = mem_of(&t, limits[i]);
        pprofdelta_error err = {0};
        array a = {.size = 1};
        bool is_ours = limits[i] < PD_MEM_MOST;
        CHECK(mem.limit == (is_ours ? limits[i] : PD_MEM_MOST));
        CHECK(pd_mem_grow(&mem, &a.ptr, &a.cap, SIZE_MAX / 4 + 1, 1, &err) == PPROFDELTA_E_LIMIT);
        CHECK((err.reason == PPROFDELTA_REASON_MAX_MEMORY) == is_ours);
        CHECK_MSG(strstr(err.text, is_ours ? "max_memory allows" : "-bit process has room for"),
                  "%s", err.text);
        CHECK(t.calls == 0 && mem.used == 0);
    }
}

/* Entries and rows are numbered with 32 bits. */
TEST(more_elements_than_there_are_numbers_are_refused)
{
    static const size_t needs[] = {(size_t)PD_KEYMAP_MAX + 1, SIZE_MAX / 8 + 1, SIZE_MAX};
    tracker t = {0};
    pd_mem mem = mem_of(&t, 1 << 20);
    pd_ledger entries = {0};
    pd_window rows = {0};
    pd_ledger_clear(&entries, 2);
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        pprofdelta_error err = {0};
        CHECK(pd_keymap_reserve(&entries.keys, &mem, needs[i], &err) == PPROFDELTA_E_LIMIT);
        CHECK(err.status == PPROFDELTA_E_LIMIT);
        CHECK(pd_ledger_reserve(&entries, &mem, needs[i], NULL) == PPROFDELTA_E_LIMIT);
        CHECK(pd_window_begin(&rows, &mem, &entries, 64, needs[i], NULL) == PPROFDELTA_E_LIMIT);
    }
    CHECK(t.calls == 0 && mem.used == 0);
}

TEST_MAIN()

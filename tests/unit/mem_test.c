/* Memory: impossible sizes and numbers are refused before anything is allocated. */
#include "../support/test.h"

#include "base/mem.h"
#include "ledger/window.h"
#include "rng.h"
#include "run.h"

#include <stdio.h>
#include <sys/resource.h>

/* An array as the library keeps them; every byte of an element tells which element it is. */
typedef struct array {
    uint8_t *ptr;
    size_t cap, size;
} array;

static pd_mem mem_of(tracker *t, uint64_t limit)
{
    pprofdelta_allocator allocator = tracker_allocator(t);
    pd_mem mem;
    pd_mem_init(&mem, &allocator, limit);
    return mem;
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

/* ---- an account with an arena ---------------------------------------------------------------- */

#if PD_HAS_ARENA

enum { ARRAYS = 40, MIB = 1 << 20, STRIDE = 1021 };

/* A byte in each STRIDE of them, and the last one, tells whose it is. */
static uint8_t mark_of(const array *a, size_t at)
{
    return (uint8_t)((uintptr_t)a / sizeof *a * 31 + at / STRIDE);
}

static void fill(array *a)
{
    for (size_t at = 0; at < a->cap; at += STRIDE)
        a->ptr[at] = mark_of(a, at);
    if (a->cap)
        a->ptr[a->cap - 1] = mark_of(a, a->cap - 1);
}

/* As far as both lengths reach. */
static bool is_kept(const array *a, size_t before)
{
    size_t len = before < a->cap ? before : a->cap;
    for (size_t at = 0; at < len; at += STRIDE)
        if (a->ptr[at] != mark_of(a, at))
            return false;
    return !before || before > a->cap || a->ptr[before - 1] == mark_of(a, before - 1);
}

static pd_mem mem_with(pd_arena *blocks, uint64_t limit)
{
    pd_mem mem;
    pd_mem_init(&mem, NULL, limit);
    mem.arena = blocks;
    return mem;
}

/* Sizes of all kinds: of malloc, of a few units, and of several pages. */
static size_t draw_size(rng *r)
{
    static const size_t most[] = {100, 64 << 10, MIB, 6 * MIB};
    return 1 + rng_below(r, most[rng_below(r, 4)]);
}

static pprofdelta_status change(pd_mem *mem, array *a, rng *r)
{
    size_t size = draw_size(r);
    switch (rng_below(r, 5)) {
    case 0:
        return pd_mem_grow(mem, &a->ptr, &a->cap, size, 1, NULL);
    case 1:
        return pd_mem_reserve(mem, &a->ptr, &a->cap, size, 1, NULL);
    case 2:
        return pd_mem_reserve_for(mem, PD_USE_SPARE, &a->ptr, &a->cap, size, 1, NULL);
    case 3:
        pd_mem_trim(mem, &a->ptr, &a->cap, rng_below(r, a->cap + 1), 1);
        return PPROFDELTA_OK;
    default:
        pd_mem_release(mem, &a->ptr, &a->cap, 1);
        return PPROFDELTA_OK;
    }
}

/* No array changes another one, whatever fails. Returns how many calls have failed. */
static size_t check_arrays(pd_mem *mem, rng *r, size_t rounds)
{
    array arrays[ARRAYS] = {0};
    size_t failed = 0;
    for (size_t round = 0; round < rounds; round++) {
        array *a = &arrays[rng_below(r, ARRAYS)];
        size_t before = a->cap;
        uint64_t held = 0;
        mem->is_tight = rng_below(r, 8) == 0;
        pprofdelta_status status = change(mem, a, r);
        failed += status != PPROFDELTA_OK;
        CHECK(!status || a->cap == before);
        CHECK(is_kept(a, before) && (uintptr_t)a->ptr % 16 == 0 && !a->ptr == !a->cap);
        fill(a);
        for (size_t i = 0; i < ARRAYS; i++)
            held += arrays[i].cap;
        CHECK(mem->used == held && held <= mem->limit && mem->peak >= held);
    }
    for (size_t i = 0; i < ARRAYS; i++) {
        CHECK(is_kept(&arrays[i], arrays[i].cap));
        pd_mem_release(mem, &arrays[i].ptr, &arrays[i].cap, 1);
    }
    CHECK(mem->used == 0);
    return failed;
}

TEST(arrays_do_not_touch_each_other)
{
    rng r = {1};
    for (int i = 0; i < 4; i++) {
        pd_arena blocks = {0};
        pd_mem mem = mem_with(&blocks, UINT64_MAX);
        CHECK(check_arrays(&mem, &r, 2000) == 0);
        for (size_t page = 0; page < PD_ARENA_PAGES; page++)
            CHECK(!blocks.taken[page]);
        pd_arena_end(&blocks);
        mem = mem_with(&blocks, 20 * MIB); /* the same one, begun again */
        CHECK(check_arrays(&mem, &r, 500) > 0);
        pd_arena_end(&blocks);
    }
}

/* What is not known to be filled gets no pages, and a small account has none. */
TEST(blocks_of_known_size_are_packed)
{
    pd_arena blocks = {0};
    pd_mem mem = mem_with(&blocks, UINT64_MAX);
    array small = {0}, spare = {0}, grown = {0}, first = {0}, second = {0}, third = {0};
    REQUIRE(!pd_mem_reserve(&mem, &small.ptr, &small.cap, MIB, 1, NULL));
    REQUIRE(!pd_mem_reserve_for(&mem, PD_USE_SPARE, &spare.ptr, &spare.cap, 3 * MIB, 1, NULL));
    REQUIRE(!pd_mem_grow(&mem, &grown.ptr, &grown.cap, 3 * MIB, 1, NULL));
    CHECK(!blocks.at);
    REQUIRE(!pd_mem_reserve(&mem, &first.ptr, &first.cap, 3 * MIB, 1, NULL));
    REQUIRE(!pd_mem_reserve(&mem, &second.ptr, &second.cap, MIB / 2, 1, NULL));
    CHECK(first.ptr == blocks.at && second.ptr == blocks.at + 3 * MIB && blocks.pages == 2);
    REQUIRE(!pd_mem_grow(&mem, &third.ptr, &third.cap, MIB / 4, 1, NULL));
    CHECK(third.ptr == second.ptr + MIB / 2); /* room is left there */
    fill(&first);
    pd_mem_trim(&mem, &first.ptr, &first.cap, MIB / 8, 1); /* its first page is given back */
    CHECK(first.ptr == third.ptr + MIB / 4 && is_kept(&first, 3 * MIB) && !blocks.taken[0]);
    pd_mem_release(&mem, &small.ptr, &small.cap, 1);
    REQUIRE(!pd_mem_reserve(&mem, &small.ptr, &small.cap, 2 * MIB, 1, NULL));
    CHECK(small.ptr == blocks.at && blocks.pages == 2); /* what was free is used again */
    array *const all[] = {&small, &spare, &grown, &first, &second, &third};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        pd_mem_release(&mem, &all[i]->ptr, &all[i]->cap, 1);
    CHECK(mem.used == 0);
    pd_arena_end(&blocks);
}

static size_t address_space(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%zu", &pages) == 1);
    if (file)
        fclose(file);
    return pages * 4096;
}

TEST(without_address_space_arrays_fail_or_are_malloced)
{
    static const size_t more[] = {0, 1, 4, 16, 100, 400};
    struct rlimit usual, few;
    rng r = {2};
    getrlimit(RLIMIT_AS, &usual);
    size_t failed = 0;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        pd_arena blocks = {0};
        pd_mem mem = mem_with(&blocks, UINT64_MAX);
        few = (struct rlimit){address_space() + more[i] * MIB, usual.rlim_max};
        setrlimit(RLIMIT_AS, &few);
        failed += check_arrays(&mem, &r, 300);
        setrlimit(RLIMIT_AS, &usual);
        pd_arena_end(&blocks);
    }
    CHECK(failed > 0);
}
#endif

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
        CHECK(pd_window_begin(&rows, &mem, &entries, 64, needs[i], false, NULL) ==
              PPROFDELTA_E_LIMIT);
    }
    CHECK(t.calls == 0 && mem.used == 0);
}

TEST_MAIN()

/* Memory: impossible sizes and numbers are refused before anything is allocated. */
#include "../support/test.h"

#include "base/mem.h"
#include "ledger/row_set.h"
#include "run.h"

static pd_mem mem_of(tracker *t, uint64_t limit)
{
    pd_mem mem;
    pd_mem_init(&mem, tracking(t), limit);
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
            uint8_t *a = NULL;
            if (!needs[n]) /* SIZE_MAX / 1 + 1 */
                continue;
            pprofdelta_status grown = pd_mem_grow(&mem, &a, needs[n], size, NULL);
            pprofdelta_status reserved = pd_mem_reserve(&mem, &a, needs[n], size, NULL);
            CHECK_MSG(grown == PPROFDELTA_E_LIMIT && reserved == PPROFDELTA_E_LIMIT,
                      "%zu times %zu", needs[n], size);
            CHECK(!a);
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
        uint8_t *a = NULL;
        bool is_ours = limits[i] < PD_MEM_MOST;
        CHECK(mem.limit == (is_ours ? limits[i] : PD_MEM_MOST));
        CHECK(pd_mem_grow(&mem, &a, SIZE_MAX / 4 + 1, 1, &err) == PPROFDELTA_E_LIMIT);
        CHECK((err.reason == PPROFDELTA_REASON_MAX_MEMORY) == is_ours);
        CHECK_MSG(strstr(err.text, is_ours ? "max_memory allows" : "-bit process has room for"),
                  "%s", err.text);
        CHECK(t.calls == 0 && mem.used == 0);
    }
}

/* What fits fits below every higher limit, too: room for more is no reason to refuse it. */
TEST(a_higher_limit_refuses_no_more)
{
    enum { NEED = 10, SIZE = 8 };
    const uint64_t least = sizeof(pd_mem_block) + (uint64_t)NEED * SIZE;
    for (uint64_t limit = 1; limit < 8 * least; limit++) {
        tracker t = {0};
        pd_mem mem = mem_of(&t, limit);
        uint64_t *a = NULL;
        pprofdelta_status status = pd_mem_grow(&mem, &a, NEED, SIZE, NULL);
        CHECK_MSG(!status == (limit >= least), "%d with a limit of %d", (int)status, (int)limit);
        if (!status && limit >= 3 * least)
            CHECK_MSG(!pd_mem_grow(&mem, &a, PD_CAP(a) + 1, SIZE, NULL), "more with %d",
                      (int)limit);
        pd_mem_drop(&mem);
        CHECK(mem.used == 0);
    }
}

/* Entries and rows are numbered with 32 bits. */
TEST(more_elements_than_there_are_numbers_are_refused)
{
    static const size_t needs[] = {(size_t)PD_KEYMAP_MAX + 1, SIZE_MAX / 8 + 1, SIZE_MAX};
    tracker t = {0};
    pd_mem mem = mem_of(&t, 1 << 20);
    pd_ledger entries = {0};
    pd_row_set rows = {0};
    pd_ledger_clear(&entries, 2);
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        pprofdelta_error err = {0};
        CHECK(pd_keymap_reserve(&entries.keys, &mem, needs[i], &err) == PPROFDELTA_E_LIMIT);
        CHECK(err.status == PPROFDELTA_E_LIMIT);
        CHECK(pd_ledger_reserve(&entries, &mem, needs[i], NULL) == PPROFDELTA_E_LIMIT);
        CHECK(pd_row_set_begin(&rows, &mem, &entries, 64, needs[i], false, NULL) ==
              PPROFDELTA_E_LIMIT);
    }
    CHECK(t.calls == 0 && mem.used == 0);
}

enum { ARRAYS = 24, ACCOUNTS = 3 };

/* Arrays that grow, shrink, move to another account, and are released, in an account and two parts
 * of it. Whatever the allocator does, they keep their bytes, and each account frees its own. */
static void use_accounts(tracker *t, pd_mem accounts[ACCOUNTS], uint8_t *arrays[ARRAYS],
                         size_t in[ARRAYS])
{
    uint32_t random = 1;
    for (size_t step = 0; step < 2000; step++) {
        random = random * 1664525 + 1013904223;
        size_t n = random >> 8 & 15, cap = random >> 12 & 255, before = PD_CAP(arrays[n]);
        pd_mem *mem = &accounts[in[n]];
        if (step % 7 == 0) {
            in[n] = (in[n] + 1) % ACCOUNTS;
            pd_mem_pass(mem, &accounts[in[n]], arrays[n]);
        } else if (step % 5 == 0) {
            PD_TRIM(mem, arrays[n], cap);
        } else if (!PD_GROW(mem, arrays[n], cap, NULL) && arrays[n]) {
            memset(arrays[n] + before, (int)n, PD_CAP(arrays[n]) - before);
        }
        for (size_t i = 0; i < PD_CAP(arrays[n]); i++)
            REQUIRE(arrays[n][i] == n);
        REQUIRE(accounts[0].used == t->live);
    }
}

TEST(an_account_is_freed_in_one_call)
{
    for (size_t nth = 0; nth < 40; nth++) {
        tracker t = {.fail_at = nth, .is_alone = true};
        pd_mem accounts[ACCOUNTS], moved;
        uint8_t *arrays[ARRAYS] = {NULL};
        size_t in[ARRAYS], held = 0;
        accounts[0] = mem_of(&t, 1 << 20);
        pd_mem_part(&accounts[1], &accounts[0]);
        pd_mem_part(&accounts[2], &accounts[1]); /* of the same whole */
        for (size_t n = 0; n < ARRAYS; n++)
            in[n] = n % ACCOUNTS;
        use_accounts(&t, accounts, arrays, in);
        moved = accounts[2];
        pd_mem_drop(&moved);
        for (size_t n = 0; n < ARRAYS; n++)
            held += arrays[n] && in[n] != 2 ? PD_CAP(arrays[n]) + sizeof(pd_mem_block) : 0;
        CHECK_MSG(t.live == held && accounts[0].used == held && held, "%zu: %zu", nth, held);
        pd_mem_drop(&accounts[1]);
        pd_mem_drop(&accounts[0]);
        CHECK(!t.live && !accounts[0].used && accounts[0].peak == t.peak);
    }
}

/* A part has the limit of the whole. */
TEST(a_limit_counts_what_all_parts_hold)
{
    enum { LIMIT = 10000 };
    tracker t = {0};
    pd_mem whole = mem_of(&t, LIMIT), part;
    uint8_t *a = NULL, *b = NULL;
    pd_mem_part(&part, &whole);
    CHECK(!PD_RESERVE(&whole, a, LIMIT / 2, NULL));
    CHECK(pd_mem_left(&part) == pd_mem_left(&whole) && pd_mem_left(&part) < LIMIT / 2);
    CHECK(PD_RESERVE(&part, b, LIMIT / 2, NULL) == PPROFDELTA_E_LIMIT);
    pd_mem_drop(&whole);
    CHECK(!PD_RESERVE(&part, b, LIMIT / 2, NULL));
    pd_mem_drop(&part);
    CHECK(!t.live && !whole.used);
}

TEST_MAIN()

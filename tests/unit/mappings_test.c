/* The agent's table of mappings, against an array with one element for each page. */
#include "agent/account/account.h"

#include "rng.h"
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE ((uintptr_t)4096)

enum { PAGES = 200, STACKS = 5, FIRST = 1000 };

static pd_range ranges[PD_RANGES_MAX];
static rng chance = {1};

static uintptr_t page(size_t at)
{
    return (FIRST + at) * PAGE;
}

static void add(size_t at, size_t len, uint64_t name)
{
    uint64_t stack[] = {name, 7, 8};
    pd_mappings_add(page(at), len * PAGE, stack, 3, name / 2);
}

/* Compares the table with the names of the pages (0: none). Ranges are sorted and apart. */
static void compare(const uint64_t *names)
{
    uint64_t got[PAGES] = {0}, lost;
    size_t len = pd_mappings_pin(ranges, &lost);
    uintptr_t end = 0;
    for (size_t i = 0; i < len; i++) {
        pd_slot_stack s = pd_mappings_stack(ranges[i].slot);
        pd_range next = pd_mappings_next(end);
        CHECK(ranges[i].begin >= end && ranges[i].begin < ranges[i].end);
        CHECK(next.begin == ranges[i].begin && next.end == ranges[i].end);
        CHECK(i == 0 || ranges[i].begin > end || ranges[i].slot != ranges[i - 1].slot);
        end = ranges[i].end;
        CHECK(s.depth == 3 && s.stack[2] == 8 && s.code == s.stack[0] / 2);
        for (uintptr_t at = ranges[i].begin; at < end; at += PAGE)
            got[at / PAGE - FIRST] = s.stack[0];
    }
    pd_mappings_unpin();
    CHECK(memcmp(got, names, sizeof got) == 0 && !lost && !pd_mappings_next(end).end);
}

static void fill(uint64_t *names, size_t at, size_t len, uint64_t name)
{
    for (size_t i = 0; i < len; i++)
        names[at + i] = name;
}

static void step(uint64_t *names)
{
    size_t at = rng_below(&chance, PAGES), len = 1 + rng_below(&chance, PAGES - at);
    uint64_t name = 1 + rng_below(&chance, STACKS);
    len = len < 20 ? len : 1 + rng_below(&chance, 20);
    len = at + len <= PAGES ? len : PAGES - at;
    switch (rng_below(&chance, 4)) {
    case 0:
        pd_mappings_remove(page(at), len * PAGE);
        fill(names, at, len, 0);
        return;
    case 1: { /* as mremap, which fails or moves */
        uint32_t slot = pd_mappings_take(page(at), len * PAGE);
        bool fails = slot && rng_below(&chance, 2);
        uint64_t kept = 0;
        for (size_t i = 0; i < len && !kept; i++)
            kept = names[at + i];
        CHECK((slot != PD_SLOT_NONE) == (kept != 0));
        if (fails)
            pd_mappings_add_slot(page(at), len * PAGE, slot);
        pd_mappings_unpin();
        fill(names, at, len, fails ? kept : 0);
        return;
    }
    default:
        add(at, len, name);
        fill(names, at, len, name);
    }
}

TEST(the_table_is_as_the_pages_are)
{
    uint64_t names[PAGES] = {0};
    for (int i = 0; i < 20000; i++) {
        step(names);
        if (i % 10 == 0)
            compare(names);
    }
    pd_mappings_remove(page(0), PAGES * PAGE);
    memset(names, 0, sizeof names);
    compare(names);
}

/* Slots are used again: more stacks than there are slots, but few at a time. */
TEST(stacks_that_are_gone_make_room)
{
    uint64_t names[PAGES] = {0}, lost;
    for (uint64_t name = 1; name < UINT64_C(3) * PD_SLOTS_MAX; name++) {
        add(name % PAGES, 1, name);
        names[name % PAGES] = name;
    }
    compare(names);
    /* While a thread reads the table, a stack without ranges stays. */
    size_t len = pd_mappings_pin(ranges, &lost);
    pd_slot_stack s = pd_mappings_stack(ranges[0].slot);
    uint64_t name = s.stack[0];
    pd_mappings_remove(page(0), PAGES * PAGE);
    for (uint64_t i = 0; i < 100; i++)
        add(i, 1, 100000 + i);
    CHECK(len == PAGES && s.stack[0] == name && s.stack[1] == 7);
    pd_mappings_unpin();
    pd_mappings_remove(page(0), PAGES * PAGE);
}

TEST(what_has_no_room_is_counted)
{
    uint64_t lost;
    for (size_t i = 0; i < PD_RANGES_MAX + 10; i++)
        add(2 * i, 1, 1 + i % 2);
    CHECK(pd_mappings_pin(ranges, &lost) == PD_RANGES_MAX && lost == 10);
    pd_mappings_unpin();
    pd_mappings_remove(page(0), 4 * (size_t)PD_RANGES_MAX * PAGE);
    CHECK(pd_mappings_pin(ranges, &lost) == 0);
    pd_mappings_unpin();
    for (size_t i = 0; i < PD_SLOTS_MAX; i++)
        add(2 * i, 1, 1 + i);
    size_t len = pd_mappings_pin(ranges, &lost);
    CHECK(len == PD_SLOTS_MAX && ranges[len - 1].slot == PD_SLOT_NO_STACK);
    CHECK(pd_mappings_stack(PD_SLOT_NO_STACK).depth == 0);
    pd_mappings_unpin();
    pd_mappings_remove(page(0), 4 * (size_t)PD_RANGES_MAX * PAGE);
}

TEST(odd_calls_do_nothing)
{
    uint64_t lost;
    add(1, 0, 1);
    pd_mappings_add_slot(UINTPTR_MAX - PAGE, 2 * PAGE, PD_SLOT_AGENT);
    pd_mappings_remove(UINTPTR_MAX - PAGE, 2 * PAGE);
    CHECK(pd_mappings_take(page(0), 0) == PD_SLOT_NONE);
    pd_mappings_unpin();
    CHECK(pd_mappings_pin(ranges, &lost) == 0);
    pd_mappings_unpin();
}

/* Processor time of calls for the lowest address, with so many ranges behind it. */
static double time_of_calls(size_t behind)
{
    double least = INFINITY;
    for (size_t i = 0; i < behind; i++)
        pd_mappings_add_slot(page(10 + 2 * i), PAGE, PD_SLOT_ALLOCATOR);
    for (int attempt = 0; attempt < 5; attempt++) {
        clock_t begin = clock();
        for (int i = 0; i < 20000; i++) {
            pd_mappings_add_slot(page(0), PAGE, PD_SLOT_AGENT);
            pd_mappings_remove(page(0), PAGE);
        }
        least = fmin(least, (double)(clock() - begin));
    }
    pd_mappings_remove(page(0), 4 * (size_t)PD_RANGES_MAX * PAGE);
    return least;
}

TEST(calls_do_not_move_the_table)
{
    double few = time_of_calls(100), many = time_of_calls(PD_RANGES_MAX - 10);
    CHECK_MSG(many < 20 * few, "%.0f times longer", many / few);
}

/* Removals do not change the table where nothing is. */
TEST(changes_are_counted)
{
    uint64_t before = pd_mappings_changes();
    pd_mappings_remove(page(0), 9 * PAGE);
    CHECK(pd_mappings_changes() == before);
    add(1, 1, 1);
    uint64_t added = pd_mappings_changes();
    pd_mappings_remove(page(0), 9 * PAGE);
    CHECK(added > before && pd_mappings_changes() > added);
}

/* Threads with a part of the table each, and one that reads. */
static void *work(void *cookie)
{
    const size_t first = PAGES * (1 + *(const size_t *)cookie);
    for (size_t i = 0; i < 20000; i++) {
        add(first + i % 64, 1 + i % 3, 1 + i % 50);
        if (i % 3 == 0)
            pd_mappings_remove(page(first + i % 32), 4 * PAGE);
    }
    pd_mappings_remove(page(first), PAGES * PAGE);
    return NULL;
}

TEST(threads)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    size_t numbers[THREADS];
    uint64_t lost;
    for (size_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        REQUIRE(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
    }
    for (int round = 0; round < 200; round++) {
        size_t len = pd_mappings_pin(ranges, &lost);
        for (size_t i = 0; i < len; i++)
            CHECK(pd_mappings_stack(ranges[i].slot).depth == 3);
        pd_mappings_unpin();
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(pd_mappings_pin(ranges, &lost) == 0);
    pd_mappings_unpin();
}

/* In the child of a fork in a signal handler, with the lock of a thread that is not there. */
TEST(a_lost_table_is_used_no_more)
{
    uint64_t lost;
    int status = -1;
    add(1, 1, 1);
    pd_mappings_fork(PPROFDELTA_FORK_PREPARE);
    pid_t child = fork();
    if (!child) {
        pd_mappings_fork(PPROFDELTA_FORK_LOST);
        add(3, 1, 1);
        pd_mappings_add_slot(page(5), PAGE, PD_SLOT_AGENT);
        bool is_empty = !pd_mappings_take(page(1), PAGE) && !pd_mappings_pin(ranges, &lost);
        pd_mappings_unpin();
        _exit(!is_empty);
    }
    pd_mappings_fork(PPROFDELTA_FORK_PARENT);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(pd_mappings_take(page(1), PAGE) != 0);
    pd_mappings_unpin();
}

TEST_MAIN()

/* Elements that never move, and their index, held against a plain list; and what becomes of both without pages. */
#include "heap/pools.h"
#include "heap/trace.h"
#include "run.h"
#include "seeds.h"

typedef struct element {
    pd_link link;
    uint64_t value;
} element;

static pd_pages pages_of(tracker *s, uint64_t limit)
{
    pprofdelta_heap_pages source = tracker_pages(s);
    pd_pages pages;
    pd_pages_init(&pages, &source, limit);
    return pages;
}

static uint32_t find(const pd_chains *chains, uint32_t hash, uint64_t value)
{
    uint32_t number = *pd_chains_head(chains, hash);
    while (number) {
        const element *e = pd_pool_at(chains->pool, number);
        if (e->value == value)
            return number;
        number = e->link.next;
    }
    return 0;
}

/* Few distinct hashes make long chains, many make short ones. */
static void add_and_remove(uint64_t seed, uint32_t hashes, size_t steps)
{
    enum { VALUES = 6000 };
    static uint32_t numbers[VALUES];
    memset(numbers, 0, sizeof numbers);
    tracker s = {0};
    pd_pages pages = pages_of(&s, UINT64_MAX);
    pd_pool pool = {0};
    pd_chains chains = {0};
    rng r = {seed};
    size_t there = 0;
    REQUIRE(pd_pool_init(&pool, &pages, sizeof(element), VALUES));
    REQUIRE(pd_chains_init(&chains, &pool));
    for (size_t i = 0; i < steps; i++) {
        size_t value = rng_below(&r, VALUES);
        uint32_t hash = (uint32_t)(value * 2654435761U) % hashes;
        CHECK(find(&chains, hash, value) == numbers[value]);
        if (numbers[value] && rng_chance(&r, 60)) {
            pd_chains_remove(&chains, numbers[value]);
            pd_pool_give(&pool, numbers[value]);
            numbers[value] = 0;
            there--;
        } else if (!numbers[value]) {
            numbers[value] = pd_pool_take(&pool);
            CHECK(numbers[value]);
            element *e = pd_pool_at(&pool, numbers[value]);
            e->value = value;
            pd_chains_add(&chains, numbers[value], hash);
            there++;
        }
        CHECK(chains.len == there);
    }
    for (size_t value = 0; value < VALUES; value++)
        CHECK(find(&chains, (uint32_t)(value * 2654435761U) % hashes, value) == numbers[value]);
    CHECK(pool.made <= VALUES);
    pd_chains_fini(&chains);
    pd_pool_fini(&pool);
    CHECK(s.live == 0 && pages.used == 0);
}

TEST(what_was_added_is_found_and_what_was_removed_is_not)
{
    add_and_remove(1, UINT32_MAX, 60000);
    add_and_remove(2, 5000, 60000);
    add_and_remove(3, 7, 4000);
    add_and_remove(4, 1, 2000);
}

TEST(elements_do_not_move_and_are_used_again)
{
    tracker s = {0};
    pd_pages pages = pages_of(&s, UINT64_MAX);
    pd_pool pool = {0};
    void *at[3000] = {0};
    REQUIRE(pd_pool_init(&pool, &pages, sizeof(element), 2999));
    for (uint32_t i = 1; i < 3000; i++) {
        CHECK(pd_pool_take(&pool) == i);
        at[i] = pd_pool_at(&pool, i);
    }
    for (uint32_t i = 1; i < 3000; i++)
        CHECK(pd_pool_at(&pool, i) == at[i]);
    CHECK(pd_pool_take(&pool) == 0 && pd_pool_is_full(&pool));
    pd_pool_give(&pool, 7);
    pd_pool_give(&pool, 2000);
    size_t held = s.live;
    CHECK(pd_pool_take(&pool) == 2000);
    CHECK(pd_pool_take(&pool) == 7);
    CHECK(pd_pool_take(&pool) == 0 && pd_pool_is_full(&pool) && s.live == held);
    pd_pool_fini(&pool);
    CHECK(s.live == 0);
}

TEST(the_cap_holds_to_the_byte)
{
    tracker s = {0};
    pd_pages pages = pages_of(&s, 3 * PD_PAGE);
    void *one = pd_pages_map(&pages, 1), *two = pd_pages_map(&pages, PD_PAGE + 1);
    CHECK(one && two && pages.used == 3 * PD_PAGE && s.live == pages.used);
    CHECK(!pd_pages_map(&pages, 1) && !pd_pages_map(&pages, SIZE_MAX));
    pd_pages_unmap(&pages, two, PD_PAGE + 1);
    CHECK(pages.used == PD_PAGE && s.live == PD_PAGE);
    pd_pages_unmap(&pages, one, 1);
    pd_pages_unmap(&pages, NULL, 1);
    CHECK(s.live == 0);
}

TEST(what_is_too_large_is_refused)
{
    static uint64_t stack[300000];
    static char text[3 << 20];
    memset(text, 'x', sizeof text - 1);
    static pprofdelta_label many[40000];
    pprofdelta_label label = {"key", text, 0, NULL};
    pprofdelta_heap_event deep = {.stack = stack, .depth = 300000},
                          labelled = {.labels = &label, .labels_len = 1},
                          with_many = {.labels = many, .labels_len = 40000},
                          largest = {.stack = stack, .depth = ((2 << 20) - sizeof(pd_trace)) / 8};
    pd_pages pages;
    pd_pages_init(&pages, NULL, UINT64_MAX);
    pd_traces traces = {.pages = &pages};
    CHECK(!pd_trace_copy(&traces, &deep, deep.depth));
    CHECK(!pd_trace_copy(&traces, &labelled, 0));
    CHECK(!pd_trace_copy(&traces, &with_many, 0));
    pd_trace *trace = pd_trace_copy(&traces, &largest, largest.depth);
    CHECK(trace && pd_trace_size(trace) == 2 << 20);
    trace = pd_trace_copy(&traces, &largest, 2);
    CHECK(trace && trace->depth == 2);
    pd_traces_fini(&traces);
    pd_pages none;
    pd_pages_init(&none, NULL, 0);
    traces = (pd_traces){.pages = &none};
    CHECK(!pd_trace_copy(&traces, &largest, 2));
}

TEST_MAIN()

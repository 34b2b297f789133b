/* Pages that are refused: elements, their index and kept stacks use what there is. fuzz_heap.c and
 * heap_law_test.c compare what they hold with a naive heap. */
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

static bool open_both(pd_pool *pool, pd_chains *chains, pd_pages *pages, uint32_t max)
{
    bool is_open = pd_pool_init(pool, pages, sizeof(element), max) && pd_chains_init(chains, pool);
    CHECK(is_open);
    return is_open;
}

/* Each number of pages, from none on: what there is room for works, the rest is refused. */
TEST(without_pages_it_says_so_and_goes_on)
{
    bool any_refused = false;
    for (size_t left = 0; left < 12; left++) {
        tracker s = {.fail_at = left + 1};
        pd_pages pages = pages_of(&s, UINT64_MAX);
        pd_pool pool = {0};
        pd_chains chains = {0};
        bool is_open =
            pd_pool_init(&pool, &pages, sizeof(element), 40000) && pd_chains_init(&chains, &pool);
        CHECK(is_open == (left >= 3));
        for (uint32_t i = 1; is_open && i <= 9000; i++) {
            bool full;
            uint32_t number = pd_pool_take(&pool, &full);
            if (!number) {
                CHECK(!full && s.refused);
                any_refused = true;
                break;
            }
            ((element *)pd_pool_at(&pool, number))->value = i;
            pd_chains_add(&chains, number, i * 2654435761U);
        }
        for (uint32_t i = 1; is_open && i <= pool.made; i++)
            CHECK(find(&chains, i * 2654435761U, i) == i);
        pd_chains_fini(&chains);
        pd_pool_fini(&pool);
        CHECK(s.live == 0 && pages.used == 0);
    }
    CHECK(any_refused);
}

/* Without a chunk for more heads the chains get longer, and that is all. */
TEST(an_index_that_cannot_grow_still_finds)
{
    enum { N = 60000 };
    tracker s = {0};
    pd_pages pages = pages_of(&s, UINT64_MAX);
    pd_pool pool = {0};
    pd_chains chains = {0};
    bool full;
    if (!open_both(&pool, &chains, &pages, N))
        return;
    for (uint32_t i = 1; i <= N; i++) {
        pd_pool_take(&pool, &full);
        ((element *)pd_pool_at(&pool, i))->value = i;
    }
    s.fail_at = 1;
    for (uint32_t i = 1; i <= N; i++)
        pd_chains_add(&chains, i, i * 2654435761U);
    CHECK(chains.buckets == PD_CHAINS_CHUNK);
    for (uint32_t i = 1; i <= N; i++)
        CHECK(find(&chains, i * 2654435761U, i) == i);
    s.fail_at = 0;
    pd_chains_remove(&chains, 1);
    pd_chains_add(&chains, 1, 2654435761U);
    CHECK(chains.buckets == PD_CHAINS_CHUNK + 1);
    for (uint32_t i = 1; i <= N; i++)
        CHECK(find(&chains, i * 2654435761U, i) == i);
    pd_chains_fini(&chains);
    pd_pool_fini(&pool);
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
    CHECK(trace && trace->is_cut && trace->depth == 2);
    pd_traces_fini(&traces);
    pd_pages none;
    pd_pages_init(&none, NULL, 0);
    traces = (pd_traces){.pages = &none};
    CHECK(!pd_trace_copy(&traces, &largest, 2));
}

TEST_MAIN()

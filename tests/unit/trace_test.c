/* Stacks with labels as they are kept: whole, in blocks of few sizes that are used again. */
#include "heap/trace.h"
#include "rng.h"
#include "seeds.h"

static pd_pages plenty(void)
{
    pd_pages pages;
    pd_pages_init(&pages, NULL, UINT64_MAX);
    return pages;
}

/* Traces of all sizes come and go: each stays as it was while it is there, and what was let go is
 * used again. */
TEST(blocks_do_not_overlap_and_come_back)
{
    enum { KEPT = 200, DEEP = 3000 };
    static uint64_t stack[DEEP];
    pd_trace *kept[KEPT] = {0};
    uint64_t marks[KEPT];
    pd_pages pages = plenty();
    pd_traces traces = {.pages = &pages};
    rng r = {1};
    uint64_t held = 0;
    for (int step = 0; step < 40000; step++) {
        size_t at = rng_below(&r, KEPT);
        if (kept[at]) {
            for (uint32_t i = 0; i < kept[at]->depth; i++)
                CHECK(kept[at]->stack[i] == marks[at]);
            pd_trace_give(&traces, kept[at]);
            kept[at] = NULL;
            continue;
        }
        size_t depth = rng_chance(&r, 95) ? rng_below(&r, 60) : rng_below(&r, DEEP);
        marks[at] = rng_next(&r);
        for (size_t i = 0; i < depth; i++)
            stack[i] = marks[at];
        pprofdelta_heap_event event = {.stack = stack, .depth = depth};
        kept[at] = pd_trace_copy(&traces, &event, depth);
        REQUIRE(kept[at]);
        CHECK(kept[at]->depth == depth);
        CHECK(pd_trace_size(kept[at]) >= sizeof(pd_trace) + depth * 8);
        if (step == 20000)
            held = pages.used;
    }
    CHECK_MSG(pages.used < held + held / 2, "%llu bytes, %llu half way",
              (unsigned long long)pages.used, (unsigned long long)held);
    pd_traces_fini(&traces);
    CHECK(pages.used == 0);
}

TEST(what_is_too_large_is_refused)
{
    static uint64_t stack[300000];
    static char text[3 << 20];
    memset(text, 'x', sizeof text - 1);
    static pprofdelta_label many[40000];
    pprofdelta_label label = {"key", text, 0, NULL};
    pprofdelta_heap_event deep = {.stack = stack, .depth = 300000},
                          wide = {.labels = &label, .labels_len = 1},
                          wider = {.labels = many, .labels_len = 40000},
                          largest = {.stack = stack, .depth = ((2 << 20) - sizeof(pd_trace)) / 8};
    pd_pages pages = plenty();
    pd_traces traces = {.pages = &pages};
    CHECK(!pd_trace_copy(&traces, &deep, deep.depth));
    CHECK(!pd_trace_copy(&traces, &wide, 0));
    CHECK(!pd_trace_copy(&traces, &wider, 0));
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

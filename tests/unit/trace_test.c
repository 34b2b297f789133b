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

static bool text_is(const char *got, const char *want)
{
    return want ? got && strcmp(got, want) == 0 : !got;
}

TEST(a_copy_is_whole_and_its_own)
{
    uint64_t stack[] = {1, 2, UINT64_MAX};
    char key[] = "thread", str[] = "main", unit[] = "bytes";
    pprofdelta_label labels[] = {
        {key, str, 0, NULL}, {"size", NULL, -48, unit}, {"empty", "", 7, NULL}};
    pprofdelta_heap_event event = {
        .stack = stack, .depth = 3, .labels = labels, .labels_len = 3, .code = 77};
    pd_pages pages = plenty();
    pd_traces traces = {.pages = &pages};
    pd_trace *trace = pd_trace_copy(&traces, &event, 3);
    REQUIRE(trace);
    memset(stack, 0, sizeof stack);
    memset(key, '#', 6);
    memset(str, '#', 4);
    memset(unit, '#', 5);
    memset(labels, 0, sizeof labels);
    pprofdelta_heap_event back = {0};
    pd_trace_show(trace, &back);
    CHECK(back.depth == 3 && back.stack[0] == 1 && back.stack[1] == 2 &&
          back.stack[2] == UINT64_MAX);
    CHECK(back.labels_len == 3 && back.code == 77 && !trace->is_cut);
    CHECK(text_is(back.labels[0].key, "thread") && text_is(back.labels[0].str, "main") &&
          text_is(back.labels[0].num_unit, NULL));
    CHECK(text_is(back.labels[1].key, "size") && text_is(back.labels[1].str, NULL) &&
          text_is(back.labels[1].num_unit, "bytes") && back.labels[1].num == -48);
    CHECK(text_is(back.labels[2].str, NULL) && back.labels[2].num == 7);
    pd_traces_fini(&traces);
    CHECK(pages.used == 0);
}

static pd_key key_of(const uint64_t *stack, size_t depth, const pprofdelta_label *labels,
                     size_t labels_len)
{
    pprofdelta_heap_event event = {
        .stack = stack, .depth = depth, .labels = labels, .labels_len = labels_len};
    return pd_trace_key(&event, depth);
}

TEST(keys_tell_apart_what_differs_and_nothing_else)
{
    static const uint64_t ab[] = {1, 2}, ba[] = {2, 1};
    static const pprofdelta_label x = {"x", "1", 0, NULL}, y = {"y", NULL, 1, "u"};
    pprofdelta_label xy[] = {x, y}, yx[] = {y, x}, xx[] = {x, x};
    pd_key keys[] = {
        key_of(ab, 2, NULL, 0),
        key_of(ba, 2, NULL, 0),
        key_of(ab, 1, NULL, 0),
        key_of(NULL, 0, NULL, 0),
        key_of(ab, 2, xy, 2),
        key_of(ab, 2, xx, 2),
        key_of(ab, 2, &x, 1),
        key_of(ab, 2, &y, 1),
        key_of(ab, 2, &(pprofdelta_label){"x", "2", 0, NULL}, 1),
        key_of(ab, 2, &(pprofdelta_label){"x", NULL, 1, NULL}, 1),
        key_of(ab, 2, &(pprofdelta_label){"y", NULL, 2, "u"}, 1),
        key_of(ab, 2, &(pprofdelta_label){"y", NULL, 1, "v"}, 1),
        key_of(ab, 2, &(pprofdelta_label){NULL, NULL, 0, NULL}, 1),
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (size_t j = 0; j < i; j++)
            CHECK_MSG(!pd_key_equal(keys[i], keys[j]), "%zu and %zu", i, j);
    CHECK(pd_key_equal(keys[4], key_of(ab, 2, yx, 2)));
    /* An empty string is no string. What a string hides does not count. */
    CHECK(pd_key_equal(key_of(ab, 2, &(pprofdelta_label){"x", NULL, 1, NULL}, 1),
                       key_of(ab, 2, &(pprofdelta_label){"x", "", 1, ""}, 1)));
    CHECK(pd_key_equal(keys[6], key_of(ab, 2, &(pprofdelta_label){"x", "1", 9, NULL}, 1)));
    CHECK(pd_key_equal(keys[6], key_of(ab, 2, &(pprofdelta_label){"x", "1", 9, "u"}, 1)));
    pprofdelta_heap_event cut = {.stack = ab, .depth = 2};
    CHECK(pd_key_equal(keys[2], pd_trace_key(&cut, 1)));
    cut.code = 1; /* other code at the same addresses */
    CHECK(!pd_key_equal(keys[2], pd_trace_key(&cut, 1)));
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

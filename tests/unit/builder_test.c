/* The sample builder at its edges: wrong use, and memory. What comes out of it, also where allocations fail,
 * is the business of fuzz/fuzz_builder.c. */
#include "../support/test.h"

#include "run.h"
#include "send.h"

#include <stdlib.h>

static const pprofdelta_value_type types[] = {
    {"cpu", "nanoseconds", 0}, {"samples", "count", 0}, {"alloc", "bytes", 0}};

typedef struct bench {
    pprofdelta_builder *b;
    tracker memory;
    arena arena;
    pprofdelta_error err;
} bench;

static pprofdelta_builder_options plain_options(void)
{
    pprofdelta_builder_options o = PPROFDELTA_BUILDER_OPTIONS_INIT;
    o.compression = PPROFDELTA_PLAIN;
    o.types = types;
    o.types_len = 3;
    return o;
}

static void bench_begin(bench *t)
{
    *t = (bench){0};
    pprofdelta_builder_options o = plain_options();
    if (pprofdelta_builder_new(&o, tracking(&t->memory), &t->b, NULL))
        abort();
}

static void bench_end(bench *t)
{
    pprofdelta_builder_free(t->b);
    CHECK_MSG(t->memory.live == 0, "%zu bytes left", t->memory.live);
    arena_free(&t->arena);
}

static const int64_t one[3] = {1};

/* Adds a sample with these frames (words, leaf first), and perhaps a label. Returns whether it was added. */
static bool add(bench *t, const char *stack, const char *thread)
{
    enum { MOST = 8 };
    char names[MOST][64];
    pprofdelta_frame frames[MOST];
    const pprofdelta_label label = {"thread", thread, 0, NULL};
    pprofdelta_sample sample = {.frames = frames, .values = one};
    for (const char *at = stack; *at;) {
        size_t len = strcspn(at, " "), i = sample.frames_len++;
        snprintf(names[i], sizeof names[i], "%.*s", (int)len, at);
        frames[i] = (pprofdelta_frame){.name = names[i], .filename = "file.py", .line = 7};
        at += len + (at[len] == ' ');
    }
    if (thread) {
        sample.labels = &label;
        sample.labels_len = 1;
    }
    bool is_added = !pprofdelta_builder_add(t->b, &sample, NULL);
    memset(names, '#', sizeof names); /* a name may die after the call */
    return is_added;
}

TEST(wrong_use_is_refused)
{
    ENDS(bench_end) bench t;
    bench_begin(&t);
    pprofdelta_builder *untouched = t.b, *b = untouched;
    pprofdelta_builder_options options[5];
    for (size_t i = 0; i < 5; i++)
        options[i] = plain_options();
    options[0].size = 0;
    options[1].flags = PPROFDELTA_VERIFY;
    options[2].level = 10;
    options[3].types_len = 0;
    options[4].types_len = PPROFDELTA_MAX_TYPES + 1;
    for (size_t i = 0; i < 5; i++)
        CHECK(pprofdelta_builder_new(&options[i], NULL, &b, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_builder_new(NULL, NULL, &b, NULL) == PPROFDELTA_E_USAGE && b == untouched);
    const pprofdelta_frame frame = {.name = "f"};
    const pprofdelta_sample wrong[] = {
        {.frames = &frame, .frames_len = 1},
        {.values = one, .frames_len = 1},
        {.values = one, .frames = &frame, .frames_len = 1, .labels_len = 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(pprofdelta_builder_add(t.b, &wrong[i], &t.err) == PPROFDELTA_E_USAGE && *t.err.text);
    CHECK(pprofdelta_builder_add(t.b, NULL, NULL) == PPROFDELTA_E_USAGE);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

TEST(the_steady_state_allocates_nothing)
{
    ENDS(bench_end) bench t;
    size_t calls = 0;
    char name[32];
    bench_begin(&t);
    for (int round = 0; round < 24; round++) {
        for (int i = 0; i < 60; i++) {
            snprintf(name, sizeof name, "f%d g%d main", i % 23, i % 7);
            add(&t, name, i % 3 ? NULL : "worker");
        }
        collector c = {.bytes = buf_begin(&t.arena), .fail_at = round % 3 == 1};
        builder_send(t.b, collecting(&c), NULL, NULL);
        calls = round == 8 ? t.memory.calls : calls;
    }
    CHECK_MSG(t.memory.calls == calls, "%zu allocations", t.memory.calls - calls);
}

/* Returns whether an allocation failed. */
static bool add_with_failures(size_t at, bool is_alone)
{
    bench t = {.memory = {.fail_at = at, .is_alone = is_alone}};
    pprofdelta_builder_options o = plain_options();
    pprofdelta_builder_report report = {.size = sizeof report};
    collector c = {.bytes = buf_begin(&t.arena)};
    char name[32];
    uint64_t added = 0;
    if (pprofdelta_builder_new(&o, tracking(&t.memory), &t.b, NULL))
        return true;
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "f%d main", i % 25);
        added += add(&t, name, i % 3 ? NULL : "worker");
    }
    bool has_failed = t.memory.refused != 0;
    t.memory.fail_at = 0;
    CHECK(builder_send(t.b, collecting(&c), &report, &t.err) == PPROFDELTA_OK);
    CHECK_MSG(report.samples_in == added && !report.samples_lost, "at %zu", at);
    bench_end(&t);
    return has_failed;
}

/* Alone, or with all that follow; fuzz_builder.c has what arrives. */
TEST(whichever_allocation_fails_what_was_added_arrives)
{
    for (int is_alone = 0; is_alone < 2; is_alone++) {
        size_t at = 1;
        while (add_with_failures(at, is_alone))
            at++;
        CHECK_MSG(at > 20, "%zu allocations", at);
    }
}

TEST(max_memory_is_kept_and_what_is_lost_is_told)
{
    tracker memory = {0};
    pprofdelta_builder_options o = plain_options();
    o.max_memory = 20000;
    bench t = {0};
    REQUIRE(pprofdelta_builder_new(&o, tracking(&memory), &t.b, NULL) == PPROFDELTA_OK);
    char name[64];
    int64_t added = 0, arrived = 0;
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "function_%d_of_many main", i);
        added += add(&t, name, NULL);
    }
    CHECK(memory.peak < 80000);
    for (int window = 0; window < 3; window++) { /* what has no room in one is in the next */
        collector c = {.bytes = buf_begin(&t.arena)};
        pprofdelta_builder_report report = {.size = sizeof report};
        CHECK(builder_send(t.b, collecting(&c), &report, &t.err) == PPROFDELTA_OK &&
              !report.samples_lost);
        arrived += (int64_t)report.samples_in;
    }
    CHECK(added > 0 && added < 2000 && arrived == added);
    static pprofdelta_frame frames[2000];
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        frames[i].name = "one of many";
    const pprofdelta_sample sample = {
        .frames = frames, .frames_len = sizeof frames / sizeof *frames, .values = one};
    CHECK(pprofdelta_builder_add(t.b, &sample, &t.err) == PPROFDELTA_E_LIMIT);
    pprofdelta_builder_free(t.b);
    CHECK(memory.live == 0);
    arena_free(&t.arena);
}

TEST_MAIN()

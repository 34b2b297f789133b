/* The sample builder by itself: what comes out is what was flushed, once, whatever fails. */
#include "../support/test.h"

#include "reading.h"
#include "run.h"
#include "scene.h"
#include "send.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const pprofdelta_value_type types[] = {
    {"cpu", "nanoseconds", 0}, {"samples", "count", 0}, {"alloc", "bytes", 0}};

typedef struct bench {
    pprofdelta_builder *b;
    tracker memory;
    arena arena;
    reading out; /* of the last export */
    pprofdelta_builder_report report;
    pprofdelta_error err;
} bench;

static pprofdelta_builder_options plain_options(void)
{
    pprofdelta_builder_options o = PPROFDELTA_BUILDER_OPTIONS_INIT;
    o.compression = PPROFDELTA_PLAIN;
    o.types = types;
    o.types_len = 3;
    o.period_type = "cpu";
    o.period_unit = "nanoseconds";
    o.period = 10000000;
    o.default_type = "samples";
    return o;
}

static void bench_begin(bench *t)
{
    *t = (bench){.report.size = sizeof t->report};
    pprofdelta_allocator allocator = tracker_allocator(&t->memory);
    pprofdelta_builder_options o = plain_options();
    if (pprofdelta_builder_new(&o, &allocator, &t->b, NULL))
        abort();
}

static void bench_end(bench *t)
{
    pprofdelta_builder_free(t->b);
    CHECK_MSG(t->memory.live == 0, "%zu bytes left", t->memory.live);
    arena_free(&t->arena);
}

/* Flushes a sample with these frames (words, leaf first), one value and perhaps a label. */
static pprofdelta_status add(bench *t, const char *stack, size_t type, int64_t value,
                             const char *thread)
{
    pprofdelta_sample *s = pprofdelta_sample_start(t->b);
    char name[64];
    for (const char *at = stack; *at;) {
        size_t len = strcspn(at, " ");
        snprintf(name, sizeof name, "%.*s", (int)len, at);
        pprofdelta_frame frame = {.name = name, .filename = "file.py", .line = 7};
        pprofdelta_sample_push_frame(s, &frame, 0);
        memset(name, '#', sizeof name - 1); /* a name may die after the call */
        at += len + (at[len] == ' ');
    }
    pprofdelta_sample_push_value(s, type, value);
    if (thread) {
        pprofdelta_label label = {"thread", thread, 0, NULL};
        pprofdelta_sample_push_label(s, &label);
    }
    return pprofdelta_sample_add(s, NULL);
}

static const char *export_rows(bench *t)
{
    collector c = {.bytes = buf_begin(&t->arena)};
    pprofdelta_sink sink = collector_sink(&c);
    if (builder_send(t->b, &sink, &t->report, &t->err))
        return t->err.text;
    if (reading_make(&t->arena, c.bytes.ptr, c.bytes.len, &t->out))
        return "not a valid profile";
    return scene_rows(&t->out);
}

/* ---- Samples --------------------------------------------------------------------------------- */

TEST(equal_samples_add_up_whatever_their_types)
{
    ENDS(bench_end) bench t;
    bench_begin(&t);
    add(&t, "leaf main", 0, 5, NULL);
    add(&t, "leaf main", 1, 1, NULL);
    add(&t, "leaf main", 1, 2, "a");
    add(&t, "main", 2, 100, NULL);
    add(&t, "leaf main", 0, 6, NULL);
    add(&t, "nothing", 0, 0, NULL);
    CHECK_STR(export_rows(&t), "leaf;main 11 1 0, leaf;main{thread=a} 0 2 0, main 0 0 100");
    CHECK(t.report.samples_in == 5 && t.report.samples_out == 3 && t.report.samples_lost == 0);
    CHECK(t.report.sequence == 1 && t.report.pid == getpid());
    CHECK(t.report.strings == t.out.view->n_string_table);
    CHECK(t.out.view->duration_nanos == t.report.to_nanos - t.report.from_nanos);
    CHECK(t.out.view->period == 10000000 && reading_is_stamp(&t.out, 0));
    CHECK_STR(reading_string(&t.out, t.out.view->default_sample_type), "samples");
    CHECK_STR(export_rows(&t), "");
    CHECK(t.report.sequence == 2 && t.report.samples_in == 0);
    add(&t, "main", 0, 1, NULL);
    CHECK_STR(export_rows(&t), "main 1 0 0");
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
    pprofdelta_sample *s = pprofdelta_sample_start(t.b);
    CHECK(pprofdelta_sample_push_value(s, 3, 1) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_sample_push_value(s, 0, 1) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_sample_push_frame(s, NULL, 1) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_sample_push_label(s, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_sample_add(s, &t.err) == PPROFDELTA_E_USAGE && *t.err.text);
    CHECK(pprofdelta_sample_push_value(NULL, 0, 1) == PPROFDELTA_E_MEMORY);
    CHECK(pprofdelta_sample_push_frame(NULL, NULL, 0) == PPROFDELTA_E_MEMORY);
    CHECK(pprofdelta_sample_push_label(NULL, NULL) == PPROFDELTA_E_MEMORY);
    CHECK(pprofdelta_sample_add(NULL, NULL) == PPROFDELTA_E_MEMORY);
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
            add(&t, name, 1, 1, i % 3 ? NULL : "worker");
        }
        collector c = {.bytes = buf_begin(&t.arena), .fail_at = round % 3 == 1};
        pprofdelta_sink sink = collector_sink(&c);
        builder_send(t.b, &sink, NULL, NULL);
        calls = round == 8 ? t.memory.calls : calls;
    }
    CHECK_MSG(t.memory.calls == calls, "%zu allocations", t.memory.calls - calls);
}

TEST(max_memory_is_kept_and_what_is_lost_is_told)
{
    tracker memory = {0};
    pprofdelta_allocator allocator = tracker_allocator(&memory);
    pprofdelta_builder_options o = plain_options();
    o.max_memory = 20000;
    bench t = {0};
    REQUIRE(pprofdelta_builder_new(&o, &allocator, &t.b, NULL) == PPROFDELTA_OK);
    char name[64];
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "function_%d_of_many main", i);
        add(&t, name, 0, 1, NULL);
    }
    CHECK(memory.peak < 80000);
    pprofdelta_sample *s = pprofdelta_sample_start(t.b);
    pprofdelta_frame frame = {.name = "one of many"};
    pprofdelta_status status = PPROFDELTA_OK;
    while (!status)
        status = pprofdelta_sample_push_frame(s, &frame, 0);
    CHECK(status == PPROFDELTA_E_LIMIT);
    CHECK(pprofdelta_sample_add(s, &t.err) == PPROFDELTA_E_LIMIT);
    pprofdelta_builder_free(t.b);
    CHECK(memory.live == 0);
}

typedef struct forking {
    pprofdelta_builder *b;
    pid_t pid;
} forking;

static int fork_in_sink(void *cookie, const void *data, size_t len)
{
    forking *f = cookie;
    (void)data, (void)len;
    pprofdelta_builder_fork(f->b, PPROFDELTA_FORK_PREPARE);
    f->pid = fork();
    pprofdelta_builder_fork(f->b, f->pid ? PPROFDELTA_FORK_PARENT : PPROFDELTA_FORK_CHILD);
    return 0;
}

TEST(a_sink_may_fork)
{
    ENDS(bench_end) bench t;
    bench_begin(&t);
    add(&t, "a", 0, 1, NULL);
    forking f = {t.b, -1};
    pprofdelta_sink sink = {.write = fork_in_sink, .cookie = &f};
    pprofdelta_status status = builder_send(t.b, &sink, &t.report, NULL);
    if (f.pid == 0) {
        add(&t, "b", 0, 1, NULL);
        bool ok = status == PPROFDELTA_E_USAGE && strcmp(export_rows(&t), "b 1 0 0") == 0;
        _exit(ok ? 0 : 1);
    }
    int how = -1;
    CHECK(status == PPROFDELTA_OK);
    CHECK(waitpid(f.pid, &how, 0) == f.pid && how == 0);
    CHECK_STR(export_rows(&t), "");
}

TEST_MAIN()

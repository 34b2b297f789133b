/* A builder, what it is given, and what it exports, as lines of text. */
#ifndef PD_TESTS_BUILDER_BENCH_H
#define PD_TESTS_BUILDER_BENCH_H

#include "../support/test.h"

#include "reading.h"
#include "run.h"
#include "scene.h"
#include "send.h"

#include <inttypes.h>
#include <stdlib.h>

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

static inline pprofdelta_builder_options plain_options(void)
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

static inline void bench_begin(bench *t)
{
    *t = (bench){.report.size = sizeof t->report};
    pprofdelta_allocator allocator = tracker_allocator(&t->memory);
    pprofdelta_builder_options o = plain_options();
    if (pprofdelta_builder_new(&o, &allocator, &t->b, NULL))
        abort();
}

static inline void bench_end(bench *t)
{
    pprofdelta_builder_free(t->b);
    CHECK_MSG(t->memory.live == 0, "%zu bytes left", t->memory.live);
    arena_free(&t->arena);
}

/* Flushes a sample with these frames (words, leaf first), one value and perhaps a label. */
static inline pprofdelta_status add(bench *t, const char *stack, size_t type, int64_t value,
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

static inline const char *export_rows(bench *t)
{
    collector c = {.bytes = buf_begin(&t->arena)};
    pprofdelta_sink sink = collector_sink(&c);
    if (builder_send(t->b, &sink, &t->report, &t->err))
        return t->err.text;
    if (reading_make(&t->arena, c.bytes.ptr, c.bytes.len, &t->out))
        return "not a valid profile";
    return scene_rows(&t->out);
}

#endif

/* The sample builder by itself: what comes out is what was flushed, once, whatever fails. */
#include "builder_bench.h"
#include "seeds.h"

#include "profile/stamp.h"

#include <unistd.h>

TEST(equal_samples_add_up_whatever_their_types)
{
    bench t;
    bench_begin(&t);
    add(&t, "leaf main", 0, 5, NULL);
    add(&t, "leaf main", 1, 1, NULL);
    add(&t, "leaf main", 1, 2, "a");
    add(&t, "main", 2, 100, NULL);
    add(&t, "leaf main", 0, 6, NULL);
    add(&t, "nothing", 0, 0, NULL);
    CHECK_STR(export_rows(&t), "leaf;main 11 1 0, leaf;main {thread=a} 0 2 0, main 0 0 100");
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
    bench_end(&t);
}

TEST(a_discarded_sample_leaves_no_trace)
{
    bench t;
    bench_begin(&t);
    pprofdelta_sample *s = pprofdelta_sample_start(t.b);
    pprofdelta_frame frame = {.name = "gone"};
    pprofdelta_sample_push_frame(s, &frame, 0);
    pprofdelta_sample_push_value(s, 0, 1);
    pprofdelta_sample_discard(s);
    pprofdelta_sample_discard(NULL);
    CHECK_STR(export_rows(&t), "");
    CHECK(t.report.strings == t.out.view->n_string_table);
    for (size_t i = 0; i < t.out.view->n_string_table; i++)
        CHECK(strcmp(reading_string(&t.out, (int64_t)i), "gone") != 0);
    bench_end(&t);
}

TEST(a_sample_needs_no_text_at_all)
{
    bench t;
    bench_begin(&t);
    pprofdelta_frame frame = {.line = 7};
    pprofdelta_sample *s = pprofdelta_sample_start(t.b);
    pprofdelta_sample_push_frame(s, &frame, 0);
    pprofdelta_sample_push_value(s, 0, 3);
    CHECK(pprofdelta_sample_add(s, NULL) == PPROFDELTA_OK);
    CHECK_STR(export_rows(&t), " 3 0 0");
    CHECK(t.out.view->n_function == 1 && t.out.view->location[0]->line[0]->line == 7);
    bench_end(&t);
}

TEST(samples_may_interrupt_each_other)
{
    bench t;
    bench_begin(&t);
    pprofdelta_sample *outer = pprofdelta_sample_start(t.b), *inner[40];
    pprofdelta_frame a = {.name = "a"}, b = {.name = "b"};
    pprofdelta_sample_push_frame(outer, &a, 0);
    for (size_t i = 0; i < 40; i++) {
        inner[i] = pprofdelta_sample_start(t.b);
        CHECK(inner[i] != outer && (!i || inner[i] != inner[i - 1]));
        pprofdelta_sample_push_frame(inner[i], &b, 0);
    }
    pprofdelta_sample_push_frame(outer, &b, 0);
    for (size_t i = 0; i < 40; i++) {
        pprofdelta_sample_push_value(inner[i], 1, 1);
        CHECK(pprofdelta_sample_add(inner[i], NULL) == PPROFDELTA_OK);
    }
    pprofdelta_sample_push_value(outer, 0, 3);
    CHECK(pprofdelta_sample_add(outer, NULL) == PPROFDELTA_OK);
    CHECK_STR(export_rows(&t), "b 0 40 0, a;b 3 0 0");
    bench_end(&t);
}

TEST(a_failed_export_loses_nothing_and_says_nothing_twice)
{
    bench t;
    bench_begin(&t);
    for (int round = 0; round < 3; round++) {
        add(&t, "a", 0, 1, NULL);
        add(&t, "b", 0, 10, round == 1 ? "x" : NULL);
        collector c = {.bytes = buf_begin(&t.arena), .fail_at = 1};
        pprofdelta_sink sink = collector_sink(&c);
        CHECK(builder_send(t.b, &sink, &t.report, &t.err) == PPROFDELTA_E_SINK);
        CHECK(t.err.status == PPROFDELTA_E_SINK && t.report.sequence == 0);
    }
    pprofdelta_stamp stamp;
    add(&t, "c", 2, 7, NULL);
    CHECK_STR(export_rows(&t), "a 3 0 0, b 20 0 0, b {thread=x} 10 0 0, c 0 0 7");
    CHECK(t.report.sequence == 1 && t.report.attempt == 4 && t.report.samples_in == 7);
    const char *comment = reading_string(&t.out, t.out.view->comment[0]);
    CHECK(pd_stamp_read((pd_bytes){(const uint8_t *)comment, strlen(comment)}, &stamp) &&
          stamp.sequence == 1 && stamp.attempt == 4);
    CHECK_STR(export_rows(&t), "");
    CHECK(t.report.sequence == 2 && t.report.attempt == 1);
    bench_end(&t);
}

TEST(a_label_with_a_string_has_no_number)
{
    static const pprofdelta_label labels[] = {{"k", "text", 7, "bytes"}, {"k", "text", 0, NULL}};
    bench t;
    bench_begin(&t);
    for (size_t i = 0; i < 2; i++) {
        pprofdelta_sample *s = pprofdelta_sample_start(t.b);
        pprofdelta_sample_push_frame(s, &(pprofdelta_frame){.name = "a"}, 0);
        pprofdelta_sample_push_value(s, 0, 1);
        pprofdelta_sample_push_label(s, &labels[i]);
        pprofdelta_sample_add(s, NULL);
    }
    CHECK_STR(export_rows(&t), "a {k=text} 2 0 0");
    const Pd__View__Label *label = t.out.view->sample[0]->label[0];
    CHECK(!label->num && !label->num_unit);
    bench_end(&t);
}

TEST(places_are_known_by_address_where_they_have_one)
{
    bench t;
    bench_begin(&t);
    for (int64_t i = 0; i < 4; i++) {
        pprofdelta_sample *s = pprofdelta_sample_start(t.b);
        pprofdelta_frame frame = {.name = i % 2 ? "renamed" : "named", .line = i};
        pprofdelta_sample_push_frame(s, &frame, i < 2 ? 0x1000 : 0);
        pprofdelta_sample_push_value(s, 0, 1);
        pprofdelta_sample_add(s, NULL);
    }
    CHECK_STR(export_rows(&t), "named 2 0 0, named 1 0 0, renamed 1 0 0");
    CHECK(t.out.view->n_location == 3 && t.out.view->location[0]->address == 0x1000);
    bench_end(&t);
}

TEST(wrong_use_is_refused)
{
    bench t;
    bench_begin(&t);
    pprofdelta_builder *untouched = t.b, *b = untouched;
    pprofdelta_builder_options o = plain_options();
    CHECK(pprofdelta_builder_new(NULL, NULL, &b, NULL) == PPROFDELTA_E_USAGE);
    o.size = 0;
    CHECK(pprofdelta_builder_new(&o, NULL, &b, NULL) == PPROFDELTA_E_USAGE);
    o = plain_options();
    o.flags = PPROFDELTA_VERIFY;
    CHECK(pprofdelta_builder_new(&o, NULL, &b, NULL) == PPROFDELTA_E_USAGE);
    o = plain_options();
    o.level = 10;
    CHECK(pprofdelta_builder_new(&o, NULL, &b, NULL) == PPROFDELTA_E_USAGE);
    o = plain_options();
    o.types_len = 0;
    CHECK(pprofdelta_builder_new(&o, NULL, &b, NULL) == PPROFDELTA_E_USAGE);
    o.types_len = PPROFDELTA_MAX_TYPES + 1;
    CHECK(pprofdelta_builder_new(&o, NULL, &b, NULL) == PPROFDELTA_E_USAGE && b == untouched);
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
    bench_end(&t);
}

/* ---------------------------------------------------------------------------------------------
 * Memory
 * ------------------------------------------------------------------------------------------ */

/* One round of everything. What arrived in the end, which is what was flushed and not refused or
 * counted as lost. */
static int64_t round_of(bench *t, int64_t *flushed)
{
    char name[32];
    int64_t arrived = 0;
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "f%d g%d main", i % 23, i % 7);
        if (add(t, name, 1, 1, i % 3 ? NULL : "worker") == PPROFDELTA_OK)
            ++*flushed;
        if (i % 20)
            continue;
        collector c = {.bytes = buf_begin(&t->arena), .fail_at = i == 20};
        pprofdelta_sink sink = collector_sink(&c);
        pprofdelta_builder_report report = {.size = sizeof report};
        if (builder_send(t->b, &sink, &report, NULL) != PPROFDELTA_OK)
            continue;
        *flushed -= (int64_t)report.samples_lost;
        if (reading_make(&t->arena, c.bytes.ptr, c.bytes.len, &t->out)) {
            CHECK_MSG(false, "not a valid profile");
            continue;
        }
        for (size_t n = 0; n < t->out.samples_len; n++)
            arrived += t->out.samples[n].values[1];
    }
    return arrived;
}

TEST(every_allocation_may_fail_and_nothing_is_counted_wrong)
{
    for (unsigned alone = 0; alone < 2; alone++) {
        bool refused = true;
        for (size_t nth = 1; refused && nth < 2000; nth++) {
            bench t;
            bench_begin(&t);
            t.memory.fail_at = t.memory.calls + nth;
            t.memory.is_alone = alone;
            int64_t flushed = 0, arrived = round_of(&t, &flushed);
            refused = t.memory.refused > 0;
            t.memory.fail_at = 0;
            arrived += round_of(&t, &flushed);
            collector c = {.bytes = buf_begin(&t.arena)};
            pprofdelta_sink sink = collector_sink(&c);
            REQUIRE(builder_send(t.b, &sink, &t.report, NULL) == PPROFDELTA_OK);
            REQUIRE(reading_make(&t.arena, c.bytes.ptr, c.bytes.len, &t.out) == PPROFDELTA_OK);
            flushed -= (int64_t)t.report.samples_lost;
            for (size_t n = 0; n < t.out.samples_len; n++)
                arrived += t.out.samples[n].values[1];
            CHECK_MSG(arrived == flushed, "allocation %zu: %" PRId64 " of %" PRId64, nth, arrived,
                      flushed);
            bench_end(&t);
        }
        CHECK(!refused);
    }
}

TEST(a_new_builder_without_memory_is_told)
{
    bool refused = true;
    for (size_t nth = 1; refused; nth++) {
        tracker memory = {.fail_at = nth};
        pprofdelta_allocator allocator = tracker_allocator(&memory);
        pprofdelta_builder_options o = plain_options();
        pprofdelta_builder *b = NULL;
        pprofdelta_status status = pprofdelta_builder_new(&o, &allocator, &b, NULL);
        refused = memory.refused > 0;
        CHECK(status == (refused ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK) && !b == refused);
        pprofdelta_builder_free(b);
        CHECK(memory.live == 0);
    }
}

TEST(the_steady_state_allocates_nothing)
{
    bench t;
    bench_begin(&t);
    size_t calls = 0;
    for (int round = 0; round < 8; round++) {
        int64_t flushed = 0;
        round_of(&t, &flushed);
        if (round == 3)
            calls = t.memory.calls;
    }
    CHECK_MSG(t.memory.calls == calls, "%zu allocations", t.memory.calls - calls);
    bench_end(&t);
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

TEST_MAIN()

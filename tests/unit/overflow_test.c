/* Values at the ends of 64 bits, on the doors inside a process: a sum or an unsampled value that does not fit is refused or left
 * out and counted. Nothing wraps. tests/cli/tables/delta.txt has profiles and dumps, merge_test.c sums and merges. */
#include "../support/test.h"

#include "live.h"
#include "record_scene.h"
#include "send.h"

#define MOST "9223372036854775807"

/* ---- records --------------------------------------------------------------------------------- */

TEST(equal_records)
{
    ENDS(record_end) record_scene s;
    record_begin(&s);
    record(&s, "leaf main", 0, MOST " 1 0 0");
    record(&s, "leaf main", 0, "1 1 0 0");
    record_window(&s);
    CHECK(s.status == PPROFDELTA_E_LIMIT && strstr(s.err.text, "64 bits"));
    record_set(&s, 1, "0 1 0 0");
    CHECK_STR(record_window(&s), "leaf;main " MOST " 2 0 0");
    CHECK(s.report.types[0].cur.lo == INT64_MAX && s.report.types[0].cur.hi == 0);
}

/* Two stacks, one of lines: equal when they are written. */
TEST(records_that_become_equal)
{
    ENDS(record_end) record_scene s;
    record_begin(&s);
    record(&s, "a main", 0, MOST " 1 0 0");
    record(&s, "b main", 0, "1 1 0 0");
    s.words[2] = "a"; /* what was b */
    record_window(&s);
    CHECK(s.status == PPROFDELTA_E_LIMIT && strstr(s.err.text, "64 bits"));
}

TEST(unsampled_records)
{
    ENDS(record_end) record_scene s;
    record_begin(&s);
    s.look.period = 1 << 20;
    record(&s, "a", 16, MOST " 1 0 0");
    record_window(&s);
    CHECK(s.status == PPROFDELTA_E_LIMIT && strstr(s.err.text, "64 bits"));
    record_set(&s, 0, "0 1 0 0");
    record_window(&s);
    CHECK(s.status == PPROFDELTA_OK);
}

/* ---- samples --------------------------------------------------------------------------------- */

static pprofdelta_status add_sample(pprofdelta_builder *b, int64_t value)
{
    const pprofdelta_frame frame = {.name = "main"};
    const pprofdelta_sample sample = {.frames = &frame, .frames_len = 1, .values = &value};
    return pprofdelta_builder_add(b, &sample, NULL);
}

TEST(samples_of_a_builder)
{
    static const pprofdelta_value_type types[] = {{"n", "count", 1}};
    ENDS(arena_free) arena a = {0};
    collector c = {.bytes = buf_begin(&a)};
    pprofdelta_builder_options o = PPROFDELTA_BUILDER_OPTIONS_INIT;
    pprofdelta_builder_report report = {.size = sizeof report};
    pprofdelta_builder *b;
    reading r;
    o.types = types;
    o.types_len = 1;
    REQUIRE(!pprofdelta_builder_new(&o, NULL, &b, NULL));
    CHECK(add_sample(b, INT64_MAX) == PPROFDELTA_OK);
    CHECK(add_sample(b, INT64_MAX) == PPROFDELTA_OK); /* left out of the sum */
    CHECK(builder_send(b, collecting(&c), &report, NULL) == PPROFDELTA_OK);
    CHECK(report.samples_in == 2 && report.samples_lost == 1);
    CHECK(!reading_make(&a, c.bytes.ptr, c.bytes.len, &r) && r.records == 1 &&
          r.samples[0].values[0] == INT64_MAX);
    pprofdelta_builder_free(b);
}

/* ---- live heaps ------------------------------------------------------------------------------ */

static int track(pprofdelta_heap *heap, size_t at, int64_t objects, int64_t bytes)
{
    static const uint64_t stack[] = {0x1000};
    return pprofdelta_heap_track(
        heap, &(pprofdelta_heap_event){
                  .ptr = live_pointer(at), .weight = {objects, bytes}, .stack = stack, .depth = 1});
}

TEST(allocations)
{
    ENDS(arena_free) arena a = {0};
    collector c = {.bytes = buf_begin(&a)};
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    pprofdelta_heap_options o = PPROFDELTA_HEAP_OPTIONS_INIT;
    pprofdelta_heap *heap;
    live_profile p;
    o.flags = PPROFDELTA_NO_MAPPINGS;
    REQUIRE(!pprofdelta_heap_new(&o, &heap, NULL));
    CHECK(track(heap, 1, 1, INT64_MAX) && !track(heap, 2, 1, 1) && track(heap, 3, 1, 0));
    CHECK(!track(heap, 4, -1, 0) && !track(heap, 5, 0, -1) &&
          !track(heap, 6, INT64_MIN, INT64_MIN));
    CHECK(pprofdelta_heap_untrack(heap, live_pointer(1)));
    CHECK(!track(heap, 7, 1, 1)); /* all that was allocated would not fit */
    CHECK(pprofdelta_heap_describe(heap, &stats) == PPROFDELTA_OK);
    CHECK(stats.refused == 5 && stats.live == 1 && stats.inuse_bytes == 0);
    CHECK(stats.peak_bytes == INT64_MAX && stats.inuse_objects == 1);
    CHECK(!pprofdelta_heap_begin(heap, 1, NULL, NULL));
    CHECK(!pprofdelta_heap_write(heap, PPROFDELTA_HEAP_BY_FORMAT, collecting(&c), NULL));
    REQUIRE(live_read(&a, c.bytes.ptr, c.bytes.len, &p) && p.sums.len == 1);
    CHECK(p.sums.rows[0].values[0] == 2 && p.sums.rows[0].values[1] == INT64_MAX);
    CHECK(p.sums.rows[0].values[2] == 1 && p.sums.rows[0].values[3] == 0);
    pprofdelta_heap_free(heap);
}

TEST_MAIN()

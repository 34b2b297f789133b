/* Values at the ends of 64 bits, on every door: a sum, a difference or an unsampled value that does not fit is refused
 * or left out and counted. Nothing wraps. merge_test.c has sums and merges. */
#include "../support/test.h"

#include "live.h"
#include "pprofdelta_profile.h"
#include "record_scene.h"
#include "scene.h"
#include "send.h"

#define MOST  "9223372036854775807"
#define LEAST "-9223372036854775808"

/* ---- parsed profiles ------------------------------------------------------------------------- */

/* A profile with one sample for each of these pairs of values; samples with equal stacks are equal. */
static buf profile_of(arena *a, const char *const *samples, size_t len, int64_t now)
{
    ENDS(build_free) build b = {0};
    build_types(&b, CONTENTION_TYPES);
    for (size_t i = 0; i < len; i++)
        build_sample(&b, "leaf main", samples[i]);
    b.m.time_nanos = now;
    return build_bytes_in(a, &b);
}

static const char *const two[] = {MOST " 1", "1 1"}, *const one[] = {"1 1"},
                         *const most[] = {MOST " 1"}, *const least[] = {LEAST " 1"};

static const char *delta(pprofdelta_on_reset mode, const char *const *prev, const char *const *cur)
{
    static char row[200];
    ENDS(scene_end) scene s;
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    ENDS(arena_free) arena a = {0};
    o.on_reset = mode;
    o.flags = PPROFDELTA_VERIFY;
    snprintf(row, sizeof row, "%s",
             scene_delta(&s, &o, profile_of(&a, prev, 1, 1000),
                         profile_of(&a, cur, cur == two ? 2 : 1, 2000)));
    return row;
}

TEST(parsed_profiles)
{
    const char *refused = "[status 2]";
    for (pprofdelta_on_reset mode = PPROFDELTA_ON_RESET_AUTO; mode <= PPROFDELTA_ON_RESET_NEGATIVE;
         mode++) {
        CHECK_STR(delta(mode, one, two), refused);
        CHECK_STR(delta(mode, one, most), "leaf;main 9223372036854775806 0");
        CHECK_STR(delta(mode, least, most), refused); /* the difference */
    }
    CHECK_STR(delta(PPROFDELTA_ON_RESET_NEGATIVE, most, least), refused);
    CHECK_STR(delta(PPROFDELTA_ON_RESET_CLAMP, most, least), "");
}

TEST(the_base_and_the_first_window)
{
    ENDS(scene_end) scene s;
    scene_begin(&s, NULL);
    pprofdelta_error err = {0};
    buf bytes = profile_of(&s.arena, two, 2, 1000);
    CHECK(pprofdelta_base(s.pd, bytes.ptr, bytes.len, &err) == PPROFDELTA_E_LIMIT && err.is_prev);
    CHECK(err.stage == PPROFDELTA_STAGE_DELTA);
    CHECK_STR(err.field, "sample.value");
    CHECK_STR(scene_window(&s, bytes), "[status 2]");
    CHECK_STR(scene_window(&s, profile_of(&s.arena, one, 1, 1000)), "leaf;main 1 1");
}

/* In samples of 1 in 2^30 bytes. */
TEST(text_dumps)
{
    static const char dump[] =
        "heap_v2/1073741824\n  t*: 0: 0 [0: 0]\n@ 0x1000\n"
        "  t*: 0: 0 [4611686018427387904: 4611686018427387904]\n\n"
        "MAPPED_LIBRARIES:\n00000000-00002000 r-xp 00000000 00:00 0 /bin/app\n"
        "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n";
    ENDS(scene_end) scene s;
    scene_begin(&s, NULL);
    buf bytes = buf_begin(&s.arena);
    buf_add(&bytes, dump, sizeof dump - 1);
    CHECK_STR(scene_window(&s, bytes), "[status 2]");
    pprofdelta_profile *profile = NULL;
    const uint8_t *converted;
    size_t len;
    REQUIRE(!pprofdelta_profile_open(NULL, NULL, bytes.ptr, bytes.len, &profile, NULL));
    CHECK(pprofdelta_profile_bytes(profile, &converted, &len, NULL) == PPROFDELTA_E_LIMIT);
    pprofdelta_profile_free(profile);
}

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

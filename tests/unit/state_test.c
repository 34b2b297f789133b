/* What a state holds and how large it is. delta_test.c has contexts that go on in others by their states, and
 * state_trouble_test.c bytes that are not a state, and failures. */
#include "state_stand.h"

#include <inttypes.h>

TEST(describe_returns_what_is_remembered)
{
    ENDS(stand_end) stand k;
    pprofdelta_memory m = {.size = sizeof m};
    stand_begin(&k, NULL);
    pprofdelta_describe(k.s.pd, &m);
    CHECK(m.has_base && m.sequence == 2 && m.samples == 4 && m.unseen == 1);
    CHECK(m.from_nanos == 1000 && m.to_nanos == 2000 && m.restart == PPROFDELTA_RESTART_NONE);
    CHECK_STR(m.build_id, "id-12");
    REQUIRE(m.types_len == 4);
    CHECK_STR(m.types[1].type, "alloc_space");
    CHECK(m.types[1].is_counter && !m.types[2].is_counter && m.types[1].prev.lo == 5110);
    ENDS(context_end) pprofdelta *pd = NULL;
    REQUIRE(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK);
    pprofdelta_describe(pd, &m);
    CHECK(!m.has_base && !m.sequence && !m.samples && !m.types_len);
    CHECK_STR(m.build_id, "");
}

/* A state of a pending window is the same as that of an abandoned one. With its last byte set, it is
 * loaded as if the window had been committed. */
TEST(an_open_window_is_saved)
{
    ENDS(stand_end) stand k;
    stand_begin(&k, NULL);
    const char *rows = scene_pending(&k.s, look_of(&k, 3000, "8 80 0 0", "quite new"));
    pprofdelta_error err = {0};
    buf saved = keep_save(&k.s.arena, k.s.pd);
    pprofdelta_memory m = {.size = sizeof m};
    pprofdelta_describe(k.s.pd, &m);
    CHECK(m.attempts == 1 && !saved.ptr[saved.len - 1]);
    CHECK(keep_load(k.s.pd, saved, &err) == PPROFDELTA_E_USAGE && *err.text);
    pprofdelta_abandon(k.s.pd);
    buf again = keep_save(&k.s.arena, k.s.pd);
    CHECK(buf_equal(saved, again));
    for (int has_arrived = 0; has_arrived < 2; has_arrived++) {
        saved.ptr[saved.len - 1] = (uint8_t)has_arrived;
        CHECK(keep_load(k.s.pd, saved, &err) == PPROFDELTA_OK);
        again = keep_save(&k.s.arena, k.s.pd);
        CHECK(has_arrived ? again.len < saved.len
                          : again.len == saved.len && !memcmp(saved.ptr, again.ptr, saved.len));
        const char *next = scene_pending(&k.s, look_of(&k, 3000, "8 80 0 0", "quite new"));
        CHECK_STR(next, has_arrived ? "" : rows);
        CHECK(k.s.report.sequence == 3 + (uint64_t)has_arrived);
        CHECK(k.s.report.attempt == 2 - (uint64_t)has_arrived);
        pprofdelta_abandon(k.s.pd);
    }
    again.ptr[again.len - 1] = 1; /* no window is open */
    CHECK(keep_load(k.s.pd, again, &err) == PPROFDELTA_E_STATE && !strcmp(err.field, "arrived"));
    again.ptr[again.len - 1] = 2;
    CHECK(keep_load(k.s.pd, again, &err) == PPROFDELTA_E_STATE && err.offset == again.len - 1);
}

/* The counters decide, so a clock may be set back or be missing, and a duration may be nonsense. */
TEST(a_state_of_strange_times_can_be_loaded)
{
    static const struct {
        int64_t time, duration;
        const char *counters;
    } windows[] = {{1000, -5, "1 10 1 10"}, {2000, -5, "2 20 1 10"}, {0, 0, "3 30 1 10"},
                   {500, 0, "4 40 1 10"},   {-7, 0, "5 50 1 10"},    {0, -1, "6 60 1 10"},
                   {3000, 0, "7 70 1 10"}};
    enum { LEN = sizeof windows / sizeof *windows };
    for (unsigned committed = 0; committed < 1U << LEN; committed++) {
        stand k = {0};
        scene_begin(&k.s, NULL);
        for (size_t i = 0; i < LEN; i++) {
            look_of(&k, windows[i].time, windows[i].counters, "other main");
            k.p.m.duration_nanos = windows[i].duration;
            scene_pending(&k.s, build_bytes(&k.p));
            CHECK(k.s.status == PPROFDELTA_OK);
            if (committed >> i & 1)
                CHECK(pprofdelta_commit(k.s.pd) == PPROFDELTA_OK);
            else
                pprofdelta_abandon(k.s.pd);
            pprofdelta_error err = {0};
            pprofdelta_status status = keep_load(k.s.pd, keep_save(&k.s.arena, k.s.pd), &err);
            CHECK_MSG(status == PPROFDELTA_OK, "window %zu of %x: %s", i, committed, err.text);
        }
        stand_end(&k);
    }
}

TEST(other_type_rules_are_refused)
{
    static const char *const gauges[] = {"alloc_objects"};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.id = 1;
    options.gauges = gauges;
    options.gauges_len = 1;
    ENDS(stand_end) stand k;
    ENDS(scene_end) scene s;
    stand_begin(&k, NULL);
    scene_begin(&s, &options);
    CHECK(keep_load(s.pd, k.saved, NULL) == PPROFDELTA_OK);
    scene_pending(&s, look_of(&k, 3000, "8 80 0 0", "fresh main"));
    CHECK(s.status == PPROFDELTA_E_MISMATCH);
}

/* Two looks with 3,000 samples each, of which 1,600 are the same. The second one is open at first. */
static void check_size(const pprofdelta_options *options, const char *values, bool is_usual)
{
    ENDS(stand_end) stand k;
    ENDS(scene_end) scene s;
    ENDS(build_free) build b = {0};
    stand_begin(&k, NULL);
    scene_begin(&s, options);
    for (int look = 0; look < 2; look++) {
        build_free(&b);
        b = (build){0};
        build_types(&b, HEAP_TYPES);
        add_samples(&b, look * 1400, 3000, values);
        scene_pending(&s, build_bytes(&b));
        CHECK(s.status == PPROFDELTA_OK);
        buf open = keep_save(&s.arena, s.pd);
        CHECK_MSG(!is_usual || open.len <= (look ? 4400 : 3000) * 40, "%zu bytes", open.len);
        pprofdelta_commit(s.pd);
    }
    pprofdelta_memory m = {.size = sizeof m};
    pprofdelta_describe(s.pd, &m);
    CHECK(m.samples == 4400 && m.unseen == 1400);
    buf saved = keep_save(&s.arena, s.pd);
    CHECK_MSG(saved.len <= m.samples * 40, "%zu bytes", saved.len);
}

/* Forty bytes a sample at most, whatever has vanished; with four counters, too. */
TEST(a_state_is_small)
{
    static const char *const counters[] = {"inuse_objects", "inuse_space"};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    check_size(NULL, "1000000 123456789 5 5", true);
    check_size(NULL, "9000000000000000000 9000000000000000000 5 5", false);
    options.counters = counters;
    options.counters_len = 2;
    check_size(&options, "4000000000 1000000000000 4000000000 1000000000000", false);
}

/* The bytes of a state are a contract with every later version. If this fails because keys or
 * layout changed, existing states cannot be read: raise PD_STATE_FORMAT. */
TEST(the_layout_is_fixed)
{
    ENDS(stand_end) stand k;
    stand_begin(&k, NULL);
    CHECK(!memcmp(k.saved.ptr, PD_STATE_MAGIC "\x07\x01\x04\x02", 12)); /* format, id, types */
    CHECK(!memcmp(k.saved.ptr + 12,
                  "\x0d"
                  "alloc_objects"
                  "\x05"
                  "count",
                  20));
    uint64_t sum = XXH3_64bits(k.saved.ptr, k.saved.len);
    CHECK_MSG(sum == UINT64_C(0xf77eb5dc6f1dc77f), "the sum is now %#" PRIx64, sum);
}

/* A sample of each kind of location and label, and one that is deeper than a block of the hash. */
TEST(the_keys_are_fixed)
{
    enum { DEEP = 600 };
    ENDS(scene_end) scene s;
    ENDS(build_free) build b = {0};
    pprofdelta_options named = PPROFDELTA_OPTIONS_INIT;
    named.id = 1;
    scene_begin(&s, &named);
    build_types(&b, "alloc_space/bytes");
    model_mapping *by_id = build_mapping(&b, 0x400000, 0x500000, 0x1000, "/bin/app", "abc123");
    model_mapping *by_name = build_mapping(&b, 0x600000, 0x700000, 0, "/lib/a.so", "");
    model_mapping *made_up = build_mapping(&b, 0x800000, 0x900000, 0, "[anon]", "");
    build_place(&b, "id", by_id, 0x401234);
    build_place(&b, "name", by_name, 0x601234);
    build_place(&b, "absolute", made_up, 0x801234);
    build_bare(&b, "folded", by_id, 0x401234)->is_folded = true;
    build_place(&b, "folded_lines", NULL, 0)->is_folded = true;
    build_bare(&b, "nothing", NULL, 0);
    model_location *lines = build_place(&b, "lines", NULL, 0);
    build_line(&b, lines, build_function(&b, "outer", "outer.c"), 15);
    lines->lines[1].column = 3;
    lines->lines[1].function->start_line = 12;
    build_sample(&b, "id name absolute folded folded_lines nothing lines", "1");
    build_sample(&b, "lines", "2");
    model_sample *labelled = build_sample(&b, "", "3"), *deep = build_sample(&b, "", "4");
    build_label(&b, labelled, "request", "GET", 0, "");
    build_label(&b, labelled, "bytes", "", 4096, "bytes");
    deep->depth = DEEP;
    deep->stack = ARENA_ARRAY(&b.arena, model_location *, DEEP);
    for (size_t i = 0; i < DEEP; i++)
        deep->stack[i] = b.m.locations[i * i % 7];
    scene_window(&s, build_bytes(&b));
    REQUIRE(s.status == PPROFDELTA_OK && s.report.fresh == 4);
    buf saved = keep_save(&s.arena, s.pd);
    uint64_t sum = XXH3_64bits(saved.ptr, saved.len);
    CHECK_MSG(sum == UINT64_C(0x6a60ca34f409f362), "the sum is now %#" PRIx64, sum);
}

TEST_MAIN()

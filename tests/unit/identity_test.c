/* What an address is worth: in a file it is the place, elsewhere one part of it. Profiles of interpreters
 * have offsets of bytecodes and the like where others have program counters. */
#include "../support/test.h"

#include "pprofdelta_record.h"
#include "run.h"
#include "scene.h"
#include "send.h"

#include <inttypes.h>

/* A profile in which two functions, and one of them twice, may have one address. */
typedef struct pair {
    const char *filename, *build_id;
    uint64_t start, limit;
    bool is_mapped;
    uint64_t addresses[2];
} pair;

static buf look_of(build *b, const pair *p, const char *first, const char *second)
{
    build_free(b);
    *b = (build){0};
    build_types(b, CONTENTION_TYPES);
    model_mapping *m = NULL;
    if (p->is_mapped)
        m = build_mapping(b, p->start, p->limit, 0, p->filename, p->build_id);
    build_place(b, "first", m, p->addresses[0]);
    build_place(b, "second", m, p->addresses[1]);
    build_sample(b, "first main", first);
    build_sample(b, "second main", second);
    return build_bytes(b);
}

static const pair apart[] = {
    {"", "", 0, 0, false, {0x29, 0x29}},
    {"", "", 0, 0, true, {0x29, 0x29}}, /* Pyroscope's no_addr_no_line.pb.gz */
    {"", "", 0x1000, 0x9000, true, {0x1029, 0x1029}},
    {"[anon:jit]", "", 0x1000, 0x9000, true, {0x1029, 0x1029}},
    {"//anon", "", 0, 0, true, {0x29, 0x29}},
};

TEST(functions_with_one_address_in_no_file_are_two)
{
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        ENDS(scene_end) scene s;
        ENDS(build_free) build b = {0};
        scene_begin(&s, NULL);
        scene_base(&s, look_of(&b, &apart[i], "10 100", "20 200"));
        CHECK_STR(scene_window(&s, look_of(&b, &apart[i], "11 101", "25 205")),
                  "first;main 1 1, second;main 5 5");
        CHECK_MSG(s.report.by_lines == 3 && !s.report.by_address && s.report.matched == 2,
                  "%zu: %" PRIu64 " by lines", i, s.report.by_lines);
    }
}

TEST(a_profile_of_an_interpreter_keeps_its_functions)
{
    ENDS(scene_end) scene s;
    scene_begin(&s, NULL);
    buf profile = testdata_file(&s.arena, "regress/functions-at-one-address.pb");
    CHECK_STR(scene_window(&s, profile), "first 10 100, second 20 200");
}

TEST(a_function_with_two_addresses_in_no_file_is_two_places)
{
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        ENDS(scene_end) scene s;
        ENDS(build_free) build b = {0};
        pair p = apart[i];
        p.addresses[1]++;
        scene_begin(&s, NULL);
        for (int n = 1; n <= 2; n++) { /* the second window has one place more */
            look_of(&b, &p, "1 10", n == 1 ? "0 0" : "2 20");
            b.m.samples[1]->stack[0]->lines = b.m.samples[0]->stack[0]->lines;
            const char *rows = scene_window(&s, build_bytes(&b));
            CHECK_STR(rows, n == 1 ? "first;main 1 10" : "first;main 2 20");
        }
        CHECK(!s.report.duplicates && s.report.samples_in == 2);
    }
}

TEST(in_a_file_the_address_is_the_place)
{
    static const pair files[] = {
        {"/bin/app", "", 0x1000, 0x9000, true, {0x1029, 0x1029}},
        {"", "id-1", 0x1000, 0x9000, true, {0x1029, 0x1029}},
        {"[vdso]", "", 0x1000, 0x9000, true, {0x1029, 0x1029}},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        ENDS(scene_end) scene s;
        ENDS(build_free) build b = {0};
        scene_begin(&s, NULL);
        scene_base(&s, look_of(&b, &files[i], "10 100", "20 200"));
        CHECK_STR(scene_window(&s, look_of(&b, &files[i], "11 101", "25 205")), "first;main 6 6");
        CHECK(s.report.by_lines == 1 && s.report.by_address == 2 && s.report.duplicates == 1);
    }
}

/* Only the address is left. */
TEST(without_lines_the_address_is_the_place)
{
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        ENDS(scene_end) scene s;
        ENDS(build_free) build b = {0};
        look_of(&b, &apart[i], "11 101", "25 205");
        for (size_t n = 0; n < 2; n++)
            b.m.samples[n]->stack[0]->lines_len = 0;
        scene_begin(&s, NULL);
        scene_window(&s, build_bytes(&b));
        CHECK(s.report.by_address == 2 && s.report.by_lines == 1 && s.report.duplicates == 1);
    }
}

/* A mapping of no file that another profile names is that mapping, whichever comes first. */
TEST(the_rule_is_that_of_the_mapping_that_is_known)
{
    const pair named = {"/bin/app", "", 0x1000, 0x9000, true, {0x1029, 0x1129}};
    pair unnamed = named;
    unnamed.filename = "";
    for (size_t first = 0; first < 2; first++) {
        ENDS(scene_end) scene s;
        ENDS(build_free) build b = {0};
        scene_begin(&s, NULL);
        scene_base(&s, look_of(&b, first ? &named : &unnamed, "10 100", "20 200"));
        CHECK_STR(scene_window(&s, look_of(&b, first ? &unnamed : &named, "11 101", "25 205")),
                  "first;main 1 1, second;main 5 5");
        CHECK(!s.report.restart && s.report.files_replaced == 1 && !s.report.fresh);
    }
}

TEST(frames_of_a_builder_follow_the_rule)
{
    pprofdelta_builder_options o = PPROFDELTA_BUILDER_OPTIONS_INIT;
    const pprofdelta_value_type type = {"cpu", "nanoseconds", 0};
    const pprofdelta_frame frames[] = {{.name = "first"}, {.name = "second"}};
    ENDS(arena_free) arena a = {0};
    collector c = {.bytes = buf_begin(&a)};
    const pprofdelta_sink sink = collector_sink(&c);
    pprofdelta_builder *b;
    reading out;
    o.types = &type;
    o.types_len = 1;
    REQUIRE(!pprofdelta_builder_new(&o, NULL, &b, NULL));
    for (size_t i = 0; i < 3; i++) {
        pprofdelta_sample *sample = pprofdelta_sample_start(b);
        pprofdelta_sample_push_frame(sample, &frames[i % 2], 0x29);
        pprofdelta_sample_push_value(sample, 0, 1);
        CHECK(!pprofdelta_sample_add(sample, NULL));
    }
    CHECK(!builder_send(b, &sink, NULL, NULL));
    REQUIRE(!reading_make(&a, c.bytes.ptr, c.bytes.len, &out));
    CHECK(out.records == 2 && out.view->n_location == 2);
    CHECK_STR(scene_rows(&out), "first 2, second 1");
    pprofdelta_builder_free(b);
}

TEST_MAIN()

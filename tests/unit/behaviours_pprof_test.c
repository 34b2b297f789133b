/* What google/pprof gets right and holds by tests of its own: an equivalent of each. Those of the
 * other peers are in behaviours_test.c. */
#include "scene.h"
#include "test.h"

TEST(twice_a_profile_minus_twice_a_profile_is_nothing)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    model_sample *one = build_sample(&b, "leaf main", "1 10");
    model_sample *two = build_sample(&b, "other main", "2 20");
    build_sample(&b, "leaf main", "1 10");
    build_sample(&b, "other main", "2 20");
    buf twice = build_bytes(&b);
    b.m.samples_len = 2; /* the same, each doubled in one record */
    one->values = (int64_t[]){2, 20};
    two->values = (int64_t[]){4, 40};
    scene s;
    CHECK_STR(scene_delta(&s, NULL, twice, build_bytes(&b)), "");
    CHECK(s.report.matched == 2 && s.report.fresh == 0);
    scene_end(&s);
    build_free(&b);
}

TEST(ten_copies_are_ten_times_as_much)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    build_sample(&b, "leaf main", "1 10");
    build_sample(&b, "other main", "2 20");
    buf once = build_bytes(&b);
    for (int n = 1; n < 10; n++) {
        build_sample(&b, "leaf main", "1 10");
        build_sample(&b, "other main", "2 20");
    }
    buf ten = build_bytes(&b);
    scene s;
    CHECK_STR(scene_delta(&s, NULL, once, ten), "leaf;main 9 90, other;main 18 180");
    scene_end(&s);
    scene_begin(&s, NULL);
    CHECK_STR(scene_window(&s, ten), "leaf;main 10 100, other;main 20 200");
    scene_end(&s);
    build_free(&b);
}

TEST(folded_and_unfolded_places_differ)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    model_mapping *app = build_mapping(&b, 0x400000, 0x500000, 0, "/bin/app", "id-1");
    build_place(&b, "plain", app, 0x401000);
    build_place(&b, "folded", app, 0x401000)->is_folded = true;
    build_sample(&b, "plain", "1 10");
    model_sample *folded = build_sample(&b, "folded", "2 20");
    buf prev = build_bytes(&b);
    folded->values[0]++;
    scene s;
    CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)), "folded 1 0");
    REQUIRE(s.status == PPROFDELTA_OK);
    CHECK(s.out.view->location[0]->is_folded);
    scene_end(&s);
    build_free(&b);
}

TEST(equal_numbers_of_different_units_differ)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    build_label(&b, build_sample(&b, "leaf", "1 10"), "size", "", 8, "bytes");
    model_sample *other = build_sample(&b, "leaf", "2 20");
    build_label(&b, other, "size", "", 8, "kilobytes");
    buf prev = build_bytes(&b);
    other->values[0]++;
    scene s;
    CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)), "leaf{size=8kilobytes} 1 0");
    scene_end(&s);
    build_free(&b);
}

TEST(a_number_0_with_a_unit_stays)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    build_label(&b, build_sample(&b, "leaf", "1 10"), "size", "", 0, "bytes");
    build_sample(&b, "leaf", "2 20");
    scene s;
    scene_begin(&s, NULL);
    CHECK_STR(scene_window(&s, build_bytes(&b)), "leaf{size=0bytes} 1 10, leaf 2 20");
    scene_end(&s);
    build_free(&b);
}

/* One look at a main binary and at a library, which lies where it is told and is of that build. */
static buf look_at_library(build *b, uint64_t start, const char *build_id, const char *values)
{
    build_types(b, CONTENTION_TYPES);
    model_mapping *app = build_mapping(b, 0x400000, 0x500000, 0, "/bin/app", "id-1");
    model_mapping *lib = build_mapping(b, start, start + 0x10000, 0, "/lib/c.so", build_id);
    build_place(b, "in_lib", lib, start + 0x100);
    build_place(b, "main", app, 0x400100);
    build_sample(b, "in_lib main", values);
    return build_bytes(b);
}

TEST(one_build_at_two_places_is_one_mapping)
{
    build a = {0}, b = {0};
    buf prev = look_at_library(&a, 0x7f0000000000, "id-2", "1 10");
    buf cur = look_at_library(&b, 0x7e0000000000, "id-2", "3 10");
    scene s;
    CHECK_STR(scene_delta(&s, NULL, prev, cur), "in_lib;main 2 0");
    REQUIRE(s.status == PPROFDELTA_OK);
    const Pd__View__Profile *p = s.out.view;
    CHECK(p->n_mapping == 2 && p->mapping[1]->memory_start == 0x7e0000000000);
    CHECK_STR(reading_string(&s.out, p->mapping[0]->filename), "/bin/app"); /* main one first */
    scene_end(&s);
    build_free(&a);
    build_free(&b);
}

TEST(two_builds_at_one_place_are_two_mappings)
{
    build a = {0}, b = {0};
    buf prev = look_at_library(&a, 0x7f0000000000, "id-2", "1 10");
    buf cur = look_at_library(&b, 0x7f0000000000, "id-3", "3 10");
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.on_reset = PPROFDELTA_ON_RESET_NEGATIVE;
    scene s;
    CHECK_STR(scene_delta(&s, &options, prev, cur), "in_lib;main 3 10, in_lib;main -1 -10");
    REQUIRE(s.status == PPROFDELTA_OK);
    const Pd__View__Profile *p = s.out.view;
    CHECK(p->n_mapping == 3 && p->n_location == 3);
    CHECK_STR(reading_string(&s.out, p->mapping[0]->filename), "/bin/app");
    scene_end(&s);
    build_free(&a);
    build_free(&b);
}

/* What vanished comes out at the addresses of cur, where the same build lies elsewhere by now. */
TEST(what_vanished_moves_with_its_mapping)
{
    build a = {0}, b = {0};
    buf prev = look_at_library(&a, 0x7f0000000000, "id-2", "1 10");
    look_at_library(&b, 0x7e0000000000, "id-2", "3 10");
    b.m.samples[0]->depth = 1; /* in_lib alone: the other stack is gone */
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.on_reset = PPROFDELTA_ON_RESET_NEGATIVE;
    scene s;
    CHECK_STR(scene_delta(&s, &options, prev, build_bytes(&b)), "in_lib 3 10, in_lib;main -1 -10");
    REQUIRE(s.status == PPROFDELTA_OK);
    CHECK(s.out.view->n_location == 2 && s.out.view->location[0]->address == 0x7e0000000100);
    scene_end(&s);
    build_free(&a);
    build_free(&b);
}

/* ... even where no row of cur is in that mapping: the one that there is has not changed. */
TEST(what_vanished_moves_with_a_mapping_that_only_it_uses)
{
    build a = {0}, b = {0};
    look_at_library(&a, 0x7f0000000000, "id-2", "1 10");
    build_sample(&a, "in_lib", "5 50");
    look_at_library(&b, 0x7e0000000000, "id-2", "5 50");
    b.m.samples[0]->depth = 1;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.on_reset = PPROFDELTA_ON_RESET_NEGATIVE;
    scene s;
    CHECK_STR(scene_delta(&s, &options, build_bytes(&a), build_bytes(&b)), "in_lib;main -1 -10");
    REQUIRE(s.status == PPROFDELTA_OK && s.out.view->n_mapping == 2);
    CHECK(s.out.view->location[0]->address == 0x7e0000000100);
    CHECK(s.out.view->mapping[1]->memory_start == 0x7e0000000000);
    scene_end(&s);
    build_free(&a);
    build_free(&b);
}

TEST_MAIN(CASE(twice_a_profile_minus_twice_a_profile_is_nothing),
          CASE(ten_copies_are_ten_times_as_much), CASE(folded_and_unfolded_places_differ),
          CASE(equal_numbers_of_different_units_differ), CASE(a_number_0_with_a_unit_stays),
          CASE(one_build_at_two_places_is_one_mapping),
          CASE(two_builds_at_one_place_are_two_mappings),
          CASE(what_vanished_moves_with_its_mapping),
          CASE(what_vanished_moves_with_a_mapping_that_only_it_uses))

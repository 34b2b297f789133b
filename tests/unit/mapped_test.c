/* Files that are replaced while the process lives: which mappings are recognised. */
#include "../support/test.h"

#include "profile/mapping.h"
#include "scene.h"

#include <inttypes.h>

enum { APP = 0x400000, LIB = 0x7f0000000000, ELSEWHERE = 0x7e0000000000 };

/* A mapping as a profile has it; start 0: the profile does not have it. */
typedef struct seen {
    uint64_t start;
    const char *file, *build_id;
} seen;

/* What the process has counted in either, and the two mappings: the binary and a library. */
typedef struct look {
    seen app, lib;
    const char *in_app, *in_lib;
} look;

static buf bytes_of(build *b, const look *l, int64_t time)
{
    *b = (build){0};
    build_types(b, CONTENTION_TYPES);
    model_mapping *app =
        build_mapping(b, l->app.start, l->app.start + 0x10000, 0, l->app.file, l->app.build_id);
    build_place(b, "main", app, l->app.start + 0x100);
    if (l->in_app)
        build_sample(b, "main", l->in_app);
    if (l->lib.start) {
        model_mapping *lib = build_mapping(b, l->lib.start, l->lib.start + 0x8000, 0x1000,
                                           l->lib.file, l->lib.build_id);
        build_place(b, "in_lib", lib, l->lib.start + 0x200);
        if (l->in_lib)
            build_sample(b, "in_lib", l->in_lib);
    }
    b->m.time_nanos = time;
    return build_bytes(b);
}

/* One after the other through one context; rows[n] is what window n says. */
static void check_film(const look *looks, const char *const *rows, const size_t *replaced,
                       size_t len)
{
    scene s;
    scene_begin(&s, NULL);
    for (size_t i = 0; i < len; i++) {
        build b;
        const char *got = scene_window(&s, bytes_of(&b, &looks[i], 1000 + (int64_t)i));
        CHECK_MSG(!strcmp(got, rows[i]), "window %zu: %s", i, got);
        CHECK_MSG(s.report.files_replaced == replaced[i], "window %zu: %" PRIu64, i,
                  s.report.files_replaced);
        build_free(&b);
    }
    scene_end(&s);
}

/* The library has a third of the mass: counted once more it would pass for new. */
TEST(a_replaced_library_counts_once)
{
    const seen app = {APP, "/bin/app", "app-1"};
    const look looks[] = {
        {app, {LIB, "/lib/x.so", "x-1"}, "70000 500", "30000 5"},
        {app, {LIB, "/lib/x.so", "x-2"}, "70000 500", "30100 5"},
        {app, {LIB, "/lib/x.so (deleted)", ""}, "70001 500", "30200 5"},
        {app, {LIB, "/lib/x.so", "x-1"}, "70001 500", "30200 6"},
        {app, {0}, "70002 500", NULL},
        {app, {LIB, "/lib/x.so", "x-3"}, "70002 500", "30201 6"},
    };
    static const char *const rows[] = {"main 70000 500, in_lib 30000 5",
                                       "in_lib 100 0",
                                       "main 1 0, in_lib 100 0",
                                       "in_lib 0 1",
                                       "main 1 0",
                                       "in_lib 1 0"};
    check_film(looks, rows, (size_t[]){0, 1, 1, 1, 0, 1}, 6);
}

TEST(binary_and_library_are_replaced_together)
{
    static const look looks[] = {
        {{APP, "/bin/app", "app-1"}, {LIB, "/lib/x.so", "x-1"}, "100 5", "100 5"},
        {{APP, "/bin/app", "app-2"}, {LIB, "/lib/x.so", "x-2"}, "101 5", "102 5"},
        {{APP, "/bin/app", "app-2"}, {LIB, "/lib/x.so", "x-2"}, "102 5", "103 5"},
        {{APP, "/bin/app", "app-1"}, {LIB, "/lib/x.so", "x-1"}, "102 6", "103 6"},
    };
    static const char *const rows[] = {"main 100 5, in_lib 100 5", "main 1 0, in_lib 2 0",
                                       "main 1 0, in_lib 1 0", "main 0 1, in_lib 0 1"};
    check_film(looks, rows, (size_t[]){0, 2, 0, 2}, 4);
}

/* The files change places with one another: each is known, and known by what it is. */
TEST(a_known_identity_overrides_a_place)
{
    const seen a = {LIB, "/lib/a.so", "a"}, b = {LIB, "/lib/b.so", "b"};
    const look looks[] = {
        {{APP, "/bin/app", "app"}, a, "1000 500", "10 5"},
        {{APP, "/bin/app", "app"}, {ELSEWHERE, "/lib/a.so", "a"}, "1000 500", "11 5"},
        {{APP, "/bin/app", "app"}, b, "1000 500", "7 7"}, /* where a was before last */
    };
    static const char *const rows[] = {"main 1000 500, in_lib 10 5", "in_lib 1 0", "in_lib 7 7"};
    check_film(looks, rows, (size_t[]){0, 0, 0}, 3);
}

/* A library that is still there has not been replaced by what now lies in its place. */
TEST(a_file_that_is_still_mapped_is_not_replaced)
{
    static const look before = {
        {APP, "/bin/app", "app"}, {LIB, "/lib/a.so", "a"}, "1000 5", "10 5"};
    scene s;
    build b, c = {0};
    scene_begin(&s, NULL);
    scene_window(&s, bytes_of(&b, &before, 1000));
    build_types(&c, CONTENTION_TYPES);
    build_place(&c, "main", build_mapping(&c, APP, APP + 0x10000, 0, "/bin/app", "app"),
                APP + 0x100);
    build_place(&c, "in_new", build_mapping(&c, LIB, LIB + 0x8000, 0x1000, "/lib/new.so", "new"),
                LIB + 0x200);
    build_place(&c, "in_a",
                build_mapping(&c, ELSEWHERE, ELSEWHERE + 0x8000, 0x1000, "/lib/a.so", "a"),
                ELSEWHERE + 0x200);
    build_sample(&c, "main", "1000 5");
    build_sample(&c, "in_new", "3 3");
    build_sample(&c, "in_a", "12 5");
    c.m.time_nanos = 1001;
    CHECK_STR(scene_window(&s, build_bytes(&c)), "in_new 3 3, in_a 2 0");
    CHECK(s.report.files_replaced == 0 && s.report.restart == PPROFDELTA_RESTART_NONE);
    build_free(&b);
    build_free(&c);
    scene_end(&s);
}

/* Without a range a mapping has no place: what other producers write for every file. */
TEST(mappings_without_a_range_have_no_place)
{
    scene s;
    build b = {0}, c = {0};
    scene_begin(&s, NULL);
    build_types(&b, CONTENTION_TYPES);
    build_place(&b, "leaf", build_mapping(&b, 0, 0, 0, "/lib/a.so", ""), 0x100);
    build_sample(&b, "leaf", "10 10");
    build_sample(&b, "leaf leaf", "1000 1000");
    scene_window(&s, build_bytes(&b));
    build_types(&c, CONTENTION_TYPES);
    build_place(&c, "leaf", build_mapping(&c, 0, 0, 0, "/lib/b.so", ""), 0x100);
    build_sample(&c, "leaf", "15 15");
    scene_window(&s, build_bytes(&c));
    CHECK(s.report.files_replaced == 0 && s.report.matched == 0);
    build_free(&b);
    build_free(&c);
    scene_end(&s);
}

/* Another binary where the first was, whose counters began anew: as in a container that restarts. */
TEST(a_restart_with_another_build_is_a_restart)
{
    static const look looks[] = {
        {{APP, "/bin/app", "app-1"}, {LIB, "/lib/x.so", "x"}, "1000 50", "100 5"},
        {{APP, "/bin/app", "app-2"}, {LIB, "/lib/x.so", "x"}, "10 5", "1 1"},
        {{APP, "/bin/app", "app-2"}, {ELSEWHERE, "/lib/x.so", "x"}, "12 5", "2 1"},
        {{APP, "/bin/app", "app-1"}, {ELSEWHERE, "/lib/x.so", "x"}, "13 5", "3 1"},
    };
    static const char *const rows[] = {"main 1000 50, in_lib 100 5", "main 10 5, in_lib 1 1",
                                       "main 2 0, in_lib 1 0", "main 1 0, in_lib 1 0"};
    check_film(looks, rows, (size_t[]){0, 0, 0, 1}, 4);
}

/* More mappings than are remembered; the first ones are. */
TEST(the_number_of_mappings_is_limited)
{
    enum { MANY = PD_MAPPED_MAX + 200 };
    for (int replaced = 0; replaced < 2; replaced++) {
        static build b;
        b = (build){0};
        build_types(&b, CONTENTION_TYPES);
        arena names = {0};
        scene s;
        scene_begin(&s, NULL);
        for (uint64_t i = 0; i < MANY; i++) {
            const char *name = arena_format(&names, "f%" PRIu64, i);
            model_mapping *m =
                build_mapping(&b, (i + 1) << 20, ((i + 1) << 20) + 0x1000, 0, name, "");
            build_place(&b, name, m, ((i + 1) << 20) + 1);
            build_sample(&b, name, "1 1");
        }
        scene_window(&s, build_bytes(&b));
        REQUIRE(s.status == PPROFDELTA_OK);
        size_t which = replaced ? 0 : MANY - 1;
        b.m.mappings[which]->filename = "another";
        scene_window(&s, build_bytes(&b));
        CHECK(s.status == PPROFDELTA_OK && s.report.fresh == (replaced ? 0 : 1));
        CHECK(s.report.files_replaced == (replaced ? 1 : 0));
        scene_end(&s);
        build_free(&b);
        arena_free(&names);
    }
}

TEST_MAIN(CASE(a_replaced_library_counts_once), CASE(binary_and_library_are_replaced_together),
          CASE(a_known_identity_overrides_a_place),
          CASE(a_file_that_is_still_mapped_is_not_replaced),
          CASE(mappings_without_a_range_have_no_place),
          CASE(a_restart_with_another_build_is_a_restart), CASE(the_number_of_mappings_is_limited))

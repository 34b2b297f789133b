/* What the peers get right and hold by tests of their own, as far as it is about parsed profiles and
 * the oracle of delta_test.c does not hold it for made-up ones. Where the peers fail is in
 * peers_test.c.
 *
 * The pairs of real profiles do not belong to this project: PD_PROFILES names the folder they are
 * in, where there is one. */
#include "scene.h"
#include "test.h"

#include <stdlib.h>

/* ---------------------------------------------------------------------------------------------
 * fastdelta: real pairs
 * ------------------------------------------------------------------------------------------ */

/* Empty where it cannot be read. */
static buf read_profile(arena *a, const char *name)
{
    buf out = buf_begin(a);
    const char *folder = getenv("PD_PROFILES");
    FILE *file = folder ? fopen(arena_format(a, "%s/%s", folder, name), "rb") : NULL;
    uint8_t piece[4096];
    for (size_t len; file && (len = fread(piece, 1, sizeof piece, file)) > 0;)
        buf_add(&out, piece, len);
    if (file)
        fclose(file);
    return out;
}

/* Against the oracle, in every mode that makes a delta. duration 0: not known. */
static void check_pair(const char *before, const char *after, int64_t duration)
{
    static const pprofdelta_on_reset modes[] = {PPROFDELTA_ON_RESET_AUTO, PPROFDELTA_ON_RESET_CLAMP,
                                                PPROFDELTA_ON_RESET_NEGATIVE};
    arena a = {0};
    buf prev = read_profile(&a, before), cur = read_profile(&a, after);
    CHECK_MSG(prev.len && cur.len, "cannot read %s or %s", before, after);
    for (size_t i = 0; i < 3; i++) {
        pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
        options.on_reset = modes[i];
        options.flags = PPROFDELTA_VERIFY;
        twin t;
        twin_begin(&t, &options, NULL);
        pprofdelta_status status;
        const char *wrong = twin_base(&t, prev, &status);
        CHECK_MSG(!wrong, "%s: %s", before, wrong);
        wrong = twin_window(&t, cur, &status);
        CHECK_MSG(!wrong, "%s: %s", after, wrong);
        CHECK(status == PPROFDELTA_OK);
        reading r;
        if (!wrong && reading_make(&a, t.output.ptr, t.output.len, &r) == PPROFDELTA_OK && duration)
            CHECK(r.view->duration_nanos == duration);
        twin_end(&t);
    }
    arena_free(&a);
}

TEST(real_pairs_are_as_the_oracle_says)
{
    check_pair("heap.before.pprof", "heap.after.pprof", INT64_C(5960465000));
    check_pair("block.before.pprof", "block.after.pprof", INT64_C(1144928000));
    check_pair("stress-failure.2.before.pprof", "stress-failure.2.after.pprof", 0);
    check_pair("big-heap.pprof", "big-heap.pprof", 0);
}

/* ---------------------------------------------------------------------------------------------
 * fastdelta
 * ------------------------------------------------------------------------------------------ */

TEST(one_sample_of_many_brings_only_what_it_uses)
{
    build b = {0};
    build_types(&b, HEAP_TYPES);
    model_mapping *app = build_mapping(&b, 0x400000, 0x800000, 0, "/bin/app", "id-1");
    build_mapping(&b, 0x900000, 0xa00000, 0, "/lib/c.so", "id-2");
    for (unsigned n = 0; n < 50; n++)
        build_place(&b, arena_format(&b.arena, "f%u", n), app, 0x400100 + n * 16);
    for (unsigned n = 0; n + 2 < 50; n++)
        build_sample(&b, arena_format(&b.arena, "f%u f%u f%u", n, n + 1, n + 2), "1 10 0 0");
    b.m.default_sample_type = "inuse_space";
    b.m.period_type = (model_type){"space", "bytes"};
    b.m.period = 524288;
    b.m.drop_frames = "runtime\\..*";
    b.m.keep_frames = "main";
    build_comment(&b, "kept");
    buf prev = build_bytes(&b);
    b.m.samples[20]->values[0]++;
    scene s;
    CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)), "f20;f21;f22 1 0 0 0");
    REQUIRE(s.status == PPROFDELTA_OK);
    const Pd__View__Profile *p = s.out.view;
    CHECK(p->n_mapping == 1 && p->n_location == 3 && p->n_function == 3);
    CHECK_STR(reading_string(&s.out, p->default_sample_type), "inuse_space");
    CHECK_STR(reading_string(&s.out, p->period_type->type), "space");
    CHECK_STR(reading_string(&s.out, p->period_type->unit), "bytes");
    CHECK_STR(reading_string(&s.out, p->drop_frames), "runtime\\..*");
    CHECK_STR(reading_string(&s.out, p->keep_frames), "main");
    CHECK_STR(reading_string(&s.out, p->comment[0]), "kept");
    CHECK(p->period == 524288);
    scene_end(&s);
    build_free(&b);
}

/* ---------------------------------------------------------------------------------------------
 * godeltaprof
 * ------------------------------------------------------------------------------------------ */

TEST(a_repeat_of_512_stacks_is_under_1000_bytes)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    for (int n = 0; n < 512; n++)
        build_sample(&b, arena_format(&b.arena, "f%d g%d main", n, n % 7), "3 300");
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.compression = PPROFDELTA_PLAIN;
    buf looks = build_bytes(&b);
    scene s;
    CHECK_STR(scene_delta(&s, &options, looks, looks), "");
    CHECK(s.report.matched == 512);
    CHECK_MSG(s.bytes.len < 1000, "%zu bytes", s.bytes.len);
    scene_end(&s);
    build_free(&b);
}

/* ---------------------------------------------------------------------------------------------
 * google/pprof
 * ------------------------------------------------------------------------------------------ */

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

enum { LIB = 0x7f0000000000, ELSEWHERE = 0x7e0000000000 };

/* What vanished comes out at the addresses of cur, where the same build lies elsewhere by now, even
 * where no row of cur is in that mapping. The main mapping is the first. */
TEST(mappings_are_known_by_their_build)
{
    static const struct {
        const char *what, *prev_too; /* prev_too: what the library alone counted in prev */
        uint64_t start;
        const char *build_id, *values;
        bool is_alone; /* in cur only the library's own stack is left */
        const char *rows;
        size_t mappings;
        uint64_t leaf;
    } cases[] = {
        {"one build at two places", NULL, ELSEWHERE, "id-2", "3 10", false, "in_lib;main 2 0", 2,
         ELSEWHERE + 0x100},
        {"two builds at one place", NULL, LIB, "id-3", "3 10", false,
         "in_lib;main 3 10, in_lib;main -1 -10", 3, LIB + 0x100},
        {"a stack that vanished", NULL, ELSEWHERE, "id-2", "3 10", true,
         "in_lib 3 10, in_lib;main -1 -10", 2, ELSEWHERE + 0x100},
        {"a mapping that only it uses", "5 50", ELSEWHERE, "id-2", "5 50", true,
         "in_lib;main -1 -10", 2, ELSEWHERE + 0x100},
    };
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.on_reset = PPROFDELTA_ON_RESET_NEGATIVE;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        build a = {0}, b = {0};
        scene s;
        look_at_library(&a, LIB, "id-2", "1 10");
        if (cases[i].prev_too)
            build_sample(&a, "in_lib", cases[i].prev_too);
        look_at_library(&b, cases[i].start, cases[i].build_id, cases[i].values);
        b.m.samples[0]->depth -= cases[i].is_alone;
        const char *rows = scene_delta(&s, &options, build_bytes(&a), build_bytes(&b));
        CHECK_MSG(!strcmp(rows, cases[i].rows), "%s: %s", cases[i].what, rows);
        REQUIRE(s.status == PPROFDELTA_OK);
        const Pd__View__Profile *p = s.out.view;
        CHECK_MSG(p->n_mapping == cases[i].mappings && p->n_location == p->n_mapping, "%s",
                  cases[i].what);
        CHECK_MSG(p->location[0]->address == cases[i].leaf, "%s", cases[i].what);
        CHECK_MSG(p->mapping[1]->memory_start == cases[i].start, "%s", cases[i].what);
        CHECK_STR(reading_string(&s.out, p->mapping[0]->filename), "/bin/app");
        scene_end(&s);
        build_free(&a);
        build_free(&b);
    }
}

int main(int argc, char **argv)
{
    if (!getenv("PD_PROFILES")) {
        printf("skipped: the pairs of real profiles; PD_PROFILES names no folder\n");
        test_first = test_first->next; /* they come first */
    }
    return test_run(argc, argv);
}

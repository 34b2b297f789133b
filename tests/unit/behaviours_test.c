/* What the peers get right and hold by tests of their own: an equivalent of each, as far as it is
 * about parsed profiles. Here those of fastdelta and godeltaprof; google/pprof's have their own
 * file, behaviours_pprof_test.c. Where the peers fail is in peers_test.c.
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

TEST(the_heap_pair)
{
    check_pair("heap.before.pprof", "heap.after.pprof", INT64_C(5960465000));
}

TEST(the_block_pair)
{
    check_pair("block.before.pprof", "block.after.pprof", INT64_C(1144928000));
}

TEST(the_stress_pair)
{
    check_pair("stress-failure.2.before.pprof", "stress-failure.2.after.pprof", 0);
}

TEST(the_big_heap_against_itself)
{
    check_pair("big-heap.pprof", "big-heap.pprof", 0);
}

/* ---------------------------------------------------------------------------------------------
 * fastdelta
 * ------------------------------------------------------------------------------------------ */

TEST(the_order_of_labels_does_not_matter)
{
    build a = {0}, b = {0};
    build_types(&a, CONTENTION_TYPES);
    model_sample *sample = build_sample(&a, "leaf", "1 10");
    build_label(&a, sample, "one", "x", 0, "");
    build_label(&a, sample, "two", "", 2, "bytes");
    build_types(&b, CONTENTION_TYPES);
    sample = build_sample(&b, "leaf", "5 10");
    build_label(&b, sample, "two", "", 2, "bytes");
    build_label(&b, sample, "one", "x", 0, "");
    scene s;
    CHECK_STR(scene_delta(&s, NULL, build_bytes(&a), build_bytes(&b)),
              "leaf{two=2bytes}{one=x} 4 0");
    scene_end(&s);
    build_free(&a);
    build_free(&b);
}

TEST(duplicates_cancel_over_ten_rounds)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    for (int n = 0; n < 3; n++) {
        build_sample(&b, "leaf main", "1 10");
        build_sample(&b, "other main", "2 20");
    }
    scene s;
    scene_begin(&s, NULL);
    CHECK_STR(scene_window(&s, build_bytes(&b)), "leaf;main 3 30, other;main 6 60");
    CHECK(s.report.duplicates == 4);
    for (int round = 0; round < 10; round++) {
        CHECK_STR(scene_window(&s, build_bytes(&b)), "");
        CHECK(s.report.matched == 2 && s.report.duplicates == 4);
    }
    scene_end(&s);
    build_free(&b);
}

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

TEST(ids_may_be_sparse_and_huge)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    model_sample *sample = NULL;
    for (int n = 0; n < 300; n++)
        sample = build_sample(&b, arena_format(&b.arena, "f%d main", n), "1 10");
    b.m.drop_frames = b.m.keep_frames = b.m.default_sample_type = b.m.doc_url = "";
    b.m.period_type = (model_type){"", ""};
    static const serial_ids ids[] = {IDS_SPARSE, IDS_HUGE, IDS_SHUFFLED, IDS_SEQUENTIAL};
    for (size_t i = 0; i < 4; i++) {
        serial_style before = {.ids = ids[i], .seed = i};
        serial_style after = {.ids = ids[(i + 1) % 4], .seed = i};
        buf prev = serial_write(&b.arena, &b.m, &before);
        sample->values[0]++;
        scene s;
        CHECK_STR(scene_delta(&s, NULL, prev, serial_write(&b.arena, &b.m, &after)),
                  "f299;main 1 0");
        scene_end(&s);
    }
    build_free(&b);
}

/* The shapes of input that fuzzing of such readers brings up. */
TEST(hostile_input_is_refused)
{
    static const struct {
        const char *what, *bytes;
        size_t len;
    } hostile[] = {
        {"nothing", "", 0},
        {"a tag and no more", "\x0a", 1},
        {"a length beyond the end", "\x12\xff\x7f\x01", 4},
        {"a length of almost 2 to the 64", "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},
        {"a varint of eleven bytes", "\x48\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12},
        {"a group", "\x0b\x08\x01\x0c", 4},
        {"field number 0", "\x00\x01", 2},
        {"a sample as a number", "\x10\x01", 2},
        {"a text", "not a profile at all, but words", 31},
        {"a sample before any type", "\x32\x00\x12\x02\x10\x01", 6},
    };
    pprofdelta *pd;
    REQUIRE(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK);
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        pprofdelta_error err = {0};
        pprofdelta_status status = pprofdelta_base(pd, hostile[i].bytes, hostile[i].len, &err);
        CHECK_MSG(status == PPROFDELTA_E_WIRE || status == PPROFDELTA_E_PROFILE,
                  "%s: status %d, %s", hostile[i].what, status, err.text);
        CHECK_MSG(err.offset == PPROFDELTA_NOWHERE || err.offset <= hostile[i].len, "%s",
                  hostile[i].what);
    }
    pprofdelta_free(pd);
}

/* ---------------------------------------------------------------------------------------------
 * godeltaprof
 * ------------------------------------------------------------------------------------------ */

TEST(fresh_records_of_zeros_are_left_out)
{
    build b = {0};
    build_types(&b, HEAP_TYPES);
    build_sample(&b, "quiet main", "0 0 0 0");
    build_sample(&b, "loud main", "1 16 1 16");
    scene s;
    scene_begin(&s, NULL);
    CHECK_STR(scene_window(&s, build_bytes(&b)), "loud;main 1 16 1 16");
    scene_end(&s);
    build_free(&b);
}

TEST(repeats_give_gauges_only_and_what_is_freed_gives_nothing)
{
    build b = {0};
    build_types(&b, HEAP_TYPES);
    model_sample *sample = build_sample(&b, "leaf main", "1 16 1 16");
    scene s;
    scene_begin(&s, NULL);
    CHECK_STR(scene_window(&s, build_bytes(&b)), "leaf;main 1 16 1 16");
    CHECK_STR(scene_window(&s, build_bytes(&b)), "leaf;main 0 0 1 16");
    sample->values[2] = sample->values[3] = 0;
    CHECK_STR(scene_window(&s, build_bytes(&b)), "");
    scene_end(&s);
    build_free(&b);
}

TEST(from_5_to_8_objects_are_3)
{
    build b = {0};
    build_types(&b, HEAP_TYPES);
    model_sample *sample = build_sample(&b, "leaf main", "5 2560 5 2560");
    buf prev = build_bytes(&b);
    sample->values = (int64_t[]){8, 4096, 8, 4096};
    scene s;
    CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)), "leaf;main 3 1536 8 4096");
    scene_end(&s);
    build_free(&b);
}

TEST(different_block_sizes_stay_apart)
{
    build b = {0};
    build_types(&b, HEAP_TYPES);
    build_label(&b, build_sample(&b, "leaf main", "5 80 0 0"), "bytes", "", 16, "bytes");
    model_sample *large = build_sample(&b, "leaf main", "5 160 0 0");
    build_label(&b, large, "bytes", "", 32, "bytes");
    buf prev = build_bytes(&b);
    large->values[0] = 7;
    scene s;
    CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)), "leaf;main{bytes=32bytes} 2 0 0 0");
    scene_end(&s);
    build_free(&b);
}

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

TEST(a_recursion_of_64_frames_keeps_them)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    buf stack = buf_begin(&b.arena), want = buf_begin(&b.arena);
    for (int n = 0; n < 64; n++) {
        buf_text(&stack, "recurse ");
        buf_text(&want, "recurse;");
    }
    buf_text(&stack, "main");
    buf_text(&want, "main 2 0");
    model_sample *deep = build_sample(&b, buf_string(&stack), "1 10");
    build_sample(&b, buf_string(&stack) + strlen("recurse "), "1 10"); /* one frame less */
    buf prev = build_bytes(&b);
    deep->values[0] = 3;
    scene s;
    CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)), buf_string(&want));
    CHECK(s.report.matched == 2);
    scene_end(&s);
    build_free(&b);
}

TEST(instances_of_a_generic_stay_apart)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    model_mapping *app = build_mapping(&b, 0x400000, 0x500000, 0, "/bin/app", "id-1");
    model_function *generic = build_function(&b, "alloc[...]", "alloc.go");
    build_line(&b, build_bare(&b, "of_int", app, 0x401000), generic, 7);
    build_line(&b, build_bare(&b, "of_string", app, 0x402000), generic, 7);
    build_sample(&b, "of_int", "1 10");
    model_sample *of_string = build_sample(&b, "of_string", "2 20");
    build_sample(&b, "alloc[go.shape.int]", "3 30");
    model_sample *symbolic = build_sample(&b, "alloc[go.shape.string]", "4 40");
    buf prev = build_bytes(&b);
    of_string->values[0]++;
    symbolic->values[0]++;
    scene s;
    CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)),
              "alloc[...] 1 0, alloc[go.shape.string] 1 0");
    scene_end(&s);
    build_free(&b);
}

TEST(inlined_calls_share_one_location)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    model_mapping *app = build_mapping(&b, 0x400000, 0x500000, 0, "/bin/app", "id-1");
    model_location *leaf = build_bare(&b, "leaf", app, 0x401000);
    build_line(&b, leaf, build_function(&b, "inner", "a.go"), 3);
    build_line(&b, leaf, build_function(&b, "middle", "a.go"), 5);
    build_line(&b, leaf, build_function(&b, "outer", "a.go"), 9);
    build_sample(&b, "leaf main", "1 10");
    scene s;
    scene_begin(&s, NULL);
    CHECK_STR(scene_window(&s, build_bytes(&b)), "inner+middle+outer;main 1 10");
    REQUIRE(s.status == PPROFDELTA_OK);
    CHECK(s.out.view->n_location == 2 && s.out.view->n_function == 4);
    scene_end(&s);
    build_free(&b);
}

int main(int argc, char **argv)
{
    enum { REAL_PAIRS = 4 };
    if (!getenv("PD_PROFILES")) {
        printf("skipped: the pairs of real profiles; PD_PROFILES names no folder\n");
        for (int i = 0; i < REAL_PAIRS; i++)
            test_first = test_first->next;
    }
    return test_run(argc, argv);
}

/* The form of every request, whichever door writes it: see otlp_form.h. fuzz/ checks the same of what its
 * programs write. */
#include "sum_scene.h"

#include "otlp_form.h"
#include "otlp_model.h"
#include "pprofdelta_heap.h"
#include "pprofdelta_record.h"

/* What an adder with these options makes of them. */
static const char *added(arena *a, pprofdelta_options options, const buf *bytes, size_t len,
                         size_t *checked)
{
    buf out;
    options.format = PPROFDELTA_OTLP;
    if (sum_up(a, &options, bytes, len, &out, NULL) || !out.len)
        return NULL;
    ++*checked;
    return otlp_form_wrong_bytes(a, out.ptr, out.len);
}

/* Of each process: its profile, windows of it (also of those that are requests themselves), their sum and
 * their merge. */
static const char *process_wrong(arena *a, uint64_t seed, size_t *checked)
{
    ENDS(film_end) film f;
    ENDS(context_end) pprofdelta *pd = NULL;
    film_begin(&f, seed);
    pprofdelta_options options = f.s.options;
    options.on_reset = PPROFDELTA_ON_RESET_AUTO;
    options.id = seed + 1;
    options.format = PPROFDELTA_OTLP;
    CHECK(!pprofdelta_new(&options, NULL, &pd, NULL));
    film_shoot(&f, GEN_ANYTHING & ~GEN_REORDER, false);
    const char *wrong = NULL;
    for (size_t i = 0; i < f.len && !wrong; i++) {
        buf request = otlp_request_of(a, &options, f.looks[i]);
        collector c = {.bytes = buf_begin(a)};
        pprofdelta_sink sink = collector_sink(&c);
        buf given = i % 2 ? request : f.looks[i];
        wrong = otlp_form_wrong_bytes(a, request.ptr, request.len);
        if (wrong || pprofdelta_window(pd, given.ptr, given.len, &sink, NULL, NULL))
            continue;
        CHECK(!pprofdelta_commit(pd));
        wrong = otlp_form_wrong_bytes(a, c.bytes.ptr, c.bytes.len);
        *checked += 2;
    }
    options.flags &= ~(unsigned)(PPROFDELTA_MERGE | PPROFDELTA_FORCE);
    if (!wrong)
        wrong = added(a, options, f.deltas, f.len, checked);
    options.flags |= PPROFDELTA_MERGE;
    return wrong ? wrong : added(a, options, f.deltas, f.len, checked);
}

TEST(parsed_profiles_sums_and_merges)
{
    seed_range range = slow_seeds(40);
    size_t checked = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        ENDS(arena_free) arena a = {NULL};
        AGREE(seed, process_wrong(&a, seed, &checked));
    }
    CHECK(getenv("PD_TEST_SEED") || checked > 4 * (range.to - range.from));
}

/* What a request has beyond a profile is in the request that is made of it. */
TEST(a_request_of_another_sender)
{
    ENDS(arena_free) arena a = {NULL};
    ENDS(context_end) pprofdelta *pd = NULL;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    collector c = {.bytes = buf_begin(&a)};
    pprofdelta_sink sink = collector_sink(&c);
    buf given = testdata_file(&a, "regress/otlp-one-scope-cur"), out[2];
    options.format = PPROFDELTA_OTLP;
    options.flags = PPROFDELTA_FORCE;
    CHECK(!pprofdelta_new(&options, NULL, &pd, NULL));
    CHECK(!pprofdelta_window(pd, given.ptr, given.len, &sink, NULL, NULL));
    out[0] = c.bytes;
    out[1] = otlp_request_of(&a, &options, given);
    for (size_t i = 0; i < 2; i++) {
        const char *wrong = otlp_form_wrong_bytes(&a, out[i].ptr, out[i].len);
        CHECK_MSG(!wrong, "%zu: %s", i, wrong);
    }
}

/* A profile of a binary with this name. `used`: its main mapping has a sample, too. */
static buf of_binary(arena *a, const char *name, bool used)
{
    ENDS(build_free) build b = {0};
    build_types(&b, HEAP_TYPES);
    model_mapping *app = build_mapping(&b, 0x400000, 0x500000, 0, name, "id-1");
    build_place(&b, "in_app", app, 0x401000);
    build_place(&b, "in_lib", build_mapping(&b, 0x600000, 0x700000, 0, "/lib", "id-2"), 0x601000);
    build_sample(&b, "in_lib", "1 1 5 5");
    if (used)
        build_sample(&b, "in_app", "1 1 5 5");
    buf bytes = build_bytes(&b), kept = buf_begin(a);
    buf_add(&kept, bytes.ptr, bytes.len);
    return kept;
}

/* pprof has the main mapping of the last profile first. OTLP has it when a sample of another profile needs it. */
TEST(a_sum_names_the_main_mapping_as_the_last_profile_does)
{
    ENDS(arena_free) arena a = {NULL};
    buf given[] = {of_binary(&a, "/old", true), of_binary(&a, "/new", false)}, pprof, request;
    pprofdelta_options options = sum_options(PPROFDELTA_FORCE), otlp = options;
    otlp_model meant, sent;
    otlp.format = PPROFDELTA_OTLP;
    CHECK(!sum_up(&a, &options, given, 2, &pprof, NULL));
    CHECK(!sum_up(&a, &otlp, given, 2, &request, NULL));
    REQUIRE(otlp_model_read_pprof(&a, pprof.ptr, pprof.len, &meant));
    otlp_model_read(&a, request.ptr, request.len, &sent);
    const char *wrong = otlp_model_differ(&a, &meant, &sent);
    CHECK_MSG(!wrong, "%s", wrong);
    CHECK(strstr(sent.text, "/new") && !strstr(sent.text, "/old"));
}

/* The main binary of the test has no code in these stacks. */
TEST(records)
{
    static const int64_t looks[][4] = {{5, 80, 0, 0}, {9, 144, 1, 16}, {9, 144, 0, 0}};
    ENDS(arena_free) arena a = {NULL};
    pprofdelta_recorder *recorder;
    pprofdelta_recorder_options o = PPROFDELTA_RECORDER_OPTIONS_INIT;
    o.format = PPROFDELTA_OTLP;
    REQUIRE(!pprofdelta_recorder_new(&o, NULL, &recorder, NULL));
    const uint64_t stacks[2][2] = {{0x100, 0x200}, {0x300, 0x200}};
    for (int64_t turn = 0; turn < 3; turn++) {
        static const int64_t none[4];
        collector c = {.bytes = buf_begin(&a)};
        pprofdelta_sink sink = collector_sink(&c);
        const pprofdelta_recording look = {.time_nanos = turn + 1};
        CHECK(!pprofdelta_recorder_begin(recorder, &look, NULL));
        for (size_t i = 0; i < 2; i++) {
            const pprofdelta_record row = {
                .stack = stacks[i], .depth = 2, .block_size = 16, .values = i ? none : looks[turn]};
            CHECK(!pprofdelta_recorder_add(recorder, &row, NULL));
        }
        CHECK(!pprofdelta_recorder_write(recorder, &sink, NULL, NULL));
        CHECK(!pprofdelta_recorder_commit(recorder));
        const char *wrong = otlp_form_wrong_bytes(&a, c.bytes.ptr, c.bytes.len);
        CHECK_MSG(!wrong, "%d: %s", (int)turn, wrong);
    }
    pprofdelta_recorder_free(recorder);
}

TEST(samples_of_threads)
{
    static const pprofdelta_value_type types[] = {{"cpu", "nanoseconds", 1}, {"cpu", "count", 1}};
    ENDS(arena_free) arena a = {NULL};
    collector c = {.bytes = buf_begin(&a)};
    pprofdelta_sink sink = collector_sink(&c);
    pprofdelta_builder *b;
    pprofdelta_builder_options o = PPROFDELTA_BUILDER_OPTIONS_INIT;
    o.types = types;
    o.types_len = 2;
    o.format = PPROFDELTA_OTLP;
    REQUIRE(!pprofdelta_builder_new(&o, NULL, &b, NULL));
    for (int64_t i = 0; i < 6; i++) { /* every third has only values of 0 */
        const pprofdelta_frame frames[] = {{.name = i % 2 ? "odd" : "", .line = i},
                                           {.name = "main"}};
        const pprofdelta_label label = {"number", NULL, i, "n"};
        pprofdelta_sample *s = pprofdelta_sample_start(b);
        pprofdelta_sample_push_frame(s, &frames[0], 0);
        pprofdelta_sample_push_frame(s, &frames[1], 0);
        pprofdelta_sample_push_label(s, &label);
        pprofdelta_sample_push_value(s, 0, i % 3);
        CHECK(!pprofdelta_sample_add(s, NULL));
    }
    CHECK(!pprofdelta_builder_begin(b, NULL));
    CHECK(!pprofdelta_builder_write(b, &sink, NULL, NULL));
    const char *wrong = otlp_form_wrong_bytes(&a, c.bytes.ptr, c.bytes.len);
    CHECK_MSG(!wrong, "%s", wrong);
    pprofdelta_builder_free(b);
}

TEST(live_heaps)
{
    for (unsigned kind = 0; kind < 2; kind++) {
        ENDS(arena_free) arena a = {NULL};
        pprofdelta_heap *heap;
        pprofdelta_heap_options o = PPROFDELTA_HEAP_OPTIONS_INIT;
        pprofdelta_heap_window batch = {.size = sizeof batch};
        o.format = PPROFDELTA_OTLP;
        REQUIRE(!pprofdelta_heap_new(&o, &heap, NULL));
        uint64_t stack[] = {0x100, (uint64_t)(uintptr_t)qsort};
        pprofdelta_heap_event event = {
            .ptr = &a, .weight = {1, 8}, .stack = stack, .depth = kind ? 2 : 1};
        CHECK(pprofdelta_heap_track(heap, &event));
        for (int64_t turn = 1; turn < 4; turn++) {
            collector c = {.bytes = buf_begin(&a)};
            pprofdelta_sink sink = collector_sink(&c);
            CHECK(!pprofdelta_heap_begin(heap, turn, &batch, NULL));
            CHECK(!pprofdelta_heap_write(heap, PPROFDELTA_HEAP_BY_FORMAT, &sink, NULL));
            CHECK(!pprofdelta_heap_commit(heap));
            const char *wrong = otlp_form_wrong_bytes(&a, c.bytes.ptr, c.bytes.len);
            CHECK_MSG(!wrong, "%u %d: %s", kind, (int)turn, wrong);
            if (turn == 2)
                pprofdelta_heap_untrack(heap, &a);
        }
        pprofdelta_heap_free(heap);
    }
}

TEST_MAIN()

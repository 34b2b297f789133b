/* Where fastdelta fails, and we do not: one test for each thing. The other peers are in peers_test.c. */
#include "scene.h"
#include "test.h"
#include "view.h"

TEST(fastdelta_merges_symbolic_stacks_and_we_tell_them_apart)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    build_sample(&b, "java.A.run main", "1 10");
    model_sample *other = build_sample(&b, "java.B.run main", "2 20");
    buf prev = build_bytes(&b);
    other->values[0] = 5;
    scene s;
    CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)), "java.B.run;main 3 0");
    CHECK(s.report.by_lines == 3 && s.report.by_address == 0);
    scene_end(&s);
    build_free(&b);
}

TEST(fastdelta_merges_mappings_with_equal_addresses_and_we_do_not)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    model_mapping *app = build_mapping(&b, 0x400000, 0x500000, 0, "/bin/app", "");
    model_mapping *lib = build_mapping(&b, 0x400000, 0x500000, 0, "/lib/other.so", "");
    build_place(&b, "in_app", app, 0x401000);
    build_place(&b, "in_lib", lib, 0x401000);
    build_sample(&b, "in_app", "1 10");
    model_sample *other = build_sample(&b, "in_lib", "2 20");
    buf prev = build_bytes(&b);
    other->values[0] = 5;
    scene s;
    CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)), "in_lib 3 0");
    scene_end(&s);
    build_free(&b);
}

/* The same build at another address, its counters carried on. */
TEST(fastdelta_reemits_what_moved_and_we_subtract_it)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    model_mapping *app = build_mapping(&b, 0x400000, 0x500000, 0x1000, "/bin/app", "id-1");
    model_location *leaf = build_place(&b, "leaf", app, 0x401000);
    model_sample *sample = build_sample(&b, "leaf", "7 70");
    buf prev = build_bytes(&b);
    app->start += 0x7f0000000000;
    app->limit += 0x7f0000000000;
    leaf->address += 0x7f0000000000;
    sample->values[0] = 8;
    scene s;
    CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)), "leaf 1 0");
    REQUIRE(s.status == PPROFDELTA_OK);
    CHECK(s.out.view->location[0]->address == 0x7f0000401000);
    scene_end(&s);
    build_free(&b);
}

TEST(fastdelta_knows_two_counters_and_four_values_and_we_more)
{
    static const char *const counters[] = {"c1", "c2/n", "c3"};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.counters = counters;
    options.counters_len = 3;
    build b = {0};
    build_types(&b, "g1/n c1/n g2/n c2/n g3/n c3/n g4/n");
    model_sample *sample = build_sample(&b, "leaf", "1 10 2 20 3 30 4");
    buf prev = build_bytes(&b);
    sample->values = (int64_t[]){5, 11, 6, 22, 7, 33, 8};
    scene s;
    CHECK_STR(scene_delta(&s, &options, prev, build_bytes(&b)), "leaf 5 1 6 2 7 3 8");
    scene_end(&s);
    build_free(&b);
}

TEST(fastdelta_goes_by_column_and_we_by_type)
{
    build a = {0}, b = {0};
    build_types(&a, HEAP_TYPES);
    build_sample(&a, "leaf", "10 1000 5 500");
    build_types(&b, "inuse_space/bytes alloc_space/bytes alloc_objects/count inuse_objects/count");
    build_sample(&b, "leaf", "600 1200 12 6");
    scene s;
    CHECK_STR(scene_delta(&s, NULL, build_bytes(&a), build_bytes(&b)), "leaf 600 200 2 6");
    scene_end(&s);
    build_free(&a);
    build_free(&b);
}

TEST(fastdelta_keeps_unused_strings_and_mappings_and_we_do_not)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    build_mapping(&b, 0x400000, 0x500000, 0, "/bin/app", "id-1");
    model_mapping *used = build_mapping(&b, 0x600000, 0x700000, 0, "/lib/used.so", "id-2");
    model_mapping *idle = build_mapping(&b, 0x800000, 0x900000, 0, "/lib/idle.so", "id-3");
    build_place(&b, "busy", used, 0x600100);
    build_place(&b, "idle", idle, 0x800100);
    model_sample *busy = build_sample(&b, "busy", "1 10");
    build_sample(&b, "idle", "2 20");
    buf prev = build_bytes(&b);
    busy->values[0]++;
    scene s;
    CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)), "busy 1 0");
    REQUIRE(s.status == PPROFDELTA_OK);
    const Pd__View__Profile *p = s.out.view;
    REQUIRE(p->n_mapping == 2);
    CHECK_STR(reading_string(&s.out, p->mapping[0]->filename), "/bin/app");
    CHECK_STR(reading_string(&s.out, p->mapping[1]->filename), "/lib/used.so");
    for (size_t i = 1; i < p->n_string_table; i++)
        CHECK(p->string_table[i].len && !strstr(view_text(p, (int64_t)i), "idle"));
    scene_end(&s);
    build_free(&b);
}

TEST(fastdelta_loses_packed_comments_and_the_doc_url_and_we_do_not)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    build_sample(&b, "leaf", "1 10");
    b.m.drop_frames = b.m.keep_frames = b.m.default_sample_type = "";
    b.m.period_type = (model_type){"", ""};
    b.m.doc_url = "https://example.org/doc";
    build_comment(&b, "first");
    build_comment(&b, "second");
    serial_style packed = {.packing = EMIT_PACKED};
    scene s;
    scene_begin(&s, NULL);
    CHECK_STR(scene_window(&s, serial_write(&b.arena, &b.m, &packed)), "leaf 1 10");
    REQUIRE(s.status == PPROFDELTA_OK);
    const Pd__View__Profile *p = s.out.view;
    CHECK_STR(reading_string(&s.out, p->doc_url), "https://example.org/doc");
    REQUIRE(p->n_comment == 3);
    CHECK_STR(reading_string(&s.out, p->comment[0]), "first");
    CHECK_STR(reading_string(&s.out, p->comment[1]), "second");
    CHECK(strncmp(reading_string(&s.out, p->comment[2]), STAMP, strlen(STAMP)) == 0);
    scene_end(&s);
    build_free(&b);
}

/* The profile and behind it one more message, as a field of the top level. */
static buf with_message(build *b, unsigned field, message *m)
{
    buf whole = build_bytes(b), out = buf_begin(&b->arena);
    message top = message_begin(m->e, 15);
    emit_message(&top, field, m);
    buf more = message_end(&top);
    buf_add(&out, whole.ptr, whole.len);
    buf_add(&out, more.ptr, more.len);
    return out;
}

/* A last sample that refers to a location which is not there. */
static buf with_dangling_sample(build *b)
{
    emitter e = {.arena = &b->arena};
    message sample = message_begin(&e, 3);
    emit_repeated(&sample, 1, (uint64_t[]){UINT64_C(1) << 40}, 1);
    emit_repeated(&sample, 2, (uint64_t[]){1, 1}, 2);
    return with_message(b, 2, &sample);
}

TEST(a_bad_profile_poisons_fastdelta_and_costs_us_nothing)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    model_sample *sample = build_sample(&b, "leaf", "1 10");
    scene s;
    scene_begin(&s, NULL);
    CHECK_STR(scene_window(&s, build_bytes(&b)), "leaf 1 10");
    sample->values[0] = 3;
    scene_window(&s, with_dangling_sample(&b));
    CHECK(s.status == PPROFDELTA_E_PROFILE);
    sample->values[0] = 6;
    CHECK_STR(scene_window(&s, build_bytes(&b)), "leaf 5 0");
    sample->values[0] = 7;
    CHECK_STR(scene_window(&s, build_bytes(&b)), "leaf 1 0");
    scene_end(&s);
    build_free(&b);
}

/* A hundred new stacks in every window: fastdelta and godeltaprof remember all of them for ever. */
TEST(the_peers_never_forget_a_stack_and_we_do)
{
    enum { WINDOWS = 60, STACKS = 100, WARM = 20 };
    tracker memory = {0};
    pprofdelta_allocator allocator = tracker_allocator(&memory);
    pprofdelta *pd;
    REQUIRE(pprofdelta_new(NULL, &allocator, &pd, NULL) == PPROFDELTA_OK);
    size_t warm = 0;
    for (int window = 0; window < WINDOWS; window++) {
        build b = {0};
        build_types(&b, CONTENTION_TYPES);
        for (int n = 0; n < STACKS; n++)
            build_sample(&b, arena_format(&b.arena, "f%d main", 100000 + window * STACKS + n),
                         "1 1");
        buf now = build_bytes(&b);
        collector c = {.bytes = buf_begin(&b.arena)};
        pprofdelta_sink sink = collector_sink(&c);
        CHECK(pprofdelta_window(pd, now.ptr, now.len, &sink, NULL, NULL) == PPROFDELTA_OK);
        pprofdelta_commit(pd);
        build_free(&b);
        if (window == WARM)
            warm = memory.live;
    }
    CHECK_MSG(memory.live == warm, "%zu bytes, and %zu after window %d", memory.live, warm, WARM);
    pprofdelta_free(pd);
}

TEST(fastdelta_writes_before_it_fails_and_we_do_not)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    for (int n = 0; n < 1000; n++)
        build_sample(&b, arena_format(&b.arena, "f%d main", n), "1 1");
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.compression = PPROFDELTA_PLAIN;
    scene s;
    scene_begin(&s, &options);
    scene_window(&s, with_dangling_sample(&b));
    CHECK(s.status == PPROFDELTA_E_PROFILE && s.bytes.len == 0);
    scene_end(&s);
    build_free(&b);
}

TEST(fastdelta_takes_invalid_profiles_and_we_refuse_them)
{
    static const struct {
        const char *what;
        unsigned top, field; /* message and field of the top level */
        uint64_t id, value;
    } bad[] = {{"a function's name", 5, 2, 90, 1 << 20},
               {"a function's name below zero", 5, 2, 90, UINT64_MAX},
               {"a mapping's build id", 3, 6, 90, 1 << 20},
               {"a location's mapping", 4, 2, 90, 1 << 20},
               {"a function there twice", 5, 5, 1, 0},
               {"a location there twice", 4, 3, 1, 0},
               {"a mapping there twice", 3, 2, 1, 0},
               {"a function without an id", 5, 5, 0, 1},
               {"a location without an id", 4, 3, 0, 1},
               {"a mapping without an id", 3, 2, 0, 1},
               {"a type's unit", 1, 2, 1, 1 << 20}};
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    build_mapping(&b, 0x400000, 0x500000, 0, "/bin/app", "id-1");
    build_sample(&b, "leaf", "1 10");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        emitter e = {.arena = &b.arena, .explicit_zeros = 100};
        message m = message_begin(&e, 15);
        emit_scalar(&m, 1, bad[i].id);
        emit_scalar(&m, bad[i].field, bad[i].value);
        scene s;
        scene_begin(&s, NULL);
        scene_window(&s, with_message(&b, bad[i].top, &m));
        CHECK_MSG(s.status == PPROFDELTA_E_PROFILE, "%s: status %d", bad[i].what, s.status);
        scene_end(&s);
    }
    build_free(&b);
}

TEST(fastdelta_refuses_no_dangling_function_and_we_do)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    build_sample(&b, "leaf", "1 10");
    emitter e = {.arena = &b.arena};
    message location = message_begin(&e, 5), line = message_begin(&e, 3);
    emit_scalar(&line, 1, 88);
    emit_scalar(&location, 1, 90);
    emit_message(&location, 4, &line);
    scene s;
    scene_begin(&s, NULL);
    scene_window(&s, with_message(&b, 4, &location));
    CHECK(s.status == PPROFDELTA_E_PROFILE);
    scene_end(&s);
    build_free(&b);
}

TEST(fastdelta_emits_negative_deltas_and_we_report_them)
{
    build b = {0};
    build_types(&b, CONTENTION_TYPES);
    build_sample(&b, "steady", "100 1000");
    model_sample *falls = build_sample(&b, "falls", "10 100");
    buf prev = build_bytes(&b);
    falls->values[0] = 8;
    scene s;
    CHECK_STR(scene_delta(&s, NULL, prev, build_bytes(&b)), "");
    CHECK(s.report.clamped == 1 && s.report.restart == PPROFDELTA_RESTART_NONE);
    CHECK(s.report.types_len == 2 && s.report.types[0].clamped.lo == 2);
    scene_end(&s);
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.on_reset = PPROFDELTA_ON_RESET_NEGATIVE; /* asked for */
    CHECK_STR(scene_delta(&s, &options, prev, build_bytes(&b)), "falls -2 0");
    scene_end(&s);
    build_free(&b);
}

TEST_MAIN(CASE(fastdelta_merges_symbolic_stacks_and_we_tell_them_apart),
          CASE(fastdelta_merges_mappings_with_equal_addresses_and_we_do_not),
          CASE(fastdelta_reemits_what_moved_and_we_subtract_it),
          CASE(fastdelta_knows_two_counters_and_four_values_and_we_more),
          CASE(fastdelta_goes_by_column_and_we_by_type),
          CASE(fastdelta_keeps_unused_strings_and_mappings_and_we_do_not),
          CASE(fastdelta_loses_packed_comments_and_the_doc_url_and_we_do_not),
          CASE(a_bad_profile_poisons_fastdelta_and_costs_us_nothing),
          CASE(the_peers_never_forget_a_stack_and_we_do),
          CASE(fastdelta_writes_before_it_fails_and_we_do_not),
          CASE(fastdelta_takes_invalid_profiles_and_we_refuse_them),
          CASE(fastdelta_refuses_no_dangling_function_and_we_do),
          CASE(fastdelta_emits_negative_deltas_and_we_report_them))

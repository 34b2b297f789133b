/* The records door by hand: what its records hold, unsampling, symbols, and restarts. The order of calls is
 * in life_test.c, and what a delta is in recorder_oracle_test.c. */
#include "record_scene.h"
#include "records.h"
#include "seeds.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------------------------------------
 * Records
 * ------------------------------------------------------------------------------------------ */

TEST(duplicates_add_up_and_block_sizes_stay_apart)
{
    record_scene s;
    record_begin(&s);
    record(&s, "a main", 16, "1 16 1 16");
    record(&s, "a main", 32, "1 32 0 0");
    record(&s, "a main", 16, "2 32 0 0");
    CHECK_STR(record_window(&s), "a;main {bytes=16} 3 48 1 16, a;main {bytes=32} 1 32 0 0");
    CHECK(s.report.duplicates == 1);
    const Pd__View__Label *label = s.out.view->sample[0]->label[0];
    CHECK_STR(reading_string(&s.out, label->num_unit), "bytes");
    record_set(&s, 2, "3 48 0 0");
    CHECK_STR(record_next(&s, 0, "1 16 0 0"), "a;main {bytes=16} 1 16 0 0");
    record_end(&s);
}

/* Whatever else it says, a label with a string is that string. */
TEST(a_label_with_a_string_has_no_number)
{
    record_scene s;
    record_begin(&s);
    pprofdelta_label labels[] = {
        {"k", "text", 7, "bytes"}, {"k", "text", 0, NULL}, {"k", "", 7, "b"}};
    for (size_t i = 0; i < 3; i++) {
        size_t row = record(&s, "a", 0, "1 1 0 0");
        s.rows[row].labels = &labels[i];
        s.rows[row].labels_len = 1;
    }
    CHECK_STR(record_window(&s), "a {k=text} 2 2 0 0, a {k=7} 1 1 0 0");
    REQUIRE(s.out.view && s.out.view->n_sample == 2);
    const Pd__View__Label *text = s.out.view->sample[0]->label[0],
                          *number = s.out.view->sample[1]->label[0];
    CHECK(!text->num && !text->num_unit && !number->str);
    CHECK_STR(reading_string(&s.out, number->num_unit), "b");
    CHECK(s.report.duplicates == 1);
    record_end(&s);
}

TEST(generics_stay_separate_and_inlines_share_one_location)
{
    record_scene s;
    record_begin(&s);
    record(&s, "Map[int] main", 0, "1 1 0 0");
    record(&s, "Map[string] main", 0, "2 2 0 0");
    record(&s, "inner+middle+outer main", 0, "3 3 0 0");
    CHECK_STR(record_window(&s), "Map[int];main 1 1 0 0, Map[string];main 2 2 0 0, "
                                 "inner+middle+outer;main 3 3 0 0");
    CHECK(s.out.view->n_location == 4 && s.out.view->n_function == 6 && s.symbolized == 4);
    record_window(&s);
    CHECK(s.symbolized == 4); /* once for each program counter */
    record_end(&s);
}

/* ---------------------------------------------------------------------------------------------
 * Unsampling
 * ------------------------------------------------------------------------------------------ */

static double book_scale(double size, double rate)
{
    return 1 / (1 - exp(-size / rate));
}

TEST(heap_values_are_scaled_by_size)
{
    record_scene s;
    record_begin(&s);
    s.look.period = 524288;
    record(&s, "a", 1024, "10 10240 4 4096");
    record(&s, "b", 0, "2 1048576 0 0");
    double x = book_scale(1024, 524288), y = book_scale(524288, 524288);
    CHECK_STR(record_window(&s),
              arena_format(&s.arena, "a {bytes=1024} %lld %lld %lld %lld, b %lld %lld 0 0",
                           llround(10 * x), llround(10240 * x), llround(4 * x), llround(4096 * x),
                           llround(2 * y), llround(1048576 * y)));
    CHECK(s.out.view->period == 524288);
    CHECK_STR(reading_string(&s.out, s.out.view->period_type->type), "space");
    CHECK(s.report.types[0].delta.lo == 12); /* raw */
    record_end(&s);
}

TEST(a_change_of_rate_scales_what_comes_after_it)
{
    record_scene s;
    record_begin(&s);
    s.look.period = 524288;
    record(&s, "a", 1024, "10 10240 0 0");
    record_window(&s);
    s.look.period = 1024;
    CHECK_STR(record_window(&s), "");
    record_set(&s, 0, "20 20480 0 0");
    double x = book_scale(1024, 524288), y = book_scale(1024, 1024);
    long long before = llround(10 * x), now = llround(10 * x + 10 * y) - before;
    long long bytes = llround(10240 * x + 10240 * y) - llround(10240 * x);
    CHECK_STR(record_window(&s),
              arena_format(&s.arena, "a {bytes=1024} %lld %lld 0 0", now, bytes));
    s.look.period = 0; /* everything is taken from now on */
    CHECK_STR(record_next(&s, 0, "21 21504 0 0"), "a {bytes=1024} 1 1024 0 0");
    record_end(&s);
}

TEST(contention_is_scaled_by_clock_and_fraction)
{
    record_scene s;
    record_begin(&s);
    s.options.kind = PPROFDELTA_KIND_CONTENTION;
    s.look.cycles_per_second = 3e9;
    s.look.fraction = 0.2;
    record(&s, "lock main", 0, "3 9000");
    CHECK_STR(record_window(&s), "lock;main 15 15000");
    CHECK_STR(reading_string(&s.out, s.out.view->period_type->type), "contentions");
    record_set(&s, 0, "4 9001"); /* a third of a nanosecond, times five */
    CHECK_STR(record_window(&s), "lock;main 5 2");
    CHECK_STR(record_next(&s, 0, "4 9002"), "lock;main 0 1");
    CHECK_STR(record_next(&s, 0, "4 9003"), "lock;main 0 2");
    record_end(&s);
}

/* Windows that come and go, with records that vanish and come back: in the end each record's
 * windows add up to its scaled total. */
TEST(the_windows_of_a_record_sum_to_its_scaled_total)
{
    seed_range range = seeds(8);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        enum { ROWS = 12 };
        record_scene s;
        record_begin(&s);
        rng r = {seed + 77};
        s.options.on_reset = PPROFDELTA_ON_RESET_CLAMP;
        int64_t now[ROWS][4] = {{0}}, held[ROWS] = {0}, sums[ROWS] = {0}, bytes[ROWS] = {0};
        double total[ROWS] = {0};
        for (size_t i = 0; i < ROWS; i++)
            record(&s, arena_format(&s.arena, "f%zu main", i), 16 << i, "0 0 0 0");
        size_t windows = 2 + rng_below(&r, 30);
        s.look.period = 512 << rng_below(&r, 11);
        for (size_t w = 0; w < windows; w++) {
            if (rng_chance(&r, 20))
                s.look.period = 512 << rng_below(&r, 11);
            for (size_t i = 0; i < ROWS; i++) {
                int64_t more = rng_chance(&r, 60) ? (int64_t)rng_below(&r, 5) : 0;
                now[i][0] += more;
                now[i][1] += more * s.rows[i].block_size;
                record_set(
                    &s, i,
                    arena_format(&s.arena, "%" PRId64 " %" PRId64 " 0 0", now[i][0], now[i][1]));
            }
            bool commit = rng_chance(&r, 80) || w + 1 == windows;
            record_pending(&s);
            REQUIRE(s.status == PPROFDELTA_OK);
            if (!commit) {
                pprofdelta_recorder_abandon(s.recorder);
                continue;
            }
            pprofdelta_recorder_commit(s.recorder);
            for (size_t n = 0; n < s.out.samples_len; n++) {
                size_t row = 0;
                while (s.rows[row].block_size != s.out.view->sample[n]->label[0]->num)
                    row++;
                sums[row] += s.out.samples[n].values[0];
                bytes[row] += s.out.samples[n].values[1];
            }
            for (size_t i = 0; i < ROWS; i++) {
                double scale = book_scale((double)s.rows[i].block_size, (double)s.look.period);
                total[i] += (double)(now[i][0] - held[i]) * scale;
                held[i] = now[i][0];
            }
        }
        for (size_t i = 0; i < ROWS; i++) {
            double size = (double)s.rows[i].block_size;
            CHECK_MSG(fabs((double)sums[i] - total[i]) < 0.5001,
                      "seed %" PRIu64 ", record %zu: %" PRId64 " of %f", seed, i, sums[i],
                      total[i]);
            CHECK_MSG(fabs((double)bytes[i] - total[i] * size) < 0.501,
                      "seed %" PRIu64 ", record %zu: %" PRId64 " bytes of %f", seed, i, bytes[i],
                      total[i] * size);
        }
        record_end(&s);
    }
}

TEST(types_may_have_scales_of_their_own)
{
    static const pprofdelta_value_type types[] = {
        {"size", "bytes", 0}, {"calls", "count", 1}, {"time", "ms", 1}};
    static const double scales[] = {2, 1, 0.5};
    record_scene s;
    record_begin(&s);
    s.options.kind = PPROFDELTA_KIND_TYPES;
    s.options.types = types;
    s.options.types_len = 3;
    s.options.default_type = "calls";
    record(&s, "a", 0, "7 3 5");
    CHECK_STR(record_window(&s), "a 7 3 5");
    CHECK_STR(reading_string(&s.out, s.out.view->default_sample_type), "calls");
    CHECK(!s.out.view->period_type);
    s.look.scales = scales;
    CHECK_STR(record_next(&s, 0, "7 4 6"), "a 14 1 1");
    CHECK_STR(record_next(&s, 0, "0 4 7"), ""); /* the other half */
    CHECK_STR(record_next(&s, 0, "0 4 8"), "a 0 0 1");
    record_end(&s);
}

/* ---------------------------------------------------------------------------------------------
 * Symbols
 * ------------------------------------------------------------------------------------------ */

TEST(leading_frames_may_be_hidden)
{
    record_scene s;
    record_begin(&s);
    record(&s, "_malloc _new a main", 0, "1 1 0 0");
    record(&s, "_calloc a main", 0, "2 2 0 0");
    record(&s, "_malloc _new", 0, "4 4 0 0");
    record(&s, "a _callback main", 0, "8 8 0 0");
    CHECK_STR(record_window(&s), "a;main 3 3 0 0, _malloc;_new 4 4 0 0, a;_callback;main 8 8 0 0");
    record_end(&s);
}

TEST(without_a_callback_there_are_addresses)
{
    record_scene s;
    record_begin(&s);
    s.options.symbolize = NULL;
    record(&s, "a b", 0, "1 1 0 0");
    CHECK_STR(record_window(&s), "0x1000;0x1001 1 1 0 0");
    CHECK(!s.out.view->n_mapping && !s.out.view->n_function);
    record_end(&s);
    record_begin(&s);
    s.options.symbolize = NULL;
    s.options.flags |= PPROFDELTA_RETURN_ADDRESSES;
    record(&s, "a b", 0, "1 1 0 0");
    CHECK_STR(record_window(&s), "0xfff;0x1000 1 1 0 0");
    record_end(&s);
}

/* The numbers of an interpreter's frames are no addresses. */
TEST(numbers_without_a_mapping_are_known_by_their_lines)
{
    for (int has_mappings = 0; has_mappings < 2; has_mappings++) {
        record_scene s;
        record_begin(&s);
        s.options.flags ^= has_mappings ? PPROFDELTA_NO_MAPPINGS : 0;
        record(&s, "a b", 0, "1 1 0 0");
        CHECK_STR(record_window(&s), "a;b 1 1 0 0");
        REQUIRE(s.out.view && s.out.view->n_location == 2);
        for (size_t i = 0; i < 2; i++)
            CHECK(!s.out.view->location[i]->address && !s.out.view->location[i]->mapping_id);
        CHECK(s.report.by_lines == 2 && s.report.by_address == 0);
        record_end(&s);
    }
}

static void name_native(void *cookie, uint64_t pc, pprofdelta_symbol *out)
{
    static const pprofdelta_frame frame = {.name = "native", .filename = "native.c", .line = 3};
    (void)cookie, (void)pc;
    *out = (pprofdelta_symbol){&frame, 1, 0};
}

TEST(addresses_in_a_mapping_stay)
{
    record_scene s;
    record_begin(&s);
    s.options.flags ^= PPROFDELTA_NO_MAPPINGS;
    s.options.symbolize = name_native;
    void (*code)(void *, uintptr_t, pprofdelta_symbol *) = name_native;
    uintptr_t stack[2];
    memcpy(&stack[0], &code, sizeof code);
    stack[1] = stack[0] + 1; /* another instruction of the same line */
    size_t row = record(&s, "", 0, "1 1 0 0");
    s.rows[row].stack = stack;
    s.rows[row].depth = 2;
    CHECK_STR(record_window(&s), "native;native 1 1 0 0");
    REQUIRE(s.out.view && s.out.view->n_location == 2);
    for (size_t i = 0; i < 2; i++)
        CHECK(s.out.view->location[i]->address == stack[i] && s.out.view->location[i]->mapping_id);
    CHECK(s.report.by_lines == 0 && s.report.by_address == 2);
    record_end(&s);
}

/* Of two processes, the second calls another function by the same number. */
TEST(equal_numbers_of_two_processes_are_two_places)
{
    record_scene a, b;
    record_begin(&a);
    record_begin(&b);
    a.options.flags |= PPROFDELTA_NO_STAMP;
    b.options.flags |= PPROFDELTA_NO_STAMP;
    record(&a, "foo", 0, "100 100 0 0");
    record(&b, "bar", 0, "150 150 0 0");
    CHECK_STR(record_window(&a), "foo 100 100 0 0");
    CHECK_STR(record_window(&b), "bar 150 150 0 0");
    CHECK(a.rows[0].stack[0] == b.rows[0].stack[0]);
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.on_reset = PPROFDELTA_ON_RESET_NEGATIVE;
    options.compression = PPROFDELTA_PLAIN;
    pprofdelta *pd = NULL;
    collector c = {.bytes = buf_begin(&a.arena)};
    pprofdelta_sink sink = collector_sink(&c);
    reading r;
    REQUIRE(pprofdelta_new(&options, NULL, &pd, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_base(pd, a.bytes.ptr, a.bytes.len, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_window(pd, b.bytes.ptr, b.bytes.len, &sink, NULL, NULL) == PPROFDELTA_OK);
    REQUIRE(reading_make(&a.arena, c.bytes.ptr, c.bytes.len, &r) == PPROFDELTA_OK);
    REQUIRE(r.view->n_sample == 2); /* bar came, foo is gone */
    CHECK(r.view->sample[0]->value[0] == 150 && r.view->sample[1]->value[0] == -100);
    pprofdelta_free(pd);
    record_end(&a);
    record_end(&b);
}

/* Two numbers, one line: one location, and one sample where nothing else tells them apart. */
TEST(numbers_with_the_same_lines_are_one_place)
{
    record_scene s;
    record_begin(&s);
    record(&s, "a main", 0, "1 10 1 10");
    record(&s, "b main", 0, "2 20 -1 -10");
    record(&s, "b main", 16, "4 40 0 0");
    record(&s, "a c", 0, "0 0 5 50");
    record(&s, "b c", 0, "0 0 -5 -50");
    record(&s, "c b", 0, "8 80 0 0");
    s.words[2] = "a"; /* what was b */
    const char *want = "a;main 3 30 0 0, a;main {bytes=16} 4 40 0 0, c;a 8 80 0 0";
    CHECK_STR(record_pending(&s), want);
    CHECK(s.out.view->n_location == 3 && s.out.view->n_sample == 3 && s.report.samples_out == 3);
    CHECK(s.report.samples_in == 6 && s.report.fresh == 6);
    pprofdelta_recorder_abandon(s.recorder);
    CHECK_STR(record_window(&s), want);
    record_set(&s, 1, "5 50 0 0");
    CHECK_STR(record_window(&s), "a;main 3 30 1 10");
    record_end(&s);
}

TEST(symbols_can_be_forgotten_and_counts_stay)
{
    record_scene s;
    record_begin(&s);
    record(&s, "a main", 0, "1 1 0 0");
    record_window(&s);
    s.words[0] = "another";
    record_set(&s, 0, "3 3 0 0");
    s.look.has_unloaded = 1;
    CHECK_STR(record_window(&s), "another;main 2 2 0 0");
    CHECK(s.symbolized == 4);
    record_end(&s);
}

/* ---------------------------------------------------------------------------------------------
 * Restarts
 * ------------------------------------------------------------------------------------------ */

/* 100, then 30 after a restart, then 150: what happened is 150, whichever way the window of the 30
 * was lost. */
TEST(a_restart_that_is_told_holds_until_commit)
{
    enum { ABANDONED, SINK, LACKING_A_RECORD, NO_MEMORY, WAYS };
    static const pprofdelta_on_reset modes[] = {
        PPROFDELTA_ON_RESET_AUTO, PPROFDELTA_ON_RESET_RESTART, PPROFDELTA_ON_RESET_CLAMP};
    for (int way = 0; way < WAYS * 3; way++) {
        record_scene s;
        record_begin(&s);
        s.options.on_reset = modes[way / WAYS];
        record(&s, "a", 0, "100 100 0 0");
        CHECK_STR(record_window(&s), "a 100 100 0 0");
        CHECK_STR(record_window(&s), "");
        pprofdelta_recording look = {.time_nanos = 2500, .restarted = 1};
        pprofdelta_record bad = {.values = NULL};
        collector refusing = {.bytes = buf_begin(&s.arena), .fail_at = 1};
        pprofdelta_sink no = collector_sink(&refusing);
        record_set(&s, 0, "30 30 0 0");
        s.memory.fail_at = way % WAYS == NO_MEMORY ? s.memory.calls + 1 : 0;
        if (way % WAYS == NO_MEMORY) /* a window whose entries get carries */
            look.period = 512;
        pprofdelta_status status = pprofdelta_recorder_begin(s.recorder, &look, &s.err);
        CHECK(status == (way % WAYS == NO_MEMORY ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK));
        s.memory.fail_at = 0;
        if (!status)
            CHECK(pprofdelta_recorder_add(s.recorder, &s.rows[0], &s.err) == PPROFDELTA_OK);
        if (way % WAYS == LACKING_A_RECORD)
            CHECK(pprofdelta_recorder_add(s.recorder, &bad, &s.err) == PPROFDELTA_E_USAGE);
        if (way % WAYS == SINK)
            CHECK(pprofdelta_recorder_write(s.recorder, &no, NULL, &s.err) == PPROFDELTA_E_SINK);
        pprofdelta_recorder_abandon(s.recorder);
        record_set(&s, 0, "150 150 0 0");
        CHECK_STR(record_window(&s), "a 150 150 0 0");
        CHECK(s.report.restart == PPROFDELTA_RESTART_STARTED && s.report.from_nanos == 2000);
        CHECK_STR(record_next(&s, 0, "151 151 0 0"), "a 1 1 0 0"); /* and ends with it */
        CHECK(s.report.restart == PPROFDELTA_RESTART_NONE);
        record_end(&s);
    }
}

/* A look that is refused says nothing. Before the first commit there is nothing to begin anew from;
 * with FAIL there is no way on. */
TEST(a_restart_that_is_told_is_told_of_a_window)
{
    record_scene s;
    record_begin(&s);
    s.options.on_reset = PPROFDELTA_ON_RESET_FAIL;
    record(&s, "a", 0, "5 5 0 0");
    s.look.restarted = 1;
    CHECK_STR(record_window(&s), "a 5 5 0 0");
    CHECK(s.report.restart == PPROFDELTA_RESTART_NONE);
    pprofdelta_recording look = {.restarted = 1, .fraction = 2};
    CHECK(pprofdelta_recorder_begin(s.recorder, &look, &s.err) == PPROFDELTA_E_USAGE);
    CHECK_STR(record_next(&s, 0, "6 6 0 0"), "a 1 1 0 0");
    s.look.restarted = 1;
    CHECK_STR(record_next(&s, 0, "7 7 0 0"), "[counting began anew]");
    CHECK_STR(record_next(&s, 0, "8 8 0 0"), "[counting began anew]");
    record_end(&s);
}

TEST(wrong_use_is_refused)
{
    pprofdelta_recorder_options o = PPROFDELTA_RECORDER_OPTIONS_INIT;
    pprofdelta_recorder *r = NULL;
    const pprofdelta_value_type gauge = {"size", "bytes", 0};
    o.size = 0;
    CHECK(pprofdelta_recorder_new(&o, NULL, &r, NULL) == PPROFDELTA_E_USAGE);
    o = (pprofdelta_recorder_options)PPROFDELTA_RECORDER_OPTIONS_INIT;
    o.on_reset = PPROFDELTA_ON_RESET_NEGATIVE;
    CHECK(pprofdelta_recorder_new(&o, NULL, &r, NULL) == PPROFDELTA_E_USAGE);
    o.on_reset = PPROFDELTA_ON_RESET_AUTO;
    o.flags = PPROFDELTA_FORCE;
    CHECK(pprofdelta_recorder_new(&o, NULL, &r, NULL) == PPROFDELTA_E_USAGE);
    o.flags = 0;
    o.types = &gauge;
    o.types_len = 1;
    CHECK(pprofdelta_recorder_new(&o, NULL, &r, NULL) == PPROFDELTA_E_USAGE);
    o.kind = PPROFDELTA_KIND_TYPES;
    CHECK(pprofdelta_recorder_new(&o, NULL, &r, NULL) == PPROFDELTA_E_USAGE && !r);
    REQUIRE(pprofdelta_recorder_new(NULL, NULL, &r, NULL) == PPROFDELTA_OK);
    collector c = {.calls = 0};
    pprofdelta_sink sink = collector_sink(&c);
    pprofdelta_error err = {0};
    int64_t values[4] = {1, 1, 1, 1};
    pprofdelta_record record = {.values = values};
    CHECK(pprofdelta_recorder_add(r, &record, &err) == PPROFDELTA_E_USAGE && *err.text);
    CHECK(pprofdelta_recorder_write(r, &sink, NULL, NULL) == PPROFDELTA_E_USAGE);
    pprofdelta_recording look = {.fraction = 2};
    CHECK(pprofdelta_recorder_begin(r, &look, NULL) == PPROFDELTA_E_USAGE);
    look.fraction = NAN;
    CHECK(pprofdelta_recorder_begin(r, &look, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_recorder_begin(r, NULL, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_recorder_begin(r, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_recorder_write(r, NULL, NULL, NULL) == PPROFDELTA_E_USAGE);
    record.depth = 3;
    CHECK(pprofdelta_recorder_add(r, &record, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_recorder_write(r, &sink, NULL, &err) == PPROFDELTA_E_USAGE && !c.calls);
    pprofdelta_recorder_abandon(r);
    pprofdelta_recorder_free(r);
    pprofdelta_recorder_free(NULL);
}

TEST(the_clock_is_asked_where_nobody_tells_the_time)
{
    record_scene s;
    record_begin(&s);
    s.options.started_nanos = 1;
    s.look.time_nanos = 0;
    record(&s, "a", 0, "5 5 0 0");
    record_window(&s);
    int64_t now = s.out.view->time_nanos;
    CHECK(now > INT64_C(1700000000000000000) && s.out.view->duration_nanos == now - 1);
    s.look.time_nanos = 5; /* set back */
    CHECK_STR(record_next(&s, 0, "6 6 0 0"), "a 1 1 0 0");
    CHECK(s.out.view->duration_nanos == 0);
    record_end(&s);
}

TEST(what_is_hidden_later_is_hidden)
{
    record_scene s;
    record_begin(&s);
    record(&s, "a main", 0, "1 1 0 0");
    record(&s, "b main", 0, "1000 1000 0 0");
    CHECK_STR(record_window(&s), "a;main 1 1 0 0, b;main 1000 1000 0 0");
    s.words[0] = "_a";
    s.look.has_unloaded = 1;
    CHECK_STR(record_window(&s), "main 1 1 0 0"); /* another stack */
    CHECK_STR(record_next(&s, 0, "3 3 0 0"), "main 2 2 0 0");
    record_end(&s);
}

TEST_MAIN()

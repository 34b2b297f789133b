/* The records door by hand: symbols, restarts and memory. The order of calls is
 * in steps_test.c, and what a delta is in fuzz/fuzz_records.c. */
#include "recorder_size.h"

#include "record_scene.h"
#include "test.h"

#include <math.h>

/* ---- Symbols --------------------------------------------------------------------------------- */

static void name_native(void *cookie, uint64_t pc, pprofdelta_symbol *out)
{
    static const pprofdelta_frame frame = {.name = "native", .filename = "native.c", .line = 3};
    (void)cookie, (void)pc;
    *out = (pprofdelta_symbol){&frame, 1, 0};
}

/* The numbers of an interpreter's frames are no addresses. */
TEST(addresses_in_a_mapping_stay_and_other_numbers_are_known_by_their_lines)
{
    ENDS(record_end) record_scene s;
    record_begin(&s);
    s.options.flags ^= PPROFDELTA_NO_MAPPINGS;
    s.options.symbolize = name_native;
    void (*code)(void *, uint64_t, pprofdelta_symbol *) = name_native;
    uint64_t stack[3] = {[2] = 7};
    memcpy(&stack[0], &code, sizeof code);
    stack[1] = stack[0] + 1; /* another instruction of the same line */
    size_t row = record(&s, "", 0, "1 1 0 0");
    s.rows[row].stack = stack;
    s.rows[row].depth = 3;
    CHECK_STR(record_window(&s), "native;native;native 1 1 0 0");
    REQUIRE(s.out.view && s.out.view->n_location == 3);
    for (size_t i = 0; i < 2; i++)
        CHECK(s.out.view->location[i]->address == stack[i] && s.out.view->location[i]->mapping_id);
    CHECK(!s.out.view->location[2]->address && !s.out.view->location[2]->mapping_id);
    CHECK(s.report.by_lines == 1 && s.report.by_address == 2);
}

/* Two numbers, one line: one location, and one sample where nothing else tells them apart. */
TEST(numbers_with_the_same_lines_are_one_place)
{
    ENDS(record_end) record_scene s;
    record_begin(&s);
    record(&s, "a main", 0, "1 10 1 10");
    record(&s, "b main", 0, "2 20 -1 -10");
    record(&s, "b main", 16, "4 40 0 0");
    record(&s, "a gone", 0, "0 0 5 50"); /* its sum is 0: nothing else has its place */
    record(&s, "b gone", 0, "0 0 -5 -50");
    record(&s, "c b", 0, "8 80 0 0");
    s.words[2] = "a"; /* what was b */
    const char *want = "a;main 3 30 0 0, a;main{bytes=16bytes} 4 40 0 0, c;a 8 80 0 0";
    CHECK_STR(record_pending(&s), want);
    CHECK(s.out.view->n_location == 3 && s.out.view->n_sample == 3 && s.report.samples_out == 3);
    CHECK(s.report.samples_in == 6 && s.report.fresh == 6);
    pprofdelta_recorder_abandon(s.recorder);
    CHECK_STR(record_window(&s), want);
    record_set(&s, 1, "5 50 0 0");
    CHECK_STR(record_window(&s), "a;main 3 30 1 10");
}

/* ---- Restarts -------------------------------------------------------------------------------- */

TEST(wrong_use_is_refused)
{
    const pprofdelta_value_type gauge = {"size", "bytes", 0};
    const pprofdelta_recorder_options bad[] = {
        {.size = 0},
        {.size = sizeof *bad, .on_reset = PPROFDELTA_ON_RESET_NEGATIVE},
        {.size = sizeof *bad, .flags = PPROFDELTA_FORCE},
        {.size = sizeof *bad, .types = &gauge, .types_len = 1},
        {.size = sizeof *bad, .types = &gauge, .types_len = 1, .kind = PPROFDELTA_KIND_TYPES}};
    pprofdelta_recorder *r = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(pprofdelta_recorder_new(&bad[i], NULL, &r, NULL) == PPROFDELTA_E_USAGE && !r);
    REQUIRE(pprofdelta_recorder_new(NULL, NULL, &r, NULL) == PPROFDELTA_OK);
    collector c = {.calls = 0};
    pprofdelta_error err = {0};
    int64_t values[4] = {1, 1, 1, 1};
    pprofdelta_record record = {.values = values};
    CHECK(pprofdelta_recorder_add(r, &record, &err) == PPROFDELTA_E_USAGE && *err.text);
    pprofdelta_recording look = {.fraction = 2};
    CHECK(pprofdelta_recorder_begin(r, &look, NULL) == PPROFDELTA_E_USAGE);
    look.fraction = NAN;
    CHECK(pprofdelta_recorder_begin(r, &look, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_recorder_begin(r, NULL, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_recorder_add(r, NULL, NULL) == PPROFDELTA_E_USAGE);
    record.depth = 3;
    CHECK(pprofdelta_recorder_add(r, &record, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_recorder_write(r, collecting(&c), NULL, &err) == PPROFDELTA_E_USAGE &&
          !c.calls);
    pprofdelta_recorder_abandon(r);
    pprofdelta_recorder_free(r);
    pprofdelta_recorder_free(NULL);
}

TEST(the_clock_is_asked_where_nobody_tells_the_time)
{
    ENDS(record_end) record_scene s;
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
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Many stacks, as they are in a service, of which some move. Returns the status of the window. */
static pprofdelta_status fill(pprofdelta_recorder *r, size_t stacks, int64_t window)
{
    arena a = {0};
    collector c = {.bytes = buf_begin(&a)};
    pprofdelta_recording look = {.period = 524288, .time_nanos = window};
    pprofdelta_status status = pprofdelta_recorder_begin(r, &look, NULL);
    for (size_t i = 0; i < stacks && !status; i++) {
        const uint64_t stack[] = {i % 97, i / 97, 1, 2, 3};
        const int64_t moved = i % 100 == (size_t)window % 100 ? window : 0;
        const int64_t values[] = {10 + moved, 640 + 64 * moved, 0, 0};
        pprofdelta_record record = {.stack = stack, .depth = 5, .values = values, .block_size = 64};
        status = pprofdelta_recorder_add(r, &record, NULL);
    }
    if (!status)
        status = pprofdelta_recorder_write(r, collecting(&c), NULL, NULL);
    if (!status)
        pprofdelta_recorder_commit(r);
    arena_free(&a);
    return status;
}

TEST(an_entry_takes_at_most_64_bytes_and_the_steady_state_allocates_nothing)
{
    for (size_t stacks = 300; stacks < 40000; stacks += stacks / 3) {
        tracker memory = {0};
        pprofdelta_recorder *r = NULL;
        pprofdelta_recorder_options options = PPROFDELTA_RECORDER_OPTIONS_INIT;
        options.flags = PPROFDELTA_NO_MAPPINGS;
        options.on_reset = stacks % 2 ? PPROFDELTA_ON_RESET_AUTO : PPROFDELTA_ON_RESET_CLAMP;
        REQUIRE(pprofdelta_recorder_new(&options, tracking(&memory), &r, NULL) == PPROFDELTA_OK);
        size_t calls = 0;
        for (int64_t window = 1; window < 8; window++) {
            CHECK(fill(r, stacks, window) == PPROFDELTA_OK);
            calls = window == 3 ? memory.calls : calls;
        }
        CHECK_MSG(memory.calls == calls, "%zu allocations", memory.calls - calls);
        size_t bytes = recorder_ledger_bytes(r);
        CHECK(r->ledger.committed == stacks);
        CHECK_MSG(bytes <= 64 * stacks, "%zu bytes for %zu", bytes, stacks);
        pprofdelta_recorder_free(r);
        CHECK(memory.live == 0);
    }
}

/* ---- Records that have not changed ----------------------------------------------------------- */

/* 100 records, of which the 99th changes. A restart is ruled out after 51 of them, if it is looked for. */
TEST(a_record_that_has_not_changed_gets_no_row_and_is_soon_not_stored)
{
    static const pprofdelta_on_reset modes[] = {
        PPROFDELTA_ON_RESET_AUTO, PPROFDELTA_ON_RESET_RESTART, PPROFDELTA_ON_RESET_CLAMP,
        PPROFDELTA_ON_RESET_FAIL};
    static const size_t stored[] = {52, 100, 1, 1};
    for (size_t mode = 0; mode < 4; mode++) {
        ENDS(record_end) record_scene s;
        record_begin(&s);
        s.options.on_reset = modes[mode];
        for (int i = 0; i < 100; i++)
            record(&s, arena_format(&s.arena, "f%d main", i), 0, "9 90 0 0");
        record_window(&s);
        size_t each = s.recorder->arena.len / 100; /* the first window had all of them */
        record_set(&s, 98, "10 100 0 0");
        CHECK_STR(record_pending(&s), "f98;main 1 10 0 0");
        CHECK_MSG(s.recorder->window.len == 1, "%zu rows", s.recorder->window.len);
        CHECK_MSG(s.recorder->arena.len == stored[mode] * each, "%zu of %zu bytes each",
                  s.recorder->arena.len / each, each);
        CHECK(s.report.matched == 100 && s.report.samples_in == 100);
    }
}

/* Half of a counter is gone: a restart. With one more that is found again, it is none. */
TEST(records_that_have_not_changed_are_written_in_a_restart)
{
    static const struct {
        const char *base, *values, *want;
    } cases[] = {
        {"50 5 0 0", "0 0 0 0", "a 25 1 0 0, b;main 25 4 0 0"},
        {"49 4 0 0", "0 0 0 0", ""},
        {"49 6 0 0", "0 0 0 0", "a 25 1 0 0, b;main 25 4 0 0"},
        {"100 10 0 0", "50 5 0 0", ""},
        {"100 10 0 0", "24 9 0 0", "a 25 1 0 0, c 24 9 0 0, b;main 25 4 0 0"},
        {"-3 0 0 0", "0 0 0 0", ""},
        {"0x7fffffffffffffff 0 0 0", "49 0 0 0", "a 25 1 0 0, c 49 0 0 0, b;main 25 4 0 0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ENDS(record_end) record_scene s;
        record_begin(&s);
        record(&s, "a", 0, "25 1 0 0");
        record(&s, "c", 0, cases[i].base);
        record(&s, "b main", 0, "25 4 0 0");
        record_window(&s);
        record_set(&s, 1, cases[i].values);
        for (int attempt = 0; attempt < 2; attempt++) { /* the second one has all rows */
            CHECK_STR(record_pending(&s), cases[i].want);
            pprofdelta_recorder_abandon(s.recorder);
        }
        CHECK_STR(record_window(&s), cases[i].want);
        CHECK_STR(record_window(&s), "");
    }
}

/* Every record twice, the second time in another order and with something new. */
TEST(a_record_that_changes_when_it_comes_again_stands_where_it_came_first)
{
    ENDS(record_end) record_scene s;
    record_begin(&s);
    buf want = buf_begin(&s.arena);
    for (int i = 0; i < 100; i++) {
        record(&s, arena_format(&s.arena, "f%d main", i), 16, "9 90 0 0");
        buf_format(&want, "%sf%d;main{bytes=16bytes} 1 10 0 0", i ? ", " : "", i);
    }
    record_window(&s);
    for (int i = 0; i < 100; i++)
        record(&s, arena_format(&s.arena, "f%d main", i * 37 % 100), 16, "1 10 0 0");
    CHECK_STR(record_window(&s), buf_string(&want));
    CHECK(s.report.duplicates == 100);
    CHECK_STR(record_window(&s), "");
}

/* Masses that do not fit in 64 bits. */
TEST(a_third_of_a_huge_mass_is_less_than_half)
{
    ENDS(record_end) record_scene s;
    record_begin(&s);
    record(&s, "a", 0, "0x7fffffffffffffff 0 0 0");
    record(&s, "b", 0, "0x7fffffffffffffff 0 0 0");
    record(&s, "c", 0, "0x7fffffffffffffff 0 0 0");
    record_window(&s);
    CHECK_STR(record_next(&s, 2, "0 0 0 0"), "");
    CHECK(s.report.vanished == 1 && s.report.restart == PPROFDELTA_RESTART_NONE);
    CHECK_STR(record_next(&s, 1, "0 0 0 0"), "a 9223372036854775807 0 0 0");
}

/* What comes twice is not found again twice as much. */
TEST(a_record_that_comes_again_hides_no_restart)
{
    ENDS(record_end) record_scene s;
    record_begin(&s);
    record(&s, "a", 0, "50 0 0 0");
    record(&s, "c", 0, "60 0 0 0");
    record(&s, "b", 0, "3 0 0 0");
    record_window(&s);
    record(&s, "a", 0, "50 0 0 0");
    CHECK_STR(record_next(&s, 1, "0 0 0 0"), "a 100 0 0 0, b 3 0 0 0");
    CHECK(s.report.restart == PPROFDELTA_RESTART_MASS);
}

/* More than half was found again, and is taken back: nothing is stored that a restart could write. */
TEST(a_negative_record_that_comes_again_is_no_restart)
{
    ENDS(record_end) record_scene s;
    record_begin(&s);
    record(&s, "a", 0, "90 90 0 0");
    record(&s, "b", 0, "10 10 0 0");
    record_window(&s);
    record(&s, "a", 0, "-80 -80 0 0");
    CHECK_STR(record_window(&s), "");
    CHECK(s.report.restart == PPROFDELTA_RESTART_NONE && s.report.clamped == 1);
}

TEST(a_limit_is_kept)
{
    pprofdelta_status status = PPROFDELTA_E_LIMIT;
    pprofdelta_recorder_options options = PPROFDELTA_RECORDER_OPTIONS_INIT;
    options.max_memory = 1024;
    for (; status && options.max_memory < UINT64_C(1) << 32;
         options.max_memory += options.max_memory / 4) {
        pprofdelta_recorder *r = NULL;
        status = pprofdelta_recorder_new(&options, NULL, &r, NULL);
        if (!status)
            status = fill(r, 300, 1);
        CHECK(!r || r->mem.peak <= options.max_memory);
        CHECK(!status || status == PPROFDELTA_E_LIMIT);
        pprofdelta_recorder_free(r);
    }
    CHECK(!status);
}

TEST_MAIN()

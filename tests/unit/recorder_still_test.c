/* Records that stand still get no row and are soon forgotten; and come out all the same, in order,
 * when it turns out that counting began anew, or when they come a second time and move. */
#include "record_scene.h"
#include "test.h"

TEST(a_restart_wakes_what_stood_still)
{
    record_scene s;
    record_begin(&s);
    record(&s, "b main", 16, "5 5 0 0");
    record(&s, "a main", 0, "1000 1000 0 0");
    record(&s, "c main", 0, "7 7 0 0");
    record_window(&s);
    record_set(&s, 1, "10 10 0 0");
    for (int i = 0; i < 2; i++) { /* the second one begins where the first did */
        CHECK_STR(record_pending(&s),
                  "b;main {bytes=16} 5 5 0 0, a;main 10 10 0 0, c;main 7 7 0 0");
        CHECK(s.report.restart == PPROFDELTA_RESTART_MASS && s.report.samples_out == 3);
        pprofdelta_recorder_abandon(s.recorder);
    }
    CHECK_STR(record_window(&s), "b;main {bytes=16} 5 5 0 0, a;main 10 10 0 0, c;main 7 7 0 0");
    CHECK_STR(record_window(&s), "");
    record_end(&s);
}

TEST(a_restart_is_written_twice_if_asked)
{
    record_scene s;
    record_begin(&s);
    record(&s, "a", 0, "5 5 0 0");
    record(&s, "b", 0, "1000 1000 0 0");
    record_window(&s);
    record_set(&s, 1, "1 1 0 0");
    CHECK_STR(record_pending(&s), "a 5 5 0 0, b 1 1 0 0");
    collector again = {.bytes = buf_begin(&s.arena)};
    pprofdelta_sink sink = collector_sink(&again);
    CHECK(pprofdelta_recorder_write(s.recorder, &sink, NULL, NULL) == PPROFDELTA_OK);
    CHECK(again.bytes.len == s.bytes.len && memcmp(again.bytes.ptr, s.bytes.ptr, s.bytes.len) == 0);
    pprofdelta_recorder_commit(s.recorder);
    record_end(&s);
}

/* A restart that wakes two, written while the nth allocation fails and once more: what came of
 * it. */
static buf restart_written_twice(record_scene *s, size_t nth)
{
    record_begin(s);
    record(s, "a", 0, "5 5 0 0");
    record(s, "b", 0, "6 6 0 0");
    record(s, "c", 0, "1000 1000 0 0");
    record_window(s);
    record_set(s, 0, "1 1 0 0");
    record_set(s, 2, "1 1 0 0");
    s->memory.fail_at = nth ? s->memory.calls + nth : 0;
    s->memory.is_alone = true;
    record_pending(s);
    if (!s->status)
        return s->bytes;
    collector again = {.bytes = buf_begin(&s->arena)};
    pprofdelta_sink sink = collector_sink(&again);
    s->status = pprofdelta_recorder_write(s->recorder, &sink, NULL, NULL);
    return again.bytes;
}

TEST(a_restart_for_which_there_was_no_memory_is_written_the_same)
{
    record_scene calm;
    buf want = restart_written_twice(&calm, 0);
    size_t written = 0;
    bool refused = true;
    for (size_t nth = 1; refused; nth++) {
        record_scene s;
        buf got = restart_written_twice(&s, nth);
        refused = s.memory.refused > 0;
        written += refused && !s.status; /* else a record is missing */
        CHECK_MSG(s.status || (got.len == want.len && !memcmp(got.ptr, want.ptr, want.len)),
                  "allocation %zu", nth);
        record_end(&s);
    }
    CHECK(written > 0);
    record_end(&calm);
}

/* Half of the mass and more stands still before the others come: nothing of it is kept any more. */
TEST(where_most_stands_still_a_decrease_is_a_decrease)
{
    record_scene s;
    record_begin(&s);
    for (int i = 0; i < 50; i++)
        record(&s, arena_format(&s.arena, "f%d", i), 0, "100 100 0 0");
    record(&s, "a", 0, "1000 1000 0 0");
    record_window(&s);
    CHECK_STR(record_next(&s, 50, "10 10 0 0"), "");
    CHECK(s.report.restart == PPROFDELTA_RESTART_NONE && s.report.clamped == 1);
    CHECK(s.report.matched == 51);
    CHECK_STR(record_next(&s, 50, "1001 1001 0 0"), "a 1 1 0 0");
    record_end(&s);
}

TEST(any_mode_sees_the_same_increments)
{
    static const pprofdelta_on_reset modes[] = {PPROFDELTA_ON_RESET_AUTO, PPROFDELTA_ON_RESET_CLAMP,
                                                PPROFDELTA_ON_RESET_RESTART,
                                                PPROFDELTA_ON_RESET_FAIL};
    for (size_t mode = 0; mode < 4; mode++) {
        record_scene s;
        record_begin(&s);
        s.options.on_reset = modes[mode];
        record(&s, "a", 0, "5 5 0 0");
        record(&s, "b", 0, "5 5 1 1");
        record(&s, "c", 0, "5 5 0 0");
        record_window(&s);
        record_set(&s, 2, "6 6 0 0");
        CHECK_STR(record_window(&s), "b 0 0 1 1, c 1 1 0 0");
        record_set(&s, 0, "4 4 0 0");
        static const char *const want[] = {"b 0 0 1 1", "b 0 0 1 1",
                                           "a 4 4 0 0, b 5 5 1 1, c 6 6 0 0",
                                           "[a counter went backwards]"};
        CHECK_STR(record_window(&s), want[mode]);
        record_end(&s);
    }
}

/* Every record twice, the second time the other way round and with something new. */
TEST(what_moves_late_stands_where_it_came_first)
{
    record_scene s;
    record_begin(&s);
    buf want = buf_begin(&s.arena);
    for (int i = 0; i < 100; i++) {
        record(&s, arena_format(&s.arena, "f%d main", i), 0, "9 90 0 0");
        buf_format(&want, "%sf%d;main 1 10 0 0", i ? ", " : "", i);
    }
    record_window(&s);
    for (int i = 100; i-- > 0;)
        record(&s, arena_format(&s.arena, "f%d main", i), 0, "1 10 0 0");
    CHECK_STR(record_window(&s), buf_string(&want));
    CHECK(s.report.duplicates == 100);
    CHECK_STR(record_window(&s), "");
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

TEST_MAIN(CASE(a_restart_wakes_what_stood_still), CASE(a_restart_is_written_twice_if_asked),
          CASE(a_restart_for_which_there_was_no_memory_is_written_the_same),
          CASE(where_most_stands_still_a_decrease_is_a_decrease),
          CASE(any_mode_sees_the_same_increments), CASE(what_moves_late_stands_where_it_came_first),
          CASE(what_is_hidden_later_is_hidden))

/* Which files are windows of which run: every film is a list of files and the plan for them. */
#include "leaks/leaks_order.h"

#include "test.h"

#include <stdbool.h>

enum { MOST = 8 };

static cli_leaks_file files[MOST];
static size_t files_len;
static cli_leaks_order_report report; /* of the last plan */

static cli_leaks_file *add(const char *name, int64_t time)
{
    cli_leaks_file *file = &files[files_len];
    *file = (cli_leaks_file){.place.path = name, .operand = files_len++, .time_nanos = time};
    file->stamp.to_nanos = time;
    return file;
}

/* A batch of a live heap; its window began at the time before. */
static void batch(const char *name, uint64_t id, uint64_t epoch, uint64_t sequence,
                  uint64_t attempt, pprofdelta_live live)
{
    cli_leaks_file *file = add(name, (int64_t)sequence * 10);
    file->stamp.live = live;
    file->stamp.is_delta = live != PPROFDELTA_LIVE_FULL;
    file->stamp.id = id;
    file->stamp.epoch = epoch;
    file->stamp.first = file->stamp.sequence = sequence;
    file->stamp.attempt = attempt;
    file->stamp.from_nanos = (int64_t)(sequence - 1) * 10;
}

/* "a0 b0 c1!": the path, the run, and ! for a file that is there again, ? for a gap. */
static const char *plan(void)
{
    static char text[128];
    size_t len = 0;
    report = cli_leaks_order(files, files_len);
    for (size_t i = 0; i < files_len; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s%zu%s", i ? " " : "",
                                files[i].place.path, files[i].run,
                                files[i].role == CLI_LEAKS_AGAIN ? "!"
                                : files[i].role == CLI_LEAKS_GAP ? "?"
                                                                 : "");
    files_len = 0;
    return text;
}

static const pprofdelta_live FULL = PPROFDELTA_LIVE_FULL, DELTA = PPROFDELTA_LIVE_DELTA,
                             WINDOW = PPROFDELTA_LIVE_WINDOW;

TEST(times_are_the_order)
{
    add("a", 1), add("b", 2), add("c", 3);
    CHECK_STR(plan(), "a0 b0 c0");
    CHECK(!report.moved && !report.again && !report.gaps);
    add("c", 3), add("a", 1), add("b", 2);
    CHECK_STR(plan(), "a0 b0 c0");
    CHECK(report.moved == 2);
}

TEST(equal_times)
{
    add("a", 1), add("b", 2), add("c", 2);
    CHECK_STR(plan(), "a0 b0! c0");
    CHECK(report.again == 1);
    add("a", 0), add("b", 0);
    CHECK_STR(plan(), "a0 b0");
}

TEST(changes_join)
{
    batch("b", 7, 1, 2, 1, DELTA), batch("a", 7, 1, 1, 1, FULL), batch("c", 7, 1, 3, 1, DELTA);
    CHECK_STR(plan(), "a0 b0 c0");
    CHECK(report.moved == 1 && !report.gaps);
}

TEST(a_batch_is_missing)
{
    batch("a", 7, 1, 1, 1, FULL), batch("c", 7, 1, 3, 1, DELTA), batch("d", 7, 1, 4, 1, DELTA);
    batch("e", 7, 2, 5, 1, FULL), batch("f", 7, 2, 6, 1, DELTA);
    CHECK_STR(plan(), "a0 c0? d0? e0 f0");
    CHECK(report.gaps == 2);
    batch("b", 7, 1, 2, 1, DELTA);
    CHECK_STR(plan(), "b0?");
}

TEST(windows_need_no_base)
{
    batch("b", 7, 1, 2, 1, WINDOW), batch("d", 7, 1, 4, 1, WINDOW);
    CHECK_STR(plan(), "b0 d0");
}

TEST(the_highest_attempt_counts)
{
    batch("a", 7, 1, 1, 1, FULL), batch("B", 7, 1, 2, 2, DELTA), batch("b", 7, 1, 2, 1, DELTA);
    batch("c", 7, 1, 3, 1, DELTA);
    CHECK_STR(plan(), "a0 b0! B0 c0");
    CHECK(report.again == 1);
}

TEST(processes_are_runs)
{
    batch("x", 9, 1, 3, 1, FULL), batch("a", 7, 1, 4, 1, FULL), batch("y", 9, 1, 4, 1, DELTA);
    add("g", 5);
    CHECK_STR(plan(), "g0 x1 y1 a2");
}

/* The plan is the same whatever the order on the command line is. */
TEST(every_order)
{
    static const char *const paths[] = {"a", "b", "c", "d"};
    for (unsigned n = 0; n < 256; n++) {
        bool used[4] = {false};
        unsigned rest = n, distinct = 0;
        for (int i = 0; i < 4; i++, rest /= 4) {
            distinct += !used[rest % 4];
            used[rest % 4] = true;
        }
        if (distinct < 4)
            continue;
        rest = n;
        for (int i = 0; i < 4; i++, rest /= 4) {
            unsigned at = rest % 4;
            batch(paths[at], at < 2 ? 1 : 2, 1, 1 + at % 2, 1, at % 2 ? DELTA : FULL);
        }
        CHECK_STR(plan(), "a0 b0 c1 d1");
    }
}

TEST_MAIN()

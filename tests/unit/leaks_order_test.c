/* Which files are windows of which run: every film of tables/leaks.txt is a list of files and the plan for them. */
#include "leaks/leaks_order.h"

#include "rng.h"
#include "rows.h"
#include "test.h"

#include <stdlib.h>

enum { MOST = 8 };

static cli_leaks_file files[MOST];
static cli_leaks_order_report report; /* of the last plan */

/* Returns the number of files. Times are those of the sequence, by ten. */
static size_t read_film(const char *text)
{
    static char paths[MOST][2];
    size_t len = 0;
    for (; *text; text += strcspn(text, " "), text += *text == ' ', len++) {
        unsigned id = 0, epoch = 0, sequence = 0, attempt = 0;
        char live = 0;
        paths[len][0] = text[0];
        files[len] = (cli_leaks_file){.place.path = paths[len], .operand = len};
        pprofdelta_stamp *stamp = &files[len].stamp;
        // NOLINTNEXTLINE(cert-err34-c): the texts are the test's
        if (sscanf(text + 2, "%u/%u.%u.%u%c", &id, &epoch, &sequence, &attempt, &live) == 5) {
            stamp->live = live == 'F'   ? PPROFDELTA_LIVE_FULL
                          : live == 'D' ? PPROFDELTA_LIVE_DELTA
                                        : PPROFDELTA_LIVE_WINDOW;
            stamp->is_delta = live != 'F';
            stamp->id = id;
            stamp->epoch = epoch;
            stamp->first = stamp->sequence = sequence;
            stamp->attempt = attempt;
            stamp->from_nanos = ((int64_t)sequence - 1) * 10;
            stamp->to_nanos = (int64_t)sequence * 10;
        } else {
            stamp->to_nanos = strtol(text + 2, NULL, 10);
        }
        files[len].time_nanos = stamp->to_nanos;
    }
    return len;
}

/* "a0 b0 c1!": the path, the run, and ! for a file that is there again, ? for a gap. */
static const char *plan(size_t files_len)
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
    return text;
}

static unsigned long number(const char *text)
{
    return strtoul(text, NULL, 10);
}

TEST(each_film_has_its_plan)
{
    table_rows r = {0};
    while (rows_next(&r, "leaks", "orders")) {
        CHECK_STR(plan(read_film(r.cells[0])), r.cells[1]);
        CHECK_MSG(report.moved == number(r.cells[2]) && report.again == number(r.cells[3]) &&
                      report.gaps == number(r.cells[4]),
                  "%s", r.cells[0]);
    }
}

/* The plan is the same whatever the order on the command line is. */
TEST(every_order)
{
    rng r = {1};
    for (int round = 0; round < 100; round++) {
        size_t order[] = {0, 1, 2, 3};
        cli_leaks_file sorted[4];
        rng_shuffle(&r, order, 4);
        REQUIRE(read_film("a:1/1.1.1F b:1/1.2.1D c:2/1.1.1F d:2/1.2.1D") == 4);
        memcpy(sorted, files, sizeof sorted);
        for (size_t i = 0; i < 4; i++)
            files[i] = sorted[order[i]];
        CHECK_STR(plan(4), "a0 b0 c1 d1");
    }
}

static double digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

TEST(where_a_program_begins_to_end)
{
    table_rows r = {0};
    while (rows_next(&r, "leaks", "ends")) {
        cli_leaks_pace windows[32];
        const char *in_use = r.cells[0], *pace = r.cells[1];
        size_t len = strlen(in_use);
        double made = 0;
        for (size_t k = 0; k < len; k++) {
            made += *pace ? digit(pace[k]) : 0;
            windows[k] = (cli_leaks_pace){(double)k, digit(in_use[k]), *pace ? made : -1};
        }
        size_t end = cli_leaks_end_of(windows, len);
        CHECK_MSG(end == number(r.cells[2]), "%s: %zu", in_use, end);
    }
}

TEST(windows_that_repeat)
{
    cli_leaks_pace windows[] = {{0, 5, 9},  {1, 5, 9},  {2, 5, 9}, {3, 5, 10},
                                {4, 6, 10}, {5, 6, -1}, {6, 6, -1}};
    static const size_t fresh[] = {0, 1, 1, 1, 2, 3, 4, 5};
    for (size_t i = 0; i < sizeof fresh / sizeof *fresh; i++)
        CHECK(cli_leaks_count_fresh(windows, i) == fresh[i]);
}

TEST_MAIN()

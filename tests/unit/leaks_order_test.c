/* Which files are windows of which run: every film is a list of files and the plan for them. */
#include "leaks/leaks_order.h"

#include "rng.h"
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

/* A file is "PATH@TIME", or a batch, "PATH:ID/EPOCH.SEQUENCE.ATTEMPT" with F (full), D (changes) or W (a window). */
static const struct {
    const char *film, *plan;
    size_t moved, again, gaps;
} rows[] = {
    {"a@1 b@2 c@3", "a0 b0 c0", 0, 0, 0},
    {"c@3 a@1 b@2", "a0 b0 c0", 2, 0, 0},
    {"a@1 b@2 c@2", "a0 b0! c0", 0, 1, 0},
    {"a@0 b@0", "a0 b0", 0, 0, 0}, /* nobody knows the times */
    {"b:7/1.2.1D a:7/1.1.1F c:7/1.3.1D", "a0 b0 c0", 1, 0, 0},
    {"a:7/1.1.1F c:7/1.3.1D d:7/1.4.1D e:7/2.5.1F f:7/2.6.1D", "a0 c0? d0? e0 f0", 0, 0, 2},
    {"b:7/1.2.1D", "b0?", 0, 0, 1},
    {"b:7/1.2.1W d:7/1.4.1W", "b0 d0", 0, 0, 0}, /* windows need no base */
    {"a:7/1.1.1F B:7/1.2.2D b:7/1.2.1D c:7/1.3.1D", "a0 b0! B0 c0", 0, 1, 0},
    {"x:9/1.3.1F a:7/1.4.1F y:9/1.4.1D g@5", "g0 x1 y1 a2", 0, 0, 0}, /* each run is in order */
};

TEST(each_film_has_its_plan)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_STR(plan(read_film(rows[i].film)), rows[i].plan);
        CHECK_MSG(report.moved == rows[i].moved && report.again == rows[i].again &&
                      report.gaps == rows[i].gaps,
                  "%s", rows[i].film);
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

/* What is in use at the end of each window, as digits, and where the program begins to end; behind a slash, how
 * fast it allocates. */
static const struct {
    const char *in_use, *pace;
    size_t end;
} ends[] = {
    {"0123456789abcdef", "9999999999999999", 16},
    {"0123456789abcde5", "9999999999999999", 15},       /* the last window */
    {"0123456789abcc83000", "9999999999999993100", 14}, /* a drain */
    {"0123456789abcdefa5000", "999999999999999921000", 16},
    {"0123456789abcdefa5000", "999999999999999999999", 21}, /* it goes on: that was a sawtooth */
    {"0123456789abcdef01234", "999999999999999911111", 21}, /* it fills again */
    {"0123456789abcdefa5000", "", 16},                      /* without a counter */
    {"zzzz0123456789abcdef", "99999999999999999999",
     20}, /* a start-up that is larger than all later */
    {"zzzz00000000000000000000", "999911111111111111111111", 24}, /* the fall is too far away */
    {"9999999999999999", "9999999999999999", 16},
    {"8989898989898989", "9999999999999999", 16},
    {"8989898989898998", "9999999999999999", 15},
    {"0123456789hgfe", "99999999991000", 11}, /* to a part that is not small */
    {"0123467520", "9999991110", 7},
    {"012398765", "999991111", 6},                  /* not less than a verdict needs */
    {"012395000", "999991111", 5},                  /* unless nearly all is freed */
    {"0123456789abcde20", "99999999999999991", 15}, /* it worked until it began to free */
    {"0123456789abcde20", "99999999999999999", 16}, /* it goes on */
    {"0123456789abcdeca", "99999999999999991", 16}, /* much is left */
    {"012345", "999999", 6},
    {"543210", "999999", 6},
    {"0", "9", 1},
    {"", "", 0},
};

static double digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

TEST(where_a_program_begins_to_end)
{
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        cli_leaks_pace windows[32];
        size_t len = strlen(ends[i].in_use);
        double made = 0;
        for (size_t k = 0; k < len; k++) {
            made += *ends[i].pace ? digit(ends[i].pace[k]) : 0;
            windows[k] =
                (cli_leaks_pace){(double)k, digit(ends[i].in_use[k]), *ends[i].pace ? made : -1};
        }
        CHECK_MSG(cli_leaks_end_of(windows, len) == ends[i].end, "%s: %zu", ends[i].in_use,
                  cli_leaks_end_of(windows, len));
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

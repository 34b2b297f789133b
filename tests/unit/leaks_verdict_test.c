/* The decision of `pprofdelta leaks`: every row of tables/leaks.txt is a series, and what it is taken for. And the rules by age. The bench
 * leaks_power has the error rates of both. */
#include "leaks/leaks_verdict.h"

#include "rows.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { P = CLI_LEAKS_POINTS };

/* A row of tables/leaks.txt. */
typedef struct row {
    const char *what, *levels;
    double scale; /* samples for one step of a digit */
    double churn; /* samples that are allocated and freed in each window */
    const char *kind, *reason;
} row;

static bool next_row(table_rows *r, row *out)
{
    bool is_there = rows_next(r, "leaks", "verdicts");
    if (is_there)
        *out = (row){r->cells[0],       r->cells[1], atof(r->cells[2]), /* NOLINT(cert-err34-c) */
                     atof(r->cells[3]), r->cells[4], r->cells[5]};      /* NOLINT(cert-err34-c) */
    return is_there;
}

static double digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static double seconds[P], levels[P], allocated[P], work[P];

static cli_leaks_series make(const row *r, double weight, double tests)
{
    size_t len = strlen(r->levels);
    double made = 0;
    for (size_t i = 0; i < len; i++) {
        double level = digit(r->levels[i]) * r->scale, last = i ? levels[i - 1] / weight : 0;
        made += (level > last ? level - last : 0) + r->churn;
        seconds[i] = (double)i * 60;
        levels[i] = level * weight;
        allocated[i] = made * weight;
    }
    return (cli_leaks_series){.len = len,
                              .seconds = seconds,
                              .levels = levels,
                              .allocated = allocated,
                              .weight = weight,
                              .tests = tests};
}

static const row *named(const char *what)
{
    static table_rows r;
    static row found;
    r = (table_rows){0};
    do
        if (!next_row(&r, &found))
            abort();
    while (strcmp(found.what, what) != 0);
    fclose(r.file);
    return &found;
}

static void check_rows(double weight)
{
    table_rows r = {0};
    row one;
    while (next_row(&r, &one)) {
        cli_leaks_series series = make(&one, weight, 100);
        cli_leaks_verdict v = cli_leaks_judge(&series);
        const char *kind = cli_leaks_kinds[v.kind].word, *reason = cli_leaks_reasons[v.reason].word;
        CHECK_MSG(!strcmp(kind, one.kind) && !strcmp(reason, one.reason), "%s: is %s (%s), not %s",
                  one.what, kind, reason, one.reason);
    }
}

TEST(the_table)
{
    check_rows(1);
}

TEST(the_unit_does_not_matter)
{
    check_rows(512 << 10);
    check_rows(1e-3);
}

TEST(a_longer_time_is_a_lower_slope)
{
    cli_leaks_series series = make(named("a leak"), 1, 1);
    cli_leaks_verdict before = cli_leaks_judge(&series);
    CHECK(fabs(before.slope - 10 / 60.0) < 1e-9);
    for (size_t i = 0; i < series.len; i++)
        seconds[i] *= 60;
    cli_leaks_verdict after = cli_leaks_judge(&series);
    CHECK(after.kind == before.kind && fabs(after.slope * 60 - before.slope) < 1e-9);
    CHECK(after.doubt == before.doubt);
}

TEST(one_wild_point_moves_no_slope)
{
    cli_leaks_series series = make(named("a leak"), 1, 1);
    double before = cli_leaks_judge(&series).slope;
    levels[10] += 1000;
    CHECK(fabs(cli_leaks_judge(&series).slope - before) < before / 4);
}

/* Points are missing where the account of the resident memory would take too long. */
TEST(what_grows_in_a_gap_is_no_step)
{
    cli_leaks_series series = make(named("a leak"), 1, 1);
    for (size_t i = 12; i < series.len; i++) {
        seconds[i] += 60 * 60;
        levels[i] += 10 * 60;
        allocated[i] += 10 * 60;
    }
    cli_leaks_verdict v = cli_leaks_judge(&series);
    CHECK_MSG(v.kind != CLI_LEAKS_NONE, "%s", cli_leaks_reasons[v.reason].word);
    for (size_t i = 12; i < series.len; i++)
        seconds[i] -= 60 * 60;
    CHECK(cli_leaks_judge(&series).reason == CLI_LEAKS_STEP);
}

TEST(more_series_leave_more_doubt)
{
    cli_leaks_series series = make(named("a leak of some samples"), 2, 1);
    double one = cli_leaks_judge(&series).doubt;
    series.tests = 10;
    CHECK(fabs(cli_leaks_judge(&series).doubt / one - 10) < 1e-6);
    series.tests = 1e30;
    CHECK(cli_leaks_judge(&series).doubt == 1);
}

/* Among few stacks, little growth may be one; among many it is what chance makes somewhere. */
TEST(a_little_growth_is_unknown_among_few_stacks)
{
    cli_leaks_series series = make(named("the same with falls"), 1, 1);
    for (int i = 0; i < 10; i++) {
        series.tests = 1 << i;
        cli_leaks_verdict v = cli_leaks_judge(&series);
        CHECK(v.growth < 3 * v.noise);
        CHECK(v.reason == (v.doubt <= cli_leaks_doubt_limit ? CLI_LEAKS_STEADY_GROWTH
                           : v.doubt < 0.1                  ? CLI_LEAKS_UNSURE
                                                            : CLI_LEAKS_FLAT));
    }
    CHECK(series.tests > 100 && cli_leaks_judge(&series).reason == CLI_LEAKS_FLAT);
    series.tests = 8;
    CHECK(cli_leaks_judge(&series).kind == CLI_LEAKS_UNKNOWN);
}

/* Two series that were called clean, in MiB; the stack and the sum of a caller, with what was
 * allocated and freed there. A sample stands for half a MiB. */
TEST(growth_without_a_fall_is_not_clean)
{
    static const double stack[] = {0, 5.5, 7.5, 9, 12, 13.5, 15.1, 18.1, 24, 24};
    static const double sum[] = {23.5, 24.2, 26.6, 36.2, 43.8, 47.3, 48.6, 46.7, 52.3, 55.3};
    for (int churn = 0; churn <= 1000; churn += 5) {
        cli_leaks_series series = {10, seconds, levels, allocated, NULL, 0.5, 15};
        for (size_t i = 0; i < 10; i++) {
            seconds[i] = (double)i * 10;
            levels[i] = stack[i];
            allocated[i] = stack[i] + (double)i * churn;
        }
        for (int i = 0; i < 2; i++, series.levels = sum) {
            cli_leaks_verdict v = cli_leaks_judge(&series);
            CHECK_MSG(v.kind != CLI_LEAKS_NONE, "churn %d: %s, growth %g, noise %g, doubt %g",
                      churn, cli_leaks_reasons[v.reason].word, v.growth, v.noise, v.doubt);
        }
    }
}

/* Growth above the smallest leak that is a suspect is not clean if it is one of few objects. */
TEST(growth_above_the_power)
{
    static const struct {
        const char *levels;
        double smallest;
        cli_leaks_kind kind;
    } series_of[] = {
        {"02468aceghikmoqs", 20, CLI_LEAKS_UNKNOWN},
        {"02468aceghikmoqs", 40, CLI_LEAKS_NONE},
        {"000888ggggoooooo", 20, CLI_LEAKS_UNKNOWN}, /* in three objects */
        {"000888888ooooooo", 20, CLI_LEAKS_UNKNOWN}, /* most of it at once */
        {"048cgkkkkkkkooon", 20, CLI_LEAKS_UNKNOWN}, /* more slowly, so far */
        {"00000000oooooooo", 20, CLI_LEAKS_NONE},    /* in one */
        {"48cgkooooooooooo", 20, CLI_LEAKS_NONE},    /* before the judged part */
        {"0a5f2c8a4f9d6f8e", 5, CLI_LEAKS_NONE},     /* up and down */
        {"s8", 5, CLI_LEAKS_NONE},
    };
    for (size_t i = 0; i < sizeof series_of / sizeof *series_of; i++) {
        const row of = {"", series_of[i].levels, 1, 0, "none", "flat"};
        cli_leaks_series series = make(&of, 1, 1e6);
        series.weight = 8;
        cli_leaks_verdict v = cli_leaks_judge(&series);
        CHECK_MSG(v.kind == CLI_LEAKS_NONE, "%s: %s", of.levels, cli_leaks_reasons[v.reason].word);
        cli_leaks_doubt_growth(&series, series_of[i].smallest, &v);
        CHECK_MSG(v.kind == series_of[i].kind, "%s: %s", of.levels,
                  cli_leaks_reasons[v.reason].word);
    }
}

/* What grows ever more slowly by time is a leak in a program that slows down, and filled or slowing
 * in a program that does not. */
TEST(a_program_that_slows_down)
{
    cli_leaks_series series = make(named("a leak"), 1, 100);
    for (size_t i = 0; i < series.len; i++)
        levels[i] = allocated[i] = 1000 * (1 - exp(-(double)i / 8));
    CHECK(cli_leaks_judge(&series).reason == CLI_LEAKS_SLOWING);
    series.work = work;
    for (size_t i = 0; i < series.len; i++)
        work[i] = 3 * levels[i];
    CHECK(cli_leaks_judge(&series).reason == CLI_LEAKS_STEADY_GROWTH);
    for (size_t i = 0; i < series.len; i++)
        work[i] = levels[i] / 100; /* too little to measure with */
    CHECK(cli_leaks_judge(&series).reason == CLI_LEAKS_SLOWING);
    for (size_t i = 0; i < series.len; i++)
        work[i] = (double)i * 1000;
    CHECK(cli_leaks_judge(&series).reason == CLI_LEAKS_SLOWING);
    for (size_t i = 0; i < series.len; i++) {
        levels[i] = 10000 * (1 - exp(-(double)i / 3));
        allocated[i] = levels[i] + (double)i * 1e5;
    }
    CHECK(cli_leaks_judge(&series).reason == CLI_LEAKS_FILLED);
    for (size_t i = 0; i < series.len; i++)
        work[i] = 3 * levels[i];
    CHECK(cli_leaks_judge(&series).reason == CLI_LEAKS_SLOWING);
}

TEST(the_smallest_leak)
{
    cli_leaks_series series = make(named("a leak"), 1, 100);
    double one = cli_leaks_smallest(&series);
    CHECK_MSG(one > 40 && one < 80, "%g samples", one);
    series.weight = 1000;
    CHECK(fabs(cli_leaks_smallest(&series) - one * 1000) < 1e-6);
    series.weight = 1;
    series.tests = 1000;
    CHECK(cli_leaks_smallest(&series) > one);
    series.len = CLI_LEAKS_LEAST_POINTS - 1;
    CHECK(isinf(cli_leaks_smallest(&series)));
}

TEST(without_allocations_there_is_more_noise)
{
    cli_leaks_series series = make(named("a leak"), 1, 100);
    cli_leaks_verdict with = cli_leaks_judge(&series);
    series.allocated = NULL;
    cli_leaks_verdict without = cli_leaks_judge(&series);
    CHECK(without.noise > with.noise);
    CHECK(without.kind == CLI_LEAKS_SUSPECT);
}

/* Hostile values: a verdict is given, and no number is NaN but where the input is beyond doubles. */
TEST(extreme_values)
{
    static const double values[] = {0, 1, -1, 9e18, -9e18};
    unsigned long made = 0;
    for (unsigned n = 0; n < 5 * 5 * 5 * 5 * 5 * 5; n++) {
        unsigned rest = n;
        for (size_t i = 0; i < 6; i++, rest /= 5) {
            levels[i] = values[rest % 5];
            allocated[i] = values[(rest / 5) % 5];
            seconds[i] = n % 7 ? (double)i : 0;
        }
        cli_leaks_series series = {.len = 6,
                                   .seconds = seconds,
                                   .levels = levels,
                                   .allocated = allocated,
                                   .work = n % 2 ? allocated : NULL,
                                   .weight = 1,
                                   .tests = 10};
        cli_leaks_verdict v = cli_leaks_judge(&series);
        made += v.kind <= CLI_LEAKS_SUSPECT && !isnan(v.slope) && !isnan(v.doubt) &&
                (v.kind != CLI_LEAKS_SUSPECT || v.growth > 0);
    }
    CHECK(made == 15625);
}

/* The size of the mappings of an area that grew by 8, in digits. */
TEST(what_is_mapped_again)
{
    static const struct {
        const char *mapped;
        bool is_again;
    } areas[] = {
        {"999999999999999999", false}, /* one that fills */
        {"11111111111111111z", false}, /* made at the end */
        {"111111119999999999", false}, /* replaced by a larger one */
        {"115555555999999999", false}, /* a pool of three, one of them in the start-up */
        {"123456789999999999", false}, /* a pool that was complete after the start-up */
        {"777777777888899999", false}, /* most of the growth is not of new mappings */
        {"123456789abcdefghi", true},  /* in each window */
        {"111155559999dddhhh", true},  /* in large chunks */
        {"111111123344556789", true},  /* since the start-up */
        {"123456", true},
        {"111123", false},
    };
    for (size_t i = 0; i < sizeof areas / sizeof *areas; i++) {
        size_t len = strlen(areas[i].mapped);
        for (size_t k = 0; k < len; k++)
            levels[k] = digit(areas[i].mapped[k]);
        double growth = len == 6 ? 3 : 8;
        CHECK_MSG(cli_leaks_is_mapped_again(levels, len, growth) == areas[i].is_again, "%s",
                  areas[i].mapped);
    }
    CHECK(cli_leaks_kind_of(CLI_LEAKS_TOUCHED) == CLI_LEAKS_UNKNOWN);
}

TEST(every_reason_has_words)
{
    for (int i = 0; i <= CLI_LEAKS_SHRINKING; i++) {
        CHECK(*cli_leaks_reasons[i].word);
        CHECK(*cli_leaks_reasons[i].text);
    }
    CHECK_STR(cli_leaks_kinds[CLI_LEAKS_NONE].word, "none");
}

/* ---- by age ---------------------------------------------------------------------------------- */

enum { T = 18 };

static cli_leaks_verdict judge_lives(const cli_leaks_cohorts *cohorts, size_t points, double tests)
{
    for (size_t i = 0; i < CLI_LEAKS_POINTS; i++) {
        seconds[i] = (double)i;
        levels[i] = cohorts->in_use[i];
    }
    const cli_leaks_series series = {points, seconds, levels, NULL, NULL, 1, tests};
    cli_leaks_verdict by_slope = cli_leaks_judge(&series);
    return cli_leaks_judge_lives(&series, cohorts, &by_slope);
}

/* `each` samples in a point stay, and `churn` others are freed after `life` points. */
static cli_leaks_cohorts make_lives(float each, float churn, size_t life)
{
    cli_leaks_cohorts c;
    memset(&c, 0, sizeof c);
    for (size_t i = 0; i < T; i++) {
        c.births[i] = each + churn;
        if (i + life < T)
            c.deaths[cli_leaks_cell(i, i + life)] = churn;
        c.in_use[i] = each * (float)(i + 1) + churn * (float)(i < life ? i + 1 : life);
    }
    return c;
}

TEST(a_leak_of_30_samples_is_named_among_1000_stacks)
{
    cli_leaks_cohorts c = make_lives(30.0F / T, 0, 1), below = make_lives(30.0F / T, 1000, 0);
    CHECK(judge_lives(&c, T, 1000).reason == CLI_LEAKS_SURVIVES);
    CHECK(judge_lives(&below, T, 1000).reason == CLI_LEAKS_SURVIVES);
    CHECK(judge_lives(&c, T, 1000).evidence.freed == 0 &&
          judge_lives(&c, T, 1000).evidence.age == 4);
    CHECK(judge_lives(&c, CLI_LEAKS_LEAST_POINTS - 1, 1).reason == CLI_LEAKS_FEW_POINTS);
}

TEST(fewer_samples_are_never_called_flat)
{
    for (int i = 1; i <= 16; i++) {
        float each = 0.06F * (float)i;
        cli_leaks_cohorts c = make_lives(each, 0, 1);
        cli_leaks_verdict v = judge_lives(&c, T, 1000);
        bool has_none = each * T < 1.2F;
        CHECK_MSG(has_none || v.reason == CLI_LEAKS_FEW_SAMPLES, "%g: %s", (double)(each * T),
                  cli_leaks_reasons[v.reason].word);
        CHECK(has_none || v.evidence.longer > 1);
    }
}

TEST(what_is_freed_is_no_leak)
{
    for (size_t life = 0; life < 6; life++) {
        cli_leaks_cohorts c = make_lives(0, 100, life);
        CHECK(judge_lives(&c, T, 10).kind != CLI_LEAKS_SUSPECT);
    }
}

/* Hostile values: a verdict is given, soon, without NaN where the input is within floats. */
TEST(extreme_lives)
{
    static const float values[] = {0, 1, -1, 1e9F, 1e18F, 9e18F, 0.3F};
    for (unsigned n = 0; n < 3000; n++) {
        cli_leaks_cohorts c;
        unsigned state = n;
        for (size_t i = 0; i < sizeof c / sizeof(float); i++) {
            state = state * 1103515245U + 12345U;
            float value = values[(state >> 16) % (n % 2 ? 7 : 3)];
            memcpy((char *)&c + i * sizeof value, &value, sizeof value);
        }
        size_t points = 1 + n % CLI_LEAKS_POINTS;
        cli_leaks_verdict v = judge_lives(&c, points, 1 + n);
        CHECK(v.kind <= CLI_LEAKS_SUSPECT && !isnan(v.slope) && !isnan(v.doubt));
    }
}

TEST_MAIN()

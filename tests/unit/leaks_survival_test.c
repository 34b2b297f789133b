/* The rules by age of `pprofdelta leaks`. The bench leaks_power has their error rates. */
#include "leaks/leaks_survival.h"

#include "test.h"

#include <math.h>
#include <string.h>

enum { T = 18 };

static double seconds[CLI_LEAKS_POINTS], levels[CLI_LEAKS_POINTS];

static cli_leaks_verdict judge(const cli_leaks_cohorts *cohorts, size_t points, double tests)
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
static cli_leaks_cohorts make(float each, float churn, size_t life)
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
    cli_leaks_cohorts c = make(30.0F / T, 0, 1), below = make(30.0F / T, 1000, 0);
    CHECK(judge(&c, T, 1000).reason == CLI_LEAKS_SURVIVES);
    CHECK(judge(&below, T, 1000).reason == CLI_LEAKS_SURVIVES);
    CHECK(judge(&c, T, 1000).evidence.freed == 0 && judge(&c, T, 1000).evidence.age == 4);
    CHECK(judge(&c, CLI_LEAKS_LEAST_POINTS - 1, 1).reason == CLI_LEAKS_FEW_POINTS);
}

TEST(fewer_samples_are_never_called_flat)
{
    for (float each = 0.06F; each < 1; each += 0.06F) {
        cli_leaks_cohorts c = make(each, 0, 1);
        cli_leaks_verdict v = judge(&c, T, 1000);
        bool has_none = each * T < 1.2F;
        CHECK_MSG(has_none || v.reason == CLI_LEAKS_FEW_SAMPLES, "%g: %s", (double)(each * T),
                  cli_leaks_reasons[v.reason].word);
        CHECK(has_none || v.evidence.longer > 1);
    }
}

TEST(what_is_freed_is_no_leak)
{
    for (size_t life = 0; life < 6; life++) {
        cli_leaks_cohorts c = make(0, 100, life);
        CHECK(judge(&c, T, 10).kind != CLI_LEAKS_SUSPECT);
    }
}

/* Hostile values: a verdict is given, soon, without NaN where the input is within floats. */
TEST(extreme_values)
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
        cli_leaks_verdict v = judge(&c, points, 1 + n);
        CHECK(v.kind <= CLI_LEAKS_SUSPECT && !isnan(v.slope) && !isnan(v.doubt));
    }
}

TEST_MAIN()

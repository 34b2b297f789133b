/* Is what a stack allocates a leak? See leaks_verdict.h. */
#include "leaks/leaks_verdict.h"

#include <math.h>

/* The thresholds. T is the number of points. Samples are counted by objects, which are rounded, so that 5
 * samples may be 4.99: where a few are enough, half a sample less is. */
static const double limits_doubt = 0.05;  /* the chance of a suspect, in all stacks of a run */
static const double settled_share = 0.2;  /* of T: the age from which survivors are counted */
static const double life_share = 1 / 3.0; /* of T: what is no leak lives no longer, in the mean */
static const double least_old = 4.5;      /* survivors */
static const double telling_old = 2.5;    /* if they are no more than that chance leaves */
static const double least_alive = 0.75;   /* of those that settled outlive the run */
static const double most_exact = 500;     /* samples; above, a normal distribution is near enough */
static const double at_risk_least = 2.5;  /* samples, for a share that counts */
static const int least_cohorts = 4;       /* with survivors */
static const double most_of_one_cohort = 0.6; /* of the survivors */
static const double samples_of_batch = 2; /* at least, of evidence: what one cohort counts for */
static const double filling_ratio = 0.6;  /* later births over earlier ones */
static const double filling_doubt = 0.1;  /* of that ratio */
static const double slowing_ratio = 0.7;  /* or this ratio ... */
static const double slowing_doubt = 0.01; /* ... if it is more certain */
static const double steady_ratio = 0.8;   /* at least, behind what was filling */
static const double filling_work = 30;    /* samples elsewhere in each half, for a speed by work */
static const double silence_gaps = 2.5;   /* mean gaps between cohorts with survivors */
static const double silence_least = 3;    /* points */
static const double least_longer = 1.25;  /* run, if the samples were just not enough */
static const double needed_bits = 1.5;    /* samples that are needed for a factor of 2 in doubt */

static const double backlog_deaths = 2.5;    /* in a point that counts */
static const double backlog_deaths_all = 20; /* in all of them */
static const int backlog_points = 6;
static const double backlog_slope = 0.1;  /* points that the median age rises by in a point */
static const double backlog_age = 2;      /* the last median */
static const double backlog_spread = 0.5; /* interquartile range over median */
static const double backlog_growth = 1.3; /* of what waits */
static const double backlog_sigmas = 3;

static const double buffer_least = 1 << 20; /* bytes */
static const size_t buffer_steps = 4;
static const double buffer_ratio = 1.2; /* of a block and the one that it replaced */
static const double buffer_loss = 0.9;  /* a level that falls below this share is none */

/* What lives on, by age in points (Kaplan and Meier). The last cohorts do not reach high ages, so few
 * samples are at risk there. */
typedef struct ages_of_death {
    double at_risk[CLI_LEAKS_POINTS]; /* samples that reached this age */
    double died[CLI_LEAKS_POINTS];    /* of these, at this age */
    double alive[CLI_LEAKS_POINTS];   /* the share of all that outlives this age */
} ages_of_death;

/* A cohort of point b is seen at the ages 0 to points - 1 - b. */
static ages_of_death survive_from(const cli_leaks_cohorts *cohorts, size_t points, size_t from)
{
    ages_of_death ages = {.died = {0}};
    double share = 1;
    for (size_t born = from; born < points; born++) {
        double left = cohorts->births[born];
        for (size_t died = born; died < points; died++) {
            double gone = fmin(left, cohorts->deaths[cli_leaks_cell(born, died)]);
            ages.at_risk[died - born] += left;
            ages.died[died - born] += gone;
            left -= gone;
        }
    }
    for (size_t age = 0; age < points; age++) {
        if (ages.at_risk[age] > 0)
            share *= 1 - ages.died[age] / ages.at_risk[age];
        ages.alive[age] = share;
    }
    return ages;
}

double cli_leaks_alive(const cli_leaks_cohorts *cohorts, size_t born, size_t point)
{
    double left = cohorts->births[born];
    for (size_t died = born; died <= point; died++)
        left -= cohorts->deaths[cli_leaks_cell(born, died)];
    return fmax(0, left);
}

/* ---- survivors ---------------------------------------------------------------------------- */

/* The evidence of the cohorts from `from` on; `settled` is the age from which they count. */
typedef struct survivors {
    size_t from, settled, first; /* first: the first cohort with survivors */
    double arrived, freed, old;  /* samples that settled; those freed after that; those alive */
    double left;                 /* samples of any cohort that were freed after they had settled */
    double alive;                /* Kaplan and Meier's share of what settled */
    double doubt;                /* the chance of this without a leak */
    int cohorts;                 /* that have survivors */
    double largest;              /* cohort, of `old` */
    double kept[CLI_LEAKS_POINTS]; /* survivors by cohort; of young cohorts, those to be expected */
} survivors;

/* The chance of at most `count` events where `mean` are expected. */
static double poisson_tail(double mean, double count)
{
    if (mean > most_exact)
        return cli_leaks_tail((mean - count - 0.5) / sqrt(mean));
    if (count > 2 * most_exact)
        return 1;
    double term = exp(-mean), sum = 0;
    for (int k = 0, last = (int)floor(count + 0.5); k <= last; k++) {
        sum += term;
        term *= mean / (k + 1);
    }
    return fmin(1, sum);
}

/* The chance of at most `count` of `all`, each with the chance `share`. */
static double binomial_tail(double count, double all, double share)
{
    double sum = 0, n = floor(all + 0.5), spread = sqrt(all * share * (1 - share));
    if (spread <= 0)
        return 1;
    if (all > most_exact)
        return cli_leaks_tail((all * share - count - 0.5) / spread);
    for (int k = 0, last = (int)floor(count + 0.5); k <= last; k++)
        sum += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(share) +
                   (n - k) * log1p(-share));
    return fmin(1, sum);
}

/* How unevenly survivors come: the variance of a cohort over its mean, at least 1. */
static double burstiness_of_survivors(const survivors *s, size_t points)
{
    double sum = 0, spread = 0, count = (double)(points - s->settled - s->from);
    for (size_t i = s->from; i + s->settled < points; i++)
        sum += s->kept[i];
    for (size_t i = s->from; i + s->settled < points; i++)
        spread += (s->kept[i] - sum / count) * (s->kept[i] - sum / count);
    if (sum <= 0 || count < 3)
        return 1;
    double ratio = spread / (count - 1) / (sum / count);
    return fmax(1, ratio / (1 + sqrt(2 / (count - 1))));
}

static survivors find_survivors(const cli_leaks_cohorts *cohorts, size_t points, size_t from,
                                size_t settled)
{
    survivors s = {.from = from, .settled = settled, .first = points, .alive = 1};
    ages_of_death ages = survive_from(cohorts, points, from);
    double exposure = 0;
    s.arrived = ages.at_risk[settled];
    for (size_t age = settled; age < points; age++) {
        s.freed += ages.died[age];
        exposure += ages.at_risk[age] - ages.died[age] / 2;
        if (ages.at_risk[age] >= at_risk_least)
            s.alive *= 1 - ages.died[age] / ages.at_risk[age];
    }
    for (size_t died = from > settled ? from : settled; died < points; died++)
        for (size_t born = 0; born + settled <= died; born++)
            s.left += cohorts->deaths[cli_leaks_cell(born, died)];
    for (size_t born = from; born < points; born++) {
        size_t age = points - 1 - born;
        double alive = cli_leaks_alive(cohorts, born, points - 1);
        if (age >= settled) {
            s.old += alive;
            s.cohorts += alive >= 0.5;
            s.largest = fmax(s.largest, alive);
        } else if (ages.alive[age] > 0) {
            alive *= ages.alive[settled - 1] / ages.alive[age];
        }
        s.kept[born] = alive;
        if (alive >= 0.5 && s.first == points)
            s.first = born;
    }
    double burst =
        fmin(burstiness_of_survivors(&s, points), fmax(1, s.old / (samples_of_batch * s.cohorts)));
    s.doubt = fmax(poisson_tail(exposure / burst / (life_share * (double)points), s.freed / burst),
                   binomial_tail(s.left / burst, (s.left + s.arrived) / burst, 0.5));
    return s;
}

/* The second half of the time since the first survivor, by this clock: its share. NULL: the points. */
static double share_of_late(const survivors *s, size_t half, size_t points, const double *clock)
{
    if (!clock)
        return (double)(points - half) / (double)(points - s->first);
    double begin = s->first ? clock[s->first - 1] : 0;
    double early = clock[half - 1] - begin, late = clock[points - 1] - clock[half - 1];
    return early >= filling_work && late >= filling_work ? late / (early + late) : 1;
}

static bool is_slowing(double early, double late, double share, double least)
{
    double ratio = early > 0 && share < 1 ? late / share / (early / (1 - share)) : 1;
    double doubt = binomial_tail(late, early + late, share);
    return ratio < least || (ratio < filling_ratio && doubt < filling_doubt) ||
           (ratio < slowing_ratio && doubt < slowing_doubt);
}

/* Do survivors come in more slowly? Then a cache may be filling. A program that slows down does all more
 * slowly, so it must be so by what the program allocates elsewhere, too. */
static bool is_filling(const survivors *s, const cli_leaks_series *series, double least)
{
    size_t points = series->len, half = s->first + (points - s->first) / 2;
    double early = 0, late = 0;
    if (s->first + 1 >= points)
        return false;
    for (size_t i = s->first; i < points; i++)
        *(i < half ? &early : &late) += s->kept[i];
    double by_work = series->work ? share_of_late(s, half, points, series->work) : 1;
    return is_slowing(early, late, share_of_late(s, half, points, NULL), least) &&
           (by_work >= 1 || is_slowing(early, late, by_work, least));
}

/* Has no survivor come for a long time? */
static bool has_ended(const survivors *s, size_t points)
{
    size_t last = points, with = 0;
    for (size_t i = s->first; i < points; i++)
        if (s->kept[i] >= 0.5) {
            with++;
            last = i;
        }
    double gap = with ? (double)(points - s->first) / (double)with : 0;
    return with && (double)(points - 1 - last) > fmax(silence_least, silence_gaps * gap);
}

/* ---- backlog ------------------------------------------------------------------------------ */

/* The age that a share of those that died in a point had, between two whole ages. */
static double death_quantile(const cli_leaks_cohorts *cohorts, size_t died, double deaths,
                             double share)
{
    double wanted = share * deaths, sum = 0;
    for (size_t age = 0; age <= died; age++) {
        double gone = cohorts->deaths[cli_leaks_cell(died - age, died)];
        if (gone > 0 && sum + gone >= wanted)
            return (double)age + (wanted - sum) / gone;
        sum += gone;
    }
    return (double)died;
}

static double live_at(const cli_leaks_cohorts *cohorts, size_t point)
{
    double live = 0;
    for (size_t born = 0; born <= point; born++)
        live += cli_leaks_alive(cohorts, born, point);
    return live;
}

/* Kendall's test: the chance that values rise so often. */
static double doubt_of_rise(const double *values, size_t len)
{
    double n = (double)len, score = 0;
    for (size_t i = 0; i < len; i++)
        for (size_t j = i + 1; j < len; j++)
            score += (values[j] > values[i]) - (values[j] < values[i]);
    return cli_leaks_tail((score - 1) / sqrt(n * (n - 1) * (2 * n + 5) / 18));
}

/* Returns how sure a backlog is: the chance that ages rise so, or 1 if it is none. */
static double doubt_of_backlog(const cli_leaks_cohorts *cohorts, size_t points)
{
    double medians[CLI_LEAKS_POINTS], spreads[CLI_LEAKS_POINTS];
    double all = 0, before = 0, after = 0;
    size_t len = 0, start = points / 3, at[CLI_LEAKS_POINTS];
    for (size_t died = start; died < points; died++) {
        double deaths = 0;
        for (size_t born = 0; born <= died; born++)
            deaths += cohorts->deaths[cli_leaks_cell(born, died)];
        if (deaths < backlog_deaths)
            continue;
        all += deaths;
        at[len] = died;
        medians[len] = death_quantile(cohorts, died, deaths, 0.5);
        cli_leaks_insert(spreads, len,
                         (death_quantile(cohorts, died, deaths, 0.75) -
                          death_quantile(cohorts, died, deaths, 0.25)) /
                             fmax(medians[len], 0.5));
        len++;
    }
    if (len < (size_t)backlog_points || all < backlog_deaths_all ||
        medians[len - 1] < backlog_age || spreads[len / 2] > backlog_spread)
        return 1;
    double rise = (medians[len - 1] - medians[0]) / (double)(at[len - 1] - at[0]);
    for (size_t i = 0; i < 3; i++) {
        before += live_at(cohorts, start + i);
        after += live_at(cohorts, points - 1 - i);
    }
    bool grows = rise >= backlog_slope && after > backlog_growth * before &&
                 after - before > backlog_sigmas * sqrt(before + after);
    return grows ? doubt_of_rise(medians, len) : 1;
}

/* ---- buffer ------------------------------------------------------------------------------- */

/* Does what a sample stands for grow, and nothing else? A block that is replaced by a larger one is as
 * many samples as before, of more bytes; so are the pieces that realloc adds to a block if each is larger
 * than the one before. Constant objects stand for the same bytes each, however many they are. */
static bool is_buffer(const cli_leaks_cohorts *cohorts, size_t points)
{
    size_t steps[4] = {0};
    double last = 0;
    for (size_t i = 0; i < points; i++) {
        double live = live_at(cohorts, i), size = live >= 0.5 ? cohorts->in_use[i] / live : 0;
        if (i && cohorts->in_use[i] < buffer_loss * cohorts->in_use[i - 1])
            return false;
        if (cohorts->births[i] < 0.5 || size < buffer_ratio * last)
            continue;
        double at = (double)(i + 1) / (double)points;
        steps[at > 0.5 ? 3 : at > 0.25 ? 2 : at > 0.125]++;
        last = size;
    }
    return cohorts->in_use[points - 1] >= buffer_least &&
           steps[0] + steps[1] + steps[2] + steps[3] >= buffer_steps && steps[1] && steps[2] &&
           steps[3];
}

/* ---- the verdict -------------------------------------------------------------------------- */

/* The settled samples that a verdict needs, if nothing else happens at the stack. */
static double needed_samples(double tests)
{
    return needed_bits * log2(tests / limits_doubt);
}

/* What the survivors say. */
static cli_leaks_reason reason_of(const survivors *s, const cli_leaks_series *series, double doubt,
                                  double least)
{
    if (s->old < 0.5 || s->alive < least_alive)
        return CLI_LEAKS_FLAT;
    if (s->largest > most_of_one_cohort * s->old && s->old >= least_old)
        return CLI_LEAKS_STEP;
    if (has_ended(s, series->len))
        return CLI_LEAKS_FILLED;
    if (is_filling(s, series, least))
        return CLI_LEAKS_FILLING;
    if (s->old < least_old || s->cohorts < least_cohorts || s->doubt > doubt)
        return CLI_LEAKS_FEW_SAMPLES;
    return CLI_LEAKS_SURVIVES;
}

/* The look that decides: the first that finds survivors, else the first that says more than nothing. */
static survivors find_deciding_look(const cli_leaks_series *series,
                                    const cli_leaks_cohorts *cohorts, double doubt,
                                    cli_leaks_reason *reason)
{
    size_t points = series->len;
    size_t age = (size_t)ceil(settled_share * (double)points);
    const size_t looks[][2] = {{1, age}, {points / 3, age}, {1, 2 * age}};
    survivors s, best = {.from = 1, .settled = age};
    *reason = CLI_LEAKS_FLAT;
    for (size_t i = 0; i < 3 && *reason != CLI_LEAKS_SURVIVES; i++) {
        s = find_survivors(cohorts, points, looks[i][0], looks[i][1]);
        cli_leaks_reason said = reason_of(&s, series, i ? doubt / 2 : doubt,
                                          *reason == CLI_LEAKS_FILLING ? steady_ratio : 0);
        if (said == CLI_LEAKS_SURVIVES || *reason == CLI_LEAKS_FLAT) {
            best = s;
            *reason = said;
        }
    }
    return best;
}

/* Are few samples more than what chance leaves of any stack? */
static bool is_telling(const survivors *s, const cli_leaks_series *series)
{
    return s->old >= telling_old && s->cohorts >= 3 && s->doubt <= limits_doubt &&
           !is_filling(s, series, 0);
}

/* What is said if no rule holds. What the levels show is no leak if what is allocated is freed. */
static cli_leaks_reason reason_without_rule(cli_leaks_reason reason, cli_leaks_reason by_slope,
                                            bool is_scarce)
{
    bool is_clean = cli_leaks_kind_of(by_slope) == CLI_LEAKS_NONE;
    if (reason == CLI_LEAKS_FEW_SAMPLES || (is_scarce && reason == CLI_LEAKS_FLAT))
        return CLI_LEAKS_FEW_SAMPLES;
    if (is_clean || by_slope == CLI_LEAKS_LATE)
        return by_slope;
    if (reason == CLI_LEAKS_FLAT && cli_leaks_kind_of(by_slope) == CLI_LEAKS_SUSPECT)
        return CLI_LEAKS_TURNOVER;
    return reason;
}

/* Sets what the survivors are: how much, how fast, how sure. */
static void measure_survivors(cli_leaks_verdict *v, const survivors *s,
                              const cli_leaks_series *series)
{
    size_t last = series->len - 1;
    double kept = 0, span = series->seconds[last] - series->seconds[s->from - 1];
    for (size_t i = s->from; i <= last; i++)
        kept += s->kept[i];
    v->growth = kept * series->weight;
    v->noise = sqrt(kept) * series->weight;
    v->slope = span > 0 ? v->growth / span : 0;
    v->doubt = fmin(1, s->doubt * series->tests);
}

static cli_leaks_evidence evidence_of(const survivors *s, const cli_leaks_series *series)
{
    double needed = needed_samples(series->tests);
    return (cli_leaks_evidence){.age = s->settled,
                                .settled = s->arrived,
                                .freed = s->freed,
                                .old = s->old,
                                .needed = needed,
                                .longer = s->old > 0 ? fmax(least_longer, needed / s->old) : 0};
}

/* Are there too few samples to say that nothing of them stays? */
static bool is_scarce(const cli_leaks_series *series, const cli_leaks_cohorts *cohorts)
{
    double made = 0, alive = 0;
    for (size_t i = 1; i < series->len; i++) {
        made += cohorts->births[i];
        alive += cli_leaks_alive(cohorts, i, series->len - 1);
    }
    return alive >= 0.5 && made < needed_samples(series->tests);
}

cli_leaks_verdict cli_leaks_judge_lives(const cli_leaks_series *series,
                                        const cli_leaks_cohorts *cohorts,
                                        const cli_leaks_verdict *by_slope)
{
    size_t points = series->len;
    cli_leaks_verdict v = *by_slope;
    cli_leaks_reason reason;
    double doubt = limits_doubt / series->tests;
    if (points < CLI_LEAKS_LEAST_POINTS)
        return v;
    survivors s = find_deciding_look(series, cohorts, doubt, &reason);
    double of_backlog = doubt_of_backlog(cohorts, points);
    v.evidence = evidence_of(&s, series);
    v.reason = reason == CLI_LEAKS_SURVIVES ? reason
               : is_buffer(cohorts, points) ? CLI_LEAKS_BUFFER
               : of_backlog <= doubt
                   ? CLI_LEAKS_BACKLOG
                   : reason_without_rule(reason, by_slope->reason, is_scarce(series, cohorts));
    v.kind = cli_leaks_kind_of(v.reason);
    if (v.reason == CLI_LEAKS_SURVIVES || v.reason == CLI_LEAKS_FEW_SAMPLES ||
        v.reason == CLI_LEAKS_FILLING)
        measure_survivors(&v, &s, series);
    if (v.reason == CLI_LEAKS_BACKLOG || v.reason == CLI_LEAKS_BUFFER)
        v.doubt = v.reason == CLI_LEAKS_BACKLOG ? fmin(1, of_backlog * series->tests) : 0;
    if (v.reason == CLI_LEAKS_FEW_SAMPLES && !is_telling(&s, series))
        v.kind = CLI_LEAKS_NONE;
    return v;
}

double cli_leaks_smallest_that_lives(const cli_leaks_series *series)
{
    double points = (double)series->len;
    if (series->len < CLI_LEAKS_LEAST_POINTS)
        return INFINITY;
    double settled = (points - 1 - ceil(settled_share * points)) / points;
    return fmax(needed_samples(series->tests), least_old) / settled * series->weight;
}

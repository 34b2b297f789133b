/* Is a series of in-use values a leak? See leaks_verdict.h.
 *
 * The variance of the growth, if there is no leak, has two upper bounds. Both hold for a population
 * of samples that arrive and depart at random with equal rates; the lower one counts.
 *
 *     walk         weight * (bytes that arrived + bytes that departed between L1 and L3)
 *     population   2 * weight * the mean level: the count of samples is Poisson distributed
 *
 * The walk is low for objects that nothing frees: then each sample that arrived is growth. The
 * population is low for short-lived objects: much arrives and departs, but the level stays. A third
 * that is longer than two lifetimes averages over several populations; this counts down to a
 * quarter, because a few long-lived objects among many do not average out.
 *
 * Programs allocate in bursts, so real changes spread wider than random ones. The spread of the
 * changes from point to point, over what the walk predicts for them, scales both bounds. */
#include "leaks/leaks_verdict.h"

#include <math.h>

const double cli_leaks_doubt_limit = 0.01;

enum { THIRDS = 3, MOST_PAIRS = CLI_LEAKS_POINTS * CLI_LEAKS_POINTS / 2 };

/* Growth that may be chance is worth a word if it is so far from the mean, or so unlikely in any of
 * the series. Less is enough if the level goes up only: if what it loses on the way is a small share
 * of what it gains. Random comings and goings are seldom so. */
static const double least_sigmas = 3;
static const double rising_sigmas = 1;
static const double rising_loss = 1 / 8.0;
static const double unsure_doubt = 0.1;
static const double growing_sigmas = 2; /* for growth above the power that does not go up only */
static const double growing_share =
    1 / 8.0; /* of what grew in the whole run: for what is not full yet */

/* The thresholds of the shape. */
static const double gap_intervals = 2.5;     /* between two points, at least */
static const double step_share = 0.5;        /* of the growth in one step */
static const double sawtooth_share = 0.5;    /* of the growth lost at once */
static const double stopped_ratio = 1 / 3.0; /* recent speed over earlier speed */
static const double slowing_ratio = 2 / 3.0;
static const double late_ratio = 0.2;   /* earlier speed over recent speed */
static const size_t mapped_least = 3;   /* times that the judged part maps again */
static const double mapped_share = 0.5; /* of the growth, at least */
static const double least_work = 30;    /* samples in each half, for a speed by work */

/* So many standard deviations above the bound on what is needed, 9 of 10 leaks are sure enough, or more. The
 * shape of some is not clear in few windows, which leaves 8 of 10. */
static const double power_sigmas = 1.2816;

/* The thirds that are judged, and the points in them. */
typedef struct parts {
    size_t from[THIRDS], to[THIRDS];
    double level[THIRDS];
    double centre[THIRDS];    /* seconds */
    double speed[THIRDS - 1]; /* from one third to the next */
} parts;

static double mean_of(const double *values, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += values[i];
    return sum / (double)(to - from);
}

static parts split_thirds(const cli_leaks_series *s)
{
    parts p;
    size_t first = s->len / 3, third = (s->len - first) / 3;
    for (size_t i = 0; i < THIRDS; i++) {
        p.from[i] = i == 0 ? first : i == 1 ? first + third : s->len - third;
        p.to[i] = i == 0 ? first + third : i == 1 ? s->len - third : s->len;
        p.level[i] = mean_of(s->levels, p.from[i], p.to[i]);
        p.centre[i] = mean_of(s->seconds, p.from[i], p.to[i]);
    }
    for (size_t i = 0; i + 1 < THIRDS; i++)
        p.speed[i] = (p.level[i + 1] - p.level[i]) / (p.centre[i + 1] - p.centre[i]);
    return p;
}

/* What the values gain from the first third to the last. */
static double gain_of(const double *values, const parts *p)
{
    return mean_of(values, p->from[2], p->to[2]) - mean_of(values, p->from[0], p->to[0]);
}

static double median_interval(const cli_leaks_series *s)
{
    double intervals[CLI_LEAKS_POINTS];
    for (size_t i = 0; i + 1 < s->len; i++)
        cli_leaks_insert(intervals, i, s->seconds[i + 1] - s->seconds[i]);
    return intervals[(s->len - 1) / 2];
}

/* What changes behind a point is of several intervals where points are missing, as in the account of the
 * resident memory: the share of one. */
static double share_of_gap(const cli_leaks_series *s, size_t at, double usual)
{
    double interval = s->seconds[at + 1] - s->seconds[at];
    return usual > 0 && interval > gap_intervals * usual ? usual / interval : 1;
}

/* ---- chance ------------------------------------------------------------------------------- */

/* Bytes that arrived and departed while `allocated` and the level changed by this much. */
static double bytes_moved(double allocated, double change)
{
    double departed = allocated > change ? allocated - change : 0;
    double arrived = change + departed;
    return fabs(arrived) + departed;
}

/* The spread of the changes from point to point over that of a random walk, at least 1. Neighbouring
 * changes are compared, so that a slow change of the speed is no spread. */
static double burstiness_of_changes(const cli_leaks_series *s, size_t from)
{
    double predicted = 0, spread = 0, before = 0;
    double count = (double)(s->len - from - 1), usual = median_interval(s);
    for (size_t i = from; i + 1 < s->len; i++) {
        double share = share_of_gap(s, i, usual),
               change = share * (s->levels[i + 1] - s->levels[i]);
        double moved = s->allocated
                           ? bytes_moved(share * (s->allocated[i + 1] - s->allocated[i]), change)
                           : fabs(change) + 2 * fmin(s->levels[i], s->levels[i + 1]);
        predicted += s->weight * moved;
        if (i > from)
            spread += (change - before) * (change - before) / 2;
        before = change;
    }
    spread *= count / (count - 1);
    return predicted > 0 && spread > predicted ? spread / predicted : 1;
}

/* How much of the population's variance is left in the mean of a third: 1 down to a quarter. */
static double left_by_averaging(const cli_leaks_series *s, const parts *p, double level)
{
    if (!s->allocated)
        return 1;
    double span = s->seconds[s->len - 1] - s->seconds[p->from[0]];
    double made = s->allocated[s->len - 1] - s->allocated[p->from[0]];
    double lifetime = made > 0 ? level * span / made : span;
    double third = p->centre[1] - p->centre[0];
    double left = third > 0 ? 2 * lifetime / third : 1;
    return fmin(1, fmax(left, 0.25));
}

/* Of random arrivals that do not come in bursts. */
static double variance_of_growth(const cli_leaks_series *s, const parts *p)
{
    double level = fmax(mean_of(s->levels, p->from[0], s->len), s->weight);
    double population = 2 * s->weight * level * left_by_averaging(s, p, level);
    double variance = population;
    if (s->allocated) {
        double made = gain_of(s->allocated, p);
        double moved = bytes_moved(made, p->level[2] - p->level[0]);
        variance = fmin(population, s->weight * fmax(moved, s->weight));
    }
    return variance;
}

double cli_leaks_tail(double sigmas)
{
    return 0.5 * erfc(sigmas / sqrt(2));
}

cli_leaks_kind cli_leaks_kind_of(cli_leaks_reason reason)
{
    if (reason <= CLI_LEAKS_BUFFER)
        return CLI_LEAKS_SUSPECT;
    return reason <= CLI_LEAKS_SLOWING ? CLI_LEAKS_UNKNOWN : CLI_LEAKS_NONE;
}

/* ---- shape -------------------------------------------------------------------------------- */

void cli_leaks_insert(double *values, size_t len, double value)
{
    size_t at = len;
    for (; at && values[at - 1] > value; at--)
        values[at] = values[at - 1];
    values[at] = value;
}

/* Theil and Sen's slope: one wild point does not move it. */
static double median_slope(const cli_leaks_series *s, size_t from)
{
    double slopes[MOST_PAIRS];
    size_t len = 0;
    for (size_t i = from; i < s->len; i++)
        for (size_t j = i + 1; j < s->len; j++)
            if (s->seconds[j] > s->seconds[i])
                cli_leaks_insert(slopes, len++,
                                 (s->levels[j] - s->levels[i]) / (s->seconds[j] - s->seconds[i]));
    if (!len)
        return 0;
    return len % 2 ? slopes[len / 2] : (slopes[len / 2 - 1] + slopes[len / 2]) / 2;
}

/* The largest rise from one point to the next. */
static double largest_step(const cli_leaks_series *s, size_t from)
{
    double largest = 0, usual = median_interval(s);
    for (size_t i = from; i + 1 < s->len; i++)
        largest = fmax(largest, (s->levels[i + 1] - s->levels[i]) * share_of_gap(s, i, usual));
    return largest;
}

/* The largest fall from a point to a later one. */
static double largest_fall(const cli_leaks_series *s, size_t from)
{
    double peak = s->levels[from], largest = 0;
    for (size_t i = from + 1; i < s->len; i++) {
        peak = fmax(peak, s->levels[i]);
        largest = fmax(largest, peak - s->levels[i]);
    }
    return largest;
}

/* Does the last third grow? A part of the mean speed is enough, less what is chance. clock is
 * the seconds or the work; less of it than `least` shows nothing. */
static bool has_stopped(const cli_leaks_series *s, const parts *p, const cli_leaks_verdict *v,
                        const double *clock, double least)
{
    size_t from = p->to[2] - p->from[2] > 1 ? p->from[2] : p->from[2] - 1;
    size_t half = from + (s->len - from) / 2;
    double span = mean_of(clock, half, s->len) - mean_of(clock, from, half);
    double whole = gain_of(clock, p);
    double rise = mean_of(s->levels, half, s->len) - mean_of(s->levels, from, half);
    double expected = v->growth * span / whole;
    double chance = sqrt(variance_of_growth(s, p) * span / whole);
    return span < least || rise < stopped_ratio * expected - chance;
}

/* Is it only the program that slows down, perhaps by its leak? Then the growth goes on as before if
 * work is the time. It must be more than chance makes. */
static bool is_steady_by_work(const cli_leaks_series *s, const parts *p, const cli_leaks_verdict *v)
{
    double at[THIRDS];
    if (!s->work)
        return false;
    for (size_t i = 0; i < THIRDS; i++)
        at[i] = mean_of(s->work, p->from[i], p->to[i]);
    double earlier = at[1] - at[0], later = at[2] - at[1];
    if (earlier < least_work || later < least_work)
        return false;
    double expected = (p->level[1] - p->level[0]) / earlier * later;
    return p->level[2] - p->level[1] >= slowing_ratio * expected + v->noise;
}

/* Growth that has the shape of a leak but for its speed: does it slow down? Where it slows down only
 * because the program does, it is taken for one grade faster. */
static cli_leaks_reason speed_of(const cli_leaks_series *s, const parts *p,
                                 const cli_leaks_verdict *v)
{
    bool is_steady = is_steady_by_work(s, p, v);
    if (v->recent < stopped_ratio)
        return is_steady ? CLI_LEAKS_SLOWING : CLI_LEAKS_FILLED;
    if (has_stopped(s, p, v, s->seconds, 0) &&
        !(is_steady && !has_stopped(s, p, v, s->work, least_work)))
        return CLI_LEAKS_SLOWING;
    return v->recent < slowing_ratio && !is_steady ? CLI_LEAKS_SLOWING : CLI_LEAKS_STEADY_GROWTH;
}

/* Growth that chance does not explain: what shape has it? */
static cli_leaks_reason shape_of(const cli_leaks_series *s, const parts *p,
                                 const cli_leaks_verdict *v)
{
    double rise = s->levels[s->len - 1] - s->levels[p->from[0]];
    /* A fall in the second half of the start-up shows that what grows may be given back. */
    if (largest_fall(s, p->from[0] / 2) > sawtooth_share * v->growth)
        return CLI_LEAKS_SAWTOOTH;
    if (largest_step(s, p->from[0]) > step_share * rise)
        return CLI_LEAKS_STEP;
    if (p->speed[0] <= 0 || v->recent > 1 / late_ratio)
        return CLI_LEAKS_LATE;
    return speed_of(s, p, v);
}

/* Does the level go up only, from that point on? */
static bool loses_little(const cli_leaks_series *s, size_t from)
{
    double lost = 0, gained = 0;
    for (size_t i = from; i + 1 < s->len; i++) {
        double change = s->levels[i + 1] - s->levels[i];
        *(change < 0 ? &lost : &gained) += fabs(change);
    }
    return lost <= rising_loss * gained;
}

/* Does it, and by more than a few samples? */
static bool rises_from(const cli_leaks_series *s, size_t from, const cli_leaks_verdict *v)
{
    return loses_little(s, from) &&
           s->levels[s->len - 1] - s->levels[from] >= least_sigmas * v->noise;
}

/* It may have risen since the first point, or since the end of the start-up, up to its last point. */
static bool keeps_rising(const cli_leaks_series *s, const parts *p, const cli_leaks_verdict *v)
{
    return v->growth >= rising_sigmas * v->noise &&
           (rises_from(s, 0, v) || rises_from(s, p->from[0], v));
}

/* Does the level fall by more than half, and by more than chance? */
static bool falls_back(const cli_leaks_series *s)
{
    double fall = largest_fall(s, 0), peak = 0;
    for (size_t i = 0; i < s->len; i++)
        peak = fmax(peak, s->levels[i]);
    return fall > sawtooth_share * peak && fall > 2 * least_sigmas * sqrt(s->weight * peak);
}

/* Growth that may be chance: what shape has the series from its first point? */
static cli_leaks_reason reason_without_growth(const cli_leaks_series *s, const parts *p,
                                              const cli_leaks_verdict *v)
{
    double since_start = p->level[2] - s->levels[0];
    if (v->growth < -least_sigmas * v->noise)
        return CLI_LEAKS_SHRINKING;
    if (v->growth > least_sigmas * v->noise || v->doubt < unsure_doubt || keeps_rising(s, p, v)) {
        cli_leaks_reason shape = shape_of(s, p, v);
        bool is_noise = shape == CLI_LEAKS_SAWTOOTH && !falls_back(s);
        return cli_leaks_kind_of(shape) == CLI_LEAKS_NONE && !is_noise ? shape : CLI_LEAKS_UNSURE;
    }
    if (falls_back(s))
        return CLI_LEAKS_SAWTOOTH;
    if (since_start <= p->level[2] / 4)
        return CLI_LEAKS_FLAT;
    if (largest_step(s, 0) > step_share * since_start)
        return CLI_LEAKS_STEP;
    return v->growth < since_start / 4 ? CLI_LEAKS_FILLED : CLI_LEAKS_FLAT;
}

static cli_leaks_verdict judge_few(const cli_leaks_series *s)
{
    cli_leaks_verdict v = {.doubt = 1, .recent = 1, .reason = CLI_LEAKS_FLAT};
    if (s->len > 1) {
        double span = s->seconds[s->len - 1] - s->seconds[0];
        v.growth = s->levels[s->len - 1] - s->levels[0];
        v.slope = span > 0 ? v.growth / span : 0;
    }
    if (v.growth > 0)
        v.reason = CLI_LEAKS_FEW_POINTS;
    v.kind = cli_leaks_kind_of(v.reason);
    return v;
}

cli_leaks_verdict cli_leaks_judge(const cli_leaks_series *s)
{
    if (s->len < CLI_LEAKS_LEAST_POINTS)
        return judge_few(s);
    parts p = split_thirds(s);
    cli_leaks_verdict v = {.growth = p.level[2] - p.level[0]};
    v.noise = sqrt(variance_of_growth(s, &p) * burstiness_of_changes(s, p.from[0]));
    v.slope = median_slope(s, p.from[0]);
    v.doubt = fmin(1, cli_leaks_tail(v.growth / v.noise) * s->tests);
    v.recent = p.speed[0] > 0 ? p.speed[1] / p.speed[0] : 1;
    v.reason =
        v.doubt <= cli_leaks_doubt_limit ? shape_of(s, &p, &v) : reason_without_growth(s, &p, &v);
    v.kind = cli_leaks_kind_of(v.reason);
    if (v.kind == CLI_LEAKS_UNKNOWN && v.slope <= 0) /* it grows between few points */
        v.slope = v.growth / (p.centre[2] - p.centre[0]);
    return v;
}

static size_t count_rises(const cli_leaks_series *s)
{
    size_t rises = 0;
    for (size_t i = 0; i + 1 < s->len; i++)
        rises += s->levels[i + 1] > s->levels[i];
    return rises;
}

/* Growth in one step, or before the judged part, is none. What falls on the way must be more than chance. */
static bool is_growth(const cli_leaks_series *s, const parts *p, double noise, double smallest)
{
    double rise = s->levels[s->len - 1] - s->levels[0], growth = p->level[2] - p->level[0];
    double span = s->seconds[s->len - 1] - s->seconds[0];
    double whole = growth * span / (p->centre[2] - p->centre[0]);
    bool is_plain = loses_little(s, 0) && growth >= growing_share * rise && count_rises(s) > 1;
    return (is_plain && fmax(rise, whole) >= smallest) ||
           (whole >= smallest && growth >= growing_sigmas * noise);
}

void cli_leaks_doubt_growth(const cli_leaks_series *s, double smallest, cli_leaks_verdict *v)
{
    bool is_shape = v->reason == CLI_LEAKS_STEP || v->reason == CLI_LEAKS_FILLED;
    if (s->len < CLI_LEAKS_LEAST_POINTS || v->kind != CLI_LEAKS_NONE ||
        v->reason == CLI_LEAKS_SAWTOOTH || v->reason == CLI_LEAKS_SHRINKING ||
        (is_shape && v->doubt <= cli_leaks_doubt_limit))
        return;
    parts p = split_thirds(s);
    if (!is_growth(s, &p, v->noise, smallest))
        return;
    v->kind = CLI_LEAKS_UNKNOWN;
    if (v->reason != CLI_LEAKS_FEW_SAMPLES)
        v->reason = CLI_LEAKS_UNSURE;
}

/* A pool may be mapped in two steps. */
bool cli_leaks_is_mapped_again(const double *mapped, size_t len, double growth)
{
    size_t rises = 0, from = len / 3;
    for (size_t i = from; i + 1 < len; i++)
        rises += mapped[i + 1] > mapped[i];
    return rises >= mapped_least && mapped[len - 1] - mapped[from] >= mapped_share * growth;
}

/* How many standard deviations a growth needs for a suspect, at most: a normal value is above so many with a
 * chance below exp(-sigmas^2 / 2) / 2. */
static double needed_sigmas(double tests)
{
    return sqrt(2 * log(tests / cli_leaks_doubt_limit / 2));
}

double cli_leaks_smallest(const cli_leaks_series *s)
{
    if (s->len < CLI_LEAKS_LEAST_POINTS)
        return INFINITY;
    const cli_leaks_series times = {.len = s->len, .seconds = s->seconds, .levels = s->seconds};
    parts p = split_thirds(&times);
    double sigmas = needed_sigmas(s->tests) + power_sigmas;
    double span = s->seconds[s->len - 1] - s->seconds[0];
    /* A count of samples that leak and stay makes its square root of noise. */
    return s->weight * sigmas * sigmas * span / (p.centre[2] - p.centre[0]);
}

/* ---- words -------------------------------------------------------------------------------- */

const cli_leaks_words cli_leaks_reasons[] = {
    [CLI_LEAKS_STEADY_GROWTH] = {"steady-growth", "grows steadily, and what grew stays"},
    [CLI_LEAKS_SURVIVES] = {"survives", "what is allocated stays, and more comes"},
    [CLI_LEAKS_BACKLOG] = {"backlog",
                           "what waits is freed later and later: a queue that is not emptied"},
    [CLI_LEAKS_BUFFER] = {"buffer", "one block that is made larger again and again"},
    [CLI_LEAKS_FEW_SAMPLES] = {"few-samples", "too few samples for a verdict"},
    [CLI_LEAKS_FILLING] = {"filling", "what stays comes in more slowly: a cache that is not full "
                                      "yet, or a leak that slows down"},
    [CLI_LEAKS_TURNOVER] = {"turnover", "grows, but what is allocated is freed later"},
    [CLI_LEAKS_FEW_POINTS] = {"few-windows", "grows, but there are too few windows"},
    [CLI_LEAKS_UNSURE] = {"unsure", "grows, but that may be chance"},
    [CLI_LEAKS_RESIDENT] = {"resident", "resident memory grows, and the stacks do not explain it"},
    [CLI_LEAKS_TOUCHED] = {"filling",
                           "a mapping that was made before fills: its size is the bound"},
    [CLI_LEAKS_LATE] = {"late", "grows only since the last third"},
    [CLI_LEAKS_SLOWING] = {"slowing", "grows, but more slowly than before"},
    [CLI_LEAKS_FLAT] = {"flat", "does not grow more than by chance"},
    [CLI_LEAKS_FILLED] = {"filled", "grew at first, and stays"},
    [CLI_LEAKS_STEP] = {"step", "grew at one moment"},
    [CLI_LEAKS_SAWTOOTH] = {"sawtooth", "grows and falls back"},
    [CLI_LEAKS_SHRINKING] = {"shrinking", "shrinks"},
};

const char *cli_leaks_why(const cli_leaks_verdict *v)
{
    if (v->reason == CLI_LEAKS_FEW_SAMPLES && v->evidence.old >= v->evidence.needed)
        return "too many are freed late for a leak, and too few for none";
    return cli_leaks_reasons[v->reason].text;
}

const cli_leaks_words cli_leaks_kinds[] = {
    [CLI_LEAKS_NONE] = {"none", "no leak"},
    [CLI_LEAKS_UNKNOWN] = {"unknown", "unknown"},
    [CLI_LEAKS_SUSPECT] = {"suspect", "suspect"},
};

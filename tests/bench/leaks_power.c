/* How often is `pprofdelta leaks` wrong? Simulated stacks, judged by the functions of the command: by
 * slope, as profiles without ages are, and by age.
 *
 *     leaks_power          prints the tables of README.md
 *     leaks_power --check  the same with fewer stacks; fails if a share is worse than the published one
 *                          by more than chance makes in one of 1,000 such checks
 *
 * What is simulated are the samples: each arrives at random and departs at the end of its life, and
 * stands for WEIGHT bytes. A stack without a leak has as many arrivals as departures after its
 * start. The first two tables count the suspects among such stacks, which are all wrong, and the
 * unknown ones. The third and fourth count the leaks that are suspects, and those that are suspects
 * or unknown: the rest would be called clean. The last line is the smallest leak that the report
 * names, and how often it is found. Every number comes from a fixed seed. */
#include "leaks/leaks_verdict.h"
#include "rows.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { WEIGHT = 512 << 10, MOST_WINDOWS = 240, TESTS = 1000, WORK = 200 /* samples a window */ };

/* ---- chance ------------------------------------------------------------------------------- */

static uint64_t state;

static void seed(uint64_t value)
{
    state = value * UINT64_C(0x9E3779B97F4A7C15) + 1;
}

static double uniform(void)
{
    uint64_t z = (state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return ((double)(z >> 11) + 0.5) * 0x1p-53;
}

static double exponential(double mean)
{
    return -mean * log(uniform());
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * acos(-1) * uniform());
}

static int poisson(double mean)
{
    int count = 0;
    if (mean > 50) {
        double value = round(mean + sqrt(mean) * normal());
        return value > 0 ? (int)value : 0;
    }
    for (double left = exp(-mean), product = uniform(); product > left; product *= uniform())
        count++;
    return count;
}

/* ---- a stack ------------------------------------------------------------------------------ */

/* Times are in windows, amounts in samples. The members are those of the table, in this order. */
typedef struct stack {
    const char *name;
    double lognormal, mixed; /* lives; else they are exponential */
    double level;            /* samples that are alive in the mean */
    double lifetime;         /* mean */
    double burst;            /* mean number of samples that arrive and depart together */
    double wave;             /* arrivals swing by this share, three times in the run */
    double leak;             /* samples in the whole run */
    double batches;          /* in which it comes; 0: all the time */
    double cache;            /* samples that fill a cache ... */
    double filled;           /* ... until this share of the run; below 0: exponentially */
    double tooth;            /* samples of a sawtooth ... */
    double period;           /* ... of so many windows; below 0: so many in a run */
    double step;             /* samples at once, at a random time */
    double steps;            /* so many times; 0: once */
    double slower;           /* the program loses this share of its speed in the run */
    double sessions; /* samples in the run that live for their lifetime from the start of the run */
    double served;   /* a queue: the leak is what waits; this share of what arrives is served */
    double buffer;   /* the leak is one block that is replaced by one twice as large */
    double together; /* so many independent stacks are added up; 0: one */
    double is_like_a_leak; /* no evidence tells it from one, or not in every run */
    double published[2];   /* the shares of README.md for 80 samples, by slope and by age */
} stack;

typedef struct film {
    double level[MOST_WINDOWS], allocated[MOST_WINDOWS], work[MOST_WINDOWS];
    cli_leaks_cohorts cohorts; /* by point */
    int windows;
} film;

/* The point of a window: the command puts the windows into blocks of equal size. */
static int point_of(int windows, int window)
{
    int size = (windows + CLI_LEAKS_POINTS - 1) / CLI_LEAKS_POINTS;
    int points = windows / size, extra = windows - points * size;
    return window < extra ? 0 : (window - extra) / size;
}

static double draw_life(const stack *s)
{
    if (s->lognormal > 0)
        return s->lifetime * exp(1.5 * normal() - 1.125);
    if (s->mixed > 0) /* the mean of both is the lifetime; few live long, and hold most */
        return uniform() < 0.02 ? exponential(s->lifetime * 40) : exponential(s->lifetime * 0.2);
    return exponential(s->lifetime);
}

/* Samples that arrive at `from` and live until `to`; negative times are before the run. */
static void add_life(film *f, double from, double to, double samples)
{
    int born = from < 0 ? 0 : (int)ceil(from), died = to < f->windows ? (int)ceil(to) : f->windows;
    if (born >= f->windows)
        return;
    born = point_of(f->windows, born);
    f->cohorts.births[born] += (float)samples;
    if (died < f->windows)
        f->cohorts.deaths[cli_leaks_cell((size_t)born, (size_t)point_of(f->windows, died))] +=
            (float)samples;
    for (int i = from < 0 ? 0 : (int)ceil(from); i < f->windows; i++) {
        f->level[i] += i < to ? samples : 0;
        f->allocated[i] += samples;
    }
}

/* Arrivals since long before the run, so that the level is in balance when the run begins. */
static void add_population(film *f, const stack *s)
{
    double before = s->lifetime * (s->lognormal + s->mixed > 0 ? 60 : 8);
    double burst = s->burst > 1 ? s->burst : 1, rate = s->level / s->lifetime / burst;
    for (double at = -before; at < f->windows;) {
        at += exponential(1 / rate / (1 + s->wave));
        double share = 1 + s->wave * sin(6 * acos(-1) * at / f->windows);
        if (uniform() * (1 + s->wave) > share)
            continue;
        double end = at + draw_life(s);
        double samples = s->burst > 1 ? 1 + floor(exponential(burst - 1)) : 1;
        if (end > 0)
            add_life(f, at, end, samples);
    }
}

static void add_steps(film *f, const stack *s)
{
    for (int i = 0; s->step > 0 && i < fmax(s->steps, 1); i++)
        add_life(f, ceil(f->windows * (0.2 + 0.6 * uniform())), 1e9, poisson(s->step));
}

/* Of several stacks, each is at another place of its tooth when the run begins. */
static void add_teeth(film *f, const stack *s)
{
    double n = f->windows, period = s->period < 0 ? -n / s->period : s->period;
    double phase = s->together > 0 ? period * uniform() : 0;
    for (int i = (int)-phase; s->tooth > 0 && i < f->windows; i++) {
        double end = (floor((i + phase) / period) + 1) * period - phase;
        add_life(f, i, end, poisson(s->tooth / period));
    }
}

/* First in, first out: what arrives at a time departs when as many were served. */
static void add_queue(film *f, const stack *s)
{
    double rate = s->leak / f->windows / (1 - s->served);
    for (double at = 0; at < f->windows; at += exponential(1 / rate))
        add_life(f, at, at / s->served, 1);
}

/* One sample at a time, since the block is larger than what a sample stands for. */
static void add_buffer(film *f, const stack *s)
{
    double size = 1, from = 0;
    for (double at; size < s->leak; from = at, size *= 2) {
        at = f->windows * size / s->leak;
        size_t before = (size_t)point_of(f->windows, (int)from);
        int now = at < f->windows ? (int)at : f->windows - 1;
        f->cohorts.births[before]++;
        f->cohorts.deaths[cli_leaks_cell(before, (size_t)point_of(f->windows, now))]++;
        for (int i = (int)from; i < now; i++)
            f->level[i] += size;
    }
    f->cohorts.births[point_of(f->windows, (int)from)]++;
    for (int i = (int)from; i < f->windows; i++)
        f->level[i] += size;
}

static void add_shapes(film *f, const stack *s)
{
    double n = f->windows, missing = s->cache, work = 0;
    int batches = (int)s->batches;
    for (int i = 0; i < f->windows; i++) {
        double speed = 1 - s->slower * i / n;
        f->work[i] = work += poisson(WORK * speed);
        int leaked = s->leak > 0 && s->served <= 0 && s->buffer <= 0
                         ? poisson(s->leak / n * speed / (1 - s->slower / 2))
                         : 0;
        if (batches && i * batches / f->windows != (i + 1) * batches / f->windows)
            leaked = poisson(s->leak / batches);
        else if (batches)
            leaked = 0;
        if (leaked)
            add_life(f, i, 1e9, leaked);
        double fill = s->filled < 0       ? missing * (1 - exp(1 / (n * s->filled)))
                      : i < n * s->filled ? s->cache / (n * s->filled)
                                          : 0;
        int filled = s->cache > 0 ? poisson(fill * speed) : 0;
        missing -= filled;
        if (filled)
            add_life(f, i, 1e9, filled);
    }
    add_teeth(f, s);
    add_steps(f, s);
    for (double at = 0; s->sessions > 0 && at < n; at += exponential(n / s->sessions))
        add_life(f, at, at + draw_life(s), 1);
    if (s->served > 0)
        add_queue(f, s);
    if (s->buffer > 0)
        add_buffer(f, s);
}

static void play(film *f, const stack *s, int windows)
{
    memset(f, 0, sizeof *f);
    f->windows = windows;
    for (int i = 0; i < fmax(s->together, 1); i++) {
        if (s->level > 0)
            add_population(f, s);
        add_shapes(f, s);
    }
}

enum { BY_SLOPE, BY_AGE, WAYS };
static const char *const ways[WAYS] = {"by slope", "by age"};

/* The series of the command: blocks of windows, with their lowest level. */
static void judge(film *f, cli_leaks_kind kinds[WAYS])
{
    double seconds[CLI_LEAKS_POINTS], levels[CLI_LEAKS_POINTS], allocated[CLI_LEAKS_POINTS];
    double work[CLI_LEAKS_POINTS];
    int size = (f->windows + CLI_LEAKS_POINTS - 1) / CLI_LEAKS_POINTS;
    int points = f->windows / size, extra = f->windows - points * size;
    for (int p = 0, at = 0; p < points; p++) {
        levels[p] = INFINITY;
        for (int end = extra + (p + 1) * size; at < end; at++) {
            levels[p] = fmin(levels[p], f->level[at] * WEIGHT);
            allocated[p] = f->allocated[at] * WEIGHT;
            work[p] = f->work[at];
            seconds[p] = at * 60.0;
            f->cohorts.in_use[p] = (float)(f->level[at] * WEIGHT);
        }
    }
    const cli_leaks_series series = {.len = (size_t)points,
                                     .seconds = seconds,
                                     .levels = levels,
                                     .allocated = allocated,
                                     .work = work,
                                     .weight = WEIGHT,
                                     .tests = TESTS};
    cli_leaks_verdict v = cli_leaks_judge(&series);
    kinds[BY_SLOPE] = v.kind;
    kinds[BY_AGE] = cli_leaks_judge_lives(&series, &f->cohorts, &v).kind;
}

/* ---- tables ------------------------------------------------------------------------------- */

enum { MOST_STACKS = 64 };
static stack innocent[MOST_STACKS], guilty[MOST_STACKS];
static int innocent_len, guilty_len;

static void set(stack *s, const char *name, double value)
{
    static const char *const members[] = {
        "lognormal", "mixed",  "level",    "lifetime",       "burst", "wave",  "leak",   "batches",
        "cache",     "filled", "tooth",    "period",         "step",  "steps", "slower", "sessions",
        "served",    "buffer", "together", "is_like_a_leak", "slope", "age"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!strcmp(members[i], name)) {
            memcpy((char *)s + offsetof(stack, lognormal) + i * sizeof value, &value, sizeof value);
            return;
        }
    fprintf(stderr, "there is no member %s\n", name);
    exit(1);
}

/* Returns how many there are. */
static int read_stacks(const char *part, stack *to)
{
    int len = 0;
    for (table_rows r = {0}; rows_next(&r, "stacks", part); len++) {
        to[len].name = strdup(r.cells[0]);
        for (size_t i = 1; i < r.len; i++) {
            char *value = strchr(r.cells[i], ' ');
            *value = 0;
            set(&to[len], r.cells[i], strtod(value + 1, NULL));
        }
    }
    return len;
}

static const int windows_of[] = {10, 24, 60, 240};
enum { LENGTHS = sizeof windows_of / sizeof *windows_of };
static const int leaks_of[] = {10, 20, 30, 40, 80, 160};
enum { LEAKS = sizeof leaks_of / sizeof *leaks_of };

/* Of `all` stacks: the suspects, and with the unknown ones. */
typedef struct counts {
    double all, suspects[WAYS], noticed[WAYS];
} counts;

static void add(counts *to, const counts *from)
{
    to->all += from->all;
    for (int way = 0; way < WAYS; way++) {
        to->suspects[way] += from->suspects[way];
        to->noticed[way] += from->noticed[way];
    }
}

static counts judge_many(const stack *s, int windows, int stacks)
{
    static film f;
    counts found = {.all = stacks};
    for (int i = 0; i < stacks; i++) {
        cli_leaks_kind kinds[WAYS];
        play(&f, s, windows);
        judge(&f, kinds);
        for (int way = 0; way < WAYS; way++) {
            found.suspects[way] += kinds[way] == CLI_LEAKS_SUSPECT;
            found.noticed[way] += kinds[way] != CLI_LEAKS_NONE;
        }
    }
    return found;
}

static double of(const counts *c, int way, int is_noticed, double all)
{
    return (is_noticed ? c->noticed[way] : c->suspects[way]) / c->all * all;
}

/* Prints both tables. Adds up the stacks that can be told from a leak, and the others. */
static void table_of_innocent(int stacks, counts sums[2])
{
    static counts all[MOST_STACKS][LENGTHS];
    for (int i = 0; i < innocent_len; i++)
        for (int l = 0; l < LENGTHS; l++) {
            seed((uint64_t)(i * LENGTHS + l + 1));
            all[i][l] = judge_many(&innocent[i], windows_of[l], stacks);
            add(&sums[innocent[i].is_like_a_leak > 0], &all[i][l]);
        }
    for (int table = 0; table < 2; table++) {
        printf("%s among 1,000 stacks without a leak, by the number of windows\n%-36s",
               table ? "suspects and unknown ones" : "suspects", "");
        for (int way = 0; way < WAYS; way++)
            for (int l = 0; l < LENGTHS; l++)
                printf(l ? " %5d" : "%10d", windows_of[l]);
        for (int i = 0; i < innocent_len; i++) {
            printf("\n%-36s", innocent[i].name);
            for (int way = 0; way < WAYS; way++)
                for (int l = 0; l < LENGTHS; l++)
                    printf(l ? " %5.1f" : "%10.1f", of(&all[i][l], way, table, 1000));
        }
        for (int like = 0; like < 2; like++)
            printf("\nmean of those that %s: %.2f %s, %.2f %s",
                   like ? "are like a leak" : "are not", of(&sums[like], BY_SLOPE, table, 1000),
                   ways[BY_SLOPE], of(&sums[like], BY_AGE, table, 1000), ways[BY_AGE]);
        puts("\n");
    }
}

static void table_of_guilty(int stacks, counts all[MOST_STACKS][LEAKS])
{
    for (int i = 0; i < guilty_len; i++)
        for (int l = 0; l < LEAKS; l++) {
            stack s = guilty[i];
            s.leak = leaks_of[l];
            seed((uint64_t)(1000 + i * LEAKS + l));
            all[i][l] = judge_many(&s, 60, stacks);
        }
    for (int table = 0; table < 2; table++) {
        printf("leaks %s in 60 windows, in percent, by the samples that leak in the run\n%-38s",
               table ? "found or unknown" : "found", "");
        for (int way = 0; way < WAYS; way++)
            for (int l = 0; l < LEAKS; l++)
                printf(l ? " %3d" : "%6d", leaks_of[l]);
        for (int i = 0; i < guilty_len; i++) {
            printf("\n%-38s", guilty[i].name);
            for (int way = 0; way < WAYS; way++)
                for (int l = 0; l < LEAKS; l++)
                    printf(l ? " %3.0f" : "%6.0f", of(&all[i][l], way, table, 100));
        }
        puts("\n");
    }
}

/* How often the smallest leak that the report names is found, where nothing else happens. */
static void power_of_the_smallest(int stacks, counts sums[WAYS])
{
    for (int l = 0; l < LENGTHS; l++) {
        double seconds[CLI_LEAKS_POINTS];
        size_t points = windows_of[l] < CLI_LEAKS_POINTS ? (size_t)windows_of[l] : CLI_LEAKS_POINTS;
        for (size_t i = 0; i < points; i++)
            seconds[i] = (double)i;
        const cli_leaks_series times = {
            .len = points, .seconds = seconds, .weight = 1, .tests = TESTS};
        for (int way = 0; way < WAYS; way++) {
            stack s = {.name = "smallest",
                       .leak = way == BY_AGE ? cli_leaks_smallest_that_lives(&times)
                                             : cli_leaks_smallest(&times)};
            seed((uint64_t)(2000 + l));
            counts found = judge_many(&s, windows_of[l], stacks);
            printf("the smallest leak in %d windows %s: %.0f samples, found in %.1f percent\n",
                   windows_of[l], ways[way], s.leak, of(&found, way, 0, 100));
            add(&sums[way], &found);
        }
    }
}

/* ---- the check ---------------------------------------------------------------------------- */

/* The chance of at most `count` of `all`, each with this chance. */
static double binomial(double count, double all, double share)
{
    double sum = 0;
    for (double k = 0; k <= count; k++)
        sum += exp(lgamma(all + 1) - lgamma(k + 1) - lgamma(all - k + 1) + k * log(share) +
                   (all - k) * log1p(-share));
    return sum;
}

static int passed, failed;

/* Is the count as the published share has it, or better? */
static void claim(const char *what, double count, double all, double share, bool is_at_most)
{
    static const double doubt = 0.001;
    share = fmin(share, 0.995); /* published as 100 percent */
    double chance = share <= 0   ? 1
                    : is_at_most ? 1 - binomial(count - 1, all, share)
                                 : binomial(count, all, share);
    bool holds = count == (is_at_most ? 0 : all) || chance >= doubt;
    if (!holds)
        printf("FAILED %s: %.0f of %.0f, published %g\n", what, count, all, share);
    *(holds ? &passed : &failed) += 1;
}

static void check(const counts sums[2], const counts found[MOST_STACKS][LEAKS],
                  const counts least[WAYS])
{
    static const double suspects[WAYS] = {4e-5, 1.2e-5}, noticed[WAYS] = {0.0079, 0.002};
    for (int way = 0; way < WAYS; way++) {
        claim("suspects", sums[0].suspects[way], sums[0].all, suspects[way], true);
        claim("unknown ones", sums[0].noticed[way], sums[0].all, noticed[way], true);
        claim("the smallest leak", least[way].suspects[way], least[way].all, 0.82, false);
    }
    for (int i = 0; i < guilty_len; i++) {
        const counts *c = &found[i][LEAKS - 2]; /* 80 samples */
        for (int way = 0; way < WAYS; way++)
            claim(guilty[i].name, c->suspects[way], c->all, guilty[i].published[way], false);
    }
}

int main(int argc, char **argv)
{
    bool is_check = argc > 1 && !strcmp(argv[1], "--check");
    int stacks = is_check ? 100 : 2000, leaks = is_check ? 50 : 1000;
    static counts sums[2], found[MOST_STACKS][LEAKS], least[WAYS];
    innocent_len = read_stacks("innocent", innocent);
    guilty_len = read_stacks("guilty", guilty);
    table_of_innocent(stacks, sums);
    table_of_guilty(leaks, found);
    power_of_the_smallest(leaks, least);
    if (is_check) {
        check(sums, (const counts(*)[LEAKS])found, least);
        printf("%d passed, %d failed\n", passed, failed);
    }
    return failed != 0;
}

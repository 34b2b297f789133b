/* How often is `pprofdelta leaks` wrong? Simulated stacks, judged by the function of the command.
 *
 *     leaks_power          prints the tables of the manual
 *     leaks_power --check  the same with fewer stacks; fails if a figure is worse than it was
 *
 * What is simulated are the samples: each arrives at random and departs at the end of its life, and
 * stands for WEIGHT bytes. A stack without a leak has as many arrivals as departures after its
 * start. The first table counts the suspects among such stacks, which are all wrong; the second one
 * counts how many leaks are found. Every number comes from a fixed seed. */
#include "leaks_verdict.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { WEIGHT = 512 << 10, MOST_WINDOWS = 240, TESTS = 1000 };

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

typedef enum life { EXPONENTIAL, LOGNORMAL, MIXED, FOREVER } life;

/* Times are in windows, amounts in samples. */
typedef struct stack {
    const char *name;
    life life;
    double level;    /* samples that are alive in the mean */
    double lifetime; /* mean */
    double burst;    /* mean number of samples that arrive and depart together */
    double wave;     /* arrivals swing by this share, three times in the run */
    double leak;     /* samples in the whole run */
    double cache;    /* samples that fill a cache ... */
    double filled;   /* ... until this share of the run; below 0: exponentially */
    double tooth;    /* samples of a sawtooth ... */
    double period;   /* ... of so many windows; below 0: so many in a run */
    double step;     /* samples at once, at a random time */
} stack;

typedef struct film {
    double level[MOST_WINDOWS], allocated[MOST_WINDOWS];
    int windows;
} film;

static double draw_life(const stack *s)
{
    if (s->life == LOGNORMAL)
        return s->lifetime * exp(1.5 * normal() - 1.125);
    if (s->life == MIXED) /* the mean of both is the lifetime; few live long, and hold most */
        return uniform() < 0.02 ? exponential(s->lifetime * 40) : exponential(s->lifetime * 0.2);
    return exponential(s->lifetime);
}

/* Samples that arrive at `from` and live until `to`; negative times are before the run. */
static void add_life(film *f, double from, double to, double samples)
{
    for (int i = from < 0 ? 0 : (int)ceil(from); i < f->windows; i++) {
        f->level[i] += i < to ? samples : 0;
        f->allocated[i] += samples;
    }
}

/* Arrivals since long before the run, so that the level is in balance when the run begins. */
static void add_population(film *f, const stack *s)
{
    double before = s->lifetime * (s->life == EXPONENTIAL ? 8 : 60);
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

static void add_shapes(film *f, const stack *s)
{
    double n = f->windows, step_at = n * (0.2 + 0.6 * uniform());
    double missing = s->cache;
    double lost = 0;
    for (int i = 0; i < f->windows; i++) {
        int leaked = s->leak > 0 ? poisson(s->leak / n) : 0;
        if (leaked)
            add_life(f, i, 1e9, leaked);
        double fill = s->filled < 0       ? missing * (1 - exp(1 / (n * s->filled)))
                      : i < n * s->filled ? s->cache / (n * s->filled)
                                          : 0;
        int filled = s->cache > 0 ? poisson(fill) : 0;
        missing -= filled;
        if (filled)
            add_life(f, i, 1e9, filled);
        if (s->tooth > 0) {
            double period = s->period < 0 ? -n / s->period : s->period;
            double end = (floor(i / period) + 1) * period;
            add_life(f, i, end, poisson(s->tooth / period));
        }
        if (s->step > 0 && !(lost > 0) && i >= step_at) {
            add_life(f, i, 1e9, poisson(s->step));
            lost = 1;
        }
    }
}

static void play(film *f, const stack *s, int windows)
{
    memset(f, 0, sizeof *f);
    f->windows = windows;
    if (s->level > 0)
        add_population(f, s);
    add_shapes(f, s);
}

/* The series of the command: blocks of windows, with their lowest level. */
static cli_leaks_verdict judge(const film *f)
{
    double seconds[CLI_LEAKS_POINTS], levels[CLI_LEAKS_POINTS], allocated[CLI_LEAKS_POINTS];
    int size = (f->windows + CLI_LEAKS_POINTS - 1) / CLI_LEAKS_POINTS;
    int points = f->windows / size, extra = f->windows - points * size;
    for (int p = 0, at = 0; p < points; p++) {
        levels[p] = INFINITY;
        for (int end = extra + (p + 1) * size; at < end; at++) {
            levels[p] = fmin(levels[p], f->level[at] * WEIGHT);
            allocated[p] = f->allocated[at] * WEIGHT;
            seconds[p] = at * 60.0;
        }
    }
    const cli_leaks_series series = {.len = (size_t)points,
                                     .seconds = seconds,
                                     .levels = levels,
                                     .allocated = allocated,
                                     .weight = WEIGHT,
                                     .tests = TESTS};
    return cli_leaks_judge(&series);
}

/* ---- tables ------------------------------------------------------------------------------- */

/* No leaks. */
static const stack innocent[] = {
    {.name = "short lives, 3 samples", .level = 3, .lifetime = 0.3},
    {.name = "short lives, 100 samples", .level = 100, .lifetime = 0.3},
    {.name = "lives of 5 windows, 10 samples", .level = 10, .lifetime = 5},
    {.name = "lives of 5 windows, 300 samples", .level = 300, .lifetime = 5},
    {.name = "lives of 50 windows, 30 samples", .level = 30, .lifetime = 50},
    {.name = "lives of 50 windows, 300 samples", .level = 300, .lifetime = 50},
    {.name = "lives of 400 windows, 100 samples", .level = 100, .lifetime = 400},
    {.name = "few long lives, log-normal", .level = 100, .lifetime = 5, .life = LOGNORMAL},
    {.name = "many short and few long lives", .level = 100, .lifetime = 1, .life = MIXED},
    {.name = "bursts of 10", .level = 100, .lifetime = 5, .burst = 10},
    {.name = "bursts of 50, lives of 20 windows", .level = 200, .lifetime = 20, .burst = 50},
    {.name = "load swings by half", .level = 100, .lifetime = 2, .wave = 0.5},
    {.name = "cache, full after a tenth", .cache = 200, .filled = 0.1},
    {.name = "cache, full after half", .cache = 200, .filled = 0.5},
    {.name = "cache, full after 7 tenths", .cache = 200, .filled = 0.7},
    {.name = "cache, fills slower and slower", .cache = 200, .filled = -0.15},
    {.name = "cache that fills, among short lives",
     .level = 50,
     .lifetime = 1,
     .cache = 200,
     .filled = 0.3},
    {.name = "sawtooth of 3 windows", .tooth = 100, .period = 3},
    {.name = "sawtooth of 7 windows", .tooth = 100, .period = 7},
    {.name = "sawtooth of a fourth of the run", .tooth = 100, .period = -4},
    {.name = "sawtooth of half of the run", .tooth = 100, .period = -2},
    {.name = "one step", .step = 100},
    {.name = "one step among short lives", .level = 50, .lifetime = 1, .step = 100},
};

static const stack guilty[] = {
    {.name = "nothing else", .life = FOREVER},
    {.name = "among 30 short-lived samples", .level = 30, .lifetime = 0.3},
    {.name = "among 30 samples, lives of 5 windows", .level = 30, .lifetime = 5},
    {.name = "among 300 samples, lives of 5 windows", .level = 300, .lifetime = 5},
    {.name = "in bursts of 10 with 100 samples", .level = 100, .lifetime = 2, .burst = 10},
    {.name = "with a cache that fills", .cache = 50, .filled = 0.2},
};

enum { INNOCENT = sizeof innocent / sizeof *innocent, GUILTY = sizeof guilty / sizeof *guilty };

static const int windows_of[] = {10, 24, 60, 240};
enum { LENGTHS = sizeof windows_of / sizeof *windows_of };
static const int leaks_of[] = {10, 20, 40, 80, 160, 320};
enum { LEAKS = sizeof leaks_of / sizeof *leaks_of };

static int count_suspects(const stack *s, int windows, int stacks)
{
    static film f;
    int suspects = 0;
    for (int i = 0; i < stacks; i++) {
        play(&f, s, windows);
        suspects += judge(&f).kind == CLI_LEAKS_SUSPECT;
    }
    return suspects;
}

static double table_of_innocent(int stacks)
{
    double sum = 0;
    printf("suspects among 1,000 stacks without a leak, by the number of windows\n%-38s", "");
    for (int l = 0; l < LENGTHS; l++)
        printf(" %7d", windows_of[l]);
    for (int i = 0; i < INNOCENT; i++) {
        printf("\n%-38s", innocent[i].name);
        for (int l = 0; l < LENGTHS; l++) {
            seed((uint64_t)(i * LENGTHS + l + 1));
            double share = 1000.0 * count_suspects(&innocent[i], windows_of[l], stacks) / stacks;
            printf(" %7.2f", share);
            sum += share;
        }
    }
    printf("\n%-38s %7.3f\n\n", "mean", sum / (INNOCENT * LENGTHS));
    return sum / (INNOCENT * LENGTHS);
}

static double table_of_guilty(int stacks)
{
    double last = 100;
    printf("leaks found in 60 windows, in percent, by the samples that leak in the run\n%-38s", "");
    for (int l = 0; l < LEAKS; l++)
        printf(" %5d", leaks_of[l]);
    for (int i = 0; i < GUILTY; i++) {
        printf("\n%-38s", guilty[i].name);
        for (int l = 0; l < LEAKS; l++) {
            stack s = guilty[i];
            s.leak = leaks_of[l];
            seed((uint64_t)(1000 + i * LEAKS + l));
            double share = 100.0 * count_suspects(&s, 60, stacks) / stacks;
            printf(" %5.1f", share);
            if (!i && l + 1 == LEAKS)
                last = share;
        }
    }
    puts("");
    return last;
}

int main(int argc, char **argv)
{
    bool is_check = argc > 1 && !strcmp(argv[1], "--check");
    int stacks = is_check ? 100 : 5000;
    double wrong = table_of_innocent(stacks), found = table_of_guilty(is_check ? 50 : 1000);
    if (!is_check)
        return 0;
    bool is_good = wrong <= 0.5 && found >= 95; /* measured: 0.05 and 100 */
    printf("%d passed, %d failed\n", is_good, !is_good);
    return !is_good;
}

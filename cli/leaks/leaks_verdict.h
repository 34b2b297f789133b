/* Is a series of in-use values a leak? The decision of `pprofdelta leaks`, as pure functions.
 *
 *     level |                            thirds of the part that is judged
 *           |                                        +----L3----+
 *           |                            +----L2----+
 *           |                +----L1----+
 *           |   (start-up)
 *           +---------------------------------------------------> time
 *
 * The first third of the points is start-up and is not judged. The mean levels of the other thirds
 * give the growth, L3 - L1. Growth is a leak if chance does not explain it, and if it has the shape
 * of a leak: it is no single step, it does not fall back, it does not slow down, and it has not
 * stopped. Growth that chance may explain, but that goes up only, is no leak and not clean either:
 * it is unknown.
 *
 * Chance: a sampled heap is an estimate. Each sample stands for about `weight` bytes, so that the
 * changes of a level behave like `weight` times a count of random arrivals and departures. A
 * process without a leak has as many arrivals as departures. leaks_verdict.c has the variances. */
#ifndef CLI_LEAKS_VERDICT_H
#define CLI_LEAKS_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

enum {
    CLI_LEAKS_POINTS = 24,     /* of a series, at most */
    CLI_LEAKS_LEAST_POINTS = 6 /* for a verdict */
};

typedef enum cli_leaks_kind {
    CLI_LEAKS_NONE, /* not a suspect */
    CLI_LEAKS_UNKNOWN,
    CLI_LEAKS_SUSPECT
} cli_leaks_kind;

typedef enum cli_leaks_reason {
    CLI_LEAKS_STEADY_GROWTH, /* SUSPECT, as are those down to BUFFER */
    CLI_LEAKS_SURVIVES,      /* this and the next two: see below */
    CLI_LEAKS_BACKLOG,
    CLI_LEAKS_BUFFER,
    CLI_LEAKS_FEW_POINTS,  /* UNKNOWN, as are those down to SLOWING */
    CLI_LEAKS_FEW_SAMPLES, /* too few survivors; NONE if they are no sign of a leak */
    CLI_LEAKS_FILLING,     /* what stays comes in more slowly */
    CLI_LEAKS_TURNOVER,    /* grows, but what is allocated is freed */
    CLI_LEAKS_UNSURE,      /* the growth may be chance */
    CLI_LEAKS_RESIDENT,    /* resident memory grows, and the stacks do not; see leaks.h */
    CLI_LEAKS_TOUCHED,     /* what grows is the resident part of a mapping that does not */
    CLI_LEAKS_LATE,        /* it began in the last third */
    CLI_LEAKS_SLOWING,     /* it is slower than before */
    CLI_LEAKS_FLAT,        /* NONE, as are those below */
    CLI_LEAKS_FILLED,      /* grew at first and stays */
    CLI_LEAKS_STEP,        /* grew at one moment */
    CLI_LEAKS_SAWTOOTH,    /* grows and falls back */
    CLI_LEAKS_SHRINKING
} cli_leaks_reason;

/* A series: one point for each block of windows, with the lowest value in the block. */
typedef struct cli_leaks_series {
    size_t len;
    const double *seconds;   /* rising */
    const double *levels;    /* bytes in use */
    const double *allocated; /* bytes allocated until then; NULL: not known */
    const double *work; /* samples allocated elsewhere in the program until then; NULL: not known */
    double weight;      /* bytes that a sample stands for, above 0 */
    double tests;       /* series that are judged together, at least 1 */
} cli_leaks_series;

/* What the ages show, in samples. */
typedef struct cli_leaks_evidence {
    size_t age;     /* in points: what is older has settled. 0: the profiles have no ages */
    double settled; /* samples that reached this age */
    double freed;   /* of these, freed since */
    double old;     /* of these, alive */
    double needed;  /* settled samples that a verdict needs */
    double longer;  /* a run that is longer by this factor would tell; 0: not known */
} cli_leaks_evidence;

typedef struct cli_leaks_verdict {
    cli_leaks_kind kind;
    cli_leaks_reason reason;
    double growth; /* L3 - L1 in bytes */
    double noise;  /* the standard deviation of the growth if there is no leak */
    double slope;  /* bytes per second: the median of the slopes between two judged points */
    double
        doubt; /* the chance that any of `tests` series without a leak grows so much; at most 1 */
    double recent; /* the slope of the last two thirds over that of the first two */
    cli_leaks_evidence evidence;
} cli_leaks_verdict;

/* A growth with more doubt than this is no suspect. */
extern const double cli_leaks_doubt_limit;

cli_leaks_verdict cli_leaks_judge(const cli_leaks_series *series);

/* Makes a verdict that is clean unknown if the level grew by more than the smallest leak that would be a
 * suspect: of few large objects, chance explains much. What is certain of the shape stays clean. */
void cli_leaks_doubt_growth(const cli_leaks_series *series, double smallest,
                            cli_leaks_verdict *verdict);

/* Is it by new mappings that the resident memory of an area grew so much? Else what was mapped before is
 * touched step by step, and its size is the bound. mapped: the size of the mappings at each point. */
bool cli_leaks_is_mapped_again(const double *mapped, size_t len, double growth);

/* The kind of a reason; of FEW_SAMPLES, UNKNOWN. */
cli_leaks_kind cli_leaks_kind_of(cli_leaks_reason reason);

/* The bytes that must leak in the run, at an even speed, to be a suspect in 8 of 10 runs at a stack that
 * frees nothing. INFINITY: there are too few points. Of the series, len, seconds, weight and tests count. */
double cli_leaks_smallest(const cli_leaks_series *series);

/* The chance that a normal value is so many standard deviations above its mean. */
double cli_leaks_tail(double sigmas);

/* Inserts the value into values, which are sorted. */
void cli_leaks_insert(double *values, size_t len, double value);

/* Why, in words for people. */
const char *cli_leaks_why(const cli_leaks_verdict *verdict);

/* The word for JSON, as "few-windows", and the words for people. */
typedef struct cli_leaks_words {
    const char *word, *text;
} cli_leaks_words;
extern const cli_leaks_words cli_leaks_reasons[], cli_leaks_kinds[]; /* by reason, and by kind */

/* ---- profiles with ages (leaks_survival.c) ---- */

/* Is what a stack allocates a leak? The decision for profiles with ages.
 *
 *     born |  died in point       the samples of a cohort, which were allocated in one point, by the
 *          |  0   1   2   3       point in which they were freed; the rest is alive
 *     0    | d00 d01 d02 d03
 *     1    |     d11 d12 d13      age at death: died - born
 *     2    |         d22 d23
 *     3    |             d33
 *
 * A point is a block of windows, as in leaks_verdict.h. What was alive before the first window belongs
 * to cohort 0: its age is unknown, and at least what the table has.
 *
 * Three rules make a suspect:
 *
 *     survivors   what lives for a fifth of the run is not freed after that, and more comes all the time
 *     backlog     what is freed is older and older, and more waits: a queue that is not emptied
 *     buffer      a block that is replaced by a larger one again and again, or realloc's pieces of it
 *
 * leaks_survival.c has the thresholds. */
enum { CLI_LEAKS_CELLS = CLI_LEAKS_POINTS * (CLI_LEAKS_POINTS + 1) / 2 };

/* The survival table of a stack, or of several, in samples. */
typedef struct cli_leaks_cohorts {
    float births[CLI_LEAKS_POINTS];
    float deaths[CLI_LEAKS_CELLS];  /* see cli_leaks_cell */
    float in_use[CLI_LEAKS_POINTS]; /* bytes at the end of the point */
} cli_leaks_cohorts;

/* The cell of the samples that were born in one point and died in another, not earlier one. */
static inline size_t cli_leaks_cell(size_t born, size_t died)
{
    return died * (died + 1) / 2 + born;
}

/* The samples of a cohort that are alive at the end of a point. */
double cli_leaks_alive(const cli_leaks_cohorts *cohorts, size_t born, size_t point);

/* Judges the survival table of a series. by_slope is the verdict of cli_leaks_judge, whose reason is
 * taken if no rule holds and the samples are not too few. */
cli_leaks_verdict cli_leaks_judge_lives(const cli_leaks_series *series,
                                        const cli_leaks_cohorts *cohorts,
                                        const cli_leaks_verdict *by_slope);

/* As cli_leaks_smallest, for profiles with ages, at a stack where all else is freed soon. */
double cli_leaks_smallest_that_lives(const cli_leaks_series *series);

#endif

/* Is what a stack allocates a leak? The decision of `pprofdelta leaks` for profiles with ages, as pure
 * functions.
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
#ifndef CLI_LEAKS_SURVIVAL_H
#define CLI_LEAKS_SURVIVAL_H

#include "leaks/leaks_verdict.h"

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

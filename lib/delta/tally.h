/* The books: counts and sums of a window, for the report and for the law of conservation,
 *
 *     prev + delta - clamped - vanished = cur          for every counter, in 64 bits.
 *
 * They are added up apart from the subtraction, so that one can be held against the other. */
#ifndef PD_DELTA_TALLY_H
#define PD_DELTA_TALLY_H

#include "base/sum.h"
#include "delta/subtract.h"

typedef struct pd_type_sums {
    pprofdelta_sum prev, cur, delta, clamped, vanished;
} pd_type_sums;

typedef struct pd_tally {
    uint64_t matched, fresh, vanished, clamped;
    pd_type_sums types[PPROFDELTA_MAX_TYPES]; /* in the row's order */
} pd_tally;

/* Begins the books of a filled and judged window: everything but delta. */
void pd_tally_begin(pd_tally *tally, const pd_window *window, pd_subtraction how);

/* Books a row of the output. */
void pd_tally_output(pd_tally *tally, const int64_t *row, size_t len);

/* The first type (its place in the row) for which the law does not hold, or -1. */
int pd_tally_check(const pd_tally *tally, size_t counters);

#endif

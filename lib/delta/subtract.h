/* The subtraction: a filled and judged window, row by row, becomes the rows of the output. */
#ifndef PD_DELTA_SUBTRACT_H
#define PD_DELTA_SUBTRACT_H

#include "base/sum.h"
#include "delta/window.h"

typedef enum pd_subtraction {
    PD_SUBTRACT_CLAMP,    /* a counter behind the ledger gives 0 */
    PD_SUBTRACT_NEGATIVE, /* ... its negative difference */
    PD_SUBTRACT_NOTHING,  /* the ledger counts as empty: cur itself */
    PD_SUBTRACT_ALL       /* the ledger counts as equal: no counters, only gauges */
} pd_subtraction;

/* The output's values of this row, in the row's order. True where any of them is not zero. */
bool pd_subtract_row(const pd_window *window, size_t row, pd_subtraction how, int64_t *out);

/* The same for an entry that the window does not have, emitted as vanished: its counters negated,
 * its gauges zero. */
bool pd_subtract_vanished(const pd_window *window, uint32_t entry, int64_t *out);

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

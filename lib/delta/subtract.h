/* The subtraction: a filled and judged window, row by row, becomes the rows of the output. */
#ifndef PD_DELTA_SUBTRACT_H
#define PD_DELTA_SUBTRACT_H

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

#endif

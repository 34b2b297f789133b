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

/* Is there nothing of this row in the output, whatever the mode but PD_SUBTRACT_NOTHING? True for
 * most rows of most profiles: no counter moved and no gauge stands. It may say false of a row of
 * which nothing comes, never the other way. */
static inline bool pd_subtract_is_still(const pd_window *w, size_t row)
{
    size_t entry = w->entry[row], counters = w->ledger->counters;
    const int64_t *values = pd_window_values(w, row), *base = pd_ledger_base(w->ledger, entry);
    int64_t any = 0;
    if (entry >= w->ledger->committed)
        return false;
    for (size_t i = 0; i < counters; i++)
        any |= values[i] ^ base[i];
    for (size_t i = counters; i < w->stride; i++)
        any |= values[i];
    return any == 0;
}

/* The same for an entry that the window does not have, emitted as vanished: its counters negated,
 * its gauges zero. */
bool pd_subtract_vanished(const pd_window *window, uint32_t entry, int64_t *out);

#endif

/* The subtraction: the rows of a filled window become the rows of the output. And its sums, for the
 * report and for the conservation law:
 *
 *     prev + delta - clamped - vanished = cur          for every counter, in 64 bits
 *
 * The sums are added up independently of the subtraction, so that the law checks it. */
#ifndef PD_LEDGER_SUBTRACT_H
#define PD_LEDGER_SUBTRACT_H

#include "base/steps.h"
#include "base/sum.h"
#include "ledger/types.h"
#include "ledger/row_set.h"

typedef enum pd_subtraction {
    PD_SUBTRACT_CLAMP,    /* a counter below the ledger's gives 0 */
    PD_SUBTRACT_NEGATIVE, /* it gives the negative difference */
    PD_SUBTRACT_NOTHING,  /* the ledger counts as empty: the output is cur */
    PD_SUBTRACT_ALL       /* the ledger counts as equal: counters are 0, gauges stay */
} pd_subtraction;

/* Writes the output's values of this row. Returns whether one is not zero. */
bool pd_subtract_row(const pd_row_set *window, size_t row, pd_subtraction how, int64_t *out);

/* The same for a vanished entry, which the window does not have: its counters negated, its gauges
 * 0. */
bool pd_subtract_vanished(const pd_row_set *window, uint32_t entry, int64_t *out);

typedef struct pd_tally {
    uint64_t matched, fresh, vanished, clamped;
    bool is_too_large;                                  /* a difference does not fit in 64 bits */
    pprofdelta_type_report types[PPROFDELTA_MAX_TYPES]; /* in the order of a row; without names */
} pd_tally;

/* Sets the sums of a filled window, all but delta. E_LIMIT if the rows of the output do not fit in 64 bits. */
pprofdelta_status pd_tally_begin(pd_tally *tally, const pd_row_set *window, pd_subtraction how,
                                 pprofdelta_error *err);

/* Adds a row of the output to delta. */
void pd_tally_output(pd_tally *tally, const int64_t *row, size_t len);

/* Reports that the sums of the type in this slot do not add up: E_VERIFY. */
pprofdelta_status pd_tally_refuse(const pd_schema *schema, size_t slot, const char *what,
                                  pprofdelta_error *err);

/* Returns pd_tally_refuse for the first counter for which the law does not hold, or OK. */
pprofdelta_status pd_tally_check(const pd_tally *tally, const pd_schema *schema,
                                 pprofdelta_error *err);

/* Sets *report to what it says of a window's samples, its time and its types, and the rest to 0. Sets out[i]
 * to what it says of column i. */
void pd_tally_report(const pd_tally *tally, const pd_row_set *w, const pd_interval *interval,
                     const pd_schema *schema, const pd_columns *columns,
                     pprofdelta_type_report *out, pprofdelta_report *report);

#endif

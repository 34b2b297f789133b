/* Distinct samples and their totals: the values of samples that are equal are added up. A sum of profiles, the samples
 * of a builder, and the records that are written are this.
 *
 *     ledger       key -> values, added up              in order of first appearance
 *     model        each sample once, its values 0
 *     offsets      of the entries                       offsets of their samples in the model
 *
 * What a failed addition leaves in the model has no user and is not copied. */
#ifndef PD_MODEL_TOTALS_H
#define PD_MODEL_TOTALS_H

#include "ledger/ledger.h"
#include "ledger/types.h"
#include "model/transfer.h"

typedef struct pd_totals {
    pd_ledger ledger;
    pd_model model;
    size_t *offsets;
    pd_buffer spare; /* for pd_totals_finish: the samples in their other form */
} pd_totals;         /* zero it to begin */

/* Makes it empty, for samples with so many values. Keeps capacity. err is borrowed as by a model. The model has no
 * types; they are only needed by pd_totals_finish. */
pprofdelta_status pd_totals_begin(pd_totals *totals, pd_mem *mem, size_t values,
                                  pprofdelta_error *err);

/* Adds values to those of the sample with this key. The stack and the labels of a new one were put to the model; if it
 * is not new, what was put is dropped. If this fails, the sample is not there, or is as it was. */
pprofdelta_status pd_totals_add(pd_totals *totals, pd_key key, const int64_t *values);

/* The sample whose stack and labels were put to the model is that of this entry, which the caller has added to the
 * ledger as the last one that has none. */
pprofdelta_status pd_totals_add_sample(pd_totals *totals, size_t entry);

/* Gives the samples in the model itself their values, in the order of its types, so that it can be encoded: nothing is
 * copied. Returns false, and does nothing, if a sample has no value: what it refers to must not be written. */
bool pd_totals_finish(pd_totals *totals, const pd_columns *columns);

/* Copies each sample that has a value, by a transfer that has begun to copy from this model. columns: their slots; NULL:
 * the values as they are. Failures are sticky in the other model. */
void pd_totals_write(const pd_totals *totals, const pd_columns *columns, pd_transfer *transfer);

#endif

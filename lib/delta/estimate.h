/* What the counts of a text dump stand for (text/dump.h), in windows that are sent again.
 *
 * A receiver keeps the last attempt at a window, so no attempt may have less than the one before. The counts
 * never have. But of more counts, fewer objects may be estimated, because their mean size decides: 1 object
 * of 16 bytes stands for 32,769, and 2 of 16 and 1 MiB for 4. So what was sent of a sample is the least
 * that is sent of it. The ledger's sides have it as an excess: by how much more was sent than what the counts of the
 * open attempt stand for. That is nearly always 0. */
#ifndef PD_DELTA_ESTIMATE_H
#define PD_DELTA_ESTIMATE_H

#include "delta/context.h"

/* For a window of a dump, before it is filled: makes room for the sides. */
pprofdelta_status pd_estimate_begin(pprofdelta *pd, pprofdelta_error *err);

/* Unsamples the values of a sample, in the order of cur's columns. entry: the sample's, whose window is sent
 * again if an attempt is open; or PD_ROW_NONE. Returns whether the values fit. */
bool pd_estimate(const pprofdelta *pd, uint32_t entry, int64_t *values);

/* Before a window of a dump is settled. */
void pd_estimate_settle(pprofdelta *pd);

#endif

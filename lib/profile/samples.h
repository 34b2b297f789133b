/* The second pass: every sample of a profile, decoded once, into a window.
 *
 * This is where the time goes, so it is one loop with nothing in it but decoding, hashing and the
 * window's add. It checks what only samples can get wrong: ids without a location, too many or too
 * few values, labels with strings that are not there. */
#ifndef PD_PROFILE_SAMPLES_H
#define PD_PROFILE_SAMPLES_H

#include "delta/window.h"
#include "profile/sample.h"

/* Adds every sample of the sealed tables to the window, whose rows hold columns->slot's order. The
 * origin of a row is the offset of its first record's tag: what pd_transfer_sample takes. window
 * may be NULL: then the samples are only checked. Unknown fields are added to the tables' count. */
pprofdelta_status pd_samples_read(pd_tables *tables, const pd_stack_numbers *numbers,
                                  const pd_columns *columns, pd_window *window, pd_mem *mem,
                                  pprofdelta_error *err);

/* Adds up each column over all records, by itself: what a window's sums are verified against. */
void pd_samples_sum(const pd_tables *tables, pprofdelta_sum *sums);

#endif

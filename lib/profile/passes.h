/* The two passes over a profile.
 *
 * The first reads the tables and counts the samples (tables.h); the second reads the samples
 * (samples.h). Both take the bytes from a stream (codec/stream.h), which has all of them at hand or a
 * part at a time:
 *
 *     part     [ whole top-level fields ........ | the beginning of one more ]
 *                at                                where the next part begins
 *
 * A part is read until the reader can read no further. That is at its end unless something is wrong.
 * The next part begins there. Offsets are those in the whole profile. */
#ifndef PD_PROFILE_PASSES_H
#define PD_PROFILE_PASSES_H

#include "codec/stream.h"
#include "profile/samples.h"

/* The first pass, from a stream at its beginning to its end: parses and seals the tables. text is NULL
 * if the stream has all bytes at hand; the strings then point into them. Else they are copied into
 * *text, which must outlive the tables. If the container and the profile are damaged, the error is the
 * container's. */
pprofdelta_status pd_pass_tables(pd_tables *tables, pd_buffer *text, pd_stream *stream, pd_mem *mem,
                                 pprofdelta_error *err);

/* The second pass, from a stream at its beginning: hands every sample on, to nobody if the taker is
 * zeroed. A row holds columns->slot's order; its origin is the offset of its first record's tag.
 * Unknown fields are counted in the tables. */
pprofdelta_status pd_pass_samples(pd_tables *tables, pd_stream *stream,
                                  const pd_stack_numbers *numbers, const pd_columns *columns,
                                  pd_sample_taker taker, pd_mem *mem, pprofdelta_error *err);

/* Adds up each column over all records, from a stream at its beginning: what a window's sums are
 * verified against. */
pprofdelta_status pd_pass_sums(const pd_tables *tables, pd_stream *stream, pprofdelta_sum *sums,
                               pprofdelta_error *err);

/* Makes the top-level field that begins at the offset `origin` available in tables->bytes, for
 * pd_transfer_sample. From call to call, origins rise. Before the first call, the stream is at its
 * beginning, and tables->bytes is empty unless the stream has all bytes at hand. */
pprofdelta_status pd_pass_record(pd_tables *tables, pd_stream *stream, uint64_t origin,
                                 pprofdelta_error *err);

#endif

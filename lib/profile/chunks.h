/* A profile that is never in memory whole: what tables.h, samples.h and transfer.h do with one that
 * is, done with a part of it at a time. See parts.h. */
#ifndef PD_PROFILE_CHUNKS_H
#define PD_PROFILE_CHUNKS_H

#include "profile/parts.h"
#include "profile/samples.h"

/* pd_tables_parse, from a stream at its beginning, which it reads to its end. The strings are
 * copied into *text, which must outlive the tables. What is wrong with the container is told before
 * what is wrong with the profile. */
pprofdelta_status pd_chunks_tables(pd_tables *tables, pd_buffer *text, pd_stream *stream,
                                   pd_mem *mem, pprofdelta_error *err);

/* pd_samples_read, from a stream at its beginning. */
pprofdelta_status pd_chunks_samples(pd_tables *tables, pd_stream *stream,
                                    const pd_stack_numbers *numbers, const pd_columns *columns,
                                    pd_sample_taker taker, pd_mem *mem, pprofdelta_error *err);

/* pd_samples_sum, from a stream at its beginning. */
pprofdelta_status pd_chunks_sum(const pd_tables *tables, pd_stream *stream, pprofdelta_sum *sums,
                                pprofdelta_error *err);

/* Has the top-level field that begins at the offset `origin` at hand, for pd_transfer_sample. From
 * call to call, origins rise; before the first, the stream is at its beginning and tables->bytes
 * empty. */
pprofdelta_status pd_chunks_record(pd_tables *tables, pd_stream *stream, uint64_t origin,
                                   pprofdelta_error *err);

#endif

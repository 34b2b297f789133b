/* An input: one profile on its way through the two passes.
 *
 *     bytes -> [inflate] -> [text dump, OTLP request] -> tables -> samples -> window
 *
 * The first pass reads the tables and counts the samples (profile/tables.h); the second reads the samples
 * (profile/samples.h). The source has all bytes at hand, or a part at a time:
 *
 *     part     [ whole top-level fields ........ | the beginning of one more ]
 *                at                                where the next part begins
 *
 * A part is read until the reader can read no further. That is at its end unless something is wrong.
 * The next part begins there. Offsets are those in the whole profile.
 *
 * An input has all that a profile needs while it is read, and keeps the capacity for the next one. It
 * knows nothing of what the context remembers. */
#ifndef PD_DELTA_READING_H
#define PD_DELTA_READING_H

#include "ledger/types.h"
#include "codec/source.h"
#include "otlp/request.h"
#include "profile/samples.h"
#include "model/transfer.h"
#include "text/dump.h"

typedef struct pd_input {
    pd_mem
        *mem; /* of all that follows, but for the window, which is of the whole, and the transfer */
    const pd_stack_numbers *numbers;
    pd_source source;
    pd_dump dump;         /* if the profile was made of one in text form */
    pd_request otlp;      /* if it was made of an OTLP request */
    size_t converted_len; /* of the text or the request that the profile was made of; else 0 */
    pd_buffer text;       /* the strings, if the source is streamed */
    pd_tables tables;
    pd_row_set window;
    pd_transfer transfer;
    pd_type_name names[PPROFDELTA_MAX_TYPES]; /* of its columns */
    pd_columns columns;
} pd_input; /* zero it, set mem and numbers, to begin */

/* How an input gets at its bytes. */
typedef struct pd_reading {
    pd_bytes bytes;     /* the file, borrowed while the input is read */
    size_t chunk;       /* the tests' choice: see pd_reading_facts */
    bool is_whole;      /* all is inflated into memory */
    bool keeps_bytes;   /* the same, and the input borrows nothing, even if the bytes are plain */
    bool takes_several; /* an OTLP request may be of several resources, scopes or times */
    bool unsamples;     /* text dumps are read as what their raw counts stand for */
} pd_reading;

/* What decides whether a profile is held in memory whole or streamed. */
typedef struct pd_reading_facts {
    pd_container container;
    uint64_t packed;    /* length of the file */
    uint64_t announced; /* what it says it inflates to; 0 if it does not say */
    uint64_t left;      /* bytes that the limit leaves */
    bool needs_all;     /* the profile must be in memory after the passes */
    bool is_tight;      /* the call is made again because memory was short */
    size_t chunk;       /* the tests' choice: 0; or the source is a stream with such chunks */
} pd_reading_facts;

/* How much is inflated at a time, once for each pass; 0: all, into memory. 0 if the limit is some times the announced length. A call that is made again for want
 * of memory streams every profile that is not short. That does not depend on the limit, and arrays
 * then grow by little, by amounts that do not depend on it either. So such a call succeeds from a certain
 * limit on, and the first way needs more: what succeeds with a limit succeeds with every higher one. The
 * bytes of the delta are the same. */
size_t pd_reading_chunk(const pd_reading_facts *facts);

/* Opens the source. Afterwards it has the bytes of a pprof profile: an input of another kind that can be
 * read is converted. */
pprofdelta_status pd_input_open(pd_input *input, const pd_reading *reading, pprofdelta_error *err);

/* The first pass: opens and parses, and names the columns. */
pprofdelta_status pd_input_parse(pd_input *input, const pd_reading *reading, pprofdelta_error *err);

/* The second pass, with the columns that were set: gives every sample to the taker; a zeroed taker takes
 * none. A row holds columns->slot's order; its offset is the offset of its first record's tag. Unknown
 * fields are counted in the tables. */
pprofdelta_status pd_input_samples(pd_input *input, pd_sample_taker taker, pprofdelta_error *err);

/* Adds up each column over all records: what a window's sums are verified against. */
pprofdelta_status pd_input_sums(pd_input *input, pprofdelta_sum *sums, pprofdelta_error *err);

/* For a streamed input: makes the record of a row available in tables.bytes, for pd_transfer_sample. After pd_input_rewind,
 * the offsets of the rows rise from call to call. */
pprofdelta_status pd_input_rewind(pd_input *input, pprofdelta_error *err);
pprofdelta_status pd_input_record(pd_input *input, size_t row, pprofdelta_error *err);

/* Gives back the memory that a parsed input has reserved and does not use. */
void pd_input_trim(pd_input *input);

/* Gives everything back; mem and numbers stay. */
void pd_input_release(pd_input *input);

#endif

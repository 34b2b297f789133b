/* The second pass: decodes every sample of a profile, once.
 *
 * This takes most of the time. It checks what only samples can have wrong: ids without a location,
 * too many or too few values, labels with unknown strings. There are two readers. The careful reader
 * accepts every encoding that protobuf allows and reports errors exactly. The quick reader accepts
 * what encoders write (ids and values in one run each or one by one, labels whole, no unknown fields)
 * and leaves everything else, errors included, to the careful one. The tests compare them. */
#ifndef PD_PROFILE_SAMPLES_H
#define PD_PROFILE_SAMPLES_H

#include "ledger/types.h"
#include "ledger/row_set.h"
#include "wire/message.h"
#include "profile/fields.h"
#include "profile/identity.h"
#include "profile/tables.h"

typedef struct pd_sample {
    pd_identity stack;
    size_t values_len;
    int64_t values[PPROFDELTA_MAX_TYPES]; /* in the order of a row: columns->slot */
} pd_sample;

/* A cache of the keys of a label's strings (key, string, unit): there are few. */
typedef struct pd_names_seen {
    uint32_t key, str, num_unit;
    bool is_set;
    pd_key names;
} pd_names_seen;

enum { PD_NAMES_SEEN = 32 };

/* A label as a profile has it. */
typedef struct pd_label {
    pd_string_ref key, str, num_unit;
    int64_t num;
} pd_label;

extern const pd_rows pd_sample_rows, pd_label_rows;

typedef struct pd_sample_reader {
    pd_parse parse; /* parse.element is the index of the sample */
    const pd_tables *tables;
    const pd_stack_numbers *numbers;
    const pd_columns *columns;
    pd_names_seen seen[PD_NAMES_SEEN];
} pd_sample_reader;

/* The careful reader, of the body of a record. Errors are sticky in reader->parse. */
void pd_sample_careful(pd_sample_reader *reader, pd_reader body, pd_sample *sample);

/* The bytes behind a record that the quick reader may read. */
enum { PD_QUICK_SLACK = 8 };

/* The quick reader, of the record at the front of `top`. Returns false if the record is not in the
 * quick form, or less than PD_QUICK_SLACK bytes are behind it; `top` has then not moved. */
bool pd_sample_quick(pd_sample_reader *reader, pd_reader *top, pd_sample *sample);

/* Returns the key of a label's strings. The indices must have been checked. */
pd_key pd_sample_label_names(pd_sample_reader *reader, uint32_t key, uint32_t str,
                             uint32_t num_unit);

/* Where samples go: to a window, a ledger, or nowhere. */
typedef struct pd_sample_taker {
    pd_row_set *window;
    pd_ledger *ledger; /* a ledger that is being filled with the counters */
} pd_sample_taker;

/* Hands on the samples from `top` to where that can read no further, or to the last sample of the
 * sealed tables. reader->parse.element counts them. */
pprofdelta_status pd_samples_read(pd_sample_reader *reader, pd_reader *top, pd_sample_taker taker);

/* Reads the values of a record that was checked, in the order of the columns. */
void pd_sample_values_read(pd_reader body, int64_t *values);

/* Adds up each column over the records from `top` on, which were checked. */
void pd_samples_sum(pd_reader *top, size_t types_len, pprofdelta_sum *sums);

#endif

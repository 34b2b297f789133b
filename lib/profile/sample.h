/* Decodes and hashes one sample record. There are two readers.
 *
 * The careful reader accepts every encoding that protobuf allows and reports errors exactly. The
 * quick reader accepts what encoders write (packed ids and values in one run each, labels whole, no
 * unknown fields) and leaves everything else, errors included, to the careful one. It never fails.
 * It has a portable form and vector forms. The tests compare each with the careful reader. */
#ifndef PD_PROFILE_SAMPLE_H
#define PD_PROFILE_SAMPLE_H

#include "ledger/types.h"
#include "profile/fields.h"
#include "profile/stack.h"
#include "profile/tables.h"
#include "wire/message.h"

typedef struct pd_sample {
    pd_stack_hash stack;
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

/* A cache of the keys of short labels. */
typedef struct pd_label_seen {
    uint64_t word; /* pd_label_word, or 0: unused */
    pd_key key;
} pd_label_seen;

enum { PD_LABELS_SEEN_BITS = 9, PD_LABELS_SEEN = 1 << PD_LABELS_SEEN_BITS };

typedef struct pd_sample_reader {
    pd_parse parse; /* parse.element is the index of the sample */
    const pd_tables *tables;
    const pd_stack_numbers *numbers;
    const pd_columns *columns;
    pd_names_seen seen[PD_NAMES_SEEN];
    pd_label_seen labels[PD_LABELS_SEEN];
} pd_sample_reader;

/* The careful reader. Errors are sticky in reader->parse. */
void pd_sample_read(pd_sample_reader *reader, pd_reader body, pd_sample *sample);

void pd_sample_label_names_miss(pd_sample_reader *reader, pd_names_seen *seen, uint32_t key,
                                uint32_t str, uint32_t num_unit);

/* Returns the key of a label's strings. The indices must have been checked. */
static inline pd_key pd_sample_label_names(pd_sample_reader *reader, uint32_t key, uint32_t str,
                                           uint32_t num_unit)
{
    pd_names_seen *seen = &reader->seen[(key + 3 * str + 7 * num_unit) % PD_NAMES_SEEN];
    if (__builtin_expect(
            !seen->is_set || seen->key != key || seen->str != str || seen->num_unit != num_unit, 0))
        pd_sample_label_names_miss(reader, seen, key, str, num_unit);
    return seen->names;
}

/* Adds the locations of a packed run of ids, the whole stack, to an empty hash. Returns false if an
 * id is unknown or cannot be decoded, or if the stack is too deep for the quick reader. */
bool pd_sample_stack(const pd_sample_reader *reader, const uint8_t *p, const uint8_t *end,
                     pd_stack_hash *stack);

/* The bytes after a record that the quick reader may read. */
enum { PD_QUICK_SLACK = 8 };

#endif

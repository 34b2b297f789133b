/* One sample record, decoded and hashed. There are two ways to read it.
 *
 * The careful way takes every encoding that protobuf allows and says exactly what is wrong. The
 * quick way takes what encoders really write (packed ids and values in one run each, every label in
 * one piece, no field that profile.proto does not have) and leaves everything else, errors
 * included, to the careful one; it never fails by itself. It comes in a form for any processor and
 * in forms for some. The tests hold each against the careful way. */
#ifndef PD_PROFILE_SAMPLE_H
#define PD_PROFILE_SAMPLE_H

#include "delta/types.h"
#include "profile/parse.h"
#include "profile/stack.h"
#include "profile/tables.h"

typedef struct pd_sample {
    pd_stack_hash stack;
    size_t values_len;
    int64_t values[PPROFDELTA_MAX_TYPES]; /* in the row's order: columns->slot */
} pd_sample;

/* Labels have few different names (key, string, unit): those of the last ones are kept. */
typedef struct pd_names_seen {
    uint32_t key, str, num_unit;
    bool is_set;
    pd_key names;
} pd_names_seen;

enum { PD_NAMES_SEEN = 32 };

/* A short label that was met before. */
typedef struct pd_label_seen {
    uint64_t word; /* pd_label_word, or 0 */
    pd_key key;
} pd_label_seen;

enum { PD_LABELS_SEEN_BITS = 9, PD_LABELS_SEEN = 1 << PD_LABELS_SEEN_BITS };

typedef struct pd_sample_reader {
    pd_parse parse; /* .element is the sample's number */
    const pd_tables *tables;
    const pd_stack_numbers *numbers;
    const pd_columns *columns;
    pd_names_seen seen[PD_NAMES_SEEN];
    pd_label_seen labels[PD_LABELS_SEEN];
} pd_sample_reader;

/* The careful way. Trouble is sticky in reader->parse. */
void pd_sample_read(pd_sample_reader *reader, pd_reader body, pd_sample *sample);

void pd_sample_label_names_miss(pd_sample_reader *reader, pd_names_seen *seen, uint32_t key,
                                uint32_t str, uint32_t num_unit);

/* The identity of a label's names: indices into the string table, checked by the caller. */
static inline pd_key pd_sample_label_names(pd_sample_reader *reader, uint32_t key, uint32_t str,
                                           uint32_t num_unit)
{
    pd_names_seen *seen = &reader->seen[(key + 3 * str + 7 * num_unit) % PD_NAMES_SEEN];
    if (__builtin_expect(
            !seen->is_set || seen->key != key || seen->str != str || seen->num_unit != num_unit, 0))
        pd_sample_label_names_miss(reader, seen, key, str, num_unit);
    return seen->names;
}

/* Adds the locations of a packed run of ids, the whole stack, to a hash that has none. False where
 * one is not there, cannot be decoded, or the stack is too deep for the quick way. */
bool pd_sample_stack(const pd_sample_reader *reader, const uint8_t *p, const uint8_t *end,
                     pd_stack_hash *stack);

/* How far behind a record the quick way may look. */
enum { PD_QUICK_SLACK = 8 };

#endif

/* What the files of the OTLP encoder have for each other: encode_otlp.c, the request, and otlp_attributes.c.
 *
 * Entry 0 of each table of the dictionary is the zero value, so the id 0 is what it is in the model. The tables
 * have what something refers to, in order of first use. What differs from the model:
 *   - Strings are UTF-8. Bytes that are not become U+FFFD, so entries may be equal that are two in the model. Every
 *     table is therefore interned by what is written.
 *   - A mapping, a location or a function of which nothing is known is entry 0. A line of such a function is left
 *     out: a request has no line without one.
 *   - Stacks and labels are in the dictionary. The labels with one key are one attribute.
 *   - A type without samples has no Profile.
 *
 * Receivers make a series of each value of an attribute that is a string or a number, and call a profile by its period
 * type (Pyroscope) or its scope (Parca). So what they need differs from OpenTelemetry's conventions, by which
 * PPROFDELTA_OTLP_PLAIN goes. What a reader needs to have the profile again is in an attribute of the scope that they
 * do not read: a list, "pprofdelta". */
#ifndef PD_ENCODE_OTLP_H
#define PD_ENCODE_OTLP_H

#include "encode/encode.h"
#include "profile/fields.h"

/* The tables: field n of the dictionary is table n - 1. */
enum { PD_OTLP_TABLES = PD_OTLP_DICTIONARY_STACK_TABLE };

/* The labels of a set, chained by key. */
typedef struct pd_otlp_pick {
    pd_model_label label;
    uint32_t next;        /* of label n: the next label with its key, or UINT32_MAX */
    uint32_t first, last; /* of key n: its labels */
} pd_otlp_pick;

typedef struct pd_otlp {
    const pd_model *model;
    const pd_encode_attributes *attributes;
    pprofdelta_format format;
    pd_bytes name; /* see otlp_name.c */
    pd_writer writer;
    pd_buffer tables[PD_OTLP_TABLES];
    pd_buffer samples[PPROFDELTA_MAX_TYPES];
    pd_buffer list;      /* attribute indices */
    pd_buffer fields;    /* of a Sample, before its values */
    pd_buffer repaired;  /* a text */
    pd_buffer set_bytes; /* sets of labels: the fields of a Sample with attributes and the link */
    pd_buffer common;    /* what all Profiles have, but for their attributes */
    pd_buffer common_list;
    pd_keymap contents[PD_OTLP_TABLES], sets, label_keys;
    union { /* indices by id; 0: not known yet, or entry 0. ids[] is all of them */
        struct {
            uint32_t *strings, *functions, *mappings, *locations;
        };
        uint32_t *ids[4];
    };
    bool is_same;     /* every location has its id as its index */
    size_t *set_ends; /* in set_bytes; a set begins where the one before ends */
    pd_otlp_pick *picks;
    size_t picks_len;
    size_t cursors[PD_OWNERS]; /* in the lists of owned attributes */
} pd_otlp;

/* An entry of the table with this field of the dictionary. It is appended to `out`, while entries may
 * be added to other tables. pd_otlp_entry_end returns its index: that of an equal entry, if there is
 * one; 0, if nothing was appended. */
typedef struct pd_otlp_entry {
    uint32_t field;
    pd_buffer *out;
    size_t from, value; /* offsets of the entry; of the value of an attribute */
} pd_otlp_entry;

pd_otlp_entry pd_otlp_entry_begin(pd_otlp *o, uint32_t field);
uint32_t pd_otlp_entry_end(pd_otlp *o, const pd_otlp_entry *entry);

/* A string of the model in UTF-8, valid until the next call, and its index in the string table; the index of
 * another text. */
pd_bytes pd_otlp_text(pd_otlp *o, uint32_t string);
uint32_t pd_otlp_string(pd_otlp *o, uint32_t string);
uint32_t pd_otlp_literal(pd_otlp *o, const char *text);

/* ---- otlp_name.c -------------------------------------------------------------------------------- */

/* The name of the profile in UTF-8 or as in the model; valid until the next string is added to that. */
pd_bytes pd_otlp_name(const pd_model *model, pd_bytes resource);

/* Is this a function of Go that gives a lock back, where stacks of mutexes end? No goroutine waits in one, as it may
 * in a function of the program that is called Unlock. */
bool pd_otlp_is_unlock(pd_bytes function);

/* ---- otlp_attributes.c -------------------------------------------------------------------------- */

/* Appends the content of an AnyValue. */
void pd_otlp_put_text(pd_writer *w, pd_buffer *buffer, pd_bytes text);
void pd_otlp_put_number(pd_writer *w, pd_buffer *buffer, int64_t number);

/* A KeyValue, as a field with this number: its key, then its value is appended, then it ends. */
typedef struct pd_otlp_pair {
    size_t from, value; /* offsets */
} pd_otlp_pair;

pd_otlp_pair pd_otlp_pair_begin(pd_writer *w, pd_buffer *buffer, pd_bytes key);
void pd_otlp_pair_end(pd_writer *w, pd_buffer *buffer, pd_otlp_pair pair, uint32_t number);

/* The same with a string. */
void pd_otlp_put_pair(pd_writer *w, pd_buffer *buffer, uint32_t number, pd_bytes key,
                      pd_bytes value);

/* An attribute begins with its key; then its value is appended; then it ends with its unit. key and
 * unit are indices of strings. */
pd_otlp_entry pd_otlp_attribute_begin(pd_otlp *o, uint32_t key);
uint32_t pd_otlp_attribute_end(pd_otlp *o, const pd_otlp_entry *entry, uint32_t unit);

/* The same for `true`, and for a string. */
uint32_t pd_otlp_true(pd_otlp *o, const char *key);
uint32_t pd_otlp_text_attribute(pd_otlp *o, const char *key, uint32_t string);

/* Appends the indices of the attributes that are the owner's to `list`. Owners are asked for in ascending order, but
 * for types. Returns whether there are some. */
bool pd_otlp_put_owned(pd_otlp *o, pd_buffer *list, pd_model_owner kind, uint64_t owner);

/* The fields of a Sample with the attributes and the link that its labels are, and the attributes that are its own;
 * empty if there are none. Valid until the next call. */
pd_bytes pd_otlp_labels(pd_otlp *o, uint64_t sample, pd_bytes labels);

/* The name of the attribute that a build id of a mapping is. */
const char *pd_otlp_build_id_key(pd_bytes build_id);

#endif

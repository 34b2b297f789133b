/* The values of attributes, and what they are as labels of a pprof profile.
 *
 *     string, int            a label
 *     bool, double, bytes    a label with "true" or "false", the shortest decimal, or hexadecimal
 *     array                  a label of the same key for each element
 *     kvlist                 a label for each member, with the key "KEY.MEMBER"
 *                            (a list of "value" and a string "unit" is one label: so the writer keeps numbers of one
 *                            key with different units, and what receivers must not make a label of)
 *     unset                  a label without a value */
#ifndef PD_OTLP_ANY_VALUE_H
#define PD_OTLP_ANY_VALUE_H

#include "otlp/dictionary.h"

enum { PD_OTLP_MAX_DEPTH = 32 }; /* of values in values */

/* The fields of a value and of an attribute. The names of their errors are those of the caller. */
extern const pd_rows pd_any_value_rows, pd_key_value_rows;

/* Goes over a value and everything in it, and checks it. If out is not NULL, appends a copy of its content,
 * with the strings in place of their indices. Returns what of it is read: from its known field on; empty if it
 * has none. */
pd_bytes pd_any_value_walk(pd_request *r, const char *name, pd_reader value, pd_buffer *out);

/* Appends the labels of a value to the record in r->part. key_number: that of the key. */
void pd_any_value_label(pd_request *r, pd_bytes key, uint64_t key_number, uint64_t unit,
                        pd_bytes value);

/* The number of a string with the bytes in hexadecimal. */
uint32_t pd_request_hex(pd_request *r, pd_bytes bytes);

/* Appends a label with a string, or with a number and its unit. */
void pd_request_label(pd_request *r, uint64_t key, uint64_t str, int64_t num, uint64_t num_unit);

/* The same for the attributes of a resource or a scope, in a message whose field `number` they are. No key may
 * be there twice. */
void pd_key_values_walk(pd_request *r, const char *name, pd_reader message, uint32_t number,
                        pd_buffer *out);

/* Appends the labels of such a list, which was checked: "PREFIX.KEY". */
void pd_key_values_label(pd_request *r, pd_bytes prefix, uint64_t unit, pd_reader message,
                         uint32_t number);

/* One attribute of such a list, which was checked. */
typedef struct pd_key_value {
    pd_bytes key, value;
} pd_key_value;
pd_key_value pd_key_value_of(pd_request *r, pd_reader body);

/* Calls take for the number of each string in a value: itself, or the elements of an array. */
void pd_any_value_strings(pd_request *r, pd_bytes value,
                          void (*take)(pd_request *r, void *cookie, uint32_t string), void *cookie);

/* Appends a copy of such an attribute, which is a field with the same number. */
void pd_key_value_copy(pd_request *r, pd_buffer *out, const pd_field *field);

/* The text of a value that is a string; else, ptr is NULL. */
pd_bytes pd_any_value_text(const pd_request *r, pd_bytes value);

/* Whether the label of a value, with or without a unit, becomes the same attribute again: it is a number,
 * or a string that is not empty and has no unit. */
bool pd_any_value_is_label(const pd_request *r, pd_bytes value, bool has_unit);

/* The members of a value that is a list: fields with the number PD_OTLP_KEY_VALUE_LIST_VALUES, for pd_key_value_of. */
pd_reader pd_any_value_members(pd_bytes value);

/* Whether the value is the boolean true. */
bool pd_any_value_is_true(pd_bytes value);

/* Sets *out to the value if it is an int. */
void pd_any_value_int(pd_bytes value, uint64_t *out);

/* Sets *out to the elements of an array of ints, up to room, and returns how many there are. */
size_t pd_any_value_ints(pd_bytes value, int64_t *out, size_t room);

#endif

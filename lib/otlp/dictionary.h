/* The dictionary of an OTLP request: where its entries are, its strings and its attributes.
 *
 *     bytes --pd_dictionary_find--> entries --pd_dictionary_read--> strings, attributes, links
 *                                                             \--> mappings, functions, locations
 *                                                                  of the pprof profile
 *
 * Entries refer to entries of tables behind them, so all are found before one is read. The index of
 * an entry becomes its id in the pprof profile: entry 0 means none in both. */
#ifndef PD_OTLP_DICTIONARY_H
#define PD_OTLP_DICTIONARY_H

#include "base/keymap.h"
#include "profile/fields.h"
#include "wire/message.h"
#include "wire/writer.h"

/* The entries of one table. */
typedef struct pd_request_table {
    pd_bytes *entries;
    size_t len;
} pd_request_table;

typedef struct pd_request_attribute {
    uint64_t key, unit;       /* numbers of strings */
    uint64_t key_at, unit_at; /* their indices in string_table */
    pd_bytes value;           /* an AnyValue, which was checked, from its value on; len 0: unset */
    bool is_label;            /* a label says all of it */
} pd_request_attribute;

typedef struct pd_dictionary {
    pd_request_table tables[PD_OTLP_DICTIONARY_STACK_TABLE + 1]; /* by field number */
    bool is_found;
    pd_keymap numbers; /* of all strings of the profile, which are written when they are added */
    uint32_t *strings; /* the number of each entry of string_table */
    pd_request_attribute *attributes;
    uint64_t *marks; /* for each string: the last list of attributes that had it as a key */
    uint64_t mark;
    bool has_zero[PD_OTLP_DICTIONARY_STACK_TABLE + 1]; /* see pd_request_zero */
} pd_dictionary;                                       /* zero it to begin */

typedef struct pd_request pd_request; /* request.h */

/* The entry of string_table with this index; index 0 is the empty string. */
pd_bytes pd_request_string(const pd_request *r, uint64_t index);

/* ---- for all readers ---------------------------------------------------------------------- */

/* A reader of a message, which may be missing. */
static inline pd_reader pd_request_reader(pd_bytes bytes)
{
    return bytes.len ? pd_reader_of(bytes.ptr, bytes.len) : (pd_reader){NULL, NULL, NULL};
}

/* The kinds of fields that only a request has (see wire/message.h). An index is checked. */
enum {
    PD_REQUEST_TEXT = PD_FIELD_OTHER, /* a string, which has to be UTF-8; a pd_bytes */
    PD_REQUEST_STRING,                /* an index of string_table; a uint64_t, which gets the
                                         number of the string */
    PD_REQUEST_INDEX /* + a field of Dictionary: an index of this table; a uint64_t */
};

/* Reads them: pd_request.parse.read_other. */
void pd_request_field(pd_parse *parse, unsigned kind, const char *name, const pd_field *f,
                      void *to);

/* Fails with E_PROFILE, unless there is an error already. */
#define PD_REQUEST_FAIL(r, field, at, ...)                                                         \
    PD_PARSE_FAIL(&(r)->parse, PPROFDELTA_E_PROFILE, field, pd_parse_offset(&(r)->parse, at),      \
                  __VA_ARGS__)

/* Counts bytes that are made, or read again, from what the request has once and refers to many times:
 * stacks, attributes, links and resources, and the keys of nested values. Everything else is of the
 * order of the request. Fails with E_LIMIT if these are more than PD_REQUEST_TIMES times the bytes of
 * the request and PD_REQUEST_ALWAYS: so the request bounds the size of its profile, and the time. */
enum { PD_REQUEST_TIMES = 512, PD_REQUEST_ALWAYS = 64 << 20 };
void pd_request_spend(pd_request *r, uint64_t bytes);

/* The number of a string; it is added to the profile if it is new. */
uint32_t pd_request_number(pd_request *r, pd_bytes text);

/* Returns the id, in the profile, of what entry 0 of a table stands for: a location or a function of which nothing
 * is known. It is the first that no entry has. The profile gets it when it is first needed; `field` is that of
 * the profile. */
uint64_t pd_request_zero(pd_request *r, unsigned table, uint32_t field);

/* Whether the string with this number is `text`. */
bool pd_request_is_text(const pd_request *r, uint64_t number, const char *text);

/* The value of an attribute, which is going to be read. */
pd_bytes pd_request_value(pd_request *r, uint64_t index);

/* The next element of a list of attributes. Begin a message that has such a list with
 * pd_request_attributes_begin: a key that is there twice is an error. */
void pd_request_attributes_begin(pd_request *r);
bool pd_request_attributes_next(pd_request *r, pd_list *list);

/* ---- the dictionary ----------------------------------------------------------------------- */

/* Finds the entries. */
void pd_dictionary_find(pd_request *r, const pd_field *field);

/* The fields of its messages. */
extern const pd_rows pd_request_dictionary_rows, pd_request_attribute_rows, pd_request_mapping_rows,
    pd_request_function_rows, pd_request_location_rows, pd_request_line_rows, pd_request_link_rows,
    pd_request_stack_rows;

/* Checks all entries. Writes the mappings, functions and locations to the profile. */
void pd_dictionary_read(pd_request *r);

/* Ends the work on one request; keeps the capacity. */
void pd_dictionary_clear(pd_dictionary *dictionary);

#endif

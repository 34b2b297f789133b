/* Reads protobuf messages by rows. A table of rows has one row for each field of a message, at the
 * index that is the field's number: how it is read, where its value goes, and its name for errors.
 *
 *     const pd_rows line_rows =
 *         PD_ROWS("line", [1] = {PD_FIELD_NUMBER, offsetof(pd_line, function), "line.function_id"},
 *                 [2] = {PD_FIELD_NUMBER, offsetof(pd_line, line), "line.line"});
 *     ...
 *     pd_message_read(parse, body, &line_rows, &line);
 *
 * Errors are sticky: the first one is written to the caller's error and the functions do nothing
 * after it, so a reader checks once for each message. The rows also drive other work on all fields of
 * a kind: see profile/tables.c for the indices of strings. */
#ifndef PD_WIRE_MESSAGE_H
#define PD_WIRE_MESSAGE_H

#include "wire/writer.h"

typedef struct pd_parse {
    union {
        struct {
            pd_mem *mem;
            pprofdelta_error *err;
            pprofdelta_status status; /* sticky */
        };
        pd_writer
            writer; /* for what is written of what is read: a failure of one is that of both */
    };
    /* Reads a field of a kind from PD_FIELD_OTHER on; `name` is for errors. */
    void (*read_other)(struct pd_parse *parse, unsigned kind, const char *name,
                       const pd_field *field, void *to);
    const uint8_t *zero; /* a byte of the profile, and */
    uint64_t base;       /* its offset in the profile; 0 if all bytes are in memory */
    uint64_t element;    /* of the current top-level field, or PPROFDELTA_NOWHERE */
    uint64_t unknown_fields;
} pd_parse;

static inline uint64_t pd_parse_offset(const pd_parse *parse, const uint8_t *at)
{
    return (uint64_t)(at - parse->zero) + parse->base;
}

/* Each sets the sticky status and the error, unless the status is set.
 *
 * `code` E_WIRE has the stage WIRE, the others PROFILE. name may be NULL. */
#define PD_PARSE_FAIL(parse, code, name, off, ...)                                                 \
    ((parse)->status = (parse)->status                                                             \
                           ? (parse)->status                                                       \
                           : pd_fail((parse)->err, code,                                           \
                                     (code) == PPROFDELTA_E_WIRE ? PPROFDELTA_STAGE_WIRE           \
                                                                 : PPROFDELTA_STAGE_PROFILE,       \
                                     name, (parse)->element, off, __VA_ARGS__))

void pd_parse_wrong_wire(pd_parse *parse, const char *name, const pd_field *field);
void pd_parse_string_range(pd_parse *parse, const char *name, uint64_t off, int64_t index);

/* Makes room for len elements in an array, unless the status is set. Returns whether it is there. */
bool pd_parse_grow(pd_parse *parse, void *array, size_t len, size_t size);
#define PD_PARSE_GROW(parse, list, len) pd_parse_grow(parse, &(list), len, sizeof *(list))

/* Takes over the reader's error, if it has one. */
void pd_parse_end(pd_parse *parse, const char *name, const pd_reader *reader);

/* Returns the value of a varint field. */
static inline uint64_t pd_parse_number(pd_parse *parse, const char *name, const pd_field *field)
{
    if (__builtin_expect(field->wire == PD_WIRE_VARINT, 1))
        return field->value;
    pd_parse_wrong_wire(parse, name, field);
    return 0;
}

/* Returns a string index. It fits in 32 bits and is not UINT32_MAX; whether it is inside the string
 * table is checked when that is complete. */
static inline uint32_t pd_parse_string(pd_parse *parse, const char *name, const pd_field *field)
{
    uint64_t index = pd_parse_number(parse, name, field);
    if (__builtin_expect(index < UINT32_MAX, 1))
        return (uint32_t)index;
    pd_parse_string_range(parse, name, pd_parse_offset(parse, field->start), (int64_t)index);
    return 0;
}

/* Returns the body of a length-delimited field. */
static inline pd_reader pd_parse_body(pd_parse *parse, const char *name, const pd_field *field)
{
    if (__builtin_expect(field->wire == PD_WIRE_BYTES, 1))
        return field->body;
    pd_parse_wrong_wire(parse, name, field);
    return (pd_reader){0};
}

/* What is left of a reader. */
static inline pd_bytes pd_reader_bytes(pd_reader reader)
{
    return (pd_bytes){reader.at, (size_t)(reader.end - reader.at)};
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef enum pd_field_kind {
    PD_FIELD_UNKNOWN,    /* no such field: it is counted and skipped */
    PD_FIELD_NUMBER,     /* a varint; its value goes to a uint64_t or an int64_t */
    PD_FIELD_FLAG,       /* a varint; a bool */
    PD_FIELD_STRING,     /* a string index; a uint32_t */
    PD_FIELD_STRING_REF, /* a string index; a pd_string_ref */
    PD_FIELD_FIXED64,    /* a uint64_t */
    PD_FIELD_PART,       /* the caller reads it: bytes, or a message */
    PD_FIELD_LIST,       /* the caller reads it: a repeated number, packed or not (pd_list) */
    PD_FIELD_OTHER       /* the kinds of a room begin here: parse->read_other reads them */
} pd_field_kind;

/* A string index, and the offset of its field. */
typedef struct pd_string_ref {
    uint32_t index;
    uint64_t off;
} pd_string_ref;

typedef struct pd_field_row {
    uint8_t kind;
    uint16_t at;      /* offset of the value in the struct that is read into */
    const char *name; /* for errors; NULL: that of the message */
} pd_field_row;

typedef struct pd_rows {
    const char *name; /* of the message */
    size_t len;
    const pd_field_row *rows; /* row 0 is PD_FIELD_UNKNOWN: no field has the number 0 */
} pd_rows;

#define PD_ROWS(name, ...)                                                                         \
    {                                                                                              \
        (name), sizeof((const pd_field_row[]){__VA_ARGS__}) / sizeof(pd_field_row),                \
            (const pd_field_row[])                                                                 \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* These rows for a message with this name. */
static inline pd_rows pd_rows_named(const pd_rows *rows, const char *name)
{
    return (pd_rows){name, rows->len, rows->rows};
}

static inline const pd_field_row *pd_row_of(const pd_rows *rows, uint32_t number)
{
    return &rows->rows[number < rows->len ? number : 0];
}

/* Reads a field into *out by its row. Returns false if the caller has to read it. */
bool pd_field_read(pd_parse *parse, const pd_rows *rows, const pd_field *field, void *out);

typedef struct pd_message {
    pd_reader reader;
    const pd_rows *rows;
    void *out;
} pd_message;

/* Reads fields until one that the caller has to read: sets *field and returns its row. Returns NULL
 * at the end of the message and after an error. A field that is there twice is read twice. */
const pd_field_row *pd_message_next(pd_parse *parse, pd_message *message, pd_field *field);

/* Reads a message whose fields are all read by their rows. */
void pd_message_read(pd_parse *parse, pd_reader reader, const pd_rows *rows, void *out);

/* The elements of a repeated varint, packed or not:
 *
 *     pd_list list = pd_list_of(parse, name, &field);
 *     while (pd_list_next(parse, &list)) { ... list.value, list.at ... } */
typedef struct pd_list {
    const char *name;
    pd_reader rest;
    bool is_single; /* the field is one element, which was not taken yet */
    uint64_t value;
    const uint8_t *at; /* the element */
} pd_list;

pd_list pd_list_of(pd_parse *parse, const char *name, const pd_field *field);
bool pd_list_next(pd_parse *parse, pd_list *list);

#endif

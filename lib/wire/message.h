/* Shared by the readers of all tables: the position in the profile, and accessors that check the
 * wire type of a field.
 *
 * Errors are sticky: the first one is written to the caller's error and the functions do nothing
 * after it, so a reader checks once for each message. */
#ifndef PD_WIRE_MESSAGE_H
#define PD_WIRE_MESSAGE_H

#include "base/mem.h"
#include "wire/reader.h"

typedef struct pd_parse {
    pd_mem *mem;
    pprofdelta_error *err;
    pprofdelta_status status; /* sticky */
    const uint8_t *zero;      /* a byte of the profile, and */
    uint64_t base;            /* its offset in the profile; 0 if all bytes are in memory */
    uint64_t element;         /* of the current top-level field, or PPROFDELTA_NOWHERE */
    uint64_t unknown_fields;
} pd_parse;

static inline uint64_t pd_parse_offset(const pd_parse *parse, const uint8_t *at)
{
    return (uint64_t)(at - parse->zero) + parse->base;
}

/* Each sets the sticky status and the error, unless the status is set. */
void pd_parse_wrong_wire(pd_parse *parse, const char *name, const pd_field *field);
void pd_parse_string_range(pd_parse *parse, const char *name, uint64_t off, int64_t index);

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

#endif

/* What the parsing of every table shares: one struct that knows where we are, and accessors that
 * check a field's wire type and say so in one place.
 *
 * Trouble is sticky: the first failure is written to the caller's error and everything after it
 * does nothing, so that parsing code reads straight and asks once per message. */
#ifndef PD_PROFILE_PARSE_H
#define PD_PROFILE_PARSE_H

#include "base/mem.h"
#include "profile/fields.h"
#include "wire/reader.h"

typedef struct pd_parse {
    pd_mem *mem;
    pprofdelta_error *err;
    pprofdelta_status status; /* sticky */
    const uint8_t *zero;      /* a byte of the profile, from which offsets count, */
    uint64_t base;            /* and its own: 0, where all of the profile is there */
    uint64_t element;         /* of the top-level field that is being read, or PPROFDELTA_NOWHERE */
    uint64_t unknown_fields;
} pd_parse;

static inline uint64_t pd_parse_offset(const pd_parse *parse, const uint8_t *at)
{
    return (uint64_t)(at - parse->zero) + parse->base;
}

/* Each of these sets the sticky status, unless it is set already. */
void pd_parse_wrong_wire(pd_parse *parse, const char *name, const pd_field *field);
void pd_parse_string_range(pd_parse *parse, const char *name, uint64_t off, int64_t index);

/* The reader's trouble, if it has one, becomes the parse's. */
void pd_parse_end(pd_parse *parse, const char *name, const pd_reader *reader);

/* The value of a varint field. */
static inline uint64_t pd_parse_number(pd_parse *parse, const char *name, const pd_field *field)
{
    if (__builtin_expect(field->wire == PD_WIRE_VARINT, 1))
        return field->value;
    pd_parse_wrong_wire(parse, name, field);
    return 0;
}

/* The value of a string index. Its upper bound is checked when the table is known: here it only has
 * to fit, with UINT32_MAX left free. */
static inline uint32_t pd_parse_string(pd_parse *parse, const char *name, const pd_field *field)
{
    uint64_t index = pd_parse_number(parse, name, field);
    if (__builtin_expect(index < UINT32_MAX, 1))
        return (uint32_t)index;
    pd_parse_string_range(parse, name, pd_parse_offset(parse, field->start), (int64_t)index);
    return 0;
}

/* The body of a length-delimited field. */
static inline pd_reader pd_parse_body(pd_parse *parse, const char *name, const pd_field *field)
{
    if (__builtin_expect(field->wire == PD_WIRE_BYTES, 1))
        return field->body;
    pd_parse_wrong_wire(parse, name, field);
    return (pd_reader){0};
}

#endif

/* A small protobuf encoder that can write one message in every valid way.
 *
 * A message is collected in pieces, one for each encoded field, and joined at the end: in the order
 * of the calls, or in any order that keeps equal fields in theirs. It shares no code with the
 * library's writer, so that a mistake there is not repeated here. */
#ifndef PD_TESTS_EMIT_H
#define PD_TESTS_EMIT_H

#include "arena.h"
#include "rng.h"

typedef enum emit_packing {
    EMIT_UNPACKED,
    EMIT_PACKED,
    EMIT_SPLIT, /* several packed runs, single elements between them */
    EMIT_ANY,   /* chosen for each field */
    EMIT_AS_GO  /* packed if there are more than two, as Go does */
} emit_packing;

typedef struct emitter {
    arena *arena;
    rng rng;
    bool shuffle_fields;
    unsigned explicit_zeros; /* percent of zero fields that are written */
    unsigned long_varints;   /* percent of varints with unneeded bytes */
    unsigned unknown_fields; /* percent of messages with unknown fields */
    unsigned said_twice;     /* percent of scalars that are written twice; the last value counts */
    emit_packing packing;
} emitter;

typedef struct message {
    emitter *e;
    unsigned last_field; /* the highest field number of the message */
    struct piece *pieces;
    size_t len, cap;
} message;

/* Appended to bytes in the shortest form: a varint, a varint field, a field of bytes. */
void wire_varint(buf *b, uint64_t value);
void wire_number(buf *b, unsigned field, uint64_t value);
void wire_bytes(buf *b, unsigned field, buf bytes);

message message_begin(emitter *e, unsigned last_field);
buf message_end(message *m);

/* A varint field. A zero is omitted, except by chance. */
void emit_scalar(message *m, unsigned field, uint64_t value);
void emit_repeated(message *m, unsigned field, const uint64_t *values, size_t len);
void emit_bytes(message *m, unsigned field, const void *data, size_t len);
void emit_message(message *m, unsigned field, message *child);

#endif

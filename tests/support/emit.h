/* A tiny protobuf emitter that can write one message in every legal way.
 *
 * A message is collected field by field in pieces, one piece per field as it stands on the wire,
 * and joined at the end: as called, or in any order that keeps equal fields in theirs. Written for
 * the tests alone, so that a mistake in the library's writer has no twin here. */
#ifndef PD_TESTS_EMIT_H
#define PD_TESTS_EMIT_H

#include "arena.h"
#include "rng.h"

typedef enum emit_packing {
    EMIT_UNPACKED,
    EMIT_PACKED,
    EMIT_SPLIT, /* several packed runs, single elements between them */
    EMIT_ANY,   /* each time one of the above */
    EMIT_AS_GO  /* packed where there are more than two, as Go has it */
} emit_packing;

typedef struct emitter {
    arena *arena;
    rng rng;
    bool shuffle_fields;
    unsigned explicit_zeros; /* percent of zero fields that are written all the same */
    unsigned long_varints;   /* percent of varints with bytes to spare */
    unsigned unknown_fields; /* percent of messages with fields that nobody knows */
    unsigned said_twice;     /* percent of scalars that stand there twice, the last one true */
    emit_packing packing;
} emitter;

typedef struct message {
    emitter *e;
    unsigned last_field; /* the highest field number the message has */
    struct piece *pieces;
    size_t len, cap;
} message;

message message_begin(emitter *e, unsigned last_field);
buf message_end(message *m);

/* A varint field, left out when it is zero unless chance wants it. */
void emit_scalar(message *m, unsigned field, uint64_t value);
void emit_repeated(message *m, unsigned field, const uint64_t *values, size_t len);
void emit_bytes(message *m, unsigned field, const void *data, size_t len);
void emit_message(message *m, unsigned field, message *child);

#endif

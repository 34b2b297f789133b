#include "emit.h"

typedef struct piece {
    unsigned field; /* 0: an unknown field, at any place */
    buf bytes;
} piece;

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* min_len pads the varint with empty groups, which is valid up to ten bytes. */
static void put_varint(buf *b, uint64_t value, size_t min_len)
{
    uint8_t bytes[10];
    size_t len = 0;
    while (value > 0x7f || len + 1 < min_len) {
        bytes[len++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[len++] = (uint8_t)value;
    buf_add(b, bytes, len);
}

void wire_varint(buf *b, uint64_t value)
{
    put_varint(b, value, 1);
}

void wire_number(buf *b, unsigned field, uint64_t value)
{
    wire_varint(b, field << 3 | WIRE_VARINT);
    wire_varint(b, value);
}

void wire_bytes(buf *b, unsigned field, buf bytes)
{
    wire_varint(b, field << 3 | WIRE_BYTES);
    wire_varint(b, bytes.len);
    buf_add(b, bytes.ptr, bytes.len);
}

static size_t draw_len(emitter *e, size_t most)
{
    return rng_chance(&e->rng, e->long_varints) ? 1 + rng_below(&e->rng, most) : 1;
}

static void put_value(emitter *e, buf *b, uint64_t value)
{
    put_varint(b, value, draw_len(e, 10));
}

/* Tags and lengths have at most five bytes: they have 32 bits, and readers differ beyond that. */
static void put_len(emitter *e, buf *b, size_t len)
{
    put_varint(b, len, draw_len(e, 5));
}

static void put_tag(emitter *e, buf *b, unsigned field, unsigned wire)
{
    put_varint(b, (uint64_t)field << 3 | wire, draw_len(e, 5));
}

static buf *add_piece(message *m, unsigned field)
{
    ARENA_PUSH(m->e->arena, m->pieces, m->len, m->cap, (piece){field, buf_begin(m->e->arena)});
    return &m->pieces[m->len - 1].bytes;
}

message message_begin(emitter *e, unsigned last_field)
{
    return (message){.e = e, .last_field = last_field};
}

static void emit_varint(message *m, unsigned field, uint64_t value)
{
    buf *b = add_piece(m, field);
    put_tag(m->e, b, field, WIRE_VARINT);
    put_value(m->e, b, value);
}

void emit_scalar(message *m, unsigned field, uint64_t value)
{
    emitter *e = m->e;
    bool twice = rng_chance(&e->rng, e->said_twice);
    if (twice)
        emit_varint(m, field, rng_chance(&e->rng, 50) ? 0 : value);
    if (twice || value || rng_chance(&e->rng, e->explicit_zeros))
        emit_varint(m, field, value);
}

static void emit_run(message *m, unsigned field, const uint64_t *values, size_t len)
{
    emitter *e = m->e;
    buf run = buf_begin(e->arena);
    for (size_t i = 0; i < len; i++)
        put_value(e, &run, values[i]);
    emit_bytes(m, field, run.ptr, run.len);
}

void emit_repeated(message *m, unsigned field, const uint64_t *values, size_t len)
{
    emitter *e = m->e;
    emit_packing packing = e->packing;
    if (packing == EMIT_ANY)
        packing = (emit_packing)rng_below(&e->rng, EMIT_ANY);
    if (packing == EMIT_AS_GO)
        packing = len > 2 ? EMIT_PACKED : EMIT_UNPACKED;
    if (packing == EMIT_PACKED && (len || rng_chance(&e->rng, e->explicit_zeros)))
        emit_run(m, field, values, len);
    else if (packing == EMIT_UNPACKED)
        for (size_t i = 0; i < len; i++)
            emit_varint(m, field, values[i]);
    else if (packing == EMIT_SPLIT)
        for (size_t i = 0; i < len;) {
            size_t run = 1 + rng_below(&e->rng, len - i);
            if (run == 1 && rng_chance(&e->rng, 50))
                emit_varint(m, field, values[i]);
            else
                emit_run(m, field, values + i, run);
            i += run;
        }
}

void emit_bytes(message *m, unsigned field, const void *data, size_t len)
{
    buf *b = add_piece(m, field);
    put_tag(m->e, b, field, WIRE_BYTES);
    put_len(m->e, b, len);
    buf_add(b, data, len);
}

void emit_message(message *m, unsigned field, message *child)
{
    buf bytes = message_end(child);
    emit_bytes(m, field, bytes.ptr, bytes.len);
}

static void emit_unknown(message *m)
{
    static const unsigned wires[] = {WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32};
    rng *r = &m->e->rng;
    const unsigned fields[] = {m->last_field + 1, 16, 17 + (unsigned)rng_below(r, 4000),
                               (1u << 29) - 1};
    unsigned wire = wires[rng_below(r, 4)];
    uint64_t noise[3] = {rng_next(r), rng_next(r), rng_next(r)};
    buf *b = add_piece(m, 0);
    put_tag(m->e, b, fields[rng_below(r, 4)], wire);
    if (wire == WIRE_VARINT)
        put_value(m->e, b, noise[0] >> rng_below(r, 64));
    else if (wire == WIRE_FIXED64)
        buf_add(b, noise, 8);
    else if (wire == WIRE_FIXED32)
        buf_add(b, noise, 4);
    else {
        size_t len = rng_below(r, sizeof noise + 1);
        put_len(m->e, b, len);
        buf_add(b, noise, len);
    }
}

/* Draws the next field number, then emits the pieces of each field in order. */
static void join_shuffled(message *m, buf *out)
{
    enum { FIELDS = 16 };
    arena *a = m->e->arena;
    size_t *turns = ARENA_ARRAY(a, size_t, m->len), *next = ARENA_ARRAY(a, size_t, m->len);
    size_t first[FIELDS], last[FIELDS];
    for (size_t f = 0; f < FIELDS; f++)
        first[f] = last[f] = m->len;
    for (size_t i = 0; i < m->len; i++) {
        size_t f = turns[i] = m->pieces[i].field;
        next[i] = m->len;
        if (first[f] == m->len)
            first[f] = i;
        else
            next[last[f]] = i;
        last[f] = i;
    }
    rng_shuffle(&m->e->rng, turns, m->len);
    for (size_t i = 0; i < m->len; i++) {
        size_t chosen = first[turns[i]];
        buf_add(out, m->pieces[chosen].bytes.ptr, m->pieces[chosen].bytes.len);
        first[turns[i]] = next[chosen];
    }
}

buf message_end(message *m)
{
    emitter *e = m->e;
    if (rng_chance(&e->rng, e->unknown_fields))
        for (size_t n = 1 + rng_below(&e->rng, 3); n; n--)
            emit_unknown(m);
    buf out = buf_begin(e->arena);
    buf_add(&out, NULL, 0);
    if (e->shuffle_fields) {
        join_shuffled(m, &out);
        return out;
    }
    for (size_t i = 0; i < m->len; i++)
        buf_add(&out, m->pieces[i].bytes.ptr, m->pieces[i].bytes.len);
    return out;
}

#include "mutate_profile.h"

#include "emit.h"
#include "profile.pb-c.h"
#include "wire/reader.h"

#include <string.h>

/* What a field holds, as far as it can be taken apart. */
typedef enum content { NUMBER, NUMBERS, TEXT, MESSAGE } content;

typedef ProtobufCMessageDescriptor shape;

/* A field with its bytes; number 0 is what could not be taken apart. */
typedef struct piece {
    uint32_t number, wire;
    uint64_t value;
    buf whole, body;
} piece;

enum { MOST_PIECES = 4096, MOST_TEXT = 64 };

typedef struct pieces {
    piece *at;
    size_t len, cap;
} pieces;

typedef struct numbers {
    uint64_t *at;
    size_t len, cap;
} numbers;

typedef struct job {
    rng *rng;
    arena *arena;
} job;

static size_t below(job *j, size_t n)
{
    return rng_below(j->rng, n);
}

static content content_of(const shape *s, uint32_t number)
{
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(s, number);
    if (!field)
        return NUMBER;
    return field->type == PROTOBUF_C_TYPE_MESSAGE      ? MESSAGE
           : field->type == PROTOBUF_C_TYPE_BYTES      ? TEXT
           : field->label == PROTOBUF_C_LABEL_REPEATED ? NUMBERS
                                                       : NUMBER;
}

/* ---- taking apart ---------------------------------------------------------------------------- */

static buf bytes_of(const uint8_t *ptr, const uint8_t *end)
{
    return (buf){.ptr = (uint8_t *)(uintptr_t)ptr, .len = (size_t)(end - ptr)};
}

static void add_piece(job *j, pieces *p, piece added)
{
    ARENA_PUSH(j->arena, p->at, p->len, p->cap, added);
}

static pieces take_apart(job *j, buf in)
{
    pieces p = {0};
    if (!in.len)
        return p;
    pd_reader r = pd_reader_of(in.ptr, in.len);
    pd_field f;
    while (p.len < MOST_PIECES && pd_reader_next(&r, &f)) {
        piece got = {f.number, f.wire, f.value, bytes_of(f.start, r.at), {0}};
        if (f.wire == PD_WIRE_BYTES)
            got.body = bytes_of(f.body.at, f.body.end);
        add_piece(j, &p, got);
    }
    if (r.at < r.end)
        add_piece(j, &p, (piece){.whole = bytes_of(r.at, r.end)});
    return p;
}

static void add_number(job *j, numbers *n, uint64_t number)
{
    ARENA_PUSH(j->arena, n->at, n->len, n->cap, number);
}

static numbers take_numbers(job *j, const piece *p)
{
    numbers n = {0};
    uint64_t number;
    if (p->wire != PD_WIRE_BYTES) {
        add_number(j, &n, p->value);
        return n;
    }
    pd_reader r = pd_reader_of(p->body.ptr, p->body.len);
    while (pd_reader_varint(&r, &number))
        add_number(j, &n, number);
    return n;
}

/* ---- putting together ------------------------------------------------------------------------ */

static void put_raw(buf *out, buf bytes)
{
    buf_add(out, bytes.ptr, bytes.len);
}

static void put_pieces(buf *out, const pieces *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        put_raw(out, p->at[i].whole);
}

static void put_numbers(job *j, buf *out, uint32_t number, const numbers *n, bool is_packed)
{
    buf body = buf_begin(j->arena);
    for (size_t i = 0; i < n->len; i++)
        if (is_packed)
            wire_varint(&body, n->at[i]);
        else
            wire_number(out, number, n->at[i]);
    if (is_packed)
        wire_bytes(out, number, body);
}

/* ---- changing one field ---------------------------------------------------------------------- */

/* A neighbour, an edge of some length, or a small number. */
static uint64_t change_number(job *j, uint64_t value)
{
    uint64_t bit = UINT64_C(1) << below(j, 64);
    const uint64_t others[] = {value + 1,   value - 1, value ^ bit,       value * 2,
                               value / 2,   0 - value, bit - below(j, 3), value + below(j, 1000),
                               below(j, 12)};
    return others[below(j, sizeof others / sizeof *others)];
}

/* One more, one less, or one of them changed. */
static void change_numbers(job *j, numbers *n)
{
    size_t at = n->len ? below(j, n->len) : 0;
    if (!n->len || !below(j, 6))
        add_number(j, n, n->len && below(j, 2) ? n->at[at] : below(j, 12));
    else if (!below(j, 6))
        n->at[at] = n->at[--n->len];
    else
        n->at[at] = change_number(j, n->at[at]);
}

/* Strings stay short enough to be looked at. */
static void put_changed_text(buf *out, uint32_t number, buf text)
{
    uint8_t bytes[MOST_TEXT];
    size_t len = text.len < sizeof bytes ? text.len : sizeof bytes;
    if (len)
        memcpy(bytes, text.ptr, len);
    len = LLVMFuzzerMutate(bytes, len, sizeof bytes);
    wire_bytes(out, number, (buf){.ptr = bytes, .len = len});
}

static buf mutate_message(job *j, const shape *s, buf in, buf donor);

static void put_changed(job *j, const shape *s, const piece *p, buf *out)
{
    content kind = content_of(s, p->number);
    if (kind == NUMBERS && (p->wire == PD_WIRE_BYTES || p->wire == PD_WIRE_VARINT)) {
        numbers n = take_numbers(j, p);
        change_numbers(j, &n);
        put_numbers(j, out, p->number, &n, below(j, 16));
    } else if (kind == MESSAGE && p->wire == PD_WIRE_BYTES) {
        const shape *inside = protobuf_c_message_descriptor_get_field(s, p->number)->descriptor;
        wire_bytes(out, p->number, mutate_message(j, inside, p->body, p->body));
    } else if (kind == TEXT && p->wire == PD_WIRE_BYTES) {
        put_changed_text(out, p->number, p->body);
    } else if (p->wire == PD_WIRE_VARINT) {
        wire_number(out, p->number, change_number(j, p->value));
    } else {
        put_raw(out, p->whole);
    }
}

/* ---- changing the order and number of fields ------------------------------------------------- */

/* A field from scratch, with a small number or nothing in it. */
static void put_new(job *j, const shape *s, buf *out)
{
    uint32_t number = (uint32_t)below(j, s->n_fields + 1) + 1; /* one of them unknown */
    if (content_of(s, number) != NUMBER)
        wire_bytes(out, number, (buf){0});
    else
        wire_number(out, number, below(j, 12));
}

/* A field is left out, moved, or put in: one of these, one of the donor's, or a new one. */
static void put_rearranged(job *j, const shape *s, const pieces *p, const pieces *donor, buf *out)
{
    size_t at = below(j, p->len), to = below(j, p->len), what = below(j, 6);
    bool is_gone = what < 2, is_put = what != 0;
    for (size_t i = 0; i < p->len; i++) {
        if (i == to && is_put && what < 4)
            put_raw(out, p->at[at].whole);
        else if (i == to && what == 4 && donor->len)
            put_raw(out, donor->at[below(j, donor->len)].whole);
        else if (i == to && what == 5)
            put_new(j, s, out);
        if (i != at || !is_gone)
            put_raw(out, p->at[i].whole);
    }
}

/* Three times of four inside one of the fields, else among them. */
static buf mutate_message(job *j, const shape *s, buf in, buf donor)
{
    pieces p = take_apart(j, in), d = take_apart(j, donor);
    buf out = buf_begin(j->arena);
    buf_add(&out, NULL, 0); /* no null pointer, whatever is left out */
    if (!p.len) {
        put_new(j, s, &out);
    } else if (below(j, 4)) {
        size_t at = below(j, p.len);
        put_pieces(&out, &p, 0, at);
        put_changed(j, s, &p.at[at], &out);
        put_pieces(&out, &p, at + 1, p.len);
    } else {
        put_rearranged(j, s, &p, &d, &out);
    }
    return out;
}

buf mutate_profile(rng *r, arena *a, buf in, buf donor)
{
    return mutate_message(&(job){r, a}, &pd__view__profile__descriptor, in, donor);
}

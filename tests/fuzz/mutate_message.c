#include "mutate_message.h"

#include "emit.h"
#include "wire/reader.h"

#include <string.h>

/* A field with its bytes; number 0 is what could not be taken apart. */
typedef struct piece {
    uint32_t number, wire;
    uint64_t value;
    buf whole, body;
} piece;

enum { MOST_PIECES = 4096, MOST_TEXT = 64, FIELDS = 16 };

typedef struct pieces {
    piece *at;
    size_t len, cap;
    bool is_whole; /* it was taken apart to its end */
} pieces;

static buf bytes_of(const uint8_t *ptr, const uint8_t *end)
{
    return (buf){.ptr = (uint8_t *)(uintptr_t)ptr, .len = (size_t)(end - ptr)};
}

static pieces take_apart(arena *a, buf in)
{
    pieces p = {.is_whole = true};
    if (!in.len)
        return p;
    pd_reader r = pd_reader_of(in.ptr, in.len);
    pd_field f;
    while (p.len < MOST_PIECES && pd_reader_next(&r, &f)) {
        piece got = {f.number, f.wire, f.value, bytes_of(f.start, r.at), {0}};
        if (f.wire == PD_WIRE_BYTES)
            got.body = bytes_of(f.body.at, f.body.end);
        ARENA_PUSH(a, p.at, p.len, p.cap, got);
    }
    p.is_whole = r.at == r.end;
    if (!p.is_whole)
        ARENA_PUSH(a, p.at, p.len, p.cap, (piece){.whole = bytes_of(r.at, r.end)});
    return p;
}

static void put_whole(buf *out, const piece *p)
{
    buf_add(out, p->whole.ptr, p->whole.len);
}

/* A neighbour, an edge of some length, or a small number. */
static uint64_t change_number(rng *r, uint64_t value)
{
    uint64_t bit = UINT64_C(1) << rng_below(r, 64);
    const uint64_t others[] = {
        value + 1,       value - 1, value ^ bit,           value * 2,
        value / 2,       0 - value, bit - rng_below(r, 3), value + rng_below(r, 1000),
        rng_below(r, 12)};
    return others[rng_below(r, sizeof others / sizeof *others)];
}

/* A message inside, else bytes, which stay short enough to be looked at. */
static void put_changed_bytes(rng *r, arena *a, const piece *p, buf *out)
{
    uint8_t bytes[MOST_TEXT];
    size_t len = p->body.len < sizeof bytes ? p->body.len : sizeof bytes;
    if (rng_below(r, 8) && take_apart(a, p->body).is_whole) {
        wire_bytes(out, p->number, mutate_message(r, a, p->body, p->body));
        return;
    }
    if (len)
        memcpy(bytes, p->body.ptr, len);
    len = LLVMFuzzerMutate(bytes, len, sizeof bytes);
    wire_bytes(out, p->number, (buf){.ptr = bytes, .len = len});
}

static void put_changed(rng *r, arena *a, const piece *p, buf *out)
{
    if (p->number && p->wire == PD_WIRE_BYTES)
        put_changed_bytes(r, a, p, out);
    else if (p->number && p->wire == PD_WIRE_VARINT)
        wire_number(out, p->number, change_number(r, p->value));
    else
        put_whole(out, p);
}

/* A field from scratch, with a small number or nothing in it. */
static void put_new(rng *r, buf *out)
{
    uint32_t number = (uint32_t)rng_below(r, FIELDS) + 1;
    if (rng_below(r, 2))
        wire_bytes(out, number, (buf){0});
    else
        wire_number(out, number, rng_below(r, 12));
}

/* A field is left out, moved, or put in: one of these, one of the donor's, or a new one. */
static void put_rearranged(rng *r, const pieces *p, const pieces *donor, buf *out)
{
    size_t at = rng_below(r, p->len), to = rng_below(r, p->len), what = rng_below(r, 6);
    bool is_gone = what < 2, is_put = what != 0;
    for (size_t i = 0; i < p->len; i++) {
        if (i == to && is_put && what < 4)
            put_whole(out, &p->at[at]);
        else if (i == to && what == 4 && donor->len)
            put_whole(out, &donor->at[rng_below(r, donor->len)]);
        else if (i == to && what == 5)
            put_new(r, out);
        if (i != at || !is_gone)
            put_whole(out, &p->at[i]);
    }
}

/* Three times of four inside one of the fields, else among them. */
buf mutate_message(rng *r, arena *a, buf in, buf donor)
{
    pieces p = take_apart(a, in), d = take_apart(a, donor);
    buf out = buf_begin(a);
    buf_add(&out, NULL, 0); /* no null pointer, whatever is left out */
    if (!p.len)
        put_new(r, &out);
    else if (!rng_below(r, 4))
        put_rearranged(r, &p, &d, &out);
    else
        for (size_t i = 0, at = rng_below(r, p.len); i < p.len; i++)
            i == at ? put_changed(r, a, &p.at[i], &out) : put_whole(&out, &p.at[i]);
    return out;
}

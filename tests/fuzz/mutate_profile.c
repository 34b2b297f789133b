#include "mutate_profile.h"

#include "profile/fields.h"
#include "wire/reader.h"
#include "wire/writer.h"

/* What a field holds, as far as it can be taken apart. */
typedef enum content { NUMBER, NUMBERS, TEXT, MESSAGE } content;

typedef struct shape {
    uint32_t fields; /* 1 .. fields are known */
    struct {
        content content;
        const struct shape *inside; /* of a MESSAGE */
    } field[16];
} shape;

static const shape value_type = {2, {{0}}}, label = {4, {{0}}}, mapping = {10, {{0}}},
                   line = {3, {{0}}}, function = {5, {{0}}};
static const shape location = {5, {[PD_LOCATION_LINE] = {MESSAGE, &line}}};
static const shape sample = {3,
                             {[PD_SAMPLE_LOCATION_ID] = {NUMBERS, NULL},
                              [PD_SAMPLE_VALUE] = {NUMBERS, NULL},
                              [PD_SAMPLE_LABEL] = {MESSAGE, &label}}};
static const shape profile = {15,
                              {[PD_PROFILE_SAMPLE_TYPE] = {MESSAGE, &value_type},
                               [PD_PROFILE_SAMPLE] = {MESSAGE, &sample},
                               [PD_PROFILE_MAPPING] = {MESSAGE, &mapping},
                               [PD_PROFILE_LOCATION] = {MESSAGE, &location},
                               [PD_PROFILE_FUNCTION] = {MESSAGE, &function},
                               [PD_PROFILE_STRING_TABLE] = {TEXT, NULL},
                               [PD_PROFILE_PERIOD_TYPE] = {MESSAGE, &value_type},
                               [PD_PROFILE_COMMENT] = {NUMBERS, NULL}}};

/* A field with its bytes; number 0 is what could not be taken apart. */
typedef struct piece {
    uint32_t number, wire;
    uint64_t value;
    pd_bytes whole, body;
} piece;

enum { MOST_PIECES = 4096, MOST_NUMBERS = 1024, MOST_TEXT = 64 };

typedef struct pieces {
    piece *at;
    size_t len, cap;
} pieces;

typedef struct numbers {
    uint64_t at[MOST_NUMBERS];
    size_t len;
} numbers;

typedef struct job {
    dice *dice;
    pd_writer writer;
} job;

size_t dice_below(dice *d, size_t n)
{
    d->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = d->state;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (size_t)((x ^ x >> 31) % n);
}

static size_t below(job *j, size_t n)
{
    return dice_below(j->dice, n);
}

/* ---- taking apart ---------------------------------------------------------------------------- */

static void add_piece(job *j, pieces *p, piece added)
{
    if (!pd_mem_grow(j->writer.mem, &p->at, &p->cap, p->len + 1, sizeof *p->at, NULL))
        p->at[p->len++] = added;
}

static pieces take_apart(job *j, pd_bytes in)
{
    pieces p = {0};
    if (!in.len)
        return p;
    pd_reader r = pd_reader_of(in.ptr, in.len);
    pd_field f;
    while (p.len < MOST_PIECES && pd_reader_next(&r, &f)) {
        piece got = {f.number, f.wire, f.value, {f.start, (size_t)(r.at - f.start)}, {0}};
        if (f.wire == PD_WIRE_BYTES)
            got.body = (pd_bytes){f.body.at, (size_t)(f.body.end - f.body.at)};
        add_piece(j, &p, got);
    }
    if (r.at < r.end)
        add_piece(j, &p, (piece){.whole = {r.at, (size_t)(r.end - r.at)}});
    return p;
}

static void drop(job *j, pieces *p)
{
    pd_mem_release(j->writer.mem, &p->at, &p->cap, sizeof *p->at);
}

static numbers take_numbers(const piece *p)
{
    numbers n;
    n.len = 0;
    if (p->wire != PD_WIRE_BYTES) {
        n.at[n.len++] = p->value;
        return n;
    }
    pd_reader r = pd_reader_of(p->body.ptr, p->body.len);
    while (n.len < MOST_NUMBERS && pd_reader_varint(&r, &n.at[n.len]))
        n.len++;
    return n;
}

/* ---- putting together ------------------------------------------------------------------------ */

static void put_raw(job *j, pd_buffer *out, pd_bytes bytes)
{
    if (bytes.len)
        pd_write_raw(&j->writer, out, bytes.ptr, bytes.len);
}

static void put_pieces(job *j, pd_buffer *out, const pieces *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        put_raw(j, out, p->at[i].whole);
}

static void put_packed(job *j, pd_buffer *out, uint32_t number, const numbers *n)
{
    pd_buffer body = {0};
    for (size_t i = 0; i < n->len; i++) {
        uint8_t *at = pd_write_room(&j->writer, &body, PD_VARINT_MAX);
        if (at)
            pd_write_done(&body, pd_varint_encode(at, n->at[i]));
    }
    pd_write_part(&j->writer, out, number, &body);
    pd_buffer_release(j->writer.mem, &body);
}

static void put_unpacked(job *j, pd_buffer *out, uint32_t number, const numbers *n)
{
    for (size_t i = 0; i < n->len; i++)
        pd_write_varint_always(&j->writer, out, number, n->at[i]);
}

/* ---- changing one field ---------------------------------------------------------------------- */

static uint64_t change_number(job *j, uint64_t value)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     127,
                                     128,
                                     16383,
                                     16384,
                                     INT32_MAX,
                                     UINT32_MAX - 1,
                                     UINT32_MAX,
                                     UINT64_C(1) << 32,
                                     INT64_MAX,
                                     UINT64_C(1) << 63,
                                     UINT64_MAX};
    switch (below(j, 9)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return edges[below(j, sizeof edges / sizeof *edges)];
    case 3:
        return value ^ UINT64_C(1) << below(j, 64);
    case 4:
        return value * 2;
    case 5:
        return value / 2;
    case 6:
        return 0 - value;
    case 7:
        return value + below(j, 1000);
    default:
        return below(j, 12);
    }
}

static void change_numbers(job *j, numbers *n, const numbers *donor)
{
    size_t at = n->len ? below(j, n->len) : 0;
    if (n->len < MOST_NUMBERS && (!n->len || !below(j, 6))) {
        n->at[n->len++] = donor->len ? donor->at[below(j, donor->len)] : below(j, 12);
        return;
    }
    uint64_t kept = n->at[at];
    switch (below(j, 6)) {
    case 0:
        n->at[at] = n->at[--n->len];
        break;
    case 1:
        n->at[at] = n->at[n->len - 1];
        n->at[n->len - 1] = kept;
        break;
    case 2:
        n->at[at] = donor->len ? donor->at[below(j, donor->len)] : kept;
        break;
    default:
        n->at[at] = change_number(j, kept);
    }
}

/* Strings stay short enough to be looked at. */
static void put_changed_text(job *j, pd_buffer *out, uint32_t number, pd_bytes text)
{
    uint8_t bytes[MOST_TEXT];
    size_t len = text.len < sizeof bytes ? text.len : sizeof bytes;
    if (len)
        memcpy(bytes, text.ptr, len);
    len = LLVMFuzzerMutate(bytes, len, sizeof bytes);
    pd_write_bytes(&j->writer, out, number, bytes, len);
}

static void mutate_message(job *j, const shape *s, pd_bytes in, pd_bytes donor, pd_buffer *out);

/* A field of the same number in the donor, or NULL. */
static const piece *counterpart(job *j, const pieces *donor, uint32_t number)
{
    size_t start = donor->len ? below(j, donor->len) : 0;
    for (size_t i = 0; i < donor->len; i++) {
        const piece *candidate = &donor->at[(start + i) % donor->len];
        if (candidate->number == number)
            return candidate;
    }
    return NULL;
}

static void put_changed(job *j, const shape *s, const piece *p, const pieces *donor, pd_buffer *out)
{
    const piece *other = counterpart(j, donor, p->number);
    bool is_known = p->number && p->number <= s->fields;
    content kind = is_known ? s->field[p->number].content : NUMBER;
    if (kind == NUMBERS && (p->wire == PD_WIRE_BYTES || p->wire == PD_WIRE_VARINT)) {
        numbers n = take_numbers(p), from = {.len = 0};
        if (other)
            from = take_numbers(other);
        change_numbers(j, &n, &from);
        if (below(j, 16))
            put_packed(j, out, p->number, &n);
        else
            put_unpacked(j, out, p->number, &n);
    } else if (kind == MESSAGE && p->wire == PD_WIRE_BYTES) {
        pd_buffer body = {0};
        mutate_message(j, s->field[p->number].inside, p->body, other ? other->body : (pd_bytes){0},
                       &body);
        pd_write_part(&j->writer, out, p->number, &body);
        pd_buffer_release(j->writer.mem, &body);
    } else if (kind == TEXT && p->wire == PD_WIRE_BYTES) {
        put_changed_text(j, out, p->number, p->body);
    } else if (p->wire == PD_WIRE_VARINT) {
        uint64_t value = other && !below(j, 4) ? other->value : change_number(j, p->value);
        pd_write_varint_always(&j->writer, out, p->number, value);
    } else {
        put_raw(j, out, p->whole);
    }
}

/* ---- changing the order and number of fields ------------------------------------------------- */

static void swap(pieces *p, size_t a, size_t b)
{
    piece kept = p->at[a];
    p->at[a] = p->at[b];
    p->at[b] = kept;
}

static void shuffle(job *j, pieces *p)
{
    size_t from = below(j, p->len), most = p->len - from < 32 ? p->len - from : 32;
    for (size_t i = most; i > 1; i--)
        swap(p, from + i - 1, from + below(j, i));
}

/* A field from scratch, with a small number or nothing in it. */
static void put_new(job *j, const shape *s, pd_buffer *out)
{
    uint32_t number = (uint32_t)below(j, s->fields + 1) + 1; /* one of them unknown */
    bool is_known = number <= s->fields;
    if (is_known && s->field[number].content != NUMBER)
        pd_write_bytes(&j->writer, out, number, NULL, 0);
    else
        pd_write_varint_always(&j->writer, out, number, below(j, 12));
}

/* The numbers of one field: packed where they are not, and the other way round. */
static void put_repacked(job *j, const pieces *p, size_t at, pd_buffer *out)
{
    uint32_t number = p->at[at].number;
    if (p->at[at].wire == PD_WIRE_BYTES) {
        numbers n = take_numbers(&p->at[at]);
        put_pieces(j, out, p, 0, at);
        put_unpacked(j, out, number, &n);
        put_pieces(j, out, p, at + 1, p->len);
        return;
    }
    numbers all = {.len = 0};
    for (size_t i = 0; i < p->len; i++) {
        if (p->at[i].number != number) {
            put_raw(j, out, p->at[i].whole);
            continue;
        }
        numbers n = take_numbers(&p->at[i]);
        for (size_t k = 0; k < n.len && all.len < MOST_NUMBERS; k++)
            all.at[all.len++] = n.at[k];
    }
    put_packed(j, out, number, &all);
}

static bool holds_numbers(const shape *s, const piece *p)
{
    return p->number && p->number <= s->fields && s->field[p->number].content == NUMBERS &&
           (p->wire == PD_WIRE_BYTES || p->wire == PD_WIRE_VARINT);
}

static void put_rearranged(job *j, const shape *s, pieces *p, const pieces *donor, pd_buffer *out)
{
    size_t at = below(j, p->len), to = below(j, p->len);
    const piece *other = donor->len ? &donor->at[below(j, donor->len)] : &p->at[to];
    if (!below(j, 3) && holds_numbers(s, &p->at[at])) {
        put_repacked(j, p, at, out);
        return;
    }
    switch (below(j, 7)) {
    case 0: /* delete */
        put_pieces(j, out, p, 0, at);
        put_pieces(j, out, p, at + 1, p->len);
        return;
    case 1: /* repeat, somewhere else */
        put_pieces(j, out, p, 0, to);
        put_raw(j, out, p->at[at].whole);
        break;
    case 2: /* take over */
        put_pieces(j, out, p, 0, to);
        put_raw(j, out, other->whole);
        break;
    case 3: /* replace */
        put_pieces(j, out, p, 0, to);
        put_raw(j, out, other->whole);
        to++;
        break;
    case 4:
        put_pieces(j, out, p, 0, to);
        put_new(j, s, out);
        break;
    case 5:
        swap(p, at, to);
        to = 0;
        break;
    default:
        shuffle(j, p);
        to = 0;
    }
    put_pieces(j, out, p, to, p->len);
}

/* Three times of four inside one of the fields, else among them. */
static void mutate_message(job *j, const shape *s, pd_bytes in, pd_bytes donor, pd_buffer *out)
{
    pieces p = take_apart(j, in), d = take_apart(j, donor);
    if (!p.len) {
        put_new(j, s, out);
    } else if (below(j, 4)) {
        size_t at = below(j, p.len);
        put_pieces(j, out, &p, 0, at);
        put_changed(j, s, &p.at[at], &d, out);
        put_pieces(j, out, &p, at + 1, p.len);
    } else {
        put_rearranged(j, s, &p, &d, out);
    }
    drop(j, &p);
    drop(j, &d);
}

void mutate_profile(dice *d, pd_mem *mem, pd_bytes in, pd_bytes donor, pd_buffer *out)
{
    job j = {.dice = d, .writer = {.mem = mem}};
    mutate_message(&j, &profile, in, donor, out);
}

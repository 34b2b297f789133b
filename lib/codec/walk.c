/* A walk through deflate data (RFC 1951) that keeps count of the output and makes none.
 *
 * The library that inflates says only "bad data", for a file that an upload cut short as for one
 * that a disk damaged, and not where. So a file that failed is walked once more by this, which
 * takes its time, a bit at a time, and can name the byte. It is strict where that library is
 * lenient: nothing is decided by it but the words of an error.
 *
 * The bit reader's end is sticky: past it every bit is 0 and `ended` stays set, so that the code
 * reads straight. Whatever was found after it is void, hence `ended` outranks a reason. */
#include "codec/walk.h"

#include <stdbool.h>
#include <string.h>

enum {
    MAX_BITS = 15,
    LITLENS = 286, /* literals, the end of a block, and lengths */
    DISTANCES = 30,
    LENGTH_CODES = 19,
    END_OF_BLOCK = 256,
    NO_SYMBOL = -1
};

typedef struct bits {
    const uint8_t *in;
    size_t len, pos; /* pos: the next byte to take */
    uint32_t hold;   /* bits taken from in and not yet used, lowest first */
    unsigned held;   /* how many; fewer than 8 between two calls */
    bool ended;
} bits;

/* A Huffman code: how many symbols have each length, and the symbols in the order of their codes.
 */
typedef struct code {
    uint16_t count[MAX_BITS + 1];
    uint16_t symbol[288];
} code;

static unsigned take(bits *b, unsigned n)
{
    while (b->held < n) {
        if (b->pos == b->len) {
            b->ended = true;
            return 0;
        }
        b->hold |= (uint32_t)b->in[b->pos++] << b->held;
        b->held += 8;
    }
    unsigned value = b->hold & ((1u << n) - 1);
    b->hold >>= n;
    b->held -= n;
    return value;
}

static const char *build(code *c, const uint8_t *lengths, unsigned n)
{
    *c = (code){0};
    for (unsigned i = 0; i < n; i++)
        c->count[lengths[i]]++;

    int unused = 1;
    for (unsigned len = 1; len <= MAX_BITS; len++) {
        unused = unused * 2 - c->count[len];
        if (unused < 0)
            return "a Huffman code with more symbols than its lengths have room for";
    }
    bool one_or_none = c->count[0] + c->count[1] == n;
    if (unused > 0 && !one_or_none)
        return "a Huffman code with gaps";

    uint16_t first[MAX_BITS + 2] = {0};
    for (unsigned len = 1; len <= MAX_BITS; len++)
        first[len + 1] = (uint16_t)(first[len] + c->count[len]);
    for (unsigned i = 0; i < n; i++)
        if (lengths[i])
            c->symbol[first[lengths[i]]++] = (uint16_t)i;
    return NULL;
}

/* Codes of one length are consecutive numbers, and follow on from those of the length before. */
static int decode(bits *b, const code *c)
{
    unsigned word = 0, first = 0, index = 0;
    for (unsigned len = 1; len <= MAX_BITS; len++) {
        word = word << 1 | take(b, 1);
        first <<= 1;
        if (word - first < c->count[len])
            return c->symbol[index + (word - first)];
        first += c->count[len];
        index += c->count[len];
    }
    return NO_SYMBOL;
}

static unsigned read_length(bits *b, unsigned symbol)
{
    unsigned s = symbol - (END_OF_BLOCK + 1);
    if (s < 8)
        return 3 + s;
    if (s == 28)
        return 258;
    unsigned extra = s / 4 - 1;
    return 3 + ((4 + s % 4) << extra) + take(b, extra);
}

static unsigned read_distance(bits *b, unsigned s)
{
    if (s < 4)
        return 1 + s;
    unsigned extra = s / 2 - 1;
    return 1 + ((2 + s % 2) << extra) + take(b, extra);
}

static const char *walk_symbols(bits *b, const code *litlen, const code *distance, uint64_t *made)
{
    while (!b->ended) {
        int symbol = decode(b, litlen);
        if (symbol == END_OF_BLOCK)
            return NULL;
        if (symbol < 0 || symbol >= LITLENS)
            return "a literal or length that has no code";
        if (symbol < END_OF_BLOCK) {
            *made += 1;
            continue;
        }
        unsigned len = read_length(b, (unsigned)symbol);
        int s = decode(b, distance);
        if (s < 0 || s >= DISTANCES)
            return "a distance that has no code";
        if (read_distance(b, (unsigned)s) > *made)
            return "a copy from before the beginning";
        *made += len;
    }
    return NULL;
}

static const char *walk_stored(bits *b, uint64_t *made)
{
    b->hold = b->held = 0;
    unsigned len = take(b, 16), check = take(b, 16);
    if (!b->ended && (len ^ check) != 0xffff)
        return "a stored block that contradicts itself about its length";
    if (len > b->len - b->pos) {
        b->ended = true;
        return NULL;
    }
    b->pos += len;
    *made += len;
    return NULL;
}

static const char *walk_fixed(bits *b, uint64_t *made)
{
    uint8_t lengths[288 + 32];
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 256 - 144);
    memset(lengths + 256, 7, 280 - 256);
    memset(lengths + 280, 8, 288 - 280);
    memset(lengths + 288, 5, 32);
    code litlen, distance;
    build(&litlen, lengths, 288);
    build(&distance, lengths + 288, 32);
    return walk_symbols(b, &litlen, &distance, made);
}

/* The lengths of both codes, run-length coded as one sequence. */
static const char *read_lengths(bits *b, const code *c, uint8_t *lengths, unsigned n)
{
    for (unsigned i = 0; i < n && !b->ended;) {
        int symbol = decode(b, c);
        if (symbol < 0)
            return "a code length that has no code";
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16 && i == 0)
            return "a code length that repeats nothing";
        uint8_t value = symbol == 16 ? lengths[i - 1] : 0;
        unsigned run = symbol == 16   ? 3 + take(b, 2)
                       : symbol == 17 ? 3 + take(b, 3)
                                      : 11 + take(b, 7);
        if (run > n - i)
            return "more code lengths than there are symbols";
        memset(lengths + i, value, run);
        i += run;
    }
    return NULL;
}

static const char *walk_dynamic(bits *b, uint64_t *made)
{
    static const uint8_t order[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                11, 4,  12, 3, 13, 2, 14, 1, 15};
    unsigned litlens = take(b, 5) + 257, distances = take(b, 5) + 1, used = take(b, 4) + 4;
    if (litlens > LITLENS || distances > DISTANCES)
        return "more symbols than there are";

    uint8_t lengths[LITLENS + DISTANCES] = {0};
    code litlen, distance;
    for (unsigned i = 0; i < used; i++)
        lengths[order[i]] = (uint8_t)take(b, 3);
    const char *why = build(&litlen, lengths, LENGTH_CODES);
    if (!why)
        why = read_lengths(b, &litlen, lengths, litlens + distances);
    if (!why && !lengths[END_OF_BLOCK])
        why = "a block that cannot end";
    if (!why)
        why = build(&litlen, lengths, litlens);
    if (!why)
        why = build(&distance, lengths + litlens, distances);
    return why ? why : walk_symbols(b, &litlen, &distance, made);
}

static const char *walk_block(bits *b, uint64_t *made)
{
    switch (take(b, 2)) {
    case 0:
        return walk_stored(b, made);
    case 1:
        return walk_fixed(b, made);
    case 2:
        return walk_dynamic(b, made);
    default:
        return "a block of a type that does not exist";
    }
}

pd_walk pd_deflate_walk(const uint8_t *in, size_t len)
{
    bits b = {.in = in, .len = len};
    uint64_t made = 0;
    bool last = false;
    while (!last && !b.ended) {
        last = take(&b, 1);
        const char *why = walk_block(&b, &made);
        if (why && !b.ended)
            return (pd_walk){PD_WALK_DAMAGED, b.pos - 1, why};
    }
    return b.ended ? (pd_walk){PD_WALK_CUT_OFF, len, NULL} : (pd_walk){PD_WALK_WHOLE, b.pos, NULL};
}

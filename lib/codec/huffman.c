#include "codec/huffman.h"

#include <string.h>

/* The symbols that have a code, in the order of their codes: the shorter first. */
typedef struct order {
    unsigned count[PD_HUFFMAN_BITS + 1]; /* of each length */
    unsigned len;
    uint16_t symbol[PD_HUFFMAN_SYMBOLS];
} order;

/* False where the lengths are not those of a code. One symbol, or none, leaves a gap and is
 * allowed. */
static bool sort(order *o, const uint8_t *lengths, unsigned n)
{
    unsigned at[PD_HUFFMAN_BITS + 1];
    int unused = 1;
    memset(o->count, 0, sizeof o->count);
    for (unsigned i = 0; i < n; i++)
        o->count[lengths[i]]++;
    o->len = 0;
    for (unsigned len = 1; len <= PD_HUFFMAN_BITS; len++) {
        at[len] = o->len;
        o->len += o->count[len];
        unused = unused * 2 - (int)o->count[len];
        if (unused < 0)
            return false;
    }
    for (unsigned i = 0; i < n; i++)
        if (lengths[i])
            o->symbol[at[lengths[i]]++] = (uint16_t)i;
    return unused == 0 || o->len == o->count[1];
}

/* The code after this one of the same length, both with their first bit lowest. As the first of a
 * greater length it is the same. */
static unsigned next_code(unsigned code, unsigned len)
{
    unsigned bit = 1u << (len - 1);
    for (; code & bit; bit >>= 1)
        code ^= bit;
    return code | bit;
}

/* The codes that go on in the same subtable: those from symbol[*at] on, of which the first is
 * *code. Moves both behind them. */
static void build_subtable(uint32_t *sub, unsigned width, const order *o, const uint8_t *lengths,
                           const uint32_t *entries, unsigned *at, unsigned *code, unsigned bits)
{
    unsigned prefix = *code & ((1u << width) - 1);
    while (*at < o->len && (*code & ((1u << width) - 1)) == prefix) {
        unsigned symbol = o->symbol[*at], len = lengths[symbol];
        for (unsigned i = *code >> width; i < 1u << bits; i += 1u << (len - width))
            sub[i] = entries[symbol] | len;
        *code = next_code(*code, len);
        ++*at;
    }
}

/* How many bits tell the entries of the subtable that begins at symbol[at]: as many as its longest
 * code has, which is where the space of the prefix is used up. */
static unsigned subtable_bits(unsigned width, const order *o, const uint8_t *lengths, unsigned at)
{
    unsigned bits = lengths[o->symbol[at]] - width, left = 1u << bits;
    while (at < o->len) {
        unsigned more = lengths[o->symbol[at++]] - width;
        left <<= more - bits;
        bits = more;
        if (!--left)
            break;
    }
    return bits;
}

bool pd_huffman_build(uint32_t *table, unsigned width, const uint8_t *lengths, unsigned n,
                      const uint32_t *entries)
{
    order o;
    if (!sort(&o, lengths, n))
        return false;
    unsigned at = 0, code = 0, used = 1;
    table[0] = PD_ENTRY_NOTHING;
    for (unsigned len = 1; len <= width; len++) {
        memcpy(table + used, table, used * sizeof *table);
        used *= 2;
        for (unsigned i = 0; i < o.count[len]; i++) {
            table[code] = entries[o.symbol[at++]] | len;
            code = next_code(code, len);
        }
    }
    while (at < o.len) {
        unsigned bits = subtable_bits(width, &o, lengths, at);
        table[code & ((1u << width) - 1)] = used << 16 | PD_ENTRY_SUBTABLE | bits << 8 | width;
        build_subtable(table + used, width, &o, lengths, entries, &at, &code, bits);
        used += 1u << bits;
    }
    return true;
}

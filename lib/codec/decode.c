/* The loop keeps at least 56 bits ready, of which a length with its distance takes 48. It is there
 * twice, made from one text: with eight bytes of input loaded at once, and byte by byte for the
 * last few, where what lies behind the end reads as zeros and is found out afterwards. */
#include "codec/decode.h"

#include "codec/huffman.h"
#include "wire/varint.h"

#include <string.h>

enum { LITLENS = 286, DISTANCES = 30, LENGTH_CODES = 19, END_OF_BLOCK = 256, LENGTH_CODE_BITS = 7 };

/* --- bits ---------------------------------------------------------------------------------------
 */

typedef struct bits {
    const uint8_t *in, *end;
    uint64_t hold;
    unsigned held;
    unsigned beyond; /* bytes taken from behind the end, as zeros */
} bits;

static inline void refill(bits *b)
{
    b->hold |= pd_load64(b->in) << b->held;
    b->in += (63 - b->held) >> 3;
    b->held |= 56;
}

static inline void refill_slowly(bits *b)
{
    for (; b->held <= 56; b->held += 8) {
        if (b->in < b->end)
            b->hold |= (uint64_t)*b->in++ << b->held;
        else
            b->beyond++;
    }
}

static inline void fill(bits *b, bool is_quick)
{
    if (is_quick)
        refill(b);
    else
        refill_slowly(b);
}

static inline void drop(bits *b, unsigned n)
{
    b->hold >>= n;
    b->held -= n;
}

static inline unsigned peek(const bits *b, unsigned n)
{
    return (unsigned)(b->hold & ((UINT64_C(1) << n) - 1));
}

static unsigned take(bits *b, unsigned n)
{
    refill_slowly(b);
    unsigned value = peek(b, n);
    drop(b, n);
    return value;
}

/* Has something been used that is not there? */
static inline bool is_cut_off(const bits *b)
{
    return b->beyond * 8 > b->held;
}

/* Gives back the whole bytes that were not used. */
static void settle(bits *b)
{
    unsigned whole = b->held >> 3;
    b->in -= whole - (b->beyond < whole ? b->beyond : whole);
    b->held &= 7;
    b->hold &= (1u << b->held) - 1;
    b->beyond = 0;
}

/* --- blocks -------------------------------------------------------------------------------------
 */

static void litlen_entries(uint32_t entries[288])
{
    for (unsigned s = 0; s < END_OF_BLOCK; s++)
        entries[s] = PD_ENTRY_LITERAL | s << 16;
    entries[END_OF_BLOCK] = PD_ENTRY_END;
    unsigned base = 3;
    for (unsigned s = 257; s < 285; s++) {
        unsigned extra = s < 265 ? 0 : (s - 261) / 4;
        entries[s] = base << 16 | extra << 8;
        base += 1u << extra;
    }
    entries[285] = 258u << 16;
    entries[286] = entries[287] = PD_ENTRY_NOTHING;
}

static void distance_entries(uint32_t entries[32])
{
    unsigned base = 1;
    for (unsigned s = 0; s < DISTANCES; s++) {
        unsigned extra = s < 4 ? 0 : s / 2 - 1;
        entries[s] = base << 16 | extra << 8;
        base += 1u << extra;
    }
    entries[30] = entries[31] = PD_ENTRY_NOTHING;
}

static bool build_both(pd_decoder *d, const uint8_t *litlens, unsigned litlens_len,
                       const uint8_t *distances, unsigned distances_len)
{
    uint32_t entries[288];
    litlen_entries(entries);
    if (!pd_huffman_build(d->litlen, PD_LITLEN_BITS, litlens, litlens_len, entries))
        return false;
    distance_entries(entries);
    return pd_huffman_build(d->distance, PD_DISTANCE_BITS, distances, distances_len, entries);
}

static bool read_fixed(pd_decoder *d)
{
    uint8_t lengths[288 + 32];
    if (d->is_fixed)
        return true;
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 256 - 144);
    memset(lengths + 256, 7, 280 - 256);
    memset(lengths + 280, 8, 288 - 280);
    memset(lengths + 288, 5, 32);
    return d->is_fixed = build_both(d, lengths, 288, lengths + 288, 32);
}

static bool read_lengths(bits *b, const uint32_t *table, uint8_t *lengths, unsigned n)
{
    for (unsigned i = 0; i < n;) {
        refill_slowly(b);
        uint32_t entry = table[peek(b, LENGTH_CODE_BITS)];
        unsigned symbol = pd_entry_value(entry);
        drop(b, pd_entry_bits(entry));
        if (entry & PD_ENTRY_NOTHING || is_cut_off(b))
            return false;
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16 && i == 0)
            return false;
        uint8_t value = symbol == 16 ? lengths[i - 1] : 0;
        unsigned run = symbol == 16   ? 3 + take(b, 2)
                       : symbol == 17 ? 3 + take(b, 3)
                                      : 11 + take(b, 7);
        if (run > n - i)
            return false;
        memset(lengths + i, value, run);
        i += run;
    }
    return true;
}

static bool read_dynamic(pd_decoder *d, bits *b)
{
    static const uint8_t order[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                11, 4,  12, 3, 13, 2, 14, 1, 15};
    unsigned litlens = take(b, 5) + 257, distances = take(b, 5) + 1, used = take(b, 4) + 4;
    uint8_t lengths[LITLENS + DISTANCES] = {0};
    uint32_t entries[LENGTH_CODES], table[1 << LENGTH_CODE_BITS];
    if (litlens > LITLENS || distances > DISTANCES)
        return false;
    d->is_fixed = false;
    for (unsigned i = 0; i < LENGTH_CODES; i++)
        entries[i] = i << 16;
    for (unsigned i = 0; i < used; i++)
        lengths[order[i]] = (uint8_t)take(b, 3);
    if (!pd_huffman_build(table, LENGTH_CODE_BITS, lengths, LENGTH_CODES, entries))
        return false;
    memset(lengths, 0, LENGTH_CODES);
    return read_lengths(b, table, lengths, litlens + distances) && lengths[END_OF_BLOCK] &&
           build_both(d, lengths, litlens, lengths + litlens, distances);
}

static bool begin_stored(pd_decoder *d, bits *b)
{
    drop(b, b->held & 7);
    unsigned len = take(b, 16), check = take(b, 16);
    d->stored = len;
    d->state = PD_DECODE_STORED;
    return (len ^ check) == 0xffff;
}

static bool begin_block(pd_decoder *d, bits *b)
{
    d->is_final = take(b, 1);
    d->state = PD_DECODE_SYMBOLS;
    switch (take(b, 2)) {
    case 0:
        return begin_stored(d, b);
    case 1:
        return read_fixed(d);
    case 2:
        return read_dynamic(d, b);
    default:
        return false;
    }
}

/* --- content ------------------------------------------------------------------------------------
 */

/* Copies len bytes from `distance` before out, where they may overlap; up to 16 more are
 * written. */
static inline uint8_t *copy(uint8_t *out, size_t distance, size_t len)
{
    const uint8_t *from = out - distance;
    uint8_t *end = out + len;
    if (__builtin_expect(distance >= 16, 1)) {
        do {
            memcpy(out, from, 16);
            out += 16;
            from += 16;
        } while (out < end);
    } else if (distance >= 8) {
        do {
            memcpy(out, from, 8);
            out += 8;
            from += 8;
        } while (out < end);
    } else {
        do
            *out++ = *from++;
        while (out < end);
    }
    return end;
}

/* Decodes symbols until the block ends (END_HERE), out_end is reached or there are no 16 bytes left
 * to load from; !is_quick: until the input ends. */
typedef enum symbols_end { END_HERE, STOPPED, WRONG } symbols_end;

__attribute__((always_inline)) static inline symbols_end
read_symbols(const pd_decoder *d, bits *b, pd_decode_run *run, bool is_quick)
{
    enum { LOADED = 16 };
    const uint32_t *litlen = d->litlen, *distance = d->distance;
    const uint8_t *in_stop = b->end - (is_quick ? LOADED : 0);
    uint8_t *out = run->out;
    bits local = *b; /* in registers */
    symbols_end end = STOPPED;
    uint64_t before = d->before;
    const uint8_t *start = run->out;
    fill(&local, is_quick);
    uint32_t e = litlen[peek(&local, PD_LITLEN_BITS)]; /* always that of the next symbol */
    while (out < run->out_end && (!is_quick || local.in <= in_stop)) {
        fill(&local, is_quick);
        if (e & PD_ENTRY_LITERAL) {
            drop(&local, pd_entry_bits(e));
            *out++ = (uint8_t)(e >> 16);
            e = litlen[peek(&local, PD_LITLEN_BITS)];
            if (e & PD_ENTRY_LITERAL) {
                drop(&local, pd_entry_bits(e));
                *out++ = (uint8_t)(e >> 16);
                e = litlen[peek(&local, PD_LITLEN_BITS)];
            }
        }
        if (__builtin_expect(e & PD_ENTRY_SPECIAL, 0)) {
            if (e & PD_ENTRY_SUBTABLE)
                e = litlen[pd_entry_value(e) +
                           (peek(&local, PD_LITLEN_BITS + pd_entry_extra(e)) >> PD_LITLEN_BITS)];
            if (e & PD_ENTRY_SPECIAL) {
                drop(&local, pd_entry_bits(e));
                end = e & PD_ENTRY_END ? END_HERE : WRONG;
                break;
            }
        }
        drop(&local, pd_entry_bits(e));
        if (e & PD_ENTRY_LITERAL) {
            *out++ = (uint8_t)(e >> 16);
            e = litlen[peek(&local, PD_LITLEN_BITS)];
            if (!is_quick && is_cut_off(&local))
                break;
            continue;
        }
        size_t len = pd_entry_value(e) + peek(&local, pd_entry_extra(e));
        drop(&local, pd_entry_extra(e));
        fill(&local, is_quick);
        e = distance[peek(&local, PD_DISTANCE_BITS)];
        if (__builtin_expect(e & PD_ENTRY_SUBTABLE, 0))
            e = distance[pd_entry_value(e) +
                         (peek(&local, PD_DISTANCE_BITS + pd_entry_extra(e)) >> PD_DISTANCE_BITS)];
        drop(&local, pd_entry_bits(e));
        size_t far = pd_entry_value(e) + peek(&local, pd_entry_extra(e));
        drop(&local, pd_entry_extra(e));
        bool is_nothing = e & PD_ENTRY_NOTHING;
        e = litlen[peek(&local, PD_LITLEN_BITS)];
        if (__builtin_expect(is_nothing || far > before + (uint64_t)(out - start), 0)) {
            end = WRONG;
            break;
        }
        if (!is_quick && is_cut_off(&local))
            break;
        out = copy(out, far, len);
    }
    *b = local;
    run->out = out;
    return end;
}

static symbols_end read_symbols_quick(const pd_decoder *d, bits *b, pd_decode_run *run)
{
    return read_symbols(d, b, run, true);
}

static symbols_end read_symbols_slowly(const pd_decoder *d, bits *b, pd_decode_run *run)
{
    return read_symbols(d, b, run, false);
}

/* False where the data are bad. */
static bool read_block_symbols(pd_decoder *d, bits *b, pd_decode_run *run)
{
    const uint8_t *start = run->out;
    symbols_end end;
    if (b->end - b->in > 40) {
        end = read_symbols_quick(d, b, run);
        settle(b);
    } else {
        end = read_symbols_slowly(d, b, run);
        if (is_cut_off(b))
            return false;
        settle(b);
    }
    d->before += (uint64_t)(run->out - start);
    if (end == END_HERE)
        d->state = PD_DECODE_BLOCK;
    return end != WRONG;
}

static bool read_stored(pd_decoder *d, bits *b, pd_decode_run *run)
{
    size_t len = d->stored, left = (size_t)(b->end - b->in);
    size_t room = (size_t)(run->out_end - run->out);
    len = len < left ? len : left;
    len = len < room ? len : room;
    if (len)
        memcpy(run->out, b->in, len);
    b->in += len;
    run->out += len;
    d->before += len;
    d->stored -= len;
    if (!d->stored)
        d->state = PD_DECODE_BLOCK;
    return len || !d->stored || run->out == run->out_end;
}

/* One step. Every step that does not fail gets on. */
static bool step(pd_decoder *d, bits *b, pd_decode_run *run)
{
    switch (d->state) {
    case PD_DECODE_STORED:
        return read_stored(d, b, run);
    case PD_DECODE_SYMBOLS:
        return read_block_symbols(d, b, run);
    default: {
        d->block = b->in;
        d->block_held = b->held;
        bool is_good = begin_block(d, b) && !is_cut_off(b);
        settle(b);
        return is_good;
    }
    }
}

void pd_decode_begin(pd_decoder *d)
{
    d->hold = d->held = 0;
    d->state = PD_DECODE_BLOCK;
    d->is_final = d->is_fixed = false;
    d->stored = 0;
    d->before = 0;
}

pd_decode_end pd_decode(pd_decoder *d, pd_decode_run *run)
{
    bits b = {.in = run->in, .end = run->in_end, .hold = d->hold, .held = d->held};
    pd_decode_end end = PD_DECODE_BAD;
    for (;;) {
        bool is_between = d->state == PD_DECODE_BLOCK;
        if (is_between && d->is_final) {
            end = PD_DECODE_DONE;
            break;
        }
        if (run->out >= run->out_end &&
            !(is_between || (d->state == PD_DECODE_STORED && !d->stored))) {
            end = PD_DECODE_FULL;
            break;
        }
        if (!step(d, &b, run))
            break;
    }
    run->in = b.in;
    d->hold = (unsigned)b.hold;
    d->held = b.held;
    return end;
}

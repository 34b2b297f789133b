/* The quick way to read a sample: see sample.h.
 *
 * One pass over the record, all state in registers. What makes it quick, each worth its place by
 * measurement (tests/bench):
 *   - an id is one load, one bounds check, and two multiply-adds into the stack's sums; ids of one
 *     byte are taken eight at a time, those of two are decoded in line;
 *   - values are decoded without a branch on their length, which nobody can predict: all bytes of
 *     up to eight are loaded at once and their seven-bit groups closed up;
 *   - a label's names are hashed once for each different set of them. */
#include "profile/sample.h"

static inline uint64_t load64(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return pd_le64(word);
}

/* Closes up the seven-bit groups of a varint's bytes. */
static inline uint64_t close_up(uint64_t word)
{
    word &= UINT64_C(0x7f7f7f7f7f7f7f7f);
    word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
}

static inline uint32_t close_up_four(uint32_t word)
{
    word &= 0x7f7f7f7f;
    word = (word & 0x007f007f) | (word & 0x7f007f00) >> 1;
    return (word & 0x00003fff) | (word & 0x3fff0000) >> 2;
}

/* Decodes a varint of up to 8 bytes, 8 being readable. NULL where it is longer. Most have at most
 * four, which takes half the work. */
static inline const uint8_t *decode(const uint8_t *p, uint64_t *value)
{
    uint64_t word = load64(p);
    uint64_t stops = ~word & UINT64_C(0x8080808080808080);
    uint32_t early = (uint32_t)stops;
    if (__builtin_expect(early != 0, 1)) {
        *value = close_up_four((uint32_t)word & (early ^ (early - 1))); /* with its last byte */
        return p + ((unsigned)__builtin_ctz(early) >> 3) + 1;
    }
    if (!stops)
        return NULL;
    *value = close_up(word & (stops ^ (stops - 1)));
    return p + ((unsigned)__builtin_ctzll(stops) >> 3) + 1;
}

/* Adds the locations whose ids are the first `len` bytes of `word`. */
static inline void add_bytes(const pd_key *idents, const pd_key *number, uint64_t word, int len,
                             uint64_t *lo, uint64_t *hi)
{
    for (int i = 0; i < len; i++, word >>= 8) {
        const pd_key *ident = &idents[(word & 0xff) - 1];
        *lo += ident->lo * number[i].lo;
        *hi += ident->hi * number[i].hi;
    }
}

/* Are all bytes of `word` from 1 to 127? A zero byte borrows, a large one shows by itself. */
static inline bool are_small_ids(uint64_t word)
{
    const uint64_t highs = UINT64_C(0x8080808080808080);
    return (((word - UINT64_C(0x0101010101010101)) | word) & highs) == 0;
}

/* A packed run of location ids, the whole stack. */
static inline bool read_stack(const pd_sample_reader *r, const uint8_t *p, const uint8_t *end,
                              pd_stack_hash *stack)
{
    const pd_key *idents = r->tables->idents, *number = r->numbers->at;
    size_t sequential = r->tables->location_map.sequential;
    uint64_t lo = 0, hi = 0;
    if (end - p >= PD_STACK_BLOCK || stack->depth) /* an id has a byte at least */
        return false;
    if (sequential >= 127) {
        for (; end - p >= 8 && are_small_ids(load64(p)); p += 8, number += 8)
            add_bytes(idents, number, load64(p), 8, &lo, &hi);
        if (end - p >= 4 && are_small_ids((uint32_t)load64(p) | UINT64_C(0x0101010100000000))) {
            add_bytes(idents, number, load64(p), 4, &lo, &hi);
            p += 4;
            number += 4;
        }
    }
    while (p < end) {
        uint64_t id = *p++;
        if (id >= 0x80) {
            id += ((uint64_t)*p << 7) - 0x80;
            if (__builtin_expect(*p++ >= 0x80, 0)) {
                p = decode(p - 2, &id);
                if (!p)
                    return false;
            }
        }
        size_t index = id - 1;
        if (__builtin_expect(index >= sequential, 0)) {
            index = pd_idmap_find_other(&r->tables->location_map, id);
            if (index == PD_IDMAP_NONE)
                return false;
        }
        lo += idents[index].lo * number->lo;
        hi += idents[index].hi * number->hi;
        number++;
    }
    stack->lo = lo;
    stack->hi = hi;
    stack->depth = (size_t)(number - r->numbers->at);
    return p == end;
}

/* A packed run of values, all of them, in at most eight bytes. They lie in one register: what comes
 * after a value does not wait until its length is known to be decoded. */
static inline bool read_short_values(const pd_columns *columns, uint64_t word, size_t len,
                                     int64_t *values)
{
    const uint64_t highs = UINT64_C(0x8080808080808080);
    if (len == 0)
        return false;
    word &= UINT64_MAX >> (64 - 8 * len);
    uint64_t stops = ~word & highs >> (64 - 8 * len);
    unsigned begin = 0;
    for (size_t i = 0; i < columns->len; i++) {
        if (!stops)
            return false;
        uint64_t upto = stops ^ (stops - 1);
        values[columns->slot[i]] = (int64_t)close_up((word & upto) >> begin);
        word &= ~upto;
        begin = (unsigned)__builtin_ctzll(stops) + 1;
        stops &= stops - 1;
    }
    return !stops && !word;
}

/* The same of any length. */
static inline bool read_values(const pd_sample_reader *r, const uint8_t *p, const uint8_t *end,
                               pd_sample *s)
{
    const pd_columns *columns = r->columns;
    if (s->values_len)
        return false;
    s->values_len = columns->len;
    if (end - p <= 8)
        return read_short_values(columns, load64(p), (size_t)(end - p), s->values);
    for (size_t i = 0; i < columns->len; i++) {
        uint64_t value;
        if (p >= end || !(p = decode(p, &value)))
            return false;
        s->values[columns->slot[i]] = (int64_t)value;
    }
    return p == end;
}

/* A label: four varints, each at most once in any order. */
static inline bool read_label(pd_sample_reader *r, const uint8_t *p, const uint8_t *end,
                              pd_stack_hash *stack)
{
    enum { TAG_KEY = 0x08, TAG_STR = 0x10, TAG_NUM = 0x18, TAG_NUM_UNIT = 0x20 };
    uint64_t field[4] = {0};
    while (end - p >= 2) {
        unsigned tag = *p++;
        uint64_t value = *p++;
        if (value >= 0x80 && !(p = decode(p - 1, &value)))
            return false;
        if ((tag & 7) || tag - TAG_KEY > TAG_NUM_UNIT - TAG_KEY)
            return false;
        field[(tag >> 3) - 1] = value;
    }
    size_t strings = r->tables->strings_len;
    if (p != end || field[0] >= strings || field[1] >= strings || field[3] >= strings)
        return false;
    pd_key names = pd_sample_label_names(r, (uint32_t)field[0], (uint32_t)field[1],
                                         (uint32_t)field[3]);
    pd_stack_hash_label(stack, pd_label_key(names, (int64_t)field[2]));
    return true;
}

bool pd_sample_read_quick(pd_sample_reader *r, pd_reader body, pd_sample *s)
{
    enum { TAG_STACK = 0x0a, TAG_VALUES = 0x12, TAG_LABEL = 0x1a }; /* length-delimited 1, 2, 3 */
    const uint8_t *p = body.at, *end = body.end;
    s->stack = (pd_stack_hash){0};
    s->values_len = 0;
    while (end - p >= 2) {
        uint8_t tag = *p++;
        uint64_t len = *p++;
        if (__builtin_expect(len >= 0x80, 0)) {
            p = decode(p - 1, &len);
            if (!p || p > end)
                return false;
        }
        if (len > (size_t)(end - p))
            return false;
        bool ok = tag == TAG_STACK    ? read_stack(r, p, p + len, &s->stack)
                  : tag == TAG_VALUES ? read_values(r, p, p + len, s)
                  : tag == TAG_LABEL  ? read_label(r, p, p + len, &s->stack)
                                      : false;
        if (__builtin_expect(!ok, 0))
            return false;
        p += len;
    }
    return p == end && s->values_len == r->columns->len;
}

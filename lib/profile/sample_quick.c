/* The quick way to read a sample: see sample.h.
 *
 * One pass over the record, all state in registers. What makes it quick, each worth its place by
 * measurement (tests/bench):
 *   - an id is two multiply-adds into the stack's sums; ids of one byte are taken eight at a time;
 *   - values are decoded without a branch on their length, which nobody can predict: all bytes of
 *     up to eight are loaded at once and their seven-bit groups closed up;
 *   - a label's names are hashed once for each different set of them. */
#include "profile/sample.h"

#define HIGHS UINT64_C(0x8080808080808080) /* of each byte: another one follows */

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
    uint64_t stops = ~word & HIGHS;
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

/* The sums of a stack while they are being added up. */
typedef struct sums {
    const pd_key *idents;
    const pd_key *number; /* of the next position */
    uint64_t lo, hi;
} sums;

static inline void add(sums *s, size_t index)
{
    s->lo += s->idents[index].lo * s->number->lo;
    s->hi += s->idents[index].hi * s->number->hi;
    s->number++;
}

/* Adds the locations whose ids are the first `len` bytes of `word`. */
static inline void add_bytes(sums *s, uint64_t word, int len)
{
    for (int i = 0; i < len; i++, word >>= 8)
        add(s, (word & 0xff) - 1);
}

/* Are all bytes of `word` from 1 to 127? A zero byte borrows, a large one shows by itself. */
static inline bool are_bytes(uint64_t word)
{
    return (((word - UINT64_C(0x0101010101010101)) | word) & HIGHS) == 0;
}

/* Adds one location, whose id is of any length. NULL where it cannot be decoded or is not there. */
static inline const uint8_t *add_one(sums *s, const pd_idmap *map, const uint8_t *p)
{
    uint64_t id = *p++;
    if (id >= 0x80) {
        id += ((uint64_t)*p << 7) - 0x80;
        if (*p++ >= 0x80 && !(p = decode(p - 2, &id)))
            return NULL;
    }
    uint32_t index = pd_idmap_find(map, id);
    if (__builtin_expect(index == PD_IDMAP_NONE, 0))
        return NULL;
    add(s, index);
    return p;
}

/* A packed run of location ids, the whole stack. */
static inline bool read_stack(const pd_sample_reader *r, const uint8_t *p, const uint8_t *end,
                              pd_stack_hash *stack)
{
    const pd_idmap *map = &r->tables->location_map;
    sums s = {r->tables->idents, r->numbers->at, 0, 0};
    if (end - p >= PD_STACK_BLOCK || stack->depth) /* an id has a byte at least */
        return false;
    if (map->sequential >= 127)
        for (; end - p >= 8 && are_bytes(load64(p)); p += 8)
            add_bytes(&s, load64(p), 8);
    while (p < end)
        if (!(p = add_one(&s, map, p)))
            return false;
    stack->lo = s.lo;
    stack->hi = s.hi;
    stack->depth = (size_t)(s.number - r->numbers->at);
    return p == end;
}

/* A packed run of values, all of them. */
static inline bool read_values(const pd_sample_reader *r, const uint8_t *p, const uint8_t *end,
                               pd_sample *s)
{
    const pd_columns *columns = r->columns;
    if (s->values_len)
        return false;
    s->values_len = columns->len;
    for (size_t i = 0; i < columns->len; i++) {
        uint64_t value;
        if (p >= end || !(p = decode(p, &value)))
            return false;
        s->values[columns->slot[i]] = (int64_t)value;
    }
    return p == end;
}

enum { TAG_KEY = 0x08, TAG_STR = 0x10, TAG_NUM = 0x18, TAG_NUM_UNIT = 0x20 }; /* of a label */

/* The label of Go's heap profiles, a key below 128 and a number, in one register. */
static inline bool read_short_label(uint64_t word, size_t len, uint64_t *key, uint64_t *num)
{
    if (len < 4 || len > 8 || (word & 0xff80ff) != (TAG_KEY | TAG_NUM << 16))
        return false;
    uint64_t value = word >> 24, last = UINT64_C(0x80) << (8 * len - 32);
    uint64_t within = last | (last - 1);
    if ((~value & HIGHS & within) != last)
        return false;
    *key = word >> 8 & 0x7f;
    *num = close_up(value & within);
    return true;
}

/* Any label of varints only, each field at most once: of one that is there twice the careful way
 * checks both. */
static inline bool read_fields(const uint8_t *p, const uint8_t *end, uint64_t field[4])
{
    unsigned seen = 0;
    while (end - p >= 2) {
        unsigned tag = *p++;
        uint64_t value = *p++;
        if (value >= 0x80 && !(p = decode(p - 1, &value)))
            return false;
        if ((tag & 7) || tag - TAG_KEY > TAG_NUM_UNIT - TAG_KEY || (seen >> (tag >> 3) & 1))
            return false;
        seen |= 1u << (tag >> 3);
        field[(tag >> 3) - 1] = value;
    }
    return p == end;
}

static inline bool read_label(pd_sample_reader *r, const uint8_t *p, const uint8_t *end,
                              pd_stack_hash *stack)
{
    uint64_t field[4] = {0}; /* key, str, num, num_unit */
    size_t strings = r->tables->strings_len;
    if (!read_short_label(load64(p), (size_t)(end - p), &field[0], &field[2]) &&
        !read_fields(p, end, field))
        return false;
    if (field[0] >= strings || field[1] >= strings || field[3] >= strings)
        return false;
    pd_key names =
        pd_sample_label_names(r, (uint32_t)field[0], (uint32_t)field[1], (uint32_t)field[3]);
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

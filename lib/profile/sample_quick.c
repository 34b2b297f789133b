/* The quick way to read samples on any processor: see sample_quick.h.
 *
 * Ids of one byte are taken eight at a time. All bytes of a value of up to eight are loaded at once,
 * and their seven-bit groups closed up. */
#include "profile/samples.h"

#define HIGHS UINT64_C(0x8080808080808080) /* of each byte: another one follows */

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
static inline const uint8_t *take_value(const uint8_t *p, uint64_t *value)
{
    uint64_t word = pd_load64(p);
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
    const pd_stack_numbers *numbers;
    uint64_t lo, hi;
    size_t depth;
} sums;

static inline void add(sums *s, size_t index)
{
    s->lo += s->idents[index].lo * s->numbers->lo[s->depth];
    s->hi += s->idents[index].hi * s->numbers->hi[s->depth];
    s->depth++;
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
        if (*p++ >= 0x80 && !(p = take_value(p - 2, &id)))
            return NULL;
    }
    uint32_t index = pd_idmap_find(map, id);
    if (__builtin_expect(index == PD_IDMAP_NONE, 0))
        return NULL;
    add(s, index);
    return p;
}

bool pd_sample_stack(const pd_sample_reader *r, const uint8_t *p, const uint8_t *end,
                     pd_stack_hash *stack)
{
    const pd_idmap *map = &r->tables->location_map;
    sums s = {r->tables->idents, r->numbers, 0, 0, 0};
    if (end - p >= PD_STACK_BLOCK) /* an id has a byte at least */
        return false;
    if (map->sequential >= 127)
        for (; end - p >= 8 && are_bytes(pd_load64(p)); p += 8)
            add_bytes(&s, pd_load64(p), 8);
    while (p < end)
        if (!(p = add_one(&s, map, p)))
            return false;
    stack->lo = s.lo;
    stack->hi = s.hi;
    stack->depth = s.depth;
    return p == end;
}

#define take_stack   pd_sample_stack
#define PD_QUICK_RUN pd_sample_run_portable
#define PD_QUICK_TARGET
#include "profile/sample_quick.h"

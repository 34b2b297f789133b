/* The portable form of the quick reader of samples: see sample_quick.h. Decodes ids of one byte
 * eight at a time. */
#include "profile/samples.h"

/* The sums of a stack: see identity.h. */
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

/* Returns whether all bytes of `word` are from 1 to 127. A zero byte borrows, a larger one has its
 * top bit. */
static inline bool are_bytes(uint64_t word)
{
    return (((word - UINT64_C(0x0101010101010101)) | word) & PD_VARINT_CONTINUATION) == 0;
}

/* Adds one location, with an id of any length. Returns NULL if it cannot be decoded or is unknown.
 */
static inline const uint8_t *add_one(sums *s, const pd_idmap *map, const uint8_t *p)
{
    uint64_t id = *p++;
    if (id >= 0x80) {
        id += ((uint64_t)*p << 7) - 0x80;
        if (*p++ >= 0x80 && !(p = pd_varint_decode_short(p - 2, &id)))
            return NULL;
    }
    uint32_t index = pd_idmap_find(map, id);
    if (__builtin_expect(index == PD_IDMAP_NONE, 0))
        return NULL;
    add(s, index);
    return p;
}

bool pd_sample_stack(const pd_sample_reader *r, const uint8_t *p, const uint8_t *end,
                     pd_identity *stack)
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

#define take_stack      pd_sample_stack
#define take_value      pd_varint_decode_short
#define PD_QUICK_RUN    pd_sample_run_portable
#define PD_QUICK_VALUES pd_sample_values_portable
#define PD_QUICK_TARGET
#include "profile/sample_quick.h"

/* The quick reader of samples, and the loop of the second pass around it.
 *
 * One pass over each record, all state in registers. Each of these was measured with tests/bench:
 * an id costs two multiply-adds into the sums of the stack; ids of one byte are decoded eight at a
 * time; values are decoded without a branch on their length, which cannot be predicted; a short
 * label is looked up by its bytes, as most labels occur many times (Go has one for each size
 * class). */
#include "profile/samples.h"

enum { TAG_STACK = 0x0a, TAG_VALUES = 0x12, TAG_LABEL = 0x1a }; /* length-delimited 1, 2, 3 */
enum { TAG_ONE_ID = 0x08, TAG_ONE_VALUE = 0x10 };               /* varints 1, 2 */

/* ---- fields ------------------------------------------------------------------------------------ */

/* Takes a field with this tag off the front of [p, end). Its body is [return, *body_end). Returns
 * NULL if another field is there. */
static inline const uint8_t *take_field(const uint8_t *p, const uint8_t *end, uint8_t tag,
                                        const uint8_t **body_end)
{
    if (end - p < 2 || *p != tag)
        return NULL;
    uint64_t len = p[1];
    p += 2;
    if (__builtin_expect(len >= 0x80, 0)) {
        p = pd_varint_decode_short(p - 1, &len);
        if (!p || p > end)
            return NULL;
    }
    if (len > (size_t)(end - p))
        return NULL;
    *body_end = p + len;
    return p;
}

/* Takes an unpacked element with this tag off the front of [p, end). Returns NULL if another field
 * is there. */
static inline const uint8_t *take_one(const uint8_t *p, const uint8_t *end, uint8_t tag,
                                      uint64_t *value)
{
    if (end - p < 2 || *p != tag)
        return NULL;
    p = pd_varint_decode_short(p + 1, value);
    return p && p <= end ? p : NULL;
}

/* ---- the stack --------------------------------------------------------------------------------- */

/* The sums of a stack: see stack.h. */
typedef struct stack_sums {
    const pd_key *idents;
    const pd_stack_numbers *numbers;
    uint64_t lo, hi;
    size_t depth;
} stack_sums;

static inline void add(stack_sums *s, size_t index)
{
    s->lo += s->idents[index].lo * s->numbers->lo[s->depth];
    s->hi += s->idents[index].hi * s->numbers->hi[s->depth];
    s->depth++;
}

/* Adds the locations whose ids are the eight bytes of `word`. */
static inline void add_eight(stack_sums *s, uint64_t word)
{
    for (int i = 0; i < 8; i++, word >>= 8)
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
static inline const uint8_t *add_one(stack_sums *s, const pd_idmap *map, const uint8_t *p)
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

/* Adds the locations of a packed run of ids. Returns NULL if one is unknown or cannot be decoded, or
 * if the stack is too deep for the quick reader. */
static inline const uint8_t *add_run(stack_sums *s, const pd_idmap *map, const uint8_t *p,
                                     const uint8_t *end)
{
    if (end - p >= PD_STACK_BLOCK) /* an id has a byte at least */
        return NULL;
    if (map->sequential >= 127)
        for (; end - p >= 8 && are_bytes(pd_load64(p)); p += 8)
            add_eight(s, pd_load64(p));
    while (p < end)
        if (!(p = add_one(s, map, p)))
            return NULL;
    return p == end ? p : NULL;
}

/* The same of unpacked ids, if there are any. */
static inline const uint8_t *add_lone(stack_sums *s, const pd_idmap *map, const uint8_t *p,
                                      const uint8_t *end)
{
    const uint8_t *next;
    uint64_t id;
    for (; (next = take_one(p, end, TAG_ONE_ID, &id)); p = next) {
        uint32_t index = pd_idmap_find(map, id);
        if (index == PD_IDMAP_NONE || s->depth == PD_STACK_BLOCK - 1)
            return NULL;
        add(s, index);
    }
    return p;
}

/* Takes the stack, packed or not, if there is one, off the front. Returns NULL if it is not in the
 * quick form. */
static inline const uint8_t *take_locations(const pd_sample_reader *r, const uint8_t *p,
                                            const uint8_t *end, pd_stack_hash *stack)
{
    const pd_idmap *map = &r->tables->location_map;
    stack_sums s = {r->tables->idents, r->numbers, 0, 0, 0};
    const uint8_t *next, *body = take_field(p, end, TAG_STACK, &next);
    p = __builtin_expect(body != NULL, 1) ? add_run(&s, map, body, next)
                                          : add_lone(&s, map, p, end);
    stack->lo = s.lo;
    stack->hi = s.hi;
    stack->depth = s.depth;
    return p;
}

/* ---- the values -------------------------------------------------------------------------------- */

/* Reads a packed run of values, one for each column. */
static inline bool read_values(const pd_columns *columns, const uint8_t *p, const uint8_t *end,
                               int64_t *values)
{
    for (size_t i = 0; i < columns->len; i++) {
        uint64_t value;
        if (p >= end || !(p = pd_varint_decode_short(p, &value)))
            return false;
        values[columns->slot[i]] = (int64_t)value;
    }
    return p == end;
}

static inline const uint8_t *take_lone_values(const pd_columns *columns, const uint8_t *p,
                                              const uint8_t *end, int64_t *values)
{
    for (size_t i = 0; i < columns->len; i++) {
        uint64_t value;
        if (!(p = take_one(p, end, TAG_ONE_VALUE, &value)))
            return NULL;
        values[columns->slot[i]] = (int64_t)value;
    }
    return p;
}

/* Takes the values, packed or not, off the front. Returns NULL if they are not there or not in the
 * quick form. */
static inline const uint8_t *take_values(const pd_columns *columns, const uint8_t *p,
                                         const uint8_t *end, int64_t *values)
{
    const uint8_t *next, *body = take_field(p, end, TAG_VALUES, &next);
    if (__builtin_expect(!body, 0))
        return take_lone_values(columns, p, end, values);
    return read_values(columns, body, next, values) ? next : NULL;
}

/* ---- labels ------------------------------------------------------------------------------------ */

/* Reads a label of varints, each field at most once. (Of a repeated field the careful reader checks
 * all values.) */
static inline bool read_label_fields(const uint8_t *p, const uint8_t *end, uint64_t field[4])
{
    enum { FIRST = PD_LABEL_KEY << 3, LAST = PD_LABEL_NUM_UNIT << 3 };
    unsigned seen = 0;
    while (end - p >= 2) {
        unsigned tag = *p++;
        uint64_t value;
        if (!(p = pd_varint_decode_short(p, &value)) || (tag & 7) || tag - FIRST > LAST - FIRST ||
            (seen >> (tag >> 3) & 1))
            return false;
        seen |= 1u << (tag >> 3);
        field[(tag >> 3) - 1] = value;
    }
    return p == end;
}

static inline bool label_key(pd_sample_reader *r, const uint8_t *p, const uint8_t *end, pd_key *key)
{
    uint64_t field[4] = {0}; /* key, str, num, num_unit */
    size_t strings = r->tables->strings_len;
    if (!read_label_fields(p, end, field) || field[0] >= strings || field[1] >= strings ||
        field[3] >= strings)
        return false;
    pd_key names =
        pd_sample_label_names(r, (uint32_t)field[0], (uint32_t)field[1], (uint32_t)field[3]);
    *key = pd_label_key(names, (int64_t)field[2]);
    return true;
}

static inline bool read_label(pd_sample_reader *r, const uint8_t *p, const uint8_t *end,
                              pd_stack_hash *stack)
{
    size_t len = (size_t)(end - p);
    if (!pd_label_is_short(len)) {
        pd_key key;
        if (!label_key(r, p, end, &key))
            return false;
        pd_stack_hash_label(stack, key);
        return true;
    }
    uint64_t word = pd_label_word(p, len);
    pd_label_seen *seen = &r->labels[pd_label_place(word, PD_LABELS_SEEN_BITS)];
    if (__builtin_expect(seen->word != word, 0)) {
        if (!label_key(r, p, end, &seen->key)) {
            seen->word = 0;
            return false;
        }
        seen->word = word;
    }
    pd_stack_hash_label(stack, seen->key);
    return true;
}

/* ---- a record ---------------------------------------------------------------------------------- */

/* Reads one record: the values, before the stack as in Go's encoder or after it as in others, then
 * the labels. Returns false if it is not in the quick form. */
static inline bool read_record(pd_sample_reader *r, const uint8_t *p, const uint8_t *end,
                               pd_sample *s)
{
    pd_stack_hash hash = {0};
    const uint8_t *body, *next = take_values(r->columns, p, end, s->values);
    bool has_values = next != NULL;
    if (!(next = take_locations(r, has_values ? next : p, end, &hash)))
        return false;
    if (!has_values && !(next = take_values(r->columns, next, end, s->values)))
        return false;
    while ((body = take_field(next, end, TAG_LABEL, &next)))
        if (!read_label(r, body, next, &hash))
            return false;
    s->stack = hash;
    s->values_len = r->columns->len;
    return next == end;
}

static inline bool quick(pd_sample_reader *r, pd_reader *top, pd_sample *s)
{
    const uint8_t *start;
    pd_reader next = *top, body;
    if (!pd_reader_expect(&next, PD_TAG_SAMPLE, &start, &body) ||
        next.end - next.at < PD_QUICK_SLACK || !read_record(r, body.at, body.end, s))
        return false;
    top->at = next.at;
    return true;
}

bool pd_sample_quick(pd_sample_reader *r, pd_reader *top, pd_sample *s)
{
    return quick(r, top, s);
}

/* ---- all records ------------------------------------------------------------------------------- */

/* Skips fields up to a sample and takes its record. */
static bool next_sample(pd_reader *top, const uint8_t **start, pd_reader *body)
{
    pd_field f = {0};
    while (pd_reader_next_quick(top, &f))
        if (f.number == PD_PROFILE_SAMPLE) {
            *start = f.start;
            *body = f.body;
            return true;
        }
    return false;
}

static inline pprofdelta_status take(pd_sample_taker taker, const pd_parse *parse,
                                     const pd_sample *s, const uint8_t *start)
{
    pd_key key = pd_stack_hash_key(&s->stack);
    if (taker.window)
        return pd_window_add(taker.window, parse->mem, key, pd_parse_offset(parse, start),
                             s->values, parse->err);
    if (taker.ledger)
        return pd_ledger_put(taker.ledger, parse->mem, key, s->values, parse->err);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_samples_read(pd_sample_reader *r, pd_reader *top, pd_sample_taker taker)
{
    size_t samples = r->tables->samples;
    pprofdelta_status status = PPROFDELTA_OK;
    pd_sample s;
    while (!status && r->parse.element < samples) {
        const uint8_t *start = top->at;
        pd_reader body;
        if (__builtin_expect(!quick(r, top, &s), 0)) {
            if (!next_sample(top, &start, &body))
                break;
            pd_sample_careful(r, body, &s);
            status = r->parse.status;
        }
        if (!status)
            status = take(taker, &r->parse, &s, start);
        r->parse.element++;
    }
    return status;
}

/* ---- values of records that were checked ------------------------------------------------------- */

void pd_sample_values_read(pd_reader body, int64_t *values)
{
    size_t column = 0;
    pd_field f;
    while (pd_reader_next(&body, &f)) {
        uint64_t value = f.value;
        if (f.number != PD_SAMPLE_VALUE)
            continue;
        if (f.wire == PD_WIRE_VARINT)
            values[column++] = (int64_t)value;
        else
            while (pd_reader_varint(&f.body, &value))
                values[column++] = (int64_t)value;
    }
}

void pd_samples_sum(pd_reader *top, size_t types_len, pprofdelta_sum *sums)
{
    int64_t values[PPROFDELTA_MAX_TYPES] = {0};
    pd_field f;
    while (pd_reader_next(top, &f)) {
        if (f.number != PD_PROFILE_SAMPLE)
            continue;
        pd_sample_values_read(f.body, values);
        for (size_t i = 0; i < types_len; i++)
            pd_sum_add(&sums[i], values[i]);
    }
}

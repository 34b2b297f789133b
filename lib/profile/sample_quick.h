/* The quick reader of samples, except two steps. The including file defines them before:
 *
 *     PD_QUICK_RUN     the name of the function that reads records, and
 *     PD_QUICK_VALUES  of the function that reads values only (declared in samples.h)
 *     PD_QUICK_TARGET  attributes for every function here, or nothing
 *     take_stack       adds the locations of a packed run of ids to an empty hash
 *     take_value       decodes a varint, 8 bytes being readable
 *
 * One pass over each record, all state in registers. Each of these was measured with tests/bench:
 * an id costs two multiply-adds into the sums of the stack; values are decoded without a branch on
 * their length, which cannot be predicted; a short label is looked up by its bytes, as most labels
 * occur many times (Go has one for each size class). */
#include "profile/samples.h"

enum { TAG_STACK = 0x0a, TAG_VALUES = 0x12, TAG_LABEL = 0x1a }; /* length-delimited 1, 2, 3 */
enum { TAG_ONE_ID = 0x08, TAG_ONE_VALUE = 0x10 };               /* varints 1, 2 */

/* Reads a packed run of values, one for each column. */
PD_QUICK_TARGET static inline bool read_values(const pd_columns *columns, const uint8_t *p,
                                               const uint8_t *end, int64_t *values)
{
    for (size_t i = 0; i < columns->len; i++) {
        uint64_t value;
        if (p >= end || !(p = take_value(p, &value)))
            return false;
        values[columns->slot[i]] = (int64_t)value;
    }
    return p == end;
}

/* Reads a label of varints, each field at most once. (Of a repeated field the careful reader checks
 * all values.) */
PD_QUICK_TARGET static inline bool read_label_fields(const uint8_t *p, const uint8_t *end,
                                                     uint64_t field[4])
{
    enum { FIRST = PD_LABEL_KEY << 3, LAST = PD_LABEL_NUM_UNIT << 3 };
    unsigned seen = 0;
    while (end - p >= 2) {
        unsigned tag = *p++;
        uint64_t value;
        if (!(p = take_value(p, &value)) || (tag & 7) || tag - FIRST > LAST - FIRST ||
            (seen >> (tag >> 3) & 1))
            return false;
        seen |= 1u << (tag >> 3);
        field[(tag >> 3) - 1] = value;
    }
    return p == end;
}

PD_QUICK_TARGET static inline bool label_key(pd_sample_reader *r, const uint8_t *p,
                                             const uint8_t *end, pd_key *key)
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

PD_QUICK_TARGET static inline bool read_label(pd_sample_reader *r, const uint8_t *p,
                                              const uint8_t *end, pd_identity *stack)
{
    size_t len = (size_t)(end - p);
    if (!pd_label_is_short(len)) {
        pd_key key;
        if (!label_key(r, p, end, &key))
            return false;
        pd_identity_label(stack, key);
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
    pd_identity_label(stack, seen->key);
    return true;
}

/* Takes a field with this tag off the front of [p, end). Its body is [return, *body_end). Returns
 * NULL if another field is there. */
PD_QUICK_TARGET static inline const uint8_t *take_field(const uint8_t *p, const uint8_t *end,
                                                        uint8_t tag, const uint8_t **body_end)
{
    if (end - p < 2 || *p != tag)
        return NULL;
    uint64_t len = p[1];
    p += 2;
    if (__builtin_expect(len >= 0x80, 0)) {
        p = take_value(p - 1, &len);
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
PD_QUICK_TARGET static inline const uint8_t *take_one(const uint8_t *p, const uint8_t *end,
                                                      uint8_t tag, uint64_t *value)
{
    if (end - p < 2 || *p != tag)
        return NULL;
    p = take_value(p + 1, value);
    return p && p <= end ? p : NULL;
}

PD_QUICK_TARGET static inline const uint8_t *
take_lone_values(const pd_columns *columns, const uint8_t *p, const uint8_t *end, int64_t *values)
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
PD_QUICK_TARGET static inline const uint8_t *
take_values(const pd_columns *columns, const uint8_t *p, const uint8_t *end, int64_t *values)
{
    const uint8_t *next, *body = take_field(p, end, TAG_VALUES, &next);
    if (__builtin_expect(!body, 0))
        return take_lone_values(columns, p, end, values);
    return read_values(columns, body, next, values) ? next : NULL;
}

/* Adds the locations of unpacked ids, if there are any, and returns their end. Returns NULL if an
 * id is unknown or the stack is too deep for the quick reader. */
PD_QUICK_TARGET static inline const uint8_t *
take_lone_ids(const pd_sample_reader *r, const uint8_t *p, const uint8_t *end, pd_identity *stack)
{
    const uint8_t *next;
    uint64_t id;
    for (; (next = take_one(p, end, TAG_ONE_ID, &id)); p = next) {
        uint32_t index = pd_idmap_find(&r->tables->location_map, id);
        if (index == PD_IDMAP_NONE || stack->depth == PD_STACK_BLOCK - 1)
            return NULL;
        stack->lo += r->tables->idents[index].lo * r->numbers->lo[stack->depth];
        stack->hi += r->tables->idents[index].hi * r->numbers->hi[stack->depth];
        stack->depth++;
    }
    return p;
}

/* Takes the stack, packed or not, if there is one, off the front. Returns NULL if it is not in the
 * quick form. */
PD_QUICK_TARGET static inline const uint8_t *
take_locations(const pd_sample_reader *r, const uint8_t *p, const uint8_t *end, pd_identity *stack)
{
    const uint8_t *next, *body = take_field(p, end, TAG_STACK, &next);
    if (__builtin_expect(!body, 0))
        return take_lone_ids(r, p, end, stack);
    return take_stack(r, body, next, stack) ? next : NULL;
}

/* Reads one record: the values, before the stack as in Go's encoder or after it as in others, then
 * the labels. 8 bytes after it must be readable. Returns false if it is not in the quick form. */
PD_QUICK_TARGET static inline bool read_record(pd_sample_reader *r, const uint8_t *p,
                                               const uint8_t *end, pd_key *key, int64_t *values)
{
    pd_identity hash = {0};
    const uint8_t *body, *next = take_values(r->columns, p, end, values);
    bool has_values = next != NULL;
    if (!(next = take_locations(r, has_values ? next : p, end, &hash)))
        return false;
    if (!has_values && !(next = take_values(r->columns, next, end, values)))
        return false;
    while ((body = take_field(next, end, TAG_LABEL, &next)))
        if (!read_label(r, body, next, &hash))
            return false;
    *key = pd_identity_key(&hash);
    return next == end;
}

/* Skips a stack that is known to be valid, if there is one. */
PD_QUICK_TARGET static inline const uint8_t *skip_stack(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *next;
    uint64_t id;
    if (take_field(p, end, TAG_STACK, &next))
        return next;
    while ((next = take_one(p, end, TAG_ONE_ID, &id)))
        p = next;
    return p;
}

PD_QUICK_TARGET bool PD_QUICK_VALUES(const pd_columns *columns, const uint8_t *p,
                                     const uint8_t *end, int64_t *values)
{
    return take_values(columns, p, end, values) ||
           take_values(columns, skip_stack(p, end), end, values);
}

PD_QUICK_TARGET pprofdelta_status PD_QUICK_RUN(pd_sample_reader *r, pd_reader *top,
                                               pd_sample_taker taker)
{
    const uint8_t *start;
    pd_reader body;
    pd_key key;
    int64_t values[PPROFDELTA_MAX_TYPES];
    pprofdelta_status status = PPROFDELTA_OK;
    while (pd_reader_expect(top, PD_TAG_SAMPLE, &start, &body) ||
           pd_sample_next_far(top, &start, &body)) {
        if (top->end - body.end < PD_QUICK_SLACK ||
            !read_record(r, body.at, body.end, &key, values)) {
            top->at = start; /* for the careful reader */
            break;
        }
        r->parse.element++;
        status = pd_sample_take(taker, &r->parse, key, start, values);
        if (__builtin_expect(status != PPROFDELTA_OK, 0))
            break;
    }
    return status;
}

/* The quick reader of samples, and the loop of the second pass around it.
 *
 * One pass over each record, all state in registers. An id costs two multiply-adds into the sums of
 * the stack. Values are decoded without a branch on their length, which cannot be predicted. */
#include "profile/samples.h"

enum { TAG_STACK = 0x0a, TAG_VALUES = 0x12, TAG_LABEL = 0x1a }; /* length-delimited 1, 2, 3 */
enum { TAG_ONE_ID = 0x08, TAG_ONE_VALUE = 0x10 };               /* varints 1, 2 */

/* ---- fields ------------------------------------------------------------------------------------ */

/* Takes an unpacked element with this tag off the front of a record. Returns false if another field
 * is there. */
static inline bool take_one(pd_reader *record, uint8_t tag, uint64_t *value)
{
    const uint8_t *p = record->at;
    if (record->end - p < 2 || *p != tag || !(p = pd_varint_decode_short(p + 1, value)) ||
        p > record->end)
        return false;
    record->at = p;
    return true;
}

/* ---- the stack --------------------------------------------------------------------------------- */

/* The sums of a stack: see identity.h. */
typedef struct stack_sums {
    const pd_key *idents;
    const pd_stack_numbers *numbers;
    uint64_t lo, hi;
    size_t depth;
} stack_sums;

/* Adds the location with this id. Returns false if it is unknown. */
static inline bool add_location(stack_sums *s, const pd_idmap *map, uint64_t id)
{
    uint32_t index = pd_idmap_find(map, id);
    if (__builtin_expect(index == PD_IDMAP_NONE, 0))
        return false;
    s->lo += s->idents[index].lo * s->numbers->lo[s->depth];
    s->hi += s->idents[index].hi * s->numbers->hi[s->depth];
    s->depth++;
    return true;
}

/* Adds the locations of a packed run of ids, most of which have one or two bytes. */
static inline bool add_locations(stack_sums *s, const pd_idmap *map, const uint8_t *p,
                                 const uint8_t *end)
{
    while (p < end) {
        uint64_t id = *p++;
        if (id >= 0x80) {
            id += ((uint64_t)*p << 7) - 0x80;
            if (*p++ >= 0x80 && !(p = pd_varint_decode_short(p - 2, &id)))
                return false;
        }
        if (!add_location(s, map, id))
            return false;
    }
    return p == end;
}

/* Takes the stack, packed or not, if there is one, off the front. Returns false if it is not in the
 * quick form, or too deep for it: an id has a byte at least. */
static inline bool take_locations(const pd_sample_reader *r, pd_reader *record, pd_identity *stack)
{
    const pd_idmap *map = &r->tables->location_map;
    stack_sums s = {r->tables->idents, r->numbers, 0, 0, 0};
    const uint8_t *start;
    pd_reader body;
    uint64_t id;
    if (pd_reader_expect(record, TAG_STACK, &start, &body)) {
        if (body.end - body.at >= PD_STACK_BLOCK || !add_locations(&s, map, body.at, body.end))
            return false;
    } else {
        while (take_one(record, TAG_ONE_ID, &id))
            if (s.depth == PD_STACK_BLOCK - 1 || !add_location(&s, map, id))
                return false;
    }
    *stack = (pd_identity){.lo = s.lo, .hi = s.hi, .depth = s.depth};
    return true;
}

/* ---- the values -------------------------------------------------------------------------------- */

/* Takes the values, packed or not, off the front. Returns false if they are not there or not in the
 * quick form. */
static inline bool take_values(const pd_columns *columns, pd_reader *record, int64_t *values)
{
    const uint8_t *start;
    pd_reader body = {0};
    bool is_packed = pd_reader_expect(record, TAG_VALUES, &start, &body);
    for (size_t i = 0; i < columns->len; i++) {
        uint64_t value;
        if (!is_packed && !take_one(record, TAG_ONE_VALUE, &value))
            return false;
        if (is_packed &&
            (body.at >= body.end || !(body.at = pd_varint_decode_short(body.at, &value))))
            return false;
        values[columns->slot[i]] = (int64_t)value;
    }
    return !is_packed || body.at == body.end;
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

static inline bool read_label(pd_sample_reader *r, const uint8_t *p, const uint8_t *end,
                              pd_identity *stack)
{
    uint64_t field[4] = {0}; /* key, str, num, num_unit */
    size_t strings = r->tables->strings_len;
    if (!read_label_fields(p, end, field) || field[0] >= strings || field[1] >= strings ||
        field[3] >= strings)
        return false;
    pd_key names =
        pd_sample_label_names(r, (uint32_t)field[0], (uint32_t)field[1], (uint32_t)field[3]);
    pd_identity_label(stack, pd_label_key(names, (int64_t)field[2]));
    return true;
}

/* ---- a record ---------------------------------------------------------------------------------- */

/* Reads one record: the values, before the stack as in Go's encoder or after it as in others, then
 * the labels. Returns false if it is not in the quick form. */
static inline bool read_record(pd_sample_reader *r, pd_reader record, pd_sample *s)
{
    pd_identity hash = {0};
    const uint8_t *start;
    pd_reader label, behind = record;
    bool has_values = take_values(r->columns, &behind, s->values);
    if (has_values)
        record = behind;
    if (!take_locations(r, &record, &hash) ||
        (!has_values && !take_values(r->columns, &record, s->values)))
        return false;
    while (pd_reader_expect(&record, TAG_LABEL, &start, &label))
        if (!read_label(r, label.at, label.end, &hash))
            return false;
    s->stack = hash;
    s->values_len = r->columns->len;
    return record.at == record.end;
}

bool pd_sample_quick(pd_sample_reader *r, pd_reader *top, pd_sample *s)
{
    const uint8_t *start;
    pd_reader next = *top, body;
    if (!pd_reader_expect(&next, PD_TAG_SAMPLE, &start, &body) ||
        next.end - next.at < PD_QUICK_SLACK || !read_record(r, body, s))
        return false;
    top->at = next.at;
    return true;
}

/* ---- all records ------------------------------------------------------------------------------- */

/* Skips fields up to a sample, if there is one. */
static bool find_sample(pd_reader *top, pd_field *f)
{
    while (pd_reader_next_quick(top, f))
        if (f->number == PD_PROFILE_SAMPLE) {
            top->at = f->start;
            return true;
        }
    return false;
}

/* The next sample, of which *start is set. Returns false if there is none, or on error. */
static bool read_sample(pd_sample_reader *r, pd_reader *top, pd_sample *s, const uint8_t **start)
{
    pd_field f = {0};
    if (!find_sample(top, &f))
        return false;
    *start = top->at;
    if (pd_sample_quick(r, top, s))
        return true;
    top->at = f.body.end;
    pd_sample_careful(r, f.body, s);
    return !r->parse.status;
}

/* A sample that was read. It is handed on LAG samples later: by then its slot in the key map has been
 * loaded. */
enum { LAG = 4 };

typedef struct waiting {
    pd_sample sample;
    pd_key key;
    uint64_t offset;
    bool is_set;
} waiting;

static inline void wait_for_slot(waiting *w, const pd_sample_taker *taker, uint64_t offset)
{
    w->key = pd_identity_key(&w->sample.stack);
    w->offset = offset;
    w->is_set = true;
    if (taker->ledger)
        pd_keymap_prefetch(&taker->ledger->keys, w->key);
    else if (taker->window)
        pd_row_set_prefetch(taker->window, LAG - 1, w->key);
}

/* Hands the sample on, if there is one. */
static inline pprofdelta_status take_sample(waiting *w, const pd_sample_taker *taker,
                                            const pd_parse *parse)
{
    bool is_set = w->is_set;
    w->is_set = false;
    if (is_set && taker->window)
        return pd_row_set_add(taker->window, parse->mem, w->key, w->offset, w->sample.values,
                              parse->err);
    if (is_set && taker->ledger)
        return pd_ledger_put(taker->ledger, parse->mem, w->key, w->sample.values, parse->err);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_samples_read(pd_sample_reader *r, pd_reader *top, pd_sample_taker taker)
{
    size_t samples = r->tables->samples;
    pprofdelta_status status = PPROFDELTA_OK;
    waiting queue[LAG];
    for (size_t i = 0; i < LAG; i++)
        queue[i].is_set = false;
    while (!status && r->parse.element < samples) {
        waiting *w = &queue[r->parse.element % LAG];
        const uint8_t *start = top->at;
        status = take_sample(w, &taker, &r->parse);
        if (!pd_sample_quick(r, top, &w->sample) && !read_sample(r, top, &w->sample, &start))
            break;
        wait_for_slot(w, &taker, pd_parse_offset(&r->parse, start));
        r->parse.element++;
    }
    if (r->parse.status)
        return r->parse.status;
    for (size_t i = 0; i < LAG && !status; i++)
        status = take_sample(&queue[(r->parse.element + i) % LAG], &taker, &r->parse);
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

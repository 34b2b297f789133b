#include "profile/samples.h"

#include "base/sum.h"
#include "profile/parse.h"

#include <inttypes.h>

/* Labels have few different names: those of the last ones are kept, by a hash of their indices. */
enum { LABEL_CACHE = 32 };

typedef struct label_names {
    uint32_t key, str, num_unit;
    bool is_set;
    pd_key names;
} label_names;

typedef struct reading {
    pd_parse parse;
    pd_tables *tables;
    const pd_stack_numbers *numbers;
    const pd_columns *columns;
    label_names cache[LABEL_CACHE];
} reading;

/* One sample as it is being decoded. */
typedef struct sample {
    pd_stack_hash stack;
    size_t values_len;
    int64_t values[PPROFDELTA_MAX_TYPES]; /* in the row's order */
} sample;

static __attribute__((cold)) void fail_location(reading *r, const uint8_t *at, uint64_t id)
{
    if (r->parse.status)
        return;
    r->parse.status = pd_fail(r->parse.err, PPROFDELTA_E_PROFILE, "profile", "sample.location_id",
                              r->parse.element, pd_parse_offset(&r->parse, at),
                              "no location has the id %" PRIu64, id);
}

static __attribute__((cold)) void fail_values(reading *r, const uint8_t *at, size_t len)
{
    size_t types = r->columns->len;
    if (r->parse.status)
        return;
    if (len > types)
        r->parse.status =
            pd_fail(r->parse.err, PPROFDELTA_E_PROFILE, "profile", "sample.value", r->parse.element,
                    pd_parse_offset(&r->parse, at), "more values than the %zu sample types", types);
    else
        r->parse.status = pd_fail(r->parse.err, PPROFDELTA_E_PROFILE, "profile", "sample.value",
                                  r->parse.element, pd_parse_offset(&r->parse, at),
                                  "%zu values where there are %zu sample types", len, types);
}

static inline void add_location(reading *r, sample *s, const uint8_t *at, uint64_t id)
{
    uint32_t index = pd_idmap_find(&r->tables->location_map, id);
    if (__builtin_expect(index == PD_IDMAP_NONE, 0))
        fail_location(r, at, id);
    else
        pd_stack_hash_location(&s->stack, r->numbers, r->tables->idents[index]);
}

static inline void add_value(reading *r, sample *s, const uint8_t *at, uint64_t value)
{
    if (__builtin_expect(s->values_len >= r->columns->len, 0))
        fail_values(r, at, s->values_len + 1);
    else
        s->values[r->columns->slot[s->values_len++]] = (int64_t)value;
}

static inline void read_locations(reading *r, sample *s, pd_reader body)
{
    uint64_t id;
    while (pd_reader_varint(&body, &id))
        add_location(r, s, body.at, id);
    if (__builtin_expect(body.trouble != NULL, 0))
        pd_parse_end(&r->parse, "sample.location_id", &body);
}

static inline void read_values(reading *r, sample *s, pd_reader body)
{
    uint64_t value;
    while (pd_reader_varint(&body, &value))
        add_value(r, s, body.at, value);
    if (__builtin_expect(body.trouble != NULL, 0))
        pd_parse_end(&r->parse, "sample.value", &body);
}

static uint32_t label_string(reading *r, const char *name, const pd_field *f)
{
    uint32_t index = pd_parse_string(&r->parse, name, f);
    if (__builtin_expect(index < r->tables->strings_len, 1))
        return index;
    pd_parse_string_range(&r->parse, name, pd_parse_offset(&r->parse, f->start), index);
    return 0;
}

static pd_key names_key(reading *r, uint32_t key, uint32_t str, uint32_t num_unit)
{
    label_names *cached = &r->cache[(key + 3 * str + 7 * num_unit) % LABEL_CACHE];
    if (!cached->is_set || cached->key != key || cached->str != str ||
        cached->num_unit != num_unit) {
        const pd_bytes *strings = r->tables->strings;
        *cached = (label_names){key, str, num_unit, true,
                                pd_label_names_key(strings[key], strings[str], strings[num_unit])};
    }
    return cached->names;
}

static inline void read_label(reading *r, sample *s, pd_reader body)
{
    uint32_t key = 0, str = 0, num_unit = 0;
    int64_t num = 0;
    pd_field f;
    while (pd_reader_next(&body, &f)) {
        switch (f.number) {
        case PD_LABEL_KEY:
            key = label_string(r, "sample.label.key", &f);
            break;
        case PD_LABEL_STR:
            str = label_string(r, "sample.label.str", &f);
            break;
        case PD_LABEL_NUM:
            num = (int64_t)pd_parse_number(&r->parse, "sample.label.num", &f);
            break;
        case PD_LABEL_NUM_UNIT:
            num_unit = label_string(r, "sample.label.num_unit", &f);
            break;
        default:
            r->parse.unknown_fields++;
        }
    }
    if (__builtin_expect(body.trouble != NULL, 0))
        pd_parse_end(&r->parse, "sample.label", &body);
    pd_stack_hash_label(&s->stack, pd_label_key(names_key(r, key, str, num_unit), num));
}

static inline void read_sample(reading *r, sample *s, pd_reader body)
{
    s->stack = (pd_stack_hash){{0, 0}, {0, 0}, 0, {0, 0}, 0};
    s->values_len = 0;
    const uint8_t *start = body.at;
    pd_field f;
    while (pd_reader_next(&body, &f)) {
        switch (f.number) {
        case PD_SAMPLE_LOCATION_ID:
            if (__builtin_expect(f.wire == PD_WIRE_BYTES, 1))
                read_locations(r, s, f.body);
            else
                add_location(r, s, f.start, pd_parse_number(&r->parse, "sample.location_id", &f));
            break;
        case PD_SAMPLE_VALUE:
            if (__builtin_expect(f.wire == PD_WIRE_BYTES, 1))
                read_values(r, s, f.body);
            else
                add_value(r, s, f.start, pd_parse_number(&r->parse, "sample.value", &f));
            break;
        case PD_SAMPLE_LABEL:
            read_label(r, s, pd_parse_body(&r->parse, "sample.label", &f));
            break;
        default:
            r->parse.unknown_fields++;
        }
    }
    if (__builtin_expect(body.trouble != NULL, 0))
        pd_parse_end(&r->parse, "sample", &body);
    if (__builtin_expect(s->values_len != r->columns->len, 0))
        fail_values(r, start, s->values_len);
}

pprofdelta_status pd_samples_read(pd_tables *tables, const pd_stack_numbers *numbers,
                                  const pd_columns *columns, pd_window *window, pd_mem *mem,
                                  pprofdelta_error *err)
{
    reading r = {.parse = {.mem = mem, .err = err, .zero = tables->bytes.ptr},
                 .tables = tables,
                 .numbers = numbers,
                 .columns = columns};
    pd_reader top = pd_reader_of(tables->bytes.ptr + tables->samples_off,
                                 tables->bytes.len - tables->samples_off);
    sample s;
    pd_field f;
    size_t left = tables->samples;
    while (left && pd_reader_next(&top, &f)) {
        if (f.number != PD_PROFILE_SAMPLE)
            continue;
        left--;
        read_sample(&r, &s, f.body);
        r.parse.element++;
        if (__builtin_expect(r.parse.status != PPROFDELTA_OK, 0))
            return r.parse.status;
        if (!window)
            continue;
        pprofdelta_status status = pd_window_add(window, mem, pd_stack_hash_key(&s.stack),
                                                 pd_parse_offset(&r.parse, f.start), s.values, err);
        if (__builtin_expect(status != PPROFDELTA_OK, 0))
            return status;
    }
    tables->unknown_fields += r.parse.unknown_fields;
    return PPROFDELTA_OK;
}

static void sum_values(pd_reader body, pprofdelta_sum *sums)
{
    size_t column = 0;
    pd_field f;
    while (pd_reader_next(&body, &f)) {
        uint64_t value = f.value;
        if (f.number != PD_SAMPLE_VALUE)
            continue;
        if (f.wire == PD_WIRE_VARINT)
            pd_sum_add(&sums[column++], (int64_t)value);
        else
            while (pd_reader_varint(&f.body, &value))
                pd_sum_add(&sums[column++], (int64_t)value);
    }
}

void pd_samples_sum(const pd_tables *tables, pprofdelta_sum *sums)
{
    pd_reader top = pd_reader_of(tables->bytes.ptr, tables->bytes.len);
    pd_field f;
    while (pd_reader_next(&top, &f))
        if (f.number == PD_PROFILE_SAMPLE)
            sum_values(f.body, sums);
}

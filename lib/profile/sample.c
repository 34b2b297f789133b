/* The careful reader of samples. */
#include "profile/samples.h"

#include <inttypes.h>

static void fail_location(pd_sample_reader *r, const uint8_t *at, uint64_t id)
{
    if (!r->parse.status)
        r->parse.status = pd_fail(
            r->parse.err, PPROFDELTA_E_PROFILE, "profile", "sample.location_id", r->parse.element,
            pd_parse_offset(&r->parse, at), "no location has the id %" PRIu64, id);
}

static void fail_values(pd_sample_reader *r, const uint8_t *at, size_t len)
{
    size_t types = r->columns->len;
    if (!r->parse.status)
        r->parse.status = pd_fail(
            r->parse.err, PPROFDELTA_E_PROFILE, "profile", "sample.value", r->parse.element,
            pd_parse_offset(&r->parse, at), "%s%zu value%s where the profile has %zu sample type%s",
            len > types ? "at least " : "", len, len == 1 ? "" : "s", types, types == 1 ? "" : "s");
}

static void add_location(pd_sample_reader *r, pd_sample *s, const uint8_t *at, uint64_t id)
{
    uint32_t index = pd_idmap_find(&r->tables->location_map, id);
    if (index == PD_IDMAP_NONE)
        fail_location(r, at, id);
    else
        pd_stack_hash_location(&s->stack, r->numbers, r->tables->idents[index]);
}

static void add_value(pd_sample_reader *r, pd_sample *s, const uint8_t *at, uint64_t value)
{
    if (s->values_len >= r->columns->len)
        fail_values(r, at, s->values_len + 1);
    else
        s->values[r->columns->slot[s->values_len++]] = (int64_t)value;
}

static void read_locations(pd_sample_reader *r, pd_sample *s, const pd_field *f)
{
    if (f->wire != PD_WIRE_BYTES) {
        add_location(r, s, f->start, pd_parse_number(&r->parse, "sample.location_id", f));
        return;
    }
    pd_reader body = f->body;
    const uint8_t *at = body.at;
    uint64_t id;
    for (; !r->parse.status && pd_reader_varint(&body, &id); at = body.at)
        add_location(r, s, at, id);
    pd_parse_end(&r->parse, "sample.location_id", &body);
}

static void read_values(pd_sample_reader *r, pd_sample *s, const pd_field *f)
{
    if (f->wire != PD_WIRE_BYTES) {
        add_value(r, s, f->start, pd_parse_number(&r->parse, "sample.value", f));
        return;
    }
    pd_reader body = f->body;
    const uint8_t *at = body.at;
    uint64_t value;
    for (; !r->parse.status && pd_reader_varint(&body, &value); at = body.at)
        add_value(r, s, at, value);
    pd_parse_end(&r->parse, "sample.value", &body);
}

static uint32_t label_string(pd_sample_reader *r, const char *name, const pd_field *f)
{
    uint32_t index = pd_parse_string(&r->parse, name, f);
    if (index < r->tables->strings_len)
        return index;
    pd_parse_string_range(&r->parse, name, pd_parse_offset(&r->parse, f->start), index);
    return 0;
}

pd_key pd_sample_label_names(pd_sample_reader *r, uint32_t key, uint32_t str, uint32_t num_unit)
{
    const pd_bytes *strings = r->tables->strings;
    pd_names_seen *seen = &r->seen[(key + 3 * str + 7 * num_unit) % PD_NAMES_SEEN];
    if (!seen->is_set || seen->key != key || seen->str != str || seen->num_unit != num_unit)
        *seen = (pd_names_seen){key, str, num_unit, true,
                                pd_label_names_key(strings[key], strings[str], strings[num_unit])};
    return seen->names;
}

static void read_label(pd_sample_reader *r, pd_sample *s, pd_reader body)
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
    pd_parse_end(&r->parse, "sample.label", &body);
    if (!r->parse.status)
        pd_stack_hash_label(&s->stack,
                            pd_label_key(pd_sample_label_names(r, key, str, num_unit), num));
}

void pd_sample_careful(pd_sample_reader *r, pd_reader body, pd_sample *s)
{
    s->stack = (pd_stack_hash){0};
    s->values_len = 0;
    const uint8_t *start = body.at;
    pd_field f;
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        switch (f.number) {
        case PD_SAMPLE_LOCATION_ID:
            read_locations(r, s, &f);
            break;
        case PD_SAMPLE_VALUE:
            read_values(r, s, &f);
            break;
        case PD_SAMPLE_LABEL:
            read_label(r, s, pd_parse_body(&r->parse, "sample.label", &f));
            break;
        default:
            r->parse.unknown_fields++;
        }
    }
    pd_parse_end(&r->parse, "sample", &body);
    if (s->values_len != r->columns->len)
        fail_values(r, start, s->values_len);
}

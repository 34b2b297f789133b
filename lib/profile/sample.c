/* The careful reader of samples. */
#include "profile/samples.h"

#include <inttypes.h>
#include <stddef.h>

const pd_rows pd_sample_rows =
    PD_ROWS("sample", [1] = {PD_FIELD_LIST, 0, "sample.location_id"},
            [2] = {PD_FIELD_LIST, 0, "sample.value"}, [3] = {PD_FIELD_PART, 0, "sample.label"});

const pd_rows pd_label_rows = PD_ROWS(
    "sample.label", [1] = {PD_FIELD_STRING_REF, offsetof(pd_label, key), "sample.label.key"},
    [2] = {PD_FIELD_STRING_REF, offsetof(pd_label, str), "sample.label.str"},
    [3] = {PD_FIELD_NUMBER, offsetof(pd_label, num), "sample.label.num"},
    [4] = {PD_FIELD_STRING_REF, offsetof(pd_label, num_unit), "sample.label.num_unit"});

static void add_location(pd_sample_reader *r, pd_sample *s, const uint8_t *at, uint64_t id)
{
    uint32_t index = pd_idmap_find(&r->tables->location_map, id);
    if (index == PD_IDMAP_NONE)
        PD_PARSE_FAIL(&r->parse, PPROFDELTA_E_PROFILE, "sample.location_id",
                      pd_parse_offset(&r->parse, at), "no location has the id %" PRIu64, id);
    else
        pd_identity_place(&s->stack, r->numbers, r->tables->idents[index]);
}

static void fail_values(pd_sample_reader *r, const uint8_t *at, size_t len)
{
    size_t types = r->columns->len;
    PD_PARSE_FAIL(&r->parse, PPROFDELTA_E_PROFILE, "sample.value", pd_parse_offset(&r->parse, at),
                  "%s%zu value%s where the profile has %zu sample type%s",
                  len > types ? "at least " : "", len, len == 1 ? "" : "s", types,
                  types == 1 ? "" : "s");
}

static void add_value(pd_sample_reader *r, pd_sample *s, const uint8_t *at, uint64_t value)
{
    if (s->values_len >= r->columns->len)
        fail_values(r, at, s->values_len + 1);
    else
        s->values[r->columns->slot[s->values_len++]] = (int64_t)value;
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
    pd_label label = {.num = 0};
    pd_field f;
    while (pd_reader_next(&body, &f)) {
        const pd_field_row *row = pd_row_of(&pd_label_rows, f.number);
        pd_field_read(&r->parse, &pd_label_rows, &f, &label);
        const pd_string_ref *string = (const void *)((const char *)&label + row->at);
        if (row->kind == PD_FIELD_STRING_REF && string->index >= r->tables->strings_len)
            pd_parse_string_range(&r->parse, row->name, string->off, string->index);
    }
    pd_parse_end(&r->parse, pd_label_rows.name, &body);
    if (r->parse.status)
        return;
    pd_key names = pd_sample_label_names(r, label.key.index, label.str.index, label.num_unit.index);
    pd_identity_label(&s->stack, pd_label_key(names, label.num));
}

void pd_sample_careful(pd_sample_reader *r, pd_reader body, pd_sample *s)
{
    pd_message message = {body, &pd_sample_rows, NULL};
    const pd_field_row *row;
    pd_field f;
    s->stack = (pd_identity){0};
    s->values_len = 0;
    while ((row = pd_message_next(&r->parse, &message, &f))) {
        if (f.number == PD_SAMPLE_LABEL) {
            read_label(r, s, pd_parse_body(&r->parse, row->name, &f));
            continue;
        }
        pd_list list = pd_list_of(&r->parse, row->name, &f);
        while (pd_list_next(&r->parse, &list))
            if (f.number == PD_SAMPLE_LOCATION_ID)
                add_location(r, s, list.at, list.value);
            else
                add_value(r, s, list.at, list.value);
    }
    if (s->values_len != r->columns->len)
        fail_values(r, body.at, s->values_len);
}

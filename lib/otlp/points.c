/* The samples of an OTLP request: see request.h. */
#include "otlp/any_value.h"
#include "otlp/request.h"

#include <stddef.h>

/* One Sample, checked. Its values and timestamps are in pd_request.points and .times. */
typedef struct sample {
    pd_bytes body;
    uint64_t stack, link;
    pd_key attributes; /* of the attributes in any order */
} sample;

const pd_rows pd_request_sample_rows =
    PD_ROWS("samples",
            [1] = {PD_REQUEST_INDEX + PD_OTLP_DICTIONARY_STACK_TABLE, offsetof(sample, stack),
                   "samples.stack_index"},
            [2] = {PD_FIELD_LIST, 0, "samples.attribute_indices"},
            [3] = {PD_REQUEST_INDEX + PD_OTLP_DICTIONARY_LINK_TABLE, offsetof(sample, link),
                   "samples.link_index"},
            [4] = {PD_FIELD_LIST, 0, "samples.values"},
            [5] = {PD_FIELD_LIST, 0, "samples.timestamps_unix_nano"});

/* ---- reading a sample ---------------------------------------------------------------------- */

static void add_attribute(sample *s, uint64_t index)
{
    uint64_t word = pd_le64(index);
    pd_key key = pd_key_of_bytes(&word, sizeof word, 0);
    s->attributes.lo += key.lo;
    s->attributes.hi += key.hi;
}

static void add_number(pd_request *r, pd_request_numbers *list, uint64_t value)
{
    if (PD_PARSE_GROW(&r->parse, list->at, list->len + 1))
        list->at[list->len++] = value;
}

/* A repeated fixed64, packed or not. */
static void read_times(pd_request *r, const char *name, const pd_field *f, pd_request_numbers *list)
{
    enum { SIZE = 8 };
    if (f->wire == PD_WIRE_FIXED64) {
        add_number(r, list, f->value);
        return;
    }
    pd_reader body = pd_parse_body(&r->parse, name, f);
    if ((size_t)(body.end - body.at) % SIZE)
        PD_REQUEST_FAIL(r, name, f->start, "a packed list that ends in the middle of a number");
    for (; !r->parse.status && body.at != body.end; body.at += SIZE)
        add_number(r, list, pd_load64(body.at));
}

static void check_points(pd_request *r, const sample *s)
{
    size_t values = r->points.len, times = r->times.len;
    if (!values && !times)
        PD_REQUEST_FAIL(r, "samples.values", s->body.ptr,
                        "a sample without a value or a timestamp");
    if (values && times && values != times)
        PD_REQUEST_FAIL(r, "samples.values", s->body.ptr,
                        "%zu value%s where the sample has %zu timestamp%s", values,
                        values == 1 ? "" : "s", times, times == 1 ? "" : "s");
}

static void read_sample(pd_request *r, const pd_field *field, sample *s)
{
    pd_reader body = pd_parse_body(&r->parse, "samples", field);
    *s = (sample){.body = pd_reader_bytes(body)};
    pd_message message = {body, &pd_request_sample_rows, s};
    const pd_field_row *row;
    pd_field f;
    r->points.len = r->times.len = 0;
    pd_request_attributes_begin(r);
    while ((row = pd_message_next(&r->parse, &message, &f))) {
        if (f.number == PD_OTLP_SAMPLE_TIMESTAMPS_UNIX_NANO) {
            read_times(r, row->name, &f, &r->times);
            continue;
        }
        pd_list list = pd_list_of(&r->parse, row->name, &f);
        if (f.number == PD_OTLP_SAMPLE_VALUES)
            while (pd_list_next(&r->parse, &list))
                add_number(r, &r->points, list.value);
        else
            while (pd_request_attributes_next(r, &list)) {
                add_attribute(s, list.value);
                r->facts.has_more |= !r->dictionary.attributes[list.value].is_label;
            }
    }
    check_points(r, s);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void add_row(pd_request *r, const pd_request_row *row)
{
    pd_request_spend(r, sizeof *row + r->types_len * sizeof *r->values);
    PD_PARSE_GROW(&r->parse, r->rows, r->rows_len + 1);
    if (!PD_PARSE_GROW(&r->parse, r->values, (r->rows_len + 1) * r->types_len))
        return;
    memset(r->values + r->rows_len * r->types_len, 0, r->types_len * sizeof *r->values);
    r->rows[r->rows_len++] = *row;
}

/* Adds the points of a sample to the rows of their keys. */
static void add_points(pd_request *r, size_t profile, const sample *s)
{
    size_t values = r->points.len, times = r->times.len;
    for (size_t i = 0; i < (values ? values : times) && !r->parse.status; i++) {
        pd_request_row row = {.sample = s->body,
                              .stack = (uint32_t)s->stack,
                              .link = (uint32_t)s->link,
                              .timestamp = times ? r->times.at[i] : 0,
                              .has_timestamp = times > 0};
        uint64_t words[] = {s->stack,         s->link,       s->attributes.lo,
                            s->attributes.hi, row.timestamp, row.has_timestamp};
        bool is_new;
        pd_key key = pd_key_of_words(words, sizeof words / sizeof *words, 0);
        uint32_t number = pd_write_key(&r->parse.writer, &r->keys, key, &is_new);
        if (is_new)
            add_row(r, &row);
        if (r->parse.status)
            return;
        int64_t *value = &r->values[number * r->types_len + r->profiles[profile].column];
        *value = (int64_t)((uint64_t)*value + (values ? r->points.at[i] : 1));
    }
}

static void read_profile(pd_request *r, size_t profile)
{
    pd_reader body = pd_request_reader(r->profiles[profile].body);
    pd_field f;
    sample s;
    r->parse.element = 0;
    while (!r->parse.status && pd_reader_find(&body, PD_OTLP_PROFILE_SAMPLES, &f)) {
        read_sample(r, &f, &s);
        if (!r->parse.status)
            add_points(r, profile, &s);
        r->facts.timestamps += r->times.len;
        r->facts.links += s.link != 0;
        r->parse.element++;
    }
    r->parse.element = PPROFDELTA_NOWHERE;
}

/* ---- labels of a set ----------------------------------------------------------------------- */

/* Moves what is in r->part. */
static void move_part(pd_request *r, pd_buffer *to)
{
    to->len = 0;
    pd_write_raw(&r->parse.writer, to, pd_buffer_bytes(&r->part));
    r->part.len = 0;
}

static uint32_t number_of(pd_request *r, const char *text)
{
    return pd_request_number(r, pd_bytes_of(text));
}

/* An empty text is as one that is not there. */
static void label_text(pd_request *r, const char *key, pd_bytes text)
{
    pd_request_spend(r, text.len);
    if (text.len)
        pd_request_label(r, number_of(r, key), pd_request_number(r, text), 0, 0);
}

static void label_nanos(pd_request *r, const char *key, uint64_t value)
{
    uint32_t number = number_of(r, key);
    pd_request_label(r, number, 0, (int64_t)value, number_of(r, "nanoseconds"));
}

/* What differs among the sets. */
typedef struct differences {
    bool resources, scopes, times;
} differences;

static differences differences_of(const pd_request *r)
{
    differences found = {r->takes_several && r->facts.resources > 1,
                         r->takes_several && r->facts.scopes > r->facts.resources, false};
    const pd_request_profile *all = r->profiles;
    for (size_t i = 1; i < r->profiles_count; i++)
        found.times |= all[i].time != all[0].time || all[i].duration != all[0].duration;
    return found;
}

/* Makes the labels that all samples of a set have, to which the profile belongs. */
static void make_common(pd_request *r, const pd_request_profile *profile, const differences *differ)
{
    const pd_request_source *source = &r->sources[profile->scope];
    if (differ->resources) {
        pd_request_spend(r, source->attributes.resource.len);
        pd_key_values_label(r, pd_bytes_of("resource"), 0,
                            pd_request_reader(source->attributes.resource),
                            PD_OTLP_RESOURCE_ATTRIBUTES);
    }
    if (differ->scopes) {
        label_text(r, "scope.name", source->scope_name);
        label_text(r, "scope.version", source->scope_version);
    }
    if (differ->times) {
        label_nanos(r, "profile.time_unix_nano", profile->time);
        label_nanos(r, "profile.duration_nano", profile->duration);
    }
    move_part(r, &r->common);
    pd_request_spend(r, r->common.len);
}

/* ---- what samples refer to ------------------------------------------------------------------- */

/* Location 0 is a frame of which nothing is known. */
static void put_location(pd_request *r, uint64_t index)
{
    if (!index)
        index = pd_request_zero(r, PD_OTLP_DICTIONARY_LOCATION_TABLE, PD_PROFILE_LOCATION);
    pd_write_element(&r->parse.writer, &r->stack, index);
}

/* Writes the locations of a stack to r->stack. */
static void make_stack(pd_request *r, uint32_t index)
{
    pd_bytes entry = r->dictionary.tables[PD_OTLP_DICTIONARY_STACK_TABLE].entries[index];
    pd_reader stack = pd_request_reader(entry);
    pd_field f;
    pd_request_spend(r, entry.len);
    while (!r->parse.status && pd_reader_find(&stack, PD_OTLP_STACK_LOCATION_INDICES, &f)) {
        pd_list list = pd_list_of(&r->parse, NULL, &f);
        while (pd_list_next(&r->parse, &list))
            put_location(r, list.value);
    }
    if (r->stack.len)
        pd_write_wrap(&r->parse.writer, &r->stack, 0, PD_SAMPLE_LOCATION_ID);
}

static void make_attribute(pd_request *r, uint64_t index)
{
    const pd_request_attribute *attribute = &r->dictionary.attributes[index];
    pd_any_value_label(r, pd_request_string(r, attribute->key_at), attribute->key, attribute->unit,
                       pd_request_value(r, index));
}

/* Of an id that is written twice, the last counts. */
static void make_id(pd_request *r, pd_reader link, uint32_t number, const char *name)
{
    pd_bytes id = {NULL, 0};
    pd_field f;
    while (pd_reader_find(&link, number, &f))
        id = pd_reader_bytes(f.body);
    if (id.len)
        pd_request_label(r, number_of(r, name), pd_request_hex(r, id), 0, 0);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Makes the labels that all rows of a sample have. Its attributes, which were checked, are read again
 * once for each sample. */
static void make_labels(pd_request *r, const pd_request_row *row)
{
    pd_reader body = pd_request_reader(row->sample);
    pd_field f;
    r->labels_made = 0;
    while (!r->parse.status && pd_reader_find(&body, PD_OTLP_SAMPLE_ATTRIBUTE_INDICES, &f)) {
        pd_list list = pd_list_of(&r->parse, NULL, &f);
        while (pd_list_next(&r->parse, &list))
            make_attribute(r, list.value);
    }
    r->own_labels = r->labels_made;
    if (row->link) {
        pd_bytes link = r->dictionary.tables[PD_OTLP_DICTIONARY_LINK_TABLE].entries[row->link];
        pd_request_spend(r, link.len);
        make_id(r, pd_request_reader(link), PD_OTLP_LINK_TRACE_ID, "trace_id");
        make_id(r, pd_request_reader(link), PD_OTLP_LINK_SPAN_ID, "span_id");
    }
    move_part(r, &r->labels);
}

static void write_row(pd_request *r, pd_request_row *row, const int64_t *values)
{
    pd_request_spend(r, r->stack.len + r->labels.len + r->common.len);
    if (r->parse.status)
        return;
    pd_write_raw(&r->parse.writer, &r->part, pd_buffer_bytes(&r->stack));
    for (size_t i = 0; i < r->types_len; i++)
        pd_write_element(&r->parse.writer, &r->part, (uint64_t)values[i]);
    pd_write_wrap(&r->parse.writer, &r->part, r->stack.len, PD_SAMPLE_VALUE);
    pd_write_raw(&r->parse.writer, &r->part, pd_buffer_bytes(&r->labels));
    if (row->has_timestamp)
        label_nanos(r, "timestamp_unix_nano", row->timestamp);
    pd_write_raw(&r->parse.writer, &r->part, pd_buffer_bytes(&r->common));
    row->at = r->profile.len;
    row->labels = r->own_labels;
    pd_write_part(&r->parse.writer, &r->profile, PD_PROFILE_SAMPLE, &r->part);
}

/* The rows of a sample follow each other. */
static void write_rows(pd_request *r)
{
    const pd_request_row *last = NULL;
    for (size_t i = 0; i < r->rows_len && !r->parse.status; i++) {
        pd_request_row *row = &r->rows[i];
        if (!last || row->stack != last->stack) {
            r->stack.len = 0;
            if (row->stack)
                make_stack(r, row->stack);
        }
        if (!last || row->sample.ptr != last->sample.ptr)
            make_labels(r, row);
        last = row;
        write_row(r, row, r->values + i * r->types_len);
    }
}

void pd_request_points(pd_request *r)
{
    differences differ = differences_of(r);
    for (size_t i = 0; i < r->profiles_count && !r->parse.status;) {
        const pd_request_profile *first = &r->profiles[i];
        pd_keymap_clear(&r->keys);
        r->rows_len = 0;
        for (; i < r->profiles_count && r->profiles[i].set == first->set; i++)
            read_profile(r, i);
        if (!r->rows_len)
            continue;
        make_common(r, first, &differ);
        write_rows(r);
    }
}

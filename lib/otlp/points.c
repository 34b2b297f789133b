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

static const pd_field_row sample_fields[] = {
    [1] = {PD_REQUEST_INDEX + PD_OTLP_DICTIONARY_STACK_TABLE, offsetof(sample, stack),
           "samples.stack_index"},
    [2] = {PD_FIELD_LIST, 0, "samples.attribute_indices"},
    [3] = {PD_REQUEST_INDEX + PD_OTLP_DICTIONARY_LINK_TABLE, offsetof(sample, link),
           "samples.link_index"},
    [4] = {PD_FIELD_LIST, 0, "samples.values"},
    [5] = {PD_FIELD_LIST, 0, "samples.timestamps_unix_nano"},
};

const pd_rows pd_request_sample_rows = PD_ROWS("samples", sample_fields);

/* ---- reading a sample ---------------------------------------------------------------------- */

static void add_attribute(sample *s, uint64_t index)
{
    uint64_t word = pd_le64(index);
    pd_key key = pd_key_of_bytes(&word, sizeof word, 0);
    s->attributes.lo += key.lo;
    s->attributes.hi += key.hi;
}

static void add_number(pd_request_reading *r, pd_request_numbers *list, uint64_t value)
{
    if (pd_parse_grow(&r->parse, &list->at, &list->cap, list->len + 1, sizeof *list->at))
        list->at[list->len++] = value;
}

/* A repeated fixed64, packed or not. */
static void read_times(pd_request_reading *r, const char *name, const pd_field *f,
                       pd_request_numbers *list)
{
    enum { SIZE = 8 };
    if (f->wire == PD_WIRE_FIXED64) {
        add_number(r, list, f->value);
        return;
    }
    pd_reader body = pd_parse_body(&r->parse, name, f);
    if ((size_t)(body.end - body.at) % SIZE)
        pd_request_fail(r, name, f->start, "a packed list that ends in the middle of a number");
    for (; !r->parse.status && body.at != body.end; body.at += SIZE)
        add_number(r, list, pd_load64(body.at));
}

static void check_points(pd_request_reading *r, const pd_request *o, const sample *s)
{
    size_t values = o->points.len, times = o->times.len;
    if (!values && !times)
        pd_request_fail(r, "samples.values", s->body.ptr,
                        "a sample without a value or a timestamp");
    if (values && times && values != times)
        pd_request_fail(r, "samples.values", s->body.ptr,
                        "%zu value%s where the sample has %zu timestamp%s", values,
                        values == 1 ? "" : "s", times, times == 1 ? "" : "s");
}

static void read_sample(pd_request_reading *r, pd_request *o, const pd_field *field, sample *s)
{
    pd_reader body = pd_parse_body(&r->parse, "samples", field);
    *s = (sample){.body = pd_reader_bytes(body)};
    pd_message message = {body, &pd_request_sample_rows, s};
    const pd_field_row *row;
    pd_field f;
    o->points.len = o->times.len = 0;
    pd_request_attributes_begin(r);
    while ((row = pd_request_next(r, &message, &f))) {
        if (f.number == PD_OTLP_SAMPLE_TIMESTAMPS_UNIX_NANO) {
            read_times(r, row->name, &f, &o->times);
            continue;
        }
        pd_list list = pd_list_of(&r->parse, row->name, &f);
        if (f.number == PD_OTLP_SAMPLE_VALUES)
            while (pd_list_next(&r->parse, &list))
                add_number(r, &o->points, list.value);
        else
            while (pd_request_attributes_next(r, &list))
                add_attribute(s, list.value);
    }
    check_points(r, o, s);
}

pprofdelta_sum pd_request_sum_of(pd_request_reading *r, pd_request *o,
                                 const pd_request_profile *profile)
{
    pd_reader body = pd_request_reader(profile->body);
    pprofdelta_sum sum = {0, 0};
    sample s;
    pd_field f;
    while (!r->parse.status && pd_reader_find(&body, PD_OTLP_PROFILE_SAMPLES, &f)) {
        read_sample(r, o, &f, &s);
        if (o->points.len != 1)
            pd_request_fail(r, "samples.values", f.start, "%zu values", o->points.len);
        else
            pd_sum_add(&sum, (int64_t)o->points.at[0]);
    }
    return sum;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void add_row(pd_request_reading *r, pd_request *o, const pd_request_row *row)
{
    pd_request_spend(r, sizeof *row + o->types_len * sizeof *o->values);
    if (o->rows_len >= PD_KEYMAP_MAX)
        pd_request_fail(r, "samples", row->sample.ptr, "more samples than fit in 31 bits");
    pd_parse_grow(&r->parse, &o->rows, &o->rows_cap, o->rows_len + 1, sizeof *o->rows);
    if (!pd_parse_grow(&r->parse, &o->values, &o->values_cap, (o->rows_len + 1) * o->types_len,
                       sizeof *o->values))
        return;
    memset(o->values + o->rows_len * o->types_len, 0, o->types_len * sizeof *o->values);
    o->rows[o->rows_len++] = *row;
}

/* The chain of a key; a new one has a new row. */
static pd_request_chain *find_chain(pd_request_reading *r, pd_request *o, pd_key key,
                                    const pd_request_row *row)
{
    bool is_new;
    uint32_t number = pd_request_add(r, &o->keys, key, &is_new);
    if (!pd_parse_grow(&r->parse, &o->chains, &o->chains_cap, o->keys.len, sizeof *o->chains))
        return NULL;
    if (is_new) {
        o->chains[number] = (pd_request_chain){(uint32_t)o->rows_len, (uint32_t)o->rows_len, 0};
        add_row(r, o, row);
    }
    return &o->chains[number];
}

/* The row that a profile takes for a key: the first, or the one behind that which it took before. */
static uint32_t take_row(pd_request_reading *r, pd_request *o, pd_request_chain *chain,
                         size_t profile, const pd_request_row *row)
{
    if (chain->profile != profile + 1) {
        chain->profile = profile + 1;
        return chain->last = chain->first;
    }
    if (o->rows[chain->last].next == PD_KEYMAP_NONE) {
        uint32_t added = (uint32_t)o->rows_len;
        add_row(r, o, row);
        o->rows[chain->last].next = added;
    }
    return chain->last = o->rows[chain->last].next;
}

static void add_points(pd_request_reading *r, pd_request *o, size_t profile, const sample *s)
{
    size_t values = o->points.len, times = o->times.len;
    for (size_t i = 0; i < (values ? values : times) && !r->parse.status; i++) {
        pd_request_row row = {.sample = s->body,
                              .stack = (uint32_t)s->stack,
                              .link = (uint32_t)s->link,
                              .timestamp = times ? o->times.at[i] : 0,
                              .has_timestamp = times > 0,
                              .next = PD_KEYMAP_NONE};
        uint64_t words[] = {s->stack,         s->link,       s->attributes.lo,
                            s->attributes.hi, row.timestamp, row.has_timestamp};
        pd_key key = pd_key_of_words(words, sizeof words / sizeof *words, 0);
        pd_request_chain *chain = find_chain(r, o, key, &row);
        if (!chain || r->parse.status)
            return;
        uint32_t taken = take_row(r, o, chain, profile, &row);
        if (r->parse.status)
            return;
        o->values[taken * o->types_len + o->profiles[profile].column] =
            values ? (int64_t)o->points.at[i] : 1;
    }
}

static void read_profile(pd_request_reading *r, pd_request *o, size_t profile)
{
    pd_reader body = pd_request_reader(o->profiles[profile].body);
    pd_field f;
    sample s;
    r->parse.element = 0;
    while (!r->parse.status && pd_reader_find(&body, PD_OTLP_PROFILE_SAMPLES, &f)) {
        read_sample(r, o, &f, &s);
        if (!r->parse.status)
            add_points(r, o, profile, &s);
        o->timestamps += o->times.len;
        o->links += s.link != 0;
        o->samples++;
        r->parse.element++;
    }
    r->parse.element = PPROFDELTA_NOWHERE;
}

/* ---- labels of a set ----------------------------------------------------------------------- */

static uint32_t number_of(pd_request_reading *r, const char *text)
{
    return pd_request_number(r, pd_bytes_of(text));
}

/* The attributes of the resource, as "resource.KEY". */
static void label_resource(pd_request_reading *r, const pd_request_source *source)
{
    static const char prefix[] = "resource.";
    pd_reader message = pd_request_reader(source->resource);
    pd_buffer name = {NULL, 0, 0};
    pd_field f;
    while (!r->parse.status && pd_reader_find(&message, PD_OTLP_RESOURCE_ATTRIBUTES, &f)) {
        pd_key_value attribute = pd_key_value_of(r, f.body);
        name.len = 0;
        pd_write_raw(&r->writer, &name, (const uint8_t *)prefix, sizeof prefix - 1);
        pd_write_raw(&r->writer, &name, attribute.key.ptr, attribute.key.len);
        pd_request_spend(r, name.len);
        pd_bytes whole = {name.ptr, name.len};
        if (!r->writer.status)
            pd_any_value_label(r, whole, pd_request_number(r, whole), 0, attribute.value);
        r->parse.status = r->parse.status ? r->parse.status : r->writer.status;
    }
    pd_buffer_release(r->parse.mem, &name);
}

/* An empty text is as one that is not there. */
static void label_scope(pd_request_reading *r, const pd_request_source *source)
{
    if (source->scope_name.len)
        pd_request_label_text(r, number_of(r, "scope.name"),
                              pd_request_number(r, source->scope_name));
    if (source->scope_version.len)
        pd_request_label_text(r, number_of(r, "scope.version"),
                              pd_request_number(r, source->scope_version));
}

/* What differs among the sets. */
typedef struct differences {
    bool resources, scopes, times;
} differences;

static differences differences_of(const pd_request *o)
{
    differences found = {o->resources > 1, o->scopes > o->resources, false};
    for (size_t i = 1; i < o->sets_len; i++) {
        const pd_request_profile *one = &o->profiles[o->sets[0].first];
        const pd_request_profile *other = &o->profiles[o->sets[i].first];
        found.times |= one->time != other->time || one->duration != other->duration;
    }
    return found;
}

/* Appends the labels of a resource or a scope to o->common. Sets with one owner follow each other. */
static void add_labels_of(pd_request_reading *r, pd_request *o, pd_request_labels *labels,
                          size_t owner, const pd_request_source *source,
                          void (*label)(pd_request_reading *r, const pd_request_source *source))
{
    if (labels->owner != owner + 1) {
        labels->owner = owner + 1;
        labels->bytes.len = 0;
        label(r, source);
        pd_write_raw(&r->writer, &labels->bytes, r->part->ptr, r->part->len);
        r->part->len = 0;
    }
    pd_write_raw(&r->writer, &o->common, labels->bytes.ptr, labels->bytes.len);
}

/* Makes the labels that all samples of a set have. */
static void make_common(pd_request_reading *r, pd_request *o, const pd_request_set *set,
                        const differences *differ)
{
    const pd_request_profile *profile = &o->profiles[set->first];
    const pd_request_source *source = &o->sources[set->scope];
    uint32_t nanoseconds = differ->times ? number_of(r, "nanoseconds") : 0;
    o->common.len = 0;
    if (differ->resources)
        add_labels_of(r, o, &o->of_resource, set->resource, source, label_resource);
    if (differ->scopes)
        add_labels_of(r, o, &o->of_scope, set->scope, source, label_scope);
    if (differ->times) {
        pd_request_label_number(r, number_of(r, "profile.time_unix_nano"), (int64_t)profile->time,
                                nanoseconds);
        pd_request_label_number(r, number_of(r, "profile.duration_nano"),
                                (int64_t)profile->duration, nanoseconds);
    }
    pd_write_raw(&r->writer, &o->common, r->part->ptr, r->part->len);
    r->part->len = 0;
    pd_request_spend(r, o->common.len);
    r->parse.status = r->parse.status ? r->parse.status : r->writer.status;
}

/* ---- what samples refer to ------------------------------------------------------------------- */

/* Location 0 is a frame of which nothing is known. Its id in the profile is the first that no entry
 * has. */
static void put_location(pd_request_reading *r, uint64_t index)
{
    pd_dictionary *d = r->dictionary;
    size_t len = d->tables[PD_OTLP_DICTIONARY_LOCATION_TABLE].len;
    uint64_t nowhere = len ? len : 1;
    if (!index && !d->has_nowhere) {
        d->has_nowhere = true;
        r->text->len = 0;
        pd_write_varint(&r->writer, r->text, PD_LOCATION_ID, nowhere);
        pd_write_part(&r->writer, r->profile, PD_PROFILE_LOCATION, r->text);
    }
    pd_write_element(&r->writer, r->inner, index ? index : nowhere);
}

static void make_stack(pd_request_reading *r, pd_reader stack)
{
    pd_field f;
    while (pd_reader_find(&stack, PD_OTLP_STACK_LOCATION_INDICES, &f)) {
        pd_list list = pd_list_of(&r->parse, NULL, &f);
        while (pd_list_next(&r->parse, &list))
            put_location(r, list.value);
    }
    if (r->inner->len)
        pd_write_part(&r->writer, r->part, PD_SAMPLE_LOCATION_ID, r->inner);
}

static void make_attribute(pd_request_reading *r, const pd_request_attribute *attribute)
{
    const pd_request_table *strings = &r->dictionary->tables[PD_OTLP_DICTIONARY_STRING_TABLE];
    pd_bytes key = attribute->key_at ? strings->entries[attribute->key_at] : (pd_bytes){0};
    pd_any_value_label(r, key, attribute->key, attribute->unit, attribute->value);
}

/* Of an id that is written twice, the last counts. */
static void make_id(pd_request_reading *r, pd_reader link, uint32_t number, const char *name)
{
    pd_bytes id = {NULL, 0};
    pd_field f;
    while (pd_reader_find(&link, number, &f))
        id = pd_reader_bytes(f.body);
    if (id.len)
        pd_request_label_text(r, number_of(r, name), pd_request_hex(r, id));
}

/* Writes what an entry becomes in a sample to r->part. */
static void make_piece(pd_request_reading *r, unsigned table, size_t index)
{
    pd_dictionary *d = r->dictionary;
    pd_reader entry = pd_request_reader(d->tables[table].entries[index]);
    if (table == PD_OTLP_DICTIONARY_STACK_TABLE) {
        make_stack(r, entry);
    } else if (table == PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE) {
        make_attribute(r, &d->attributes[index]);
    } else {
        make_id(r, entry, PD_OTLP_LINK_TRACE_ID, "trace_id");
        make_id(r, entry, PD_OTLP_LINK_SPAN_ID, "span_id");
    }
}

/* Appends what an entry of these tables becomes in a sample. */
static void add_piece(pd_request_reading *r, pd_buffer *to, unsigned table, size_t index)
{
    pd_dictionary *d = r->dictionary;
    if (!index || r->parse.status)
        return;
    pd_request_piece *piece = &d->tables[table].pieces[index];
    if (!piece->is_made) {
        make_piece(r, table, index);
        *piece = (pd_request_piece){d->pieces.len, r->part->len, true};
        pd_write_raw(&r->writer, &d->pieces, r->part->ptr, r->part->len);
        r->part->len = 0;
    }
    pd_request_spend(r, piece->len);
    if (piece->len && !r->parse.status && !r->writer.status)
        pd_write_raw(&r->writer, to, d->pieces.ptr + piece->off, piece->len);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Makes the labels that all rows of a sample have. Its attributes, which were checked, are read again
 * once for each sample. */
static void make_labels(pd_request_reading *r, pd_request *o, const pd_request_row *row)
{
    pd_reader body = pd_request_reader(row->sample);
    pd_field f;
    o->labels.len = 0;
    while (!r->parse.status && pd_reader_find(&body, PD_OTLP_SAMPLE_ATTRIBUTE_INDICES, &f)) {
        pd_list list = pd_list_of(&r->parse, NULL, &f);
        while (pd_list_next(&r->parse, &list))
            add_piece(r, &o->labels, PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE, (size_t)list.value);
    }
    add_piece(r, &o->labels, PD_OTLP_DICTIONARY_LINK_TABLE, row->link);
}

static void write_values(pd_request_reading *r, const int64_t *values, size_t len)
{
    for (size_t i = 0; i < len; i++)
        pd_write_element(&r->writer, r->inner, (uint64_t)values[i]);
    pd_write_part(&r->writer, r->part, PD_SAMPLE_VALUE, r->inner);
}

/* The rows of a sample follow each other. */
static void write_rows(pd_request_reading *r, pd_request *o)
{
    const uint8_t *last = NULL;
    for (size_t i = 0; i < o->rows_len && !r->parse.status; i++) {
        const pd_request_row *row = &o->rows[i];
        if (row->sample.ptr != last)
            make_labels(r, o, row);
        last = row->sample.ptr;
        pd_request_spend(r, o->labels.len + o->common.len);
        add_piece(r, r->part, PD_OTLP_DICTIONARY_STACK_TABLE, row->stack);
        write_values(r, o->values + i * o->types_len, o->types_len);
        pd_write_raw(&r->writer, r->part, o->labels.ptr, o->labels.len);
        if (row->has_timestamp)
            pd_request_label_number(r, number_of(r, "timestamp_unix_nano"), (int64_t)row->timestamp,
                                    number_of(r, "nanoseconds"));
        pd_write_raw(&r->writer, r->part, o->common.ptr, o->common.len);
        if (!r->parse.status)
            pd_write_part(&r->writer, r->profile, PD_PROFILE_SAMPLE, r->part);
        r->parse.status = r->parse.status ? r->parse.status : r->writer.status;
    }
}

void pd_request_points(pd_request_reading *r, pd_request *o)
{
    differences differ = differences_of(o);
    for (size_t i = 0; i < o->sets_len && !r->parse.status; i++) {
        size_t end = i + 1 < o->sets_len ? o->sets[i + 1].first : o->profiles_count;
        pd_keymap_clear(&o->keys);
        o->rows_len = 0;
        for (size_t p = o->sets[i].first; p < end && !r->parse.status; p++)
            read_profile(r, o, p);
        if (!o->rows_len)
            continue;
        make_common(r, o, &o->sets[i], &differ);
        write_rows(r, o);
    }
}

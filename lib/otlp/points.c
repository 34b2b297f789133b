/* The samples of an OTLP request: see request.h. */
#include "otlp/any_value.h"
#include "otlp/request.h"

#include <inttypes.h>

/* One Sample, checked. */
typedef struct sample {
    pd_bytes body;
    uint32_t stack, link;
    pd_key attributes; /* of the attributes in any order */
    size_t values, timestamps;
} sample;

/* ---- reading a sample ---------------------------------------------------------------------- */

static void add_attribute(pd_request_reading *r, void *cookie, uint64_t index, const uint8_t *at)
{
    uint64_t word = pd_le64(index);
    pd_key key = pd_key_of_bytes(&word, sizeof word, 0), *sum = cookie;
    (void)r;
    (void)at;
    sum->lo += key.lo;
    sum->hi += key.hi;
}

static void count(pd_request_reading *r, void *cookie, uint64_t value, const uint8_t *at)
{
    (void)r;
    (void)value;
    (void)at;
    ++*(size_t *)cookie;
}

/* A repeated fixed64, packed or not. */
static void list_fixed(pd_request_reading *r, const char *name, const pd_field *f,
                       pd_request_taker *take, void *cookie)
{
    enum { SIZE = 8 };
    if (f->wire == PD_WIRE_FIXED64) {
        take(r, cookie, f->value, f->start);
        return;
    }
    pd_reader body = pd_parse_body(&r->parse, name, f);
    if ((size_t)(body.end - body.at) % SIZE)
        pd_request_fail(r, name, f->start, "a packed list that ends in the middle of a number");
    for (; !r->parse.status && body.at != body.end; body.at += SIZE)
        take(r, cookie, pd_load64(body.at), body.at);
}

static void check_points(pd_request_reading *r, const sample *s)
{
    if (!s->values && !s->timestamps)
        pd_request_fail(r, "samples.values", s->body.ptr,
                        "a sample without a value or a timestamp");
    if (s->values && s->timestamps && s->values != s->timestamps)
        pd_request_fail(r, "samples.values", s->body.ptr,
                        "%zu value%s where the sample has %zu "
                        "timestamp%s",
                        s->values, s->values == 1 ? "" : "s", s->timestamps,
                        s->timestamps == 1 ? "" : "s");
}

static void read_sample(pd_request_reading *r, const pd_field *field, sample *s)
{
    pd_reader body = pd_parse_body(&r->parse, "samples", field);
    pd_field f;
    *s = (sample){.body = {body.at, (size_t)(body.end - body.at)}};
    pd_request_attributes_begin(r);
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        switch (f.number) {
        case PD_OTLP_SAMPLE_STACK_INDEX:
            s->stack =
                pd_request_index_of(r, "samples.stack_index", &f, PD_OTLP_DICTIONARY_STACK_TABLE);
            break;
        case PD_OTLP_SAMPLE_ATTRIBUTE_INDICES:
            pd_request_attributes(r, "samples.attribute_indices", &f, add_attribute,
                                  &s->attributes);
            break;
        case PD_OTLP_SAMPLE_LINK_INDEX:
            s->link =
                pd_request_index_of(r, "samples.link_index", &f, PD_OTLP_DICTIONARY_LINK_TABLE);
            break;
        case PD_OTLP_SAMPLE_VALUES:
            pd_request_list(r, "samples.values", &f, count, &s->values);
            break;
        case PD_OTLP_SAMPLE_TIMESTAMPS_UNIX_NANO:
            list_fixed(r, "samples.timestamps_unix_nano", &f, count, &s->timestamps);
            break;
        default:
            r->parse.unknown_fields++;
        }
    }
    pd_parse_end(&r->parse, "samples", &body);
    check_points(r, s);
}

/* ---- points -------------------------------------------------------------------------------- */

/* Goes over a list that is spread over several fields. */
typedef struct points {
    pd_reader message, part; /* part: what is left of a packed field */
    uint32_t number;
} points;

static points points_of(const sample *s, uint32_t number)
{
    return (points){pd_request_reader(s->body), {NULL, NULL, NULL}, number};
}

static uint64_t next_point(points *p)
{
    pd_field f;
    uint64_t value = 0;
    bool is_fixed = p->number == PD_OTLP_SAMPLE_TIMESTAMPS_UNIX_NANO;
    while (p->part.at == p->part.end) {
        if (!pd_reader_next(&p->message, &f))
            return 0;
        if (f.number != p->number)
            continue;
        if (f.wire != PD_WIRE_BYTES)
            return f.value;
        p->part = f.body;
    }
    if (is_fixed) {
        value = pd_load64(p->part.at);
        p->part.at += sizeof value;
    } else {
        pd_reader_varint(&p->part, &value);
    }
    return value;
}

static void add_row(pd_request_reading *r, pd_request *o, const pd_request_row *row)
{
    pd_mem *mem = r->parse.mem;
    pd_request_spend(r, sizeof *row + o->types_len * sizeof *o->values);
    if (o->rows_len >= PD_KEYMAP_MAX)
        pd_request_fail(r, "samples", row->sample.ptr, "more samples than fit in 31 bits");
    if (!r->parse.status)
        r->parse.status = pd_mem_grow(mem, &o->rows, &o->rows_cap, o->rows_len + 1, sizeof *o->rows,
                                      r->parse.err);
    if (!r->parse.status)
        r->parse.status =
            pd_mem_grow(mem, &o->values, &o->values_cap, (o->rows_len + 1) * o->types_len,
                        sizeof *o->values, r->parse.err);
    if (r->parse.status)
        return;
    memset(o->values + o->rows_len * o->types_len, 0, o->types_len * sizeof *o->values);
    o->rows[o->rows_len++] = *row;
}

/* The chain of a key; a new one has a new row. */
static pd_request_chain *find_chain(pd_request_reading *r, pd_request *o, pd_key key,
                                    const pd_request_row *row)
{
    pd_mem *mem = r->parse.mem;
    if (!r->parse.status)
        r->parse.status = pd_keymap_room(&o->keys, mem, key, r->parse.err);
    if (!r->parse.status)
        r->parse.status = pd_mem_grow(mem, &o->chains, &o->chains_cap, o->keys.len + 1,
                                      sizeof *o->chains, r->parse.err);
    if (r->parse.status)
        return NULL;
    size_t before = o->keys.len;
    uint32_t number = pd_keymap_add(&o->keys, key);
    if (number == before) {
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
    points values = points_of(s, PD_OTLP_SAMPLE_VALUES);
    points times = points_of(s, PD_OTLP_SAMPLE_TIMESTAMPS_UNIX_NANO);
    size_t len = s->values ? s->values : s->timestamps;
    for (size_t i = 0; i < len && !r->parse.status; i++) {
        pd_request_row row = {.sample = s->body, .next = PD_KEYMAP_NONE};
        row.has_timestamp = s->timestamps > 0;
        row.timestamp = s->timestamps ? next_point(&times) : 0;
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
            s->values ? (int64_t)next_point(&values) : 1;
    }
}

static void read_profile(pd_request_reading *r, pd_request *o, size_t profile)
{
    pd_reader body = pd_request_reader(o->profiles[profile].body);
    pd_field f;
    sample s;
    for (r->parse.element = 0; !r->parse.status && pd_reader_next(&body, &f);) {
        if (f.number != PD_OTLP_PROFILE_SAMPLES)
            continue;
        read_sample(r, &f, &s);
        if (!r->parse.status)
            add_points(r, o, profile, &s);
        o->timestamps += s.timestamps;
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

static pd_bytes body_of(const pd_field *f)
{
    return (pd_bytes){f->body.at, (size_t)(f->body.end - f->body.at)};
}

/* The attributes of the resource, as "resource.KEY". */
static void label_resource(pd_request_reading *r, pd_bytes resource)
{
    static const char prefix[] = "resource.";
    pd_reader message = pd_request_reader(resource);
    pd_buffer name = {NULL, 0, 0};
    pd_field f;
    while (!r->parse.status && pd_reader_next(&message, &f)) {
        if (f.number != PD_OTLP_RESOURCE_ATTRIBUTES)
            continue;
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

/* Of a field that is written twice, the last counts; an empty text is as one that is not there. */
static void label_scope(pd_request_reading *r, pd_bytes scope)
{
    pd_reader message = pd_request_reader(scope);
    pd_bytes name = {NULL, 0}, version = {NULL, 0};
    pd_field f;
    while (pd_reader_next(&message, &f)) {
        if (f.number == PD_OTLP_SCOPE_NAME)
            name = body_of(&f);
        else if (f.number == PD_OTLP_SCOPE_VERSION)
            version = body_of(&f);
    }
    if (name.len)
        pd_request_label_text(r, number_of(r, "scope.name"), pd_request_number(r, name));
    if (version.len)
        pd_request_label_text(r, number_of(r, "scope.version"), pd_request_number(r, version));
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
                          size_t owner, pd_bytes message,
                          void (*label)(pd_request_reading *r, pd_bytes message))
{
    if (labels->owner != owner + 1) {
        labels->owner = owner + 1;
        labels->bytes.len = 0;
        label(r, message);
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
    const struct pd_request_source *source = &o->sources[set->scope];
    uint32_t nanoseconds = differ->times ? number_of(r, "nanoseconds") : 0;
    o->common.len = 0;
    if (differ->resources)
        add_labels_of(r, o, &o->of_resource, set->resource, source->resource, label_resource);
    if (differ->scopes)
        add_labels_of(r, o, &o->of_scope, set->scope, source->scope, label_scope);
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

static void put_number(pd_request_reading *r, uint64_t value)
{
    uint8_t *p = pd_write_room(&r->writer, r->inner, PD_VARINT_MAX);
    if (p)
        pd_write_done(r->inner, pd_varint_encode(p, value));
}

/* Location 0 is a frame of which nothing is known. Its id in the profile is the first that no entry
 * has. */
static void put_location(pd_request_reading *r, void *cookie, uint64_t index, const uint8_t *at)
{
    pd_dictionary *d = r->dictionary;
    size_t len = d->tables[PD_OTLP_DICTIONARY_LOCATION_TABLE].len;
    uint64_t nowhere = len ? len : 1;
    (void)cookie;
    (void)at;
    if (!index && !d->has_nowhere) {
        d->has_nowhere = true;
        r->text->len = 0;
        pd_write_varint(&r->writer, r->text, PD_LOCATION_ID, nowhere);
        pd_write_part(&r->writer, r->profile, PD_PROFILE_LOCATION, r->text);
    }
    put_number(r, index ? index : nowhere);
}

static void make_stack(pd_request_reading *r, pd_bytes message, size_t index)
{
    pd_reader stack = pd_request_reader(message);
    pd_field f;
    (void)index;
    while (pd_reader_next(&stack, &f))
        if (f.number == PD_OTLP_STACK_LOCATION_INDICES)
            pd_request_list(r, "stack_table.location_indices", &f, put_location, NULL);
    if (r->inner->len)
        pd_write_part(&r->writer, r->part, PD_SAMPLE_LOCATION_ID, r->inner);
}

static void make_attribute(pd_request_reading *r, pd_bytes message, size_t index)
{
    const pd_dictionary *d = r->dictionary;
    const pd_request_table *strings = &d->tables[PD_OTLP_DICTIONARY_STRING_TABLE];
    const pd_request_attribute *attribute = &d->attributes[index];
    (void)message;
    pd_any_value_label(r, attribute->key_at ? strings->entries[attribute->key_at] : (pd_bytes){0},
                       attribute->key, attribute->unit, attribute->value);
}

/* Of an id that is written twice, the last counts. */
static void make_link(pd_request_reading *r, pd_bytes message, size_t index)
{
    static const char *const names[] = {
        [PD_OTLP_LINK_TRACE_ID] = "trace_id", [PD_OTLP_LINK_SPAN_ID] = "span_id"};
    pd_bytes ids[PD_OTLP_LINK_SPAN_ID + 1] = {{NULL, 0}};
    pd_reader link = pd_request_reader(message);
    pd_field f;
    (void)index;
    while (pd_reader_next(&link, &f))
        if (f.number <= PD_OTLP_LINK_SPAN_ID)
            ids[f.number] = body_of(&f);
    for (size_t i = PD_OTLP_LINK_TRACE_ID; i <= PD_OTLP_LINK_SPAN_ID; i++)
        if (ids[i].len)
            pd_request_label_text(r, number_of(r, names[i]), pd_request_hex(r, ids[i]));
}

/* Appends what an entry of these tables becomes in a sample. */
static void add_piece(pd_request_reading *r, pd_buffer *to, unsigned table, size_t index)
{
    static void (*const makers[])(pd_request_reading * r, pd_bytes message, size_t index) = {
        [PD_OTLP_DICTIONARY_LINK_TABLE] = make_link,
        [PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE] = make_attribute,
        [PD_OTLP_DICTIONARY_STACK_TABLE] = make_stack};
    pd_dictionary *d = r->dictionary;
    if (!index || r->parse.status)
        return;
    pd_request_piece *piece = &d->tables[table].pieces[index];
    if (!piece->is_made) {
        makers[table](r, d->tables[table].entries[index], index);
        *piece = (pd_request_piece){d->pieces.len, r->part->len, true};
        pd_write_raw(&r->writer, &d->pieces, r->part->ptr, r->part->len);
        r->part->len = 0;
    }
    pd_request_spend(r, piece->len);
    if (piece->len && !r->parse.status && !r->writer.status)
        pd_write_raw(&r->writer, to, d->pieces.ptr + piece->off, piece->len);
}

/* ---- writing ------------------------------------------------------------------------------- */

static void add_attribute_labels(pd_request_reading *r, void *cookie, uint64_t index,
                                 const uint8_t *at)
{
    pd_request *o = cookie;
    (void)at;
    add_piece(r, &o->labels, PD_OTLP_DICTIONARY_ATTRIBUTE_TABLE, (size_t)index);
}

/* Makes what all rows of a sample have, and returns the index of its stack. What was checked is read
 * again, once for each sample. */
static size_t begin_rows(pd_request_reading *r, pd_request *o, pd_bytes message)
{
    pd_reader body = pd_request_reader(message);
    uint64_t stack = 0, link = 0;
    pd_field f;
    o->labels.len = 0;
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        if (f.number == PD_OTLP_SAMPLE_STACK_INDEX)
            stack = f.value;
        else if (f.number == PD_OTLP_SAMPLE_ATTRIBUTE_INDICES)
            pd_request_list(r, "samples.attribute_indices", &f, add_attribute_labels, o);
        else if (f.number == PD_OTLP_SAMPLE_LINK_INDEX)
            link = f.value;
    }
    add_piece(r, &o->labels, PD_OTLP_DICTIONARY_LINK_TABLE, (size_t)link);
    return (size_t)stack;
}

static void write_values(pd_request_reading *r, const int64_t *values, size_t len)
{
    for (size_t i = 0; i < len; i++)
        put_number(r, (uint64_t)values[i]);
    pd_write_part(&r->writer, r->part, PD_SAMPLE_VALUE, r->inner);
}

/* The rows of a sample follow each other. */
static void write_rows(pd_request_reading *r, pd_request *o)
{
    const uint8_t *last = NULL;
    size_t stack = 0;
    for (size_t i = 0; i < o->rows_len && !r->parse.status; i++) {
        const pd_request_row *row = &o->rows[i];
        if (row->sample.ptr != last)
            stack = begin_rows(r, o, row->sample);
        last = row->sample.ptr;
        pd_request_spend(r, o->labels.len + o->common.len);
        add_piece(r, r->part, PD_OTLP_DICTIONARY_STACK_TABLE, stack);
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

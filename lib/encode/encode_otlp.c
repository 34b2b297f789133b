/* A model as an OTLP request: see otlp.h. */
#include "encode/otlp.h"

#include "base/utf8.h"

/* ---- the dictionary ----------------------------------------------------------------------------- */

pd_otlp_entry pd_otlp_entry_begin(pd_otlp *o, uint32_t field)
{
    pd_buffer *table = &o->tables[field - 1];
    return (pd_otlp_entry){.field = field, .out = table, .from = table->len};
}

uint32_t pd_otlp_entry_end(pd_otlp *o, const pd_otlp_entry *e)
{
    bool is_new;
    if (o->writer.status || e->out->len == e->from)
        return 0;
    pd_key key = pd_key_of_bytes(e->out->ptr + e->from, e->out->len - e->from, 0);
    uint32_t index = pd_write_key(&o->writer, &o->contents[e->field - 1], key, &is_new) + 1;
    if (is_new)
        pd_write_wrap(&o->writer, e->out, e->from, e->field);
    else
        e->out->len = e->from;
    return index;
}

pd_bytes pd_otlp_text(pd_otlp *o, uint32_t string)
{
    pd_bytes text = pd_model_text_of(o->model, string);
    if (o->writer.status || pd_utf8_is_valid(text))
        return text;
    o->writer.status = pd_utf8_repair(text, o->writer.mem, &o->repaired, o->writer.err);
    return pd_buffer_bytes(&o->repaired);
}

static uint32_t add_text(pd_otlp *o, pd_bytes text)
{
    pd_otlp_entry e = pd_otlp_entry_begin(o, PD_OTLP_DICTIONARY_STRING_TABLE);
    pd_write_raw(&o->writer, e.out, text);
    return pd_otlp_entry_end(o, &e);
}

uint32_t pd_otlp_string(pd_otlp *o, uint32_t string)
{
    if (string && !o->strings[string])
        o->strings[string] = add_text(o, pd_otlp_text(o, string));
    return o->strings[string];
}

uint32_t pd_otlp_literal(pd_otlp *o, const char *text)
{
    return add_text(o, pd_bytes_of(text));
}

/* The name of the profile in UTF-8, as pd_otlp_text. */
static pd_bytes name_text(pd_otlp *o)
{
    if (o->writer.status || pd_utf8_is_valid(o->name))
        return o->name;
    o->writer.status = pd_utf8_repair(o->name, o->writer.mem, &o->repaired, o->writer.err);
    return pd_buffer_bytes(&o->repaired);
}

static uint32_t function_index(pd_otlp *o, uint64_t function)
{
    if (!function || o->functions[function])
        return o->functions[function];
    const pd_model_function *f = &o->model->functions[function - 1];
    pd_otlp_entry e = pd_otlp_entry_begin(o, PD_OTLP_DICTIONARY_FUNCTION_TABLE);
    uint32_t name = pd_otlp_string(o, f->name), system_name = pd_otlp_string(o, f->system_name);
    PD_WRITE_VARINTS(&o->writer, e.out, PD_OTLP_FUNCTION_NAME_STRINDEX, name, system_name,
                     pd_otlp_string(o, f->filename), (uint64_t)f->start_line);
    return o->functions[function] = pd_otlp_entry_end(o, &e);
}

const char *const pd_otlp_mapping_has[PD_OTLP_MAPPING_FLAGS] = {
    "pprof.mapping.has_functions", "pprof.mapping.has_filenames", "pprof.mapping.has_line_numbers",
    "pprof.mapping.has_inline_frames"};

/* Attributes that a request had for it are all that an entry has. */
static void put_attributes_of_mapping(pd_otlp *o, uint32_t mapping)
{
    const pd_model_mapping *m = &o->model->mappings[mapping - 1];
    if (pd_otlp_put_owned(o, &o->list, PD_OWNER_MAPPING, mapping))
        return;
    if (m->build_id) {
        const char *key = pd_otlp_build_id_key(pd_otlp_text(o, m->build_id));
        pd_write_element(&o->writer, &o->list, pd_otlp_text_attribute(o, key, m->build_id));
    }
    for (uint32_t bit = 0; bit < PD_OTLP_MAPPING_FLAGS; bit++)
        if (m->has >> bit & 1)
            pd_write_element(&o->writer, &o->list, pd_otlp_true(o, pd_otlp_mapping_has[bit]));
}

static uint32_t mapping_index(pd_otlp *o, uint32_t mapping)
{
    if (!mapping || o->mappings[mapping])
        return o->mappings[mapping];
    const pd_model_mapping *m = &o->model->mappings[mapping - 1];
    pd_otlp_entry e = pd_otlp_entry_begin(o, PD_OTLP_DICTIONARY_MAPPING_TABLE);
    put_attributes_of_mapping(o, mapping);
    PD_WRITE_VARINTS(&o->writer, e.out, PD_OTLP_MAPPING_MEMORY_START, m->start, m->limit,
                     m->file_offset, pd_otlp_string(o, m->filename));
    if (o->list.len)
        pd_write_part(&o->writer, e.out, PD_OTLP_MAPPING_ATTRIBUTE_INDICES, &o->list);
    return o->mappings[mapping] = pd_otlp_entry_end(o, &e);
}

static void put_lines(pd_otlp *o, pd_buffer *table, uint32_t location)
{
    const pd_model *m = o->model;
    for (size_t i = pd_model_lines_begin(m, location); i < m->locations[location - 1].lines_end;
         i++) {
        const pd_line *line = &m->lines[i];
        uint32_t function = function_index(o, line->function);
        size_t from = table->len;
        if (!function)
            continue;
        PD_WRITE_VARINTS(&o->writer, table, PD_LINE_FUNCTION_ID, function, (uint64_t)line->line,
                         (uint64_t)line->column);
        pd_write_wrap(&o->writer, table, from, PD_OTLP_LOCATION_LINES);
    }
}

static uint32_t add_location(pd_otlp *o, uint32_t location)
{
    const pd_model_location *l = &o->model->locations[location - 1];
    pd_writer *w = &o->writer;
    pd_otlp_entry e = pd_otlp_entry_begin(o, PD_OTLP_DICTIONARY_LOCATION_TABLE);
    PD_WRITE_VARINTS(w, e.out, PD_OTLP_LOCATION_MAPPING_INDEX, mapping_index(o, l->mapping),
                     l->address);
    put_lines(o, e.out, location);
    if (!pd_otlp_put_owned(o, &o->list, PD_OWNER_LOCATION, location) && l->is_folded)
        pd_write_element(w, &o->list, pd_otlp_true(o, "pprof.location.is_folded"));
    if (o->list.len)
        pd_write_part(w, e.out, PD_OTLP_LOCATION_ATTRIBUTE_INDICES, &o->list);
    return pd_otlp_entry_end(o, &e);
}

/* Every location has a user, unless a sample is left out, which has no value. */
static void add_locations(pd_otlp *o)
{
    o->is_same = !o->model->has_zeros;
    for (uint32_t id = 1; id <= o->model->location_keys.len && o->is_same && !o->writer.status;
         id++) {
        o->locations[id] = add_location(o, id);
        o->is_same = o->locations[id] == id;
    }
}

static uint32_t location_index(pd_otlp *o, uint32_t location)
{
    if (!o->locations[location])
        o->locations[location] = add_location(o, location);
    return o->locations[location];
}

/* ---- samples ------------------------------------------------------------------------------------ */

static uint32_t stack_index(pd_otlp *o, pd_bytes stack)
{
    pd_writer *w = &o->writer;
    pd_otlp_entry e = pd_otlp_entry_begin(o, PD_OTLP_DICTIONARY_STACK_TABLE);
    uint32_t location;
    if (!stack.len)
        return 0;
    if (o->is_same) {
        pd_write_bytes(w, e.out, PD_OTLP_STACK_LOCATION_INDICES, stack);
    } else {
        while (!w->status && pd_model_next_location(&stack, &location))
            pd_write_element(w, e.out, location_index(o, location));
        pd_write_wrap(w, e.out, e.from, PD_OTLP_STACK_LOCATION_INDICES);
    }
    return pd_otlp_entry_end(o, &e);
}

/* A Sample: `fields` is what it has before its value. */
static void put_value(pd_otlp *o, pd_buffer *samples, pd_bytes fields, int64_t value)
{
    size_t value_len = pd_varint_size((uint64_t)value), body = fields.len + 2 + value_len;
    uint8_t *p = pd_write_room(&o->writer, samples, body + 1 + PD_VARINT_MAX);
    if (!p)
        return;
    *p++ = PD_OTLP_PROFILE_SAMPLES << 3 | PD_WIRE_BYTES;
    p = pd_varint_encode(p, body);
    if (fields.ptr)
        memcpy(p, fields.ptr, fields.len);
    p += fields.len;
    *p++ = PD_OTLP_SAMPLE_VALUES << 3 | PD_WIRE_BYTES;
    *p++ = (uint8_t)value_len;
    pd_write_done(samples, pd_varint_encode(p, (uint64_t)value));
}

static void add_sample(pd_otlp *o, uint64_t number, const pd_model_sample *s)
{
    size_t types = o->model->types_len;
    pd_buffer *fields = &o->fields;
    if (!pd_model_has_value(s->values, types))
        return;
    pd_bytes labels = pd_otlp_labels(o, number, s->labels);
    uint32_t stack = stack_index(o, s->stack);
    fields->len = 0;
    pd_write_varint(&o->writer, fields, PD_OTLP_SAMPLE_STACK_INDEX, stack);
    pd_write_raw(&o->writer, fields, labels);
    for (size_t i = 0; i < types; i++)
        if (s->values[i])
            put_value(o, &o->samples[i], pd_buffer_bytes(fields), s->values[i]);
}

/* ---- profiles ----------------------------------------------------------------------------------- */

static bool is_plain(const pd_otlp *o)
{
    return o->format == PPROFDELTA_OTLP_PLAIN;
}

/* The time of an OTLP profile is the beginning of its window, that of a pprof profile is the end, where 0 is
 * not known. But receivers keep profiles by that time, and refuse one that is long ago; a window that had to wait
 * begins long ago and ends now. So the end is written, unless the format is plain. A window that begins before 1970
 * is cut there. One that begins in 1970 has its time, too, although it is 0: without the field, it is not known. */
static void put_times(pd_otlp *o, const pd_model_header *h)
{
    uint64_t time = h->time_nanos > 0 ? (uint64_t)h->time_nanos : 0;
    uint64_t duration = h->duration_nanos > 0 ? (uint64_t)h->duration_nanos : 0;
    if (time && duration > time)
        duration = time;
    if (time)
        pd_write_fixed64(&o->writer, &o->common, PD_OTLP_PROFILE_TIME_UNIX_NANO,
                         is_plain(o) ? time - duration : time);
    pd_write_varint(&o->writer, &o->common, PD_OTLP_PROFILE_DURATION_NANO, duration);
}

/* type is the index of a string, and unit is a string of the model. */
static void put_value_type(pd_otlp *o, pd_buffer *to, uint32_t field, uint32_t type, uint32_t unit)
{
    size_t from = to->len;
    PD_WRITE_VARINTS(&o->writer, to, PD_VALUE_TYPE_TYPE, type, pd_otlp_string(o, unit));
    pd_write_wrap(&o->writer, to, from, field);
}

/* Does the format name the period type for the profile, which it must have then, and a period? */
static bool names_period(const pd_otlp *o, const pd_model_header *h)
{
    return o->format == PPROFDELTA_OTLP || (!is_plain(o) && !h->has_period_type);
}

static int64_t written_period(const pd_otlp *o, const pd_model_header *h)
{
    return is_plain(o) || h->period > 0 ? h->period : names_period(o, h);
}

static void put_period(pd_otlp *o, const pd_model_header *h)
{
    bool is_named = names_period(o, h);
    uint32_t type = is_named ? add_text(o, name_text(o)) : pd_otlp_string(o, h->period_type);
    if (is_named || h->has_period_type)
        put_value_type(o, &o->common, PD_OTLP_PROFILE_PERIOD_TYPE, type,
                       h->has_period_type ? h->period_unit : o->model->types[0].unit);
    pd_write_varint(&o->writer, &o->common, PD_OTLP_PROFILE_PERIOD, (uint64_t)written_period(o, h));
}

/* The attribute of all comments: an array, in their order. */
static uint32_t comment_attribute(pd_otlp *o)
{
    pd_writer *w = &o->writer;
    pd_otlp_entry a = pd_otlp_attribute_begin(o, pd_otlp_literal(o, "pprof.profile.comment"));
    for (size_t i = 0; i < o->model->comments_len; i++) {
        size_t element = a.out->len;
        pd_otlp_put_text(w, a.out, pd_otlp_text(o, o->model->comments[i]));
        pd_write_wrap(w, a.out, element, PD_OTLP_ARRAY_VALUE_VALUES);
    }
    pd_write_wrap(w, a.out, a.value, PD_OTLP_ANY_VALUE_ARRAY_VALUE);
    return pd_otlp_attribute_end(o, &a, 0);
}

static void put_common(pd_otlp *o, const pd_model_header *h)
{
    const struct {
        const char *key;
        uint32_t string;
    } texts[] = {{"pprof.profile.drop_frames", h->drop_frames},
                 {"pprof.profile.keep_frames", h->keep_frames},
                 {"pprof.profile.doc_url", h->doc_url}};
    pd_writer *w = &o->writer;
    put_times(o, h);
    put_period(o, h);
    if (o->model->comments_len)
        pd_write_element(w, &o->common_list, comment_attribute(o));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].string)
            pd_write_element(w, &o->common_list,
                             pd_otlp_text_attribute(o, texts[i].key, texts[i].string));
}

/* Adds the key of a text or a buffer to *key. */
static void add_key(pd_key *key, const uint8_t *ptr, size_t len)
{
    pd_key part = pd_key_of_bytes(ptr, len, 0);
    uint64_t words[] = {key->lo, key->hi, part.lo, part.hi};
    *key = pd_key_of_words(words, 4, 0);
}

/* The hash of everything but the resource, the scope and what is made of the hash. */
static pd_key content_key(const pd_otlp *o)
{
    pd_key key = {0, 0};
    add_key(&key, o->common.ptr, o->common.len);
    add_key(&key, o->common_list.ptr, o->common_list.len);
    for (size_t i = 0; i < PD_OTLP_TABLES; i++)
        add_key(&key, o->tables[i].ptr, o->tables[i].len);
    for (size_t i = 0; i < o->model->types_len; i++)
        add_key(&key, o->samples[i].ptr, o->samples[i].len);
    return key;
}

/* How many types before this one have its name and unit. */
static size_t count_namesakes(const pd_model *m, size_t type)
{
    size_t found = 0;
    for (size_t i = 0; i < type; i++)
        found += m->types[i].type == m->types[type].type && m->types[i].unit == m->types[type].unit;
    return found;
}

static void put_profile_id(pd_otlp *o, pd_buffer *out, size_t type, pd_key series,
                           uint64_t sequence, pd_bytes resource)
{
    const pd_model_type *t = &o->model->types[type];
    pd_key key = series;
    add_key(&key, resource.ptr, resource.len);
    pd_bytes text = pd_otlp_text(o, t->type);
    add_key(&key, text.ptr, text.len);
    text = pd_otlp_text(o, t->unit);
    add_key(&key, text.ptr, text.len);
    uint64_t words[] = {key.lo, key.hi, sequence, count_namesakes(o->model, type)};
    key = pd_key_of_words(words, 4, 0);
    if (!(key.lo | key.hi)) /* which is invalid */
        key.lo = 1;
    uint64_t id[] = {pd_le64(key.lo), pd_le64(key.hi)};
    pd_write_bytes(&o->writer, out, PD_OTLP_PROFILE_PROFILE_ID,
                   (pd_bytes){(const uint8_t *)id, sizeof id});
}

/* ---- the request -------------------------------------------------------------------------------- */

static void put_optional(pd_otlp *o, pd_buffer *out, uint32_t field, pd_bytes content)
{
    if (content.len)
        pd_write_bytes(&o->writer, out, field, content);
}

/* A member whose value is a number, or `true`. */
static void put_member(pd_otlp *o, pd_buffer *out, const char *key, uint32_t kind, int64_t number)
{
    pd_otlp_pair member = pd_otlp_pair_begin(&o->writer, out, pd_bytes_of(key));
    pd_write_varint_always(&o->writer, out, kind, (uint64_t)number);
    pd_otlp_pair_end(&o->writer, out, member, PD_OTLP_KEY_VALUE_LIST_VALUES);
}

/* A member whose value is an array of strings: names and units. */
static void put_types(pd_otlp *o, pd_buffer *out, const char *key, const pd_model_type *types,
                      size_t len)
{
    pd_writer *w = &o->writer;
    pd_otlp_pair member = pd_otlp_pair_begin(w, out, pd_bytes_of(key));
    for (size_t i = 0; i < 2 * len; i++) {
        size_t element = out->len;
        pd_otlp_put_text(w, out, pd_otlp_text(o, i % 2 ? types[i / 2].unit : types[i / 2].type));
        pd_write_wrap(w, out, element, PD_OTLP_ARRAY_VALUE_VALUES);
    }
    pd_write_wrap(w, out, member.value, PD_OTLP_ANY_VALUE_ARRAY_VALUE);
    pd_otlp_pair_end(w, out, member, PD_OTLP_KEY_VALUE_LIST_VALUES);
}

/* Which of the types have a Profile. */
static void put_columns(pd_otlp *o, pd_buffer *out)
{
    const pd_model *m = o->model;
    pd_writer *w = &o->writer;
    pd_otlp_pair member = pd_otlp_pair_begin(w, out, pd_bytes_of("columns"));
    for (size_t i = 0; i < m->types_len; i++) {
        size_t element = out->len;
        if (!o->samples[i].len)
            continue;
        pd_otlp_put_number(w, out, (int64_t)i);
        pd_write_wrap(w, out, element, PD_OTLP_ARRAY_VALUE_VALUES);
    }
    pd_write_wrap(w, out, member.value, PD_OTLP_ANY_VALUE_ARRAY_VALUE);
    pd_otlp_pair_end(w, out, member, PD_OTLP_KEY_VALUE_LIST_VALUES);
}

/* What a reader needs to have the profile again: see otlp.h. */
static void put_members(pd_otlp *o, pd_buffer *out, const pd_model_header *h)
{
    const pd_model_type period = {h->period_type, h->period_unit};
    bool lacks_type = false;
    for (size_t i = 0; i < o->model->types_len; i++)
        lacks_type |= !o->samples[i].len;
    if (!is_plain(o) && h->time_nanos > 0)
        put_member(o, out, "time_is_end", PD_OTLP_ANY_VALUE_BOOL_VALUE, 1);
    if (names_period(o, h))
        put_types(o, out, "period_type", &period, h->has_period_type);
    if (written_period(o, h) != h->period)
        put_member(o, out, "period", PD_OTLP_ANY_VALUE_INT_VALUE, h->period);
    if (h->default_sample_type && !is_plain(o))
        pd_otlp_put_pair(&o->writer, out, PD_OTLP_KEY_VALUE_LIST_VALUES,
                         pd_bytes_of("default_sample_type"),
                         pd_otlp_text(o, h->default_sample_type));
    if (lacks_type) {
        put_types(o, out, "types", o->model->types, o->model->types_len);
        put_columns(o, out);
    }
}

/* The scope, with what pprof has for all value types together. */
static void put_scope(pd_otlp *o, pd_buffer *out, const pd_model_header *h)
{
    const pd_encode_attributes *attributes = o->attributes;
    pd_writer *w = &o->writer;
    size_t from = out->len;
    if (attributes && !attributes->has_scope && is_plain(o)) /* Parca needs one */
        return;
    if (attributes) {
        pd_write_raw(w, out, attributes->scope);
    } else {
        pd_write_bytes(w, out, PD_OTLP_SCOPE_NAME,
                       is_plain(o) ? pd_bytes_of("pprofdelta") : name_text(o));
        pd_write_bytes(w, out, PD_OTLP_SCOPE_VERSION, pd_bytes_of(PPROFDELTA_VERSION));
    }
    if (is_plain(o) && h->default_sample_type)
        pd_otlp_put_pair(w, out, PD_OTLP_SCOPE_ATTRIBUTES,
                         pd_bytes_of("pprof.scope.default_sample_type"),
                         pd_otlp_text(o, h->default_sample_type));
    pd_otlp_pair own = pd_otlp_pair_begin(w, out, pd_bytes_of("pprofdelta"));
    put_members(o, out, h);
    if (out->len == own.value) {
        out->len = own.from;
    } else {
        pd_write_wrap(w, out, own.value, PD_OTLP_ANY_VALUE_KVLIST_VALUE);
        pd_otlp_pair_end(w, out, own, PD_OTLP_SCOPE_ATTRIBUTES);
    }
    pd_write_wrap(w, out, from, PD_OTLP_SCOPE_PROFILES_SCOPE);
}

static void put_profile(pd_otlp *o, pd_buffer *out, size_t type, pd_key series, uint64_t sequence,
                        pd_bytes resource)
{
    const pd_model_type *t = &o->model->types[type];
    pd_writer *w = &o->writer;
    size_t from = out->len;
    if (!o->samples[type].len)
        return;
    put_value_type(o, out, PD_OTLP_PROFILE_SAMPLE_TYPE, pd_otlp_string(o, t->type), t->unit);
    pd_write_raw(w, out, pd_buffer_bytes(&o->common));
    pd_write_raw(w, &o->list, pd_buffer_bytes(&o->common_list));
    pd_otlp_put_owned(o, &o->list, PD_OWNER_TYPE, type + 1);
    if (o->list.len)
        pd_write_part(w, out, PD_OTLP_PROFILE_ATTRIBUTE_INDICES, &o->list);
    put_profile_id(o, out, type, series, sequence, resource);
    pd_write_raw(w, out, pd_buffer_bytes(&o->samples[type]));
    pd_buffer_release(w->mem, &o->samples[type]);
    pd_write_wrap(w, out, from, PD_OTLP_SCOPE_PROFILES_PROFILES);
}

/* Puts all together. */
static void join_request(pd_otlp *o, const pd_model_header *h, pd_bytes resource, pd_buffer *out)
{
    static const pd_encode_attributes none = {.has_scope = true};
    const pd_encode_attributes *attributes = o->attributes ? o->attributes : &none;
    pd_key series = h->series ? (pd_key){h->series, 0} : content_key(o);
    pd_writer *w = &o->writer;
    pd_write_bytes(w, out, PD_OTLP_RESOURCE_PROFILES_RESOURCE, resource); /* Parca needs one */
    size_t from = out->len;
    put_scope(o, out, h);
    for (size_t i = 0; i < o->model->types_len && !w->status; i++)
        put_profile(o, out, i, series, h->sequence, resource);
    put_optional(o, out, PD_OTLP_SCOPE_PROFILES_SCHEMA_URL, attributes->scope_url);
    pd_write_wrap(w, out, from, PD_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES);
    put_optional(o, out, PD_OTLP_RESOURCE_PROFILES_SCHEMA_URL, attributes->resource_url);
    pd_write_wrap(w, out, 0, PD_OTLP_REQUEST_RESOURCE_PROFILES);
    from = out->len;
    for (size_t i = 0; i < PD_OTLP_TABLES; i++)
        pd_write_raw(w, out, pd_buffer_bytes(&o->tables[i]));
    pd_write_wrap(w, out, from, PD_OTLP_REQUEST_DICTIONARY);
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static void begin_otlp(pd_otlp *o, const pd_model *m)
{
    const size_t lens[] = {m->string_keys.len, m->function_keys.len, m->mappings_len,
                           m->location_keys.len};
    pd_writer *w = &o->writer;
    for (uint32_t i = 0; i < PD_OTLP_TABLES; i++) /* entry 0 is the zero value */
        pd_write_bytes(w, &o->tables[i], i + 1, (pd_bytes){NULL, 0});
    for (size_t i = 0; i < sizeof lens / sizeof *lens && !w->status; i++) {
        w->status = PD_RESERVE(w->mem, o->ids[i], lens[i] + 1, w->err);
        if (!w->status)
            memset(o->ids[i], 0, (lens[i] + 1) * sizeof *o->ids[i]);
    }
}

pprofdelta_status pd_encode_otlp(pd_encoder *e, const pd_model *m, const pd_model_header *h)
{
    pd_otlp o = {.model = m, .attributes = e->attributes, .format = e->format};
    pd_bytes resource = e->attributes ? e->attributes->resource : e->resource;
    pd_model_sample sample;
    uint64_t number = 0;
    pd_mem work; /* all but e->out is gone at the end */
    pd_mem_part(&work, m->writer.mem);
    o.writer = m->writer;
    o.writer.mem = &work;
    o.name = pd_otlp_name(m, resource);
    begin_otlp(&o, m);
    if (!o.writer.status)
        add_locations(&o);
    for (size_t at = m->samples_off; !o.writer.status && pd_model_next_sample(m, &at, &sample);)
        add_sample(&o, ++number, &sample);
    if (!o.writer.status)
        put_common(&o, h);
    bool has_samples = false;
    for (size_t i = 0; i < m->types_len && !o.writer.status; i++) {
        if (!o.samples[i].len)
            continue;
        has_samples = true;
        pd_otlp_string(&o, m->types[i].type); /* all strings are there before they are hashed */
        pd_otlp_string(&o, m->types[i].unit);
    }
    e->out.len = 0;
    pd_mem_pass(m->writer.mem, &work, e->out.ptr);
    if (!o.writer.status && has_samples)
        join_request(&o, h, resource, &e->out);
    pd_mem_pass(&work, m->writer.mem, e->out.ptr);
    e->strings = o.contents[PD_OTLP_DICTIONARY_STRING_TABLE - 1].len + 1;
    pd_mem_drop(&work);
    return o.writer.status;
}

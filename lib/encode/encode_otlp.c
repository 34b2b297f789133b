/* A model as an OTLP request: see otlp.h. */
#include "encode/otlp.h"

#include "base/utf8.h"

/* ---- the dictionary ----------------------------------------------------------------------------- */

uint32_t pd_otlp_entry(pd_otlp *o, uint32_t field, pd_bytes content, pd_key key)
{
    bool is_new;
    if (!content.len)
        return 0;
    uint32_t index = pd_write_key(&o->writer, &o->contents[field - 1], key, &is_new) + 1;
    if (is_new)
        pd_write_bytes(&o->writer, &o->tables[field - 1], field, content.ptr, content.len);
    return index;
}

uint32_t pd_otlp_entry_made(pd_otlp *o, uint32_t field)
{
    pd_bytes content = {o->content.ptr, o->content.len};
    o->content.len = 0;
    if (!content.ptr || o->writer.status)
        return 0;
    return pd_otlp_entry(o, field, content, pd_key_of_bytes(content.ptr, content.len, 0));
}

pd_bytes pd_otlp_text(pd_otlp *o, uint32_t string)
{
    pd_bytes text = pd_model_text_of(o->model, string);
    if (o->writer.status || pd_utf8_is_valid(text))
        return text;
    o->writer.status = pd_utf8_repair(text, o->writer.mem, &o->repaired, o->writer.err);
    return (pd_bytes){o->repaired.ptr, o->repaired.len};
}

static uint32_t add_text(pd_otlp *o, pd_bytes text)
{
    if (!text.ptr || o->writer.status)
        return 0;
    return pd_otlp_entry(o, PD_OTLP_DICTIONARY_STRING_TABLE, text,
                         pd_key_of_bytes(text.ptr, text.len, 0));
}

uint32_t pd_otlp_string(pd_otlp *o, uint32_t string)
{
    if (string && !o->strings[string])
        o->strings[string] = add_text(o, pd_otlp_text(o, string));
    return string ? o->strings[string] : 0;
}

uint32_t pd_otlp_literal(pd_otlp *o, const char *text)
{
    return add_text(o, pd_bytes_of(text));
}

/* The name of the profile, which may be a string of the model. */
static pd_bytes name_of(pd_otlp *o)
{
    if (o->writer.status || pd_utf8_is_valid(o->name))
        return o->name;
    o->writer.status = pd_utf8_repair(o->name, o->writer.mem, &o->repaired, o->writer.err);
    return (pd_bytes){o->repaired.ptr, o->repaired.len};
}

static uint32_t function_index(pd_otlp *o, uint32_t function)
{
    if (!function || o->functions[function])
        return function ? o->functions[function] : 0;
    const pd_model_function *f = &o->model->functions[function - 1];
    uint32_t name = pd_otlp_string(o, f->name), system_name = pd_otlp_string(o, f->system_name);
    PD_WRITE_VARINTS(&o->writer, &o->content, PD_OTLP_FUNCTION_NAME_STRINDEX, name, system_name,
                     pd_otlp_string(o, f->filename), (uint64_t)f->start_line);
    return o->functions[function] = pd_otlp_entry_made(o, PD_OTLP_DICTIONARY_FUNCTION_TABLE);
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
        return mapping ? o->mappings[mapping] : 0;
    const pd_model_mapping *m = &o->model->mappings[mapping - 1];
    put_attributes_of_mapping(o, mapping);
    PD_WRITE_VARINTS(&o->writer, &o->content, PD_OTLP_MAPPING_MEMORY_START, m->start, m->limit,
                     m->file_offset, pd_otlp_string(o, m->filename));
    if (o->list.len)
        pd_write_part(&o->writer, &o->content, PD_OTLP_MAPPING_ATTRIBUTE_INDICES, &o->list);
    return o->mappings[mapping] = pd_otlp_entry_made(o, PD_OTLP_DICTIONARY_MAPPING_TABLE);
}

static void put_lines(pd_otlp *o, uint32_t location)
{
    const pd_model *m = o->model;
    for (size_t i = pd_model_lines_begin(m, location); i < m->locations[location - 1].lines_end;
         i++) {
        const pd_model_line *line = &m->lines[i];
        uint32_t function = function_index(o, line->function);
        if (!function)
            continue;
        PD_WRITE_VARINTS(&o->writer, &o->message, PD_LINE_FUNCTION_ID, function,
                         (uint64_t)line->line, (uint64_t)line->column);
        pd_write_part(&o->writer, &o->head, PD_OTLP_LOCATION_LINES, &o->message);
    }
}

static uint32_t add_location(pd_otlp *o, uint32_t location)
{
    const pd_model_location *l = &o->model->locations[location - 1];
    pd_writer *w = &o->writer;
    uint32_t mapping = mapping_index(o, l->mapping);
    put_lines(o, location);
    if (!pd_otlp_put_owned(o, &o->list, PD_OWNER_LOCATION, location) && l->is_folded)
        pd_write_element(w, &o->list, pd_otlp_true(o, "pprof.location.is_folded"));
    PD_WRITE_VARINTS(w, &o->content, PD_OTLP_LOCATION_MAPPING_INDEX, mapping, l->address);
    pd_write_raw(w, &o->content, o->head.ptr, o->head.len);
    o->head.len = 0;
    if (o->list.len)
        pd_write_part(w, &o->content, PD_OTLP_LOCATION_ATTRIBUTE_INDICES, &o->list);
    return pd_otlp_entry_made(o, PD_OTLP_DICTIONARY_LOCATION_TABLE);
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
    uint32_t location;
    if (!stack.len)
        return 0;
    if (!o->is_same) {
        o->stack.len = 0;
        while (!o->writer.status && pd_model_next_location(&stack, &location))
            pd_write_element(&o->writer, &o->stack, location_index(o, location));
        stack = (pd_bytes){o->stack.ptr, o->stack.len};
    }
    pd_write_bytes(&o->writer, &o->content, PD_OTLP_STACK_LOCATION_INDICES, stack.ptr, stack.len);
    return pd_otlp_entry_made(o, PD_OTLP_DICTIONARY_STACK_TABLE);
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
    pd_buffer *fields = &o->message;
    if (!pd_model_has_value(s->values, types))
        return;
    pd_bytes labels = pd_otlp_labels(o, number, s->labels);
    uint32_t stack = stack_index(o, s->stack);
    fields->len = 0;
    pd_write_varint(&o->writer, fields, PD_OTLP_SAMPLE_STACK_INDEX, stack);
    pd_write_raw(&o->writer, fields, labels.ptr, labels.len);
    for (size_t i = 0; i < types; i++)
        if (s->values[i])
            put_value(o, &o->samples[i], (pd_bytes){fields->ptr, fields->len}, s->values[i]);
    fields->len = 0;
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
    PD_WRITE_VARINTS(&o->writer, &o->message, PD_VALUE_TYPE_TYPE, type, pd_otlp_string(o, unit));
    pd_write_part(&o->writer, to, field, &o->message);
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
    uint32_t unit = h->has_period_type ? h->period_unit : o->model->types[0].unit;
    if (names_period(o, h))
        put_value_type(o, &o->common, PD_OTLP_PROFILE_PERIOD_TYPE, add_text(o, name_of(o)),
                       unit);
    else if (h->has_period_type)
        put_value_type(o, &o->common, PD_OTLP_PROFILE_PERIOD_TYPE,
                       pd_otlp_string(o, h->period_type), unit);
    pd_write_varint(&o->writer, &o->common, PD_OTLP_PROFILE_PERIOD,
                    (uint64_t)written_period(o, h));
}

/* The attribute of all comments: an array, in their order. */
static uint32_t comment_attribute(pd_otlp *o)
{
    pd_writer *w = &o->writer;
    for (size_t i = 0; i < o->model->comments_len; i++) {
        pd_otlp_put_text(w, &o->value, pd_otlp_text(o, o->model->comments[i]));
        pd_write_part(w, &o->list, PD_OTLP_ARRAY_VALUE_VALUES, &o->value);
    }
    pd_write_part(w, &o->value, PD_OTLP_ANY_VALUE_ARRAY_VALUE, &o->list);
    return pd_otlp_attribute(o, pd_otlp_literal(o, "pprof.profile.comment"), 0);
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

static void put_profile_id(pd_otlp *o, size_t type, pd_key series, uint64_t sequence,
                           pd_bytes resource)
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
    pd_write_bytes(&o->writer, &o->head, PD_OTLP_PROFILE_PROFILE_ID, (const uint8_t *)id,
                   sizeof id);
}

/* ---- the request -------------------------------------------------------------------------------- */

/* The tag and the length of a field, whose content comes behind it, and their size. */
static void put_intro(pd_otlp *o, pd_buffer *out, uint32_t field, size_t len)
{
    pd_write_element(&o->writer, out, field << 3 | PD_WIRE_BYTES);
    pd_write_element(&o->writer, out, len);
}

static size_t field_size(size_t len)
{
    return 1 + pd_varint_size(len) + len;
}

static void put_optional(pd_otlp *o, pd_buffer *out, uint32_t field, pd_bytes content)
{
    if (content.len)
        pd_write_bytes(&o->writer, out, field, content.ptr, content.len);
}

static size_t optional_size(pd_bytes content)
{
    return content.len ? field_size(content.len) : 0;
}

/* Adds a string to the array that is being made in o->list, and ends the array, which is in o->value then. */
static void add_element(pd_otlp *o, uint32_t string)
{
    pd_otlp_put_text(&o->writer, &o->value, pd_otlp_text(o, string));
    pd_write_part(&o->writer, &o->list, PD_OTLP_ARRAY_VALUE_VALUES, &o->value);
}

static void end_array(pd_otlp *o)
{
    pd_write_part(&o->writer, &o->value, PD_OTLP_ANY_VALUE_ARRAY_VALUE, &o->list);
}

/* Adds what is in o->value to the list, a KeyValueList. */
static void add_member(pd_otlp *o, pd_buffer *list, const char *key)
{
    pd_otlp_put_pair(&o->writer, list, PD_OTLP_KEY_VALUE_LIST_VALUES, pd_bytes_of(key), &o->value,
                     &o->message);
}

static bool lacks_type(const pd_otlp *o)
{
    bool lacks = false;
    for (size_t i = 0; i < o->model->types_len; i++)
        lacks |= !o->samples[i].len;
    return lacks;
}

/* What a reader needs to have the profile again: see otlp.h. */
static void make_members(pd_otlp *o, const pd_model_header *h, pd_buffer *list)
{
    pd_writer *w = &o->writer;
    if (!is_plain(o) && h->time_nanos > 0) {
        pd_write_varint_always(w, &o->value, PD_OTLP_ANY_VALUE_BOOL_VALUE, 1);
        add_member(o, list, "time_is_end");
    }
    if (names_period(o, h)) {
        if (h->has_period_type) {
            add_element(o, h->period_type);
            add_element(o, h->period_unit);
        }
        end_array(o);
        add_member(o, list, "period_type");
    }
    if (written_period(o, h) != h->period) {
        pd_otlp_put_number(w, &o->value, h->period);
        add_member(o, list, "period");
    }
    if (h->default_sample_type && !is_plain(o)) {
        pd_otlp_put_text(w, &o->value, pd_otlp_text(o, h->default_sample_type));
        add_member(o, list, "default_sample_type");
    }
    if (lacks_type(o)) {
        for (size_t i = 0; i < o->model->types_len; i++) {
            add_element(o, o->model->types[i].type);
            add_element(o, o->model->types[i].unit);
        }
        end_array(o);
        add_member(o, list, "types");
        for (size_t i = 0; i < o->model->types_len; i++) {
            if (!o->samples[i].len)
                continue;
            pd_otlp_put_number(w, &o->value, (int64_t)i);
            pd_write_part(w, &o->list, PD_OTLP_ARRAY_VALUE_VALUES, &o->value);
        }
        end_array(o);
        add_member(o, list, "columns");
    }
}

/* The content of the scope, with what pprof has for all value types together, in o->content. */
static void make_scope(pd_otlp *o, const pd_model_header *h)
{
    const pd_encode_origin *origin = o->origin;
    pd_writer *w = &o->writer;
    pd_buffer list = {NULL, 0, 0};
    pd_bytes name = is_plain(o) ? pd_bytes_of("pprofdelta") : name_of(o),
             version = pd_bytes_of(PPROFDELTA_VERSION);
    if (origin) {
        pd_write_raw(w, &o->content, origin->scope.ptr, origin->scope.len);
    } else {
        pd_write_bytes(w, &o->content, PD_OTLP_SCOPE_NAME, name.ptr, name.len);
        pd_write_bytes(w, &o->content, PD_OTLP_SCOPE_VERSION, version.ptr, version.len);
    }
    if (is_plain(o) && h->default_sample_type) {
        pd_otlp_put_text(w, &o->value, pd_otlp_text(o, h->default_sample_type));
        pd_otlp_put_pair(w, &o->content, PD_OTLP_SCOPE_ATTRIBUTES,
                         pd_bytes_of("pprof.scope.default_sample_type"), &o->value, &o->message);
    }
    make_members(o, h, &list);
    if (list.len) {
        pd_write_part(w, &o->value, PD_OTLP_ANY_VALUE_KVLIST_VALUE, &list);
        pd_otlp_put_pair(w, &o->content, PD_OTLP_SCOPE_ATTRIBUTES, pd_bytes_of("pprofdelta"),
                         &o->value, &o->message);
    }
    pd_buffer_release(w->mem, &list);
}

/* The Profiles without their samples, one after the other in o->head, and where each ends, which is where it begins if
 * it has no samples. Returns the size of the fields with all of them. */
static size_t make_profiles(pd_otlp *o, const pd_model_header *h, pd_bytes resource, size_t *ends)
{
    pd_key series = h->series ? (pd_key){h->series, 0} : content_key(o);
    size_t size = 0;
    for (size_t i = 0; i < o->model->types_len; i++) {
        size_t begin = o->head.len;
        const pd_model_type *type = &o->model->types[i];
        ends[i] = begin;
        if (!o->samples[i].len)
            continue;
        put_value_type(o, &o->head, PD_OTLP_PROFILE_SAMPLE_TYPE, pd_otlp_string(o, type->type),
                       type->unit);
        pd_write_raw(&o->writer, &o->head, o->common.ptr, o->common.len);
        pd_write_raw(&o->writer, &o->list, o->common_list.ptr, o->common_list.len);
        pd_otlp_put_owned(o, &o->list, PD_OWNER_TYPE, i + 1);
        if (o->list.len)
            pd_write_part(&o->writer, &o->head, PD_OTLP_PROFILE_ATTRIBUTE_INDICES, &o->list);
        put_profile_id(o, i, series, h->sequence, resource);
        ends[i] = o->head.len;
        size += field_size(ends[i] - begin + o->samples[i].len);
    }
    return size;
}

/* The length of what is inside a field stands before it. */
static void join(pd_otlp *o, const pd_model_header *h, pd_bytes resource, pd_buffer *out)
{
    static const pd_encode_origin none = {.has_scope = true};
    const pd_encode_origin *origin = o->origin ? o->origin : &none;
    bool has_scope = origin->has_scope || !is_plain(o); /* Parca needs both */
    pd_writer *w = &o->writer;
    size_t ends[PPROFDELTA_MAX_TYPES] = {0}, at = 0, dictionary = 0;
    size_t profiles = make_profiles(o, h, resource, ends) + optional_size(origin->scope_url);
    make_scope(o, h);
    profiles += has_scope ? field_size(o->content.len) : 0;
    put_intro(o, out, PD_OTLP_REQUEST_RESOURCE_PROFILES,
              field_size(resource.len) + field_size(profiles) + optional_size(origin->resource_url));
    pd_write_bytes(w, out, PD_OTLP_RESOURCE_PROFILES_RESOURCE, resource.ptr, resource.len);
    put_intro(o, out, PD_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES, profiles);
    if (has_scope)
        pd_write_part(w, out, PD_OTLP_SCOPE_PROFILES_SCOPE, &o->content);
    for (size_t i = 0; i < o->model->types_len && !w->status; at = ends[i++]) {
        if (ends[i] == at)
            continue;
        put_intro(o, out, PD_OTLP_SCOPE_PROFILES_PROFILES, ends[i] - at + o->samples[i].len);
        pd_write_raw(w, out, o->head.ptr + at, ends[i] - at);
        pd_write_raw(w, out, o->samples[i].ptr, o->samples[i].len);
        pd_buffer_release(w->mem, &o->samples[i]);
    }
    put_optional(o, out, PD_OTLP_SCOPE_PROFILES_SCHEMA_URL, origin->scope_url);
    put_optional(o, out, PD_OTLP_RESOURCE_PROFILES_SCHEMA_URL, origin->resource_url);
    for (size_t i = 0; i < PD_OTLP_TABLES; i++)
        dictionary += o->tables[i].len;
    put_intro(o, out, PD_OTLP_REQUEST_DICTIONARY, dictionary);
    for (size_t i = 0; i < PD_OTLP_TABLES; i++)
        pd_write_raw(w, out, o->tables[i].ptr, o->tables[i].len);
}

/* ---- the whole ---------------------------------------------------------------------------------- */

/* Makes the list of indices by id, all 0. */
static void clear_indices(pd_otlp *o, uint32_t **list, size_t *cap, size_t len)
{
    pd_writer *w = &o->writer;
    if (!w->status)
        w->status = pd_mem_reserve(w->mem, list, cap, len + 1, sizeof **list, w->err);
    if (!w->status)
        memset(*list, 0, (len + 1) * sizeof **list);
}

static void begin(pd_otlp *o, const pd_model *m)
{
    for (uint32_t i = 0; i < PD_OTLP_TABLES; i++) /* entry 0 is the zero value */
        pd_write_bytes(&o->writer, &o->tables[i], i + 1, NULL, 0);
    clear_indices(o, &o->strings, &o->strings_cap, m->string_keys.len);
    clear_indices(o, &o->functions, &o->functions_cap, m->function_keys.len);
    clear_indices(o, &o->mappings, &o->mappings_cap, m->mappings_len);
    clear_indices(o, &o->locations, &o->locations_cap, m->location_keys.len);
}

static void release(pd_otlp *o, pd_mem *mem)
{
    for (size_t i = 0; i < sizeof o->buffers / sizeof *o->buffers; i++)
        pd_buffer_release(mem, &o->buffers[i]);
    for (size_t i = 0; i < sizeof o->keys / sizeof *o->keys; i++)
        pd_keymap_release(&o->keys[i], mem);
    PD_RELEASE(mem, o->strings);
    PD_RELEASE(mem, o->functions);
    PD_RELEASE(mem, o->mappings);
    PD_RELEASE(mem, o->locations);
    PD_RELEASE(mem, o->set_list);
    PD_RELEASE(mem, o->picks);
}

pprofdelta_status pd_encode_otlp(pd_encoder *e, const pd_model *m, const pd_model_header *h)
{
    pd_otlp o = {.model = m, .origin = e->origin, .format = e->format};
    pd_bytes resource = e->origin ? e->origin->resource : e->resource;
    pd_model_sample sample;
    uint64_t number = 0;
    o.writer = m->writer;
    o.name = pd_otlp_name(m, resource);
    begin(&o, m);
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
    if (!o.writer.status && has_samples)
        join(&o, h, resource, &e->out);
    e->strings = o.contents[PD_OTLP_DICTIONARY_STRING_TABLE - 1].len + 1;
    release(&o, m->writer.mem);
    return o.writer.status;
}

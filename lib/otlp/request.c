#include "otlp/request.h"

#include "otlp/any_value.h"

#include <stddef.h>

/* ---- rows ------------------------------------------------------------------------------------ */

static const pd_field_row request_fields[] = {
    [1] = {PD_FIELD_PART, 0, "resource_profiles"},
    [2] = {PD_FIELD_PART, 0, "dictionary"},
};

/* Strings that are only checked. */
typedef struct resource_message {
    pd_bytes schema_url;
    uint64_t dropped;
} resource_message;

static const pd_field_row resource_profiles_fields[] = {
    [1] = {PD_FIELD_PART, 0, "resource"},
    [2] = {PD_FIELD_PART, 0, "scope_profiles"},
    [3] = {PD_REQUEST_TEXT, offsetof(resource_message, schema_url), "resource_profiles.schema_url"},
};

static const pd_field_row resource_fields[] = {
    [1] = {PD_FIELD_PART, 0, "resource.attributes"},
    [2] = {PD_FIELD_NUMBER, offsetof(resource_message, dropped),
           "resource.dropped_attributes_count"},
    [3] = {PD_FIELD_PART, 0, "resource.entity_refs"},
};

static const pd_field_row entity_fields[] = {
    [1] = {.kind = PD_REQUEST_TEXT},
    [2] = {.kind = PD_REQUEST_TEXT},
    [3] = {.kind = PD_REQUEST_TEXT},
    [4] = {.kind = PD_REQUEST_TEXT},
};

typedef struct scope_message {
    pd_bytes name, version, schema_url;
    uint64_t dropped;
} scope_message;

static const pd_field_row scope_profiles_fields[] = {
    [1] = {PD_FIELD_PART, 0, "scope"},
    [2] = {PD_FIELD_PART, 0, "profiles"},
    [3] = {PD_REQUEST_TEXT, offsetof(scope_message, schema_url), "scope_profiles.schema_url"},
};

static const pd_field_row scope_fields[] = {
    [1] = {PD_REQUEST_TEXT, offsetof(scope_message, name), "scope.name"},
    [2] = {PD_REQUEST_TEXT, offsetof(scope_message, version), "scope.version"},
    [3] = {PD_FIELD_PART, 0, "scope.attributes"},
    [4] = {PD_FIELD_NUMBER, offsetof(scope_message, dropped), "scope.dropped_attributes_count"},
};

/* A type and its unit: numbers of strings. */
typedef struct value_type {
    uint64_t type, unit;
    bool is_there;
} value_type;

static const pd_field_row value_type_fields[] = {
    [1] = {PD_REQUEST_STRING, offsetof(value_type, type), NULL},
    [2] = {PD_REQUEST_STRING, offsetof(value_type, unit), NULL},
};

/* A Profile without its samples. */
typedef struct profile_message {
    value_type sample_type, period_type;
    uint64_t time, duration, period, dropped;
    pd_bytes payload_format;
} profile_message;

static const pd_field_row profile_fields[] = {
    [1] = {PD_FIELD_PART, offsetof(profile_message, sample_type), "profiles.sample_type"},
    [2] = {PD_FIELD_PART, 0, "profiles.samples"},
    [3] = {PD_FIELD_FIXED64, offsetof(profile_message, time), "profiles.time_unix_nano"},
    [4] = {PD_FIELD_NUMBER, offsetof(profile_message, duration), "profiles.duration_nano"},
    [5] = {PD_FIELD_PART, offsetof(profile_message, period_type), "profiles.period_type"},
    [6] = {PD_FIELD_NUMBER, offsetof(profile_message, period), "profiles.period"},
    [7] = {PD_FIELD_PART, 0, "profiles.profile_id"},
    [8] = {PD_FIELD_NUMBER, offsetof(profile_message, dropped),
           "profiles.dropped_attributes_count"},
    [9] = {PD_REQUEST_TEXT, offsetof(profile_message, payload_format),
           "profiles.original_payload_format"},
    [10] = {PD_FIELD_PART, 0, "profiles.original_payload"},
    [11] = {PD_FIELD_LIST, 0, "profiles.attribute_indices"},
};

const pd_rows pd_request_rows = PD_ROWS(NULL, request_fields);
const pd_rows pd_request_resource_profiles_rows =
    PD_ROWS("resource_profiles", resource_profiles_fields);
const pd_rows pd_request_resource_rows = PD_ROWS("resource", resource_fields);
const pd_rows pd_request_entity_rows = PD_ROWS("resource.entity_refs", entity_fields);
const pd_rows pd_request_scope_profiles_rows = PD_ROWS("scope_profiles", scope_profiles_fields);
const pd_rows pd_request_scope_rows = PD_ROWS("scope", scope_fields);
const pd_rows pd_request_value_type_rows = PD_ROWS(NULL, value_type_fields);
const pd_rows pd_request_profile_rows = PD_ROWS("profiles", profile_fields);

/* ---- the walk --------------------------------------------------------------------------------- */

/* What is true of the request as a whole. The numbers of strings are 0 where there is none. */
typedef struct facts {
    uint64_t begin, end; /* of all profiles */
    bool has_time;
    value_type period_type;
    uint64_t period;
    uint32_t drop_frames, keep_frames, doc_url, default_type;
    pd_bytes order; /* pprof.scope.sample_type_order */
    bool has_comments;
} facts;

typedef struct walk {
    pd_request_reading reading;
    pd_request *otlp;
    facts facts;
} walk;

/* ---- the attributes of a profile ----------------------------------------------------------- */

static void set_string(pd_request_reading *r, void *cookie, uint32_t string)
{
    uint32_t *out = cookie;
    (void)r;
    if (!*out)
        *out = string;
}

/* The profiles of a request repeat their comments. Those of the first are kept, and what others
 * have beside them. */
static void add_comment(pd_request_reading *r, void *cookie, uint32_t string)
{
    walk *w = cookie;
    pd_keymap *comments = &w->otlp->comments;
    uint64_t word = pd_le64(string);
    pd_key key = pd_key_of_bytes(&word, sizeof word, 0);
    bool is_new;
    pd_request_add(r, comments, key, &is_new);
    if (r->parse.status)
        return;
    if (is_new || !w->facts.has_comments)
        pd_write_varint_always(&r->writer, r->profile, PD_PROFILE_COMMENT, string);
}

static void take_of_profile(walk *w, uint64_t index)
{
    pd_request_reading *r = &w->reading;
    pd_request_attribute *attribute = &r->dictionary->attributes[index];
    const struct {
        const char *key;
        uint32_t *out;
    } texts[] = {{"pprof.profile.drop_frames", &w->facts.drop_frames},
                 {"pprof.profile.keep_frames", &w->facts.keep_frames},
                 {"pprof.profile.doc_url", &w->facts.doc_url}};
    if (pd_request_is_text(r, attribute->key, "pprof.profile.comment")) {
        if (!attribute->is_taken)
            pd_any_value_strings(r, attribute->value, add_comment, w);
        attribute->is_taken = true;
        return;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (pd_request_is_text(r, attribute->key, texts[i].key)) {
            set_string(r, texts[i].out, pd_request_attribute_text(r, index));
            return;
        }
    r->dictionary->unshown++;
}

/* ---- a profile without its samples --------------------------------------------------------- */

static void read_value_type(pd_request_reading *r, const char *name, const pd_field *f,
                            value_type *out)
{
    const pd_rows rows = PD_ROWS(name, value_type_fields);
    pd_reader body = pd_parse_body(&r->parse, name, f);
    if (out->is_there)
        pd_request_fail(r, name, f->start, "a second type in one profile");
    out->is_there = true;
    pd_request_message(r, body, &rows, out);
}

static void read_part(walk *w, const pd_field_row *row, const pd_field *f, profile_message *out)
{
    enum { ID = 16 };
    pd_request_reading *r = &w->reading;
    if (row->kind == PD_FIELD_LIST) {
        pd_list list = pd_list_of(&r->parse, row->name, f);
        while (pd_request_attributes_next(r, &list))
            take_of_profile(w, list.value);
        return;
    }
    pd_bytes body = pd_reader_bytes(pd_parse_body(&r->parse, row->name, f));
    if (f->number == PD_OTLP_PROFILE_SAMPLE_TYPE)
        read_value_type(r, row->name, f, &out->sample_type);
    else if (f->number == PD_OTLP_PROFILE_PERIOD_TYPE)
        read_value_type(r, row->name, f, &out->period_type);
    else if (f->number == PD_OTLP_PROFILE_PROFILE_ID && body.len && body.len != ID)
        pd_request_fail(r, row->name, f->start, "an id of %zu bytes; it has %d", body.len, ID);
    w->otlp->payloads += f->number == PD_OTLP_PROFILE_ORIGINAL_PAYLOAD;
}

/* The period of the first profile that has one counts. */
static void take_facts(walk *w, const profile_message *profile)
{
    facts *all = &w->facts;
    uint64_t end = profile->time + profile->duration;
    if (!all->period && !all->period_type.type && !all->period_type.unit) {
        all->period = profile->period;
        all->period_type = profile->period_type;
    }
    if (!profile->time && !profile->duration)
        return;
    if (!all->has_time || profile->time < all->begin)
        all->begin = profile->time;
    if (!all->has_time || end > all->end)
        all->end = end;
    all->has_time = true;
}

static void take_profile(walk *w, const char *name, const pd_field *field)
{
    pd_request_reading *r = &w->reading;
    pd_request *o = w->otlp;
    pd_reader body = pd_parse_body(&r->parse, name, field);
    profile_message profile = {.time = 0};
    pd_message message = {body, &pd_request_profile_rows, &profile};
    size_t comments = o->comments.len;
    const pd_field_row *row;
    pd_field f;
    pd_request_attributes_begin(r);
    while ((row = pd_request_next(r, &message, &f)))
        read_part(w, row, &f, &profile);
    w->facts.has_comments |= o->comments.len > comments;
    if (profile.time > INT64_MAX || profile.duration > INT64_MAX - profile.time)
        pd_request_fail(r, "profiles.time_unix_nano", field->start,
                        "a time after the year 2262, which a profile cannot have");
    if (r->parse.status)
        return;
    take_facts(w, &profile);
    if (pd_parse_grow(&r->parse, &o->profiles, &o->profiles_cap, o->profiles_count + 1,
                      sizeof *o->profiles))
        o->profiles[o->profiles_count++] = (pd_request_profile){
            .body = pd_reader_bytes(body),
            .time = profile.time,
            .duration = profile.duration,
            .type = profile.sample_type.type,
            .unit = profile.sample_type.unit,
        };
}

/* ---- columns and sets ---------------------------------------------------------------------- */

/* The first column of this type that is not in `seen`. */
static uint32_t column_of(pd_request_reading *r, pd_request *o, const pd_request_profile *profile,
                          uint64_t seen)
{
    for (size_t i = 0; i < o->types_len; i++)
        if (o->types[i].type == profile->type && o->types[i].unit == profile->unit &&
            !(seen >> i & 1))
            return (uint32_t)i;
    if (o->types_len == PPROFDELTA_MAX_TYPES) {
        r->parse.status =
            pd_fail(r->parse.err, PPROFDELTA_E_LIMIT, "profile", "profiles", PPROFDELTA_MAX_TYPES,
                    pd_parse_offset(&r->parse, profile->body.ptr),
                    "more than %d value types in one request", PPROFDELTA_MAX_TYPES);
        return 0;
    }
    o->types[o->types_len].type = profile->type;
    o->types[o->types_len].unit = profile->unit;
    return (uint32_t)o->types_len++;
}

static void begin_set(pd_request_reading *r, pd_request *o, size_t profile, uint32_t resource,
                      uint32_t scope)
{
    if (pd_parse_grow(&r->parse, &o->sets, &o->sets_cap, o->sets_len + 1, sizeof *o->sets))
        o->sets[o->sets_len++] = (pd_request_set){profile, resource, scope};
}

/* Puts the profiles of a scope into sets. A type that comes again is a column of its own. */
static void make_sets(pd_request_reading *r, pd_request *o, size_t first, uint32_t resource,
                      uint32_t scope)
{
    uint64_t seen = 0; /* columns of the set */
    for (size_t i = first; i < o->profiles_count && !r->parse.status; i++) {
        pd_request_profile *profile = &o->profiles[i];
        bool is_other = i == first || seen == UINT64_MAX || profile->time != profile[-1].time ||
                        profile->duration != profile[-1].duration;
        if (is_other) {
            begin_set(r, o, i, resource, scope);
            seen = 0;
        }
        profile->column = column_of(r, o, profile, seen);
        seen |= UINT64_C(1) << profile->column;
    }
}

/* pprof.scope.sample_type_order has the column of each profile. It counts if there is one set, and
 * if it is a permutation. */
static void reorder(walk *w)
{
    pd_request *o = w->otlp;
    int64_t order[PPROFDELTA_MAX_TYPES];
    struct pd_request_type types[PPROFDELTA_MAX_TYPES];
    uint64_t seen = 0;
    size_t len = pd_any_value_ints(w->facts.order, order, PPROFDELTA_MAX_TYPES);
    if (o->sets_len != 1 || len != o->types_len || len != o->profiles_count)
        return;
    for (size_t i = 0; i < len; i++) {
        if (order[i] < 0 || (uint64_t)order[i] >= len || seen >> order[i] & 1)
            return;
        seen |= UINT64_C(1) << order[i];
    }
    memcpy(types, o->types, sizeof types);
    for (size_t i = 0; i < len; i++) {
        o->profiles[i].column = (uint32_t)order[i];
        o->types[order[i]] = types[i];
    }
}

/* ---- resources and scopes ------------------------------------------------------------------ */

static void take_scope_attributes(walk *w, pd_reader scope)
{
    pd_request_reading *r = &w->reading;
    pd_field f;
    while (!r->parse.status && pd_reader_find(&scope, PD_OTLP_SCOPE_ATTRIBUTES, &f)) {
        pd_key_value attribute = pd_key_value_of(r, f.body);
        if (pd_request_equal(attribute.key, "pprof.scope.default_sample_type"))
            pd_any_value_strings(r, attribute.value, set_string, &w->facts.default_type);
        else if (pd_request_equal(attribute.key, "pprof.scope.sample_type_order"))
            w->facts.order = attribute.value;
    }
}

static void read_scope(walk *w, pd_reader body, pd_request_source *out)
{
    pd_request_reading *r = &w->reading;
    scope_message scope = {.dropped = 0};
    pd_message message = {body, &pd_request_scope_rows, &scope};
    pd_field f;
    pd_key_values_check(r, "scope.attributes", body, PD_OTLP_SCOPE_ATTRIBUTES);
    while (pd_request_next(r, &message, &f)) /* the attributes were checked */
        continue;
    out->scope_name = scope.name;
    out->scope_version = scope.version;
    take_scope_attributes(w, body);
}

static void read_resource(walk *w, pd_reader body, pd_bytes *out)
{
    pd_request_reading *r = &w->reading;
    resource_message resource;
    pd_bytes text;
    pd_message message = {body, &pd_request_resource_rows, &resource};
    const pd_field_row *row;
    pd_field f;
    *out = pd_reader_bytes(body);
    pd_key_values_check(r, "resource.attributes", body, PD_OTLP_RESOURCE_ATTRIBUTES);
    while ((row = pd_request_next(r, &message, &f)))
        if (f.number == PD_OTLP_RESOURCE_ENTITY_REFS)
            pd_request_message(r, pd_parse_body(&r->parse, row->name, &f), &pd_request_entity_rows,
                               &text);
}

static void read_scope_profiles(walk *w, pd_reader body, pd_bytes resource)
{
    pd_request_reading *r = &w->reading;
    pd_request *o = w->otlp;
    scope_message ignored;
    pd_message message = {body, &pd_request_scope_profiles_rows, &ignored};
    pd_request_source source = {.resource = resource};
    bool has_scope = false;
    size_t first = o->profiles_count;
    const pd_field_row *row;
    pd_field f;
    while ((row = pd_request_next(r, &message, &f))) {
        if (f.number == PD_OTLP_SCOPE_PROFILES_PROFILES) {
            r->parse.element = o->profiles_count - first;
            take_profile(w, row->name, &f);
            r->parse.element = PPROFDELTA_NOWHERE;
            continue;
        }
        pd_reader scope = pd_parse_body(&r->parse, row->name, &f);
        if (has_scope)
            pd_request_fail(r, row->name, f.start, "a second scope in one scope_profiles");
        has_scope = true;
        read_scope(w, scope, &source);
    }
    make_sets(r, o, first, (uint32_t)o->resources, (uint32_t)o->scopes);
    if (pd_parse_grow(&r->parse, &o->sources, &o->sources_cap, o->scopes + 1, sizeof *o->sources))
        o->sources[o->scopes++] = source;
}

/* The resource may stand behind the profiles: it is read first. */
static void read_resource_profiles(walk *w, pd_reader body)
{
    pd_request_reading *r = &w->reading;
    resource_message ignored;
    pd_message message = {body, &pd_request_resource_profiles_rows, &ignored};
    pd_bytes resource = {NULL, 0};
    bool has_resource = false;
    const pd_field_row *row;
    pd_field f;
    while ((row = pd_request_next(r, &message, &f))) {
        if (f.number != PD_OTLP_RESOURCE_PROFILES_RESOURCE)
            continue;
        pd_reader part = pd_parse_body(&r->parse, row->name, &f);
        if (has_resource)
            pd_request_fail(r, row->name, f.start, "a second resource in one resource_profiles");
        has_resource = true;
        read_resource(w, part, &resource);
    }
    while (!r->parse.status && pd_reader_find(&body, PD_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES, &f))
        read_scope_profiles(w, pd_parse_body(&r->parse, "scope_profiles", &f), resource);
    w->otlp->resources++;
}

/* ---- the request --------------------------------------------------------------------------- */

/* Reads the dictionary, then everything but the samples. */
static void read_request(walk *w, pd_bytes bytes)
{
    pd_request_reading *r = &w->reading;
    pd_reader body = pd_request_reader(bytes);
    pd_message message = {body, &pd_request_rows, NULL};
    pd_field f;
    while (pd_message_next(&r->parse, &message, &f))
        if (f.number == PD_OTLP_REQUEST_DICTIONARY)
            pd_dictionary_find(r, &f);
    pd_dictionary_read(r);
    while (!r->parse.status && pd_reader_find(&body, PD_OTLP_REQUEST_RESOURCE_PROFILES, &f))
        read_resource_profiles(w, pd_parse_body(&r->parse, "resource_profiles", &f));
    if (!r->parse.status && !w->otlp->profiles_count)
        r->parse.status =
            pd_fail(r->parse.err, PPROFDELTA_E_PROFILE, "profile", NULL, PPROFDELTA_NOWHERE,
                    PPROFDELTA_NOWHERE, "this OTLP request has no profiles");
}

static void write_type(pd_request_reading *r, uint32_t field, uint64_t type, uint64_t unit)
{
    pd_write_varint(&r->writer, r->part, PD_VALUE_TYPE_TYPE, type);
    pd_write_varint(&r->writer, r->part, PD_VALUE_TYPE_UNIT, unit);
    pd_write_part(&r->writer, r->profile, field, r->part);
}

static void write_header(walk *w)
{
    pd_request_reading *r = &w->reading;
    const facts *all = &w->facts;
    const pd_request *o = w->otlp;
    for (size_t i = 0; i < o->types_len; i++)
        write_type(r, PD_PROFILE_SAMPLE_TYPE, o->types[i].type, o->types[i].unit);
    if (all->period_type.type || all->period_type.unit)
        write_type(r, PD_PROFILE_PERIOD_TYPE, all->period_type.type, all->period_type.unit);
    const uint64_t frames_and_times[] = {all->drop_frames, all->keep_frames, all->end,
                                         all->end - all->begin};
    pd_write_varints(&r->writer, r->profile, PD_PROFILE_DROP_FRAMES, frames_and_times,
                     sizeof frames_and_times / sizeof *frames_and_times);
    pd_write_varint(&r->writer, r->profile, PD_PROFILE_PERIOD, all->period);
    pd_write_varint(&r->writer, r->profile, PD_PROFILE_DEFAULT_SAMPLE_TYPE, all->default_type);
    pd_write_varint(&r->writer, r->profile, PD_PROFILE_DOC_URL, all->doc_url);
}

static void clear(pd_request *o)
{
    pd_dictionary_clear(&o->dictionary);
    pd_keymap_clear(&o->keys);
    pd_keymap_clear(&o->comments);
    o->is_read = false;
    o->resources = o->scopes = o->profiles_count = o->samples = 0;
    o->timestamps = o->links = o->payloads = 0;
    o->profile.len = o->part.len = o->inner.len = o->text.len = 0;
    o->labels.len = o->common.len = 0;
    o->of_resource.owner = o->of_scope.owner = 0;
    o->sets_len = o->types_len = o->rows_len = 0;
}

static walk begin(pd_request *o, pd_mem *mem, pd_bytes bytes, pprofdelta_error *err)
{
    uint64_t most = PD_REQUEST_ALWAYS + (uint64_t)bytes.len * PD_REQUEST_TIMES;
    clear(o);
    return (walk){.reading = {.parse = {.mem = mem,
                                        .err = err,
                                        .zero = bytes.ptr,
                                        .element = PPROFDELTA_NOWHERE},
                              .writer = {.mem = mem, .err = err},
                              .profile = &o->profile,
                              .part = &o->part,
                              .inner = &o->inner,
                              .text = &o->text,
                              .dictionary = &o->dictionary,
                              .left = most,
                              .most = most},
                  .otlp = o};
}

pprofdelta_status pd_request_read(pd_request *o, pd_mem *mem, pd_bytes *bytes,
                                  pprofdelta_error *err)
{
    walk w = begin(o, mem, *bytes, err);
    pd_request_reading *r = &w.reading;
    read_request(&w, *bytes);
    if (r->parse.status)
        return r->parse.status;
    reorder(&w);
    write_header(&w);
    pd_request_points(r, o);
    if (r->parse.status || r->writer.status)
        return r->parse.status ? r->parse.status : r->writer.status;
    o->unknown_fields = r->parse.unknown_fields;
    o->is_read = true;
    o->bytes = *bytes;
    *bytes = (pd_bytes){o->profile.ptr, o->profile.len};
    return PPROFDELTA_OK;
}

pprofdelta_status pd_request_sums(pd_request *o, pd_mem *mem, pd_bytes bytes, pprofdelta_sum *sums,
                                  size_t profiles, pprofdelta_error *err)
{
    walk w = begin(o, mem, bytes, err);
    pd_request_reading *r = &w.reading;
    read_request(&w, bytes);
    if (!r->parse.status && o->profiles_count != profiles)
        pd_request_fail(r, "profiles", bytes.ptr, "%zu profiles, not %zu", o->profiles_count,
                        profiles);
    for (size_t i = 0; i < profiles && !r->parse.status; i++)
        sums[i] = pd_request_sum_of(r, o, &o->profiles[i]);
    return r->parse.status ? r->parse.status : r->writer.status;
}

void pd_request_release(pd_request *o, pd_mem *mem)
{
    pd_dictionary_release(&o->dictionary, mem);
    pd_keymap_release(&o->keys, mem);
    pd_keymap_release(&o->comments, mem);
    pd_buffer *const buffers[] = {
        &o->profile,           &o->part,          &o->inner, &o->text, &o->labels, &o->common,
        &o->of_resource.bytes, &o->of_scope.bytes};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        pd_buffer_release(mem, buffers[i]);
    pd_mem_release(mem, &o->sources, &o->sources_cap, sizeof *o->sources);
    pd_mem_release(mem, &o->profiles, &o->profiles_cap, sizeof *o->profiles);
    pd_mem_release(mem, &o->sets, &o->sets_cap, sizeof *o->sets);
    pd_mem_release(mem, &o->points.at, &o->points.cap, sizeof *o->points.at);
    pd_mem_release(mem, &o->times.at, &o->times.cap, sizeof *o->times.at);
    pd_mem_release(mem, &o->chains, &o->chains_cap, sizeof *o->chains);
    pd_mem_release(mem, &o->rows, &o->rows_cap, sizeof *o->rows);
    pd_mem_release(mem, &o->values, &o->values_cap, sizeof *o->values);
    *o = (pd_request){0};
}

#include "otlp/request.h"

#include "otlp/any_value.h"

#include <inttypes.h>

/* What is true of the request as a whole. */
typedef struct facts {
    uint64_t begin, end; /* of all profiles */
    bool has_time;
    uint32_t period_type, period_unit;
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
    if (!r->parse.status)
        r->parse.status = pd_keymap_room(comments, r->parse.mem, key, r->parse.err);
    if (r->parse.status)
        return;
    bool is_new = pd_keymap_find(comments, key) == PD_KEYMAP_NONE;
    if (is_new)
        pd_keymap_add(comments, key);
    if (is_new || !w->facts.has_comments)
        pd_write_varint_always(&r->writer, r->profile, PD_PROFILE_COMMENT, string);
}

static bool is_key(const pd_request_reading *r, const pd_request_attribute *attribute,
                   const char *key)
{
    pd_bytes text = pd_bytes_of(key);
    return pd_key_equal(r->dictionary->numbers.keys[attribute->key],
                        pd_key_of_bytes(text.ptr, text.len, 0));
}

static void take_of_profile(pd_request_reading *r, void *cookie, uint64_t index, const uint8_t *at)
{
    walk *w = cookie;
    pd_request_attribute *attribute = &r->dictionary->attributes[index];
    (void)at;
    if (is_key(r, attribute, "pprof.profile.comment")) {
        if (!attribute->is_taken)
            pd_any_value_strings(r, attribute->value, add_comment, w);
        attribute->is_taken = true;
    } else if (is_key(r, attribute, "pprof.profile.drop_frames")) {
        set_string(r, &w->facts.drop_frames, pd_request_attribute_text(r, index));
    } else if (is_key(r, attribute, "pprof.profile.keep_frames")) {
        set_string(r, &w->facts.keep_frames, pd_request_attribute_text(r, index));
    } else if (is_key(r, attribute, "pprof.profile.doc_url")) {
        set_string(r, &w->facts.doc_url, pd_request_attribute_text(r, index));
    } else {
        r->dictionary->unshown++;
    }
}

/* ---- a profile without its samples --------------------------------------------------------- */

/* A type and its unit: numbers of strings. */
typedef struct value_type {
    uint32_t type, unit;
    bool is_there;
} value_type;

static void read_value_type(pd_request_reading *r, const char *name, const pd_field *field,
                            value_type *out)
{
    pd_reader body = pd_parse_body(&r->parse, name, field);
    pd_field f;
    if (out->is_there)
        pd_request_fail(r, name, field->start, "a second type in one profile");
    out->is_there = true;
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        if (f.number == PD_OTLP_VALUE_TYPE_TYPE_STRINDEX)
            out->type = pd_request_string_of(r, name, &f);
        else if (f.number == PD_OTLP_VALUE_TYPE_UNIT_STRINDEX)
            out->unit = pd_request_string_of(r, name, &f);
        else
            r->parse.unknown_fields++;
    }
    pd_parse_end(&r->parse, name, &body);
}

static void check_id(pd_request_reading *r, const pd_field *f)
{
    enum { SIZE = 16 };
    pd_reader id = pd_parse_body(&r->parse, "profiles.profile_id", f);
    size_t len = (size_t)(id.end - id.at);
    if (len && len != SIZE)
        pd_request_fail(r, "profiles.profile_id", f->start, "an id of %zu bytes; it has %d", len,
                        SIZE);
}

/* What a profile says of its values, as far as it was read. */
typedef struct profile_kind {
    value_type sample_type, period_type;
    uint64_t period;
} profile_kind;

static void read_field(walk *w, pd_request_profile *profile, profile_kind *kind, const pd_field *f)
{
    pd_request_reading *r = &w->reading;
    switch (f->number) {
    case PD_OTLP_PROFILE_SAMPLE_TYPE:
        read_value_type(r, "profiles.sample_type", f, &kind->sample_type);
        break;
    case PD_OTLP_PROFILE_SAMPLES:
        pd_parse_body(&r->parse, "profiles.samples", f);
        break;
    case PD_OTLP_PROFILE_TIME_UNIX_NANO:
        profile->time = f->value;
        if (f->wire != PD_WIRE_FIXED64)
            pd_parse_wrong_wire(&r->parse, "profiles.time_unix_nano", f);
        break;
    case PD_OTLP_PROFILE_DURATION_NANO:
        profile->duration = pd_parse_number(&r->parse, "profiles.duration_nano", f);
        break;
    case PD_OTLP_PROFILE_PERIOD_TYPE:
        read_value_type(r, "profiles.period_type", f, &kind->period_type);
        break;
    case PD_OTLP_PROFILE_PERIOD:
        kind->period = pd_parse_number(&r->parse, "profiles.period", f);
        break;
    case PD_OTLP_PROFILE_PROFILE_ID:
        check_id(r, f);
        break;
    case PD_OTLP_PROFILE_DROPPED_ATTRIBUTES_COUNT:
        pd_parse_number(&r->parse, "profiles.dropped_attributes_count", f);
        break;
    case PD_OTLP_PROFILE_ORIGINAL_PAYLOAD_FORMAT:
        pd_request_text(r, "profiles.original_payload_format", f);
        break;
    case PD_OTLP_PROFILE_ORIGINAL_PAYLOAD:
        pd_parse_body(&r->parse, "profiles.original_payload", f);
        w->otlp->payloads++;
        break;
    case PD_OTLP_PROFILE_ATTRIBUTE_INDICES:
        pd_request_attributes(r, "profiles.attribute_indices", f, take_of_profile, w);
        break;
    default:
        r->parse.unknown_fields++;
    }
}

/* The period of the first profile that has one counts. */
static void take_facts(walk *w, const pd_request_profile *profile, const profile_kind *kind)
{
    facts *all = &w->facts;
    uint64_t end = profile->time + profile->duration;
    if (!all->period && !all->period_type && !all->period_unit) {
        all->period = kind->period;
        all->period_type = kind->period_type.type;
        all->period_unit = kind->period_type.unit;
    }
    if (!profile->time && !profile->duration)
        return;
    if (!all->has_time || profile->time < all->begin)
        all->begin = profile->time;
    if (!all->has_time || end > all->end)
        all->end = end;
    all->has_time = true;
}

static void take_profile(walk *w, const pd_field *field)
{
    pd_request_reading *r = &w->reading;
    pd_request *o = w->otlp;
    pd_reader body = pd_parse_body(&r->parse, "profiles", field);
    pd_request_profile profile = {.body = {body.at, (size_t)(body.end - body.at)}};
    profile_kind kind = {0};
    size_t comments = o->comments.len;
    pd_field f;
    pd_request_attributes_begin(r);
    while (!r->parse.status && pd_reader_next(&body, &f))
        read_field(w, &profile, &kind, &f);
    pd_parse_end(&r->parse, "profiles", &body);
    w->facts.has_comments |= o->comments.len > comments;
    if (profile.time > INT64_MAX || profile.duration > INT64_MAX - profile.time)
        pd_request_fail(r, "profiles.time_unix_nano", field->start,
                        "a time after the year 2262, which a profile cannot have");
    if (r->parse.status)
        return;
    profile.type = kind.sample_type.type;
    profile.unit = kind.sample_type.unit;
    take_facts(w, &profile, &kind);
    r->parse.status = pd_mem_grow(r->parse.mem, &o->profiles, &o->profiles_cap,
                                  o->profiles_count + 1, sizeof *o->profiles, r->parse.err);
    if (!r->parse.status)
        o->profiles[o->profiles_count++] = profile;
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
    if (!r->parse.status)
        r->parse.status = pd_mem_grow(r->parse.mem, &o->sets, &o->sets_cap, o->sets_len + 1,
                                      sizeof *o->sets, r->parse.err);
    if (!r->parse.status)
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
    while (!r->parse.status && pd_reader_next(&scope, &f)) {
        if (f.number != PD_OTLP_SCOPE_ATTRIBUTES)
            continue;
        static const char type[] = "pprof.scope.default_sample_type";
        static const char order[] = "pprof.scope.sample_type_order";
        pd_key_value attribute = pd_key_value_of(r, f.body);
        pd_bytes key = attribute.key;
        if (key.len == sizeof type - 1 && !memcmp(key.ptr, type, key.len))
            pd_any_value_strings(r, attribute.value, set_string, &w->facts.default_type);
        else if (key.len == sizeof order - 1 && !memcmp(key.ptr, order, key.len))
            w->facts.order = attribute.value;
    }
}

static void read_scope(walk *w, const pd_field *field, pd_bytes *out)
{
    static const char *const names[] = {"", "scope.name", "scope.version"};
    pd_request_reading *r = &w->reading;
    pd_reader whole = pd_parse_body(&r->parse, "scope", field), body = whole;
    pd_field f;
    if (out->ptr)
        pd_request_fail(r, "scope", field->start, "a second scope in one scope_profiles");
    *out = (pd_bytes){whole.at, (size_t)(whole.end - whole.at)};
    pd_key_values_check(r, "scope.attributes", whole, PD_OTLP_SCOPE_ATTRIBUTES);
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        if (f.number <= PD_OTLP_SCOPE_VERSION)
            pd_request_text(r, names[f.number], &f);
        else if (f.number == PD_OTLP_SCOPE_DROPPED_ATTRIBUTES_COUNT)
            pd_parse_number(&r->parse, "scope.dropped_attributes_count", &f);
        else if (f.number != PD_OTLP_SCOPE_ATTRIBUTES)
            r->parse.unknown_fields++;
    }
    if (!r->parse.status)
        take_scope_attributes(w, whole);
}

static void read_entity(pd_request_reading *r, const pd_field *field)
{
    pd_reader body = pd_parse_body(&r->parse, "resource.entity_refs", field);
    pd_field f;
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        if (f.number <= PD_OTLP_ENTITY_REF_DESCRIPTION_KEYS)
            pd_request_text(r, "resource.entity_refs", &f);
        else
            r->parse.unknown_fields++;
    }
    pd_parse_end(&r->parse, "resource.entity_refs", &body);
}

static void read_resource(walk *w, const pd_field *field, pd_bytes *out)
{
    pd_request_reading *r = &w->reading;
    pd_reader whole = pd_parse_body(&r->parse, "resource", field), body = whole;
    pd_field f;
    if (out->ptr)
        pd_request_fail(r, "resource", field->start, "a second resource in one resource_profiles");
    *out = (pd_bytes){whole.at, (size_t)(whole.end - whole.at)};
    pd_key_values_check(r, "resource.attributes", whole, PD_OTLP_RESOURCE_ATTRIBUTES);
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        if (f.number == PD_OTLP_RESOURCE_DROPPED_ATTRIBUTES_COUNT)
            pd_parse_number(&r->parse, "resource.dropped_attributes_count", &f);
        else if (f.number == PD_OTLP_RESOURCE_ENTITY_REFS)
            read_entity(r, &f);
        else if (f.number != PD_OTLP_RESOURCE_ATTRIBUTES)
            r->parse.unknown_fields++;
    }
}

static void add_source(walk *w, pd_bytes resource, pd_bytes scope)
{
    pd_request *o = w->otlp;
    pd_request_reading *r = &w->reading;
    if (!r->parse.status)
        r->parse.status = pd_mem_grow(r->parse.mem, &o->sources, &o->sources_cap, o->scopes + 1,
                                      sizeof *o->sources, r->parse.err);
    if (!r->parse.status)
        o->sources[o->scopes++] = (struct pd_request_source){resource, scope};
}

static void read_scope_profiles(walk *w, const pd_field *field, pd_bytes resource)
{
    pd_request_reading *r = &w->reading;
    pd_request *o = w->otlp;
    pd_reader body = pd_parse_body(&r->parse, "scope_profiles", field);
    pd_bytes scope = {NULL, 0};
    size_t first = o->profiles_count;
    pd_field f;
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        if (f.number == PD_OTLP_SCOPE_PROFILES_SCOPE) {
            read_scope(w, &f, &scope);
        } else if (f.number == PD_OTLP_SCOPE_PROFILES_PROFILES) {
            r->parse.element = o->profiles_count - first;
            take_profile(w, &f);
            r->parse.element = PPROFDELTA_NOWHERE;
        } else if (f.number == PD_OTLP_SCOPE_PROFILES_SCHEMA_URL) {
            pd_request_text(r, "scope_profiles.schema_url", &f);
        } else {
            r->parse.unknown_fields++;
        }
    }
    pd_parse_end(&r->parse, "scope_profiles", &body);
    make_sets(r, o, first, (uint32_t)o->resources, (uint32_t)o->scopes);
    add_source(w, resource, scope);
}

/* The resource may stand behind the profiles: it is read first. */
static void read_resource_profiles(walk *w, const pd_field *field)
{
    pd_request_reading *r = &w->reading;
    pd_reader whole = pd_parse_body(&r->parse, "resource_profiles", field), body = whole;
    pd_bytes resource = {NULL, 0};
    pd_field f;
    while (!r->parse.status && pd_reader_next(&body, &f)) {
        if (f.number == PD_OTLP_RESOURCE_PROFILES_RESOURCE)
            read_resource(w, &f, &resource);
        else if (f.number == PD_OTLP_RESOURCE_PROFILES_SCHEMA_URL)
            pd_request_text(r, "resource_profiles.schema_url", &f);
        else if (f.number != PD_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES)
            r->parse.unknown_fields++;
    }
    pd_parse_end(&r->parse, "resource_profiles", &body);
    while (!r->parse.status && pd_reader_next(&whole, &f))
        if (f.number == PD_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES)
            read_scope_profiles(w, &f, resource);
    w->otlp->resources++;
}

/* ---- the request --------------------------------------------------------------------------- */

/* Calls read for each field of the request with this number. */
static void for_each(walk *w, pd_bytes bytes, uint32_t number,
                     void (*read)(walk *w, const pd_field *field))
{
    pd_reader request = pd_request_reader(bytes);
    pd_field f;
    while (!w->reading.parse.status && pd_reader_next(&request, &f)) {
        if (f.number == number)
            read(w, &f);
        else if (number == PD_OTLP_REQUEST_DICTIONARY && f.number > number)
            w->reading.parse.unknown_fields++;
    }
    pd_parse_end(&w->reading.parse, NULL, &request);
}

static void find_dictionary(walk *w, const pd_field *field)
{
    pd_dictionary_find(&w->reading, field);
}

static void write_type(pd_request_reading *r, uint32_t field, uint32_t type, uint32_t unit)
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
    if (all->period_type || all->period_unit)
        write_type(r, PD_PROFILE_PERIOD_TYPE, all->period_type, all->period_unit);
    const struct {
        uint32_t field;
        uint64_t value;
    } numbers[] = {
        {PD_PROFILE_DROP_FRAMES, all->drop_frames},
        {PD_PROFILE_KEEP_FRAMES, all->keep_frames},
        {PD_PROFILE_TIME_NANOS, all->end},
        {PD_PROFILE_DURATION_NANOS, all->end - all->begin},
        {PD_PROFILE_PERIOD, all->period},
        {PD_PROFILE_DEFAULT_SAMPLE_TYPE, all->default_type},
        {PD_PROFILE_DOC_URL, all->doc_url},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        pd_write_varint(&r->writer, r->profile, numbers[i].field, numbers[i].value);
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

pprofdelta_status pd_request_read(pd_request *o, pd_mem *mem, pd_bytes *bytes,
                                  pprofdelta_error *err)
{
    walk w = {.reading = {.parse = {.mem = mem,
                                    .err = err,
                                    .zero = bytes->ptr,
                                    .element = PPROFDELTA_NOWHERE},
                          .writer = {.mem = mem, .err = err},
                          .profile = &o->profile,
                          .part = &o->part,
                          .inner = &o->inner,
                          .text = &o->text,
                          .dictionary = &o->dictionary},
              .otlp = o};
    pd_request_reading *r = &w.reading;
    clear(o);
    r->left = r->most = PD_REQUEST_ALWAYS + (uint64_t)bytes->len * PD_REQUEST_TIMES;
    for_each(&w, *bytes, PD_OTLP_REQUEST_DICTIONARY, find_dictionary);
    pd_dictionary_read(r);
    for_each(&w, *bytes, PD_OTLP_REQUEST_RESOURCE_PROFILES, read_resource_profiles);
    if (!r->parse.status && !o->profiles_count)
        r->parse.status = pd_fail(err, PPROFDELTA_E_PROFILE, "profile", NULL, PPROFDELTA_NOWHERE,
                                  PPROFDELTA_NOWHERE, "this OTLP request has no profiles");
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
    pd_mem_release(mem, &o->chains, &o->chains_cap, sizeof *o->chains);
    pd_mem_release(mem, &o->rows, &o->rows_cap, sizeof *o->rows);
    pd_mem_release(mem, &o->values, &o->values_cap, sizeof *o->values);
    *o = (pd_request){0};
}

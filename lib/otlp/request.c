#include "otlp/request.h"

#include "otlp/any_value.h"

#include <stddef.h>

/* ---- rows ------------------------------------------------------------------------------------ */

const pd_rows pd_request_rows = PD_ROWS(
    NULL, [1] = {PD_FIELD_PART, 0, "resource_profiles"}, [2] = {PD_FIELD_PART, 0, "dictionary"});

const pd_rows pd_request_resource_profiles_rows =
    PD_ROWS("resource_profiles", [1] = {PD_FIELD_PART, 0, "resource"},
            [2] = {PD_FIELD_PART, 0, "scope_profiles"},
            [3] = {PD_REQUEST_TEXT, offsetof(pd_request_source, attributes.resource_url),
                   "resource_profiles.schema_url"});

const pd_rows pd_request_resource_rows =
    PD_ROWS("resource", [1] = {PD_FIELD_PART, 0, "resource.attributes"},
            [2] = {PD_FIELD_NUMBER, offsetof(pd_request_source, dropped),
                   "resource.dropped_attributes_count"},
            [3] = {PD_FIELD_PART, 0, "resource.entity_refs"});

const pd_rows pd_request_entity_rows = PD_ROWS(
    "resource.entity_refs", [1] = {.kind = PD_REQUEST_TEXT}, [2] = {.kind = PD_REQUEST_TEXT},
    [3] = {.kind = PD_REQUEST_TEXT}, [4] = {.kind = PD_REQUEST_TEXT});

const pd_rows pd_request_scope_profiles_rows = PD_ROWS(
    "scope_profiles", [1] = {PD_FIELD_PART, 0, "scope"}, [2] = {PD_FIELD_PART, 0, "profiles"},
    [3] = {PD_REQUEST_TEXT, offsetof(pd_request_source, attributes.scope_url),
           "scope_profiles.schema_url"});

const pd_rows pd_request_scope_rows =
    PD_ROWS("scope", [1] = {PD_REQUEST_TEXT, offsetof(pd_request_source, scope_name), "scope.name"},
            [2] = {PD_REQUEST_TEXT, offsetof(pd_request_source, scope_version), "scope.version"},
            [3] = {PD_FIELD_PART, 0, "scope.attributes"},
            [4] = {PD_FIELD_NUMBER, offsetof(pd_request_source, dropped),
                   "scope.dropped_attributes_count"});

const pd_rows pd_request_value_type_rows =
    PD_ROWS(NULL, [1] = {PD_REQUEST_STRING, offsetof(pd_request_type, type), NULL},
            [2] = {PD_REQUEST_STRING, offsetof(pd_request_type, unit), NULL});

const pd_rows pd_request_profile_rows = PD_ROWS(
    "profiles", [1] = {PD_FIELD_PART, 0, "profiles.sample_type"},
    [2] = {PD_FIELD_PART, 0, "profiles.samples"},
    [3] = {PD_FIELD_FIXED64, offsetof(pd_request_profile, time), "profiles.time_unix_nano"},
    [4] = {PD_FIELD_NUMBER, offsetof(pd_request_profile, duration), "profiles.duration_nano"},
    [5] = {PD_FIELD_PART, 0, "profiles.period_type"},
    [6] = {PD_FIELD_NUMBER, offsetof(pd_request_profile, period), "profiles.period"},
    [7] = {PD_FIELD_PART, 0, "profiles.profile_id"},
    [8] = {PD_FIELD_NUMBER, offsetof(pd_request_profile, dropped),
           "profiles.dropped_attributes_count"},
    [9] = {PD_REQUEST_TEXT, offsetof(pd_request_profile, payload_format),
           "profiles.original_payload_format"},
    [10] = {PD_FIELD_PART, 0, "profiles.original_payload"},
    [11] = {PD_FIELD_LIST, 0, "profiles.attribute_indices"});

/* ---- the attributes of a profile ----------------------------------------------------------- */

static void set_string(pd_request *r, void *cookie, uint32_t string)
{
    uint32_t *out = cookie;
    (void)r;
    if (!*out)
        *out = string;
}

/* The profiles of a request repeat their comments. Those of the first are kept, and what others
 * have beside them. */
static void add_comment(pd_request *r, void *cookie, uint32_t string)
{
    (void)cookie;
    uint64_t word = pd_le64(string);
    pd_key key = pd_key_of_bytes(&word, sizeof word, 0);
    bool is_new;
    pd_write_key(&r->parse.writer, &r->comments, key, &is_new);
    if (r->parse.status)
        return;
    if (is_new || !r->facts.has_comments)
        pd_write_varint_always(&r->parse.writer, &r->profile, PD_PROFILE_COMMENT, string);
}

/* A stamp that was joined with the comment before it by a comma is a comment of its own: the Collector's
 * receiver of pprof joins all comments so. */
static void take_comments(pd_request *r, pd_bytes value)
{
    static const char stamp[] = ",pprofdelta: ";
    pd_bytes text = pd_any_value_text(r, value);
    if (!text.ptr) {
        pd_any_value_strings(r, value, add_comment, NULL);
        return;
    }
    while (text.len) {
        const uint8_t *comma = memmem(text.ptr, text.len, stamp, sizeof stamp - 1);
        size_t len = comma ? (size_t)(comma - text.ptr) : text.len;
        if (len)
            add_comment(r, NULL, pd_request_number(r, (pd_bytes){text.ptr, len}));
        text.ptr += len + (comma != NULL);
        text.len -= len + (comma != NULL);
    }
}

/* The attributes of a Profile that a pprof profile has fields for. The number of the field; 0: there is none. */
static uint32_t field_of(pd_request *r, uint64_t key)
{
    static const char *const keys[] = {
        [PD_PROFILE_COMMENT] = "pprof.profile.comment",
        [PD_PROFILE_DROP_FRAMES] = "pprof.profile.drop_frames",
        [PD_PROFILE_KEEP_FRAMES] = "pprof.profile.keep_frames",
        [PD_PROFILE_DOC_URL] = "pprof.profile.doc_url",
    };
    uint32_t field = PD_PROFILE_DOC_URL;
    while (field && (!keys[field] || !pd_request_is_text(r, key, keys[field])))
        field--;
    return field;
}

bool pd_request_has_field(pd_request *r, uint64_t key)
{
    return field_of(r, key) != 0;
}

static void take_of_profile(pd_request *r, uint64_t index)
{
    uint32_t field = field_of(r, r->dictionary.attributes[index].key);
    if (field == PD_PROFILE_COMMENT)
        take_comments(r, pd_request_value(r, index));
    else if (field)
        pd_any_value_strings(r, pd_request_value(r, index), set_string, &r->facts.strings[field]);
    else
        r->facts.unshown++;
}

/* ---- a profile without its samples --------------------------------------------------------- */

static void read_value_type(pd_request *r, const char *name, const pd_field *f,
                            pd_request_type *out)
{
    const pd_rows rows = pd_rows_named(&pd_request_value_type_rows, name);
    pd_reader body = pd_parse_body(&r->parse, name, f);
    if (out->is_there)
        PD_REQUEST_FAIL(r, name, f->start, "a second type in one profile");
    out->is_there = true;
    pd_message_read(&r->parse, body, &rows, out);
}

static void read_part(pd_request *r, const pd_field_row *row, const pd_field *f,
                      pd_request_profile *out)
{
    enum { ID = 16 };
    if (row->kind == PD_FIELD_LIST) {
        pd_list list = pd_list_of(&r->parse, row->name, f);
        while (pd_request_attributes_next(r, &list))
            take_of_profile(r, list.value);
        return;
    }
    pd_bytes body = pd_reader_bytes(pd_parse_body(&r->parse, row->name, f));
    if (f->number == PD_OTLP_PROFILE_SAMPLE_TYPE)
        read_value_type(r, row->name, f, &out->type);
    else if (f->number == PD_OTLP_PROFILE_PERIOD_TYPE)
        read_value_type(r, row->name, f, &out->period_type);
    else if (f->number == PD_OTLP_PROFILE_PROFILE_ID && body.len && body.len != ID)
        PD_REQUEST_FAIL(r, row->name, f->start, "an id of %zu bytes; it has %d", body.len, ID);
    r->facts.payloads += f->number == PD_OTLP_PROFILE_ORIGINAL_PAYLOAD;
}

/* A time of 0 that is not written is not known. */
static bool has_time(const pd_request_profile *profile, pd_reader body)
{
    pd_field f;
    return profile->time || pd_reader_find(&body, PD_OTLP_PROFILE_TIME_UNIX_NANO, &f);
}

/* The period of the first profile that has one counts. */
static void take_period(pd_request *r, const pd_request_profile *profile)
{
    pd_request_facts *all = &r->facts;
    if (!all->period && !all->period_type.type && !all->period_type.unit) {
        all->period = profile->period;
        all->period_type = profile->period_type;
    }
}

/* is_end: the time is the end of the profile, and not the beginning. */
static void take_time(pd_request *r, pd_request_profile *profile, bool is_end)
{
    pd_request_facts *all = &r->facts;
    if (is_end)
        profile->time -= profile->duration < profile->time ? profile->duration : profile->time;
    uint64_t end = profile->time + profile->duration;
    if (!profile->has_time) {
        if (all->lone_duration < profile->duration)
            all->lone_duration = profile->duration;
        return;
    }
    if (!all->has_time || profile->time < all->begin)
        all->begin = profile->time;
    if (!all->has_time || end > all->end)
        all->end = end;
    all->has_time = true;
}

static void take_profile(pd_request *r, const char *name, const pd_field *field)
{
    pd_reader body = pd_parse_body(&r->parse, name, field);
    pd_request_profile profile = {.body = pd_reader_bytes(body)};
    pd_message message = {body, &pd_request_profile_rows, &profile};
    size_t comments = r->comments.len;
    const pd_field_row *row;
    pd_field f;
    pd_request_attributes_begin(r);
    while ((row = pd_message_next(&r->parse, &message, &f)))
        read_part(r, row, &f, &profile);
    r->facts.has_comments |= r->comments.len > comments;
    if (profile.time > INT64_MAX || profile.duration > INT64_MAX - profile.time)
        PD_REQUEST_FAIL(r, "profiles.time_unix_nano", field->start,
                        "a time after the year 2262, which a profile cannot have");
    if (r->parse.status)
        return;
    profile.has_time = has_time(&profile, body);
    take_period(r, &profile);
    if (PD_PARSE_GROW(&r->parse, r->profiles, r->profiles_count + 1))
        r->profiles[r->profiles_count++] = profile;
}

/* ---- columns and sets ---------------------------------------------------------------------- */

/* The first column of this type that is not in `seen`. at: for the error. */
static uint32_t column_of(pd_request *r, const pd_request_type *type, uint64_t seen,
                          const uint8_t *at)
{
    for (size_t i = 0; i < r->types_len; i++)
        if (r->types[i].type == type->type && r->types[i].unit == type->unit && !(seen >> i & 1))
            return (uint32_t)i;
    if (r->types_len == PPROFDELTA_MAX_TYPES) {
        r->parse.element = PPROFDELTA_MAX_TYPES;
        PD_PARSE_FAIL(&r->parse, PPROFDELTA_E_LIMIT, "profiles", pd_parse_offset(&r->parse, at),
                      "more than %d value types in one request", PPROFDELTA_MAX_TYPES);
        return 0;
    }
    r->types[r->types_len] = (pd_request_column){(uint32_t)type->type, (uint32_t)type->unit};
    return (uint32_t)r->types_len++;
}

/* Puts the profiles of a scope into sets. A type that comes again is a column of its own. */
static void make_sets(pd_request *r, size_t first)
{
    uint64_t seen = 0; /* columns of the set */
    for (size_t i = first; i < r->profiles_count && !r->parse.status; i++) {
        pd_request_profile *profile = &r->profiles[i];
        bool is_other = i == first || seen == UINT64_MAX || profile->time != profile[-1].time ||
                        profile->duration != profile[-1].duration;
        if (is_other) {
            r->facts.sets++;
            seen = 0;
        }
        profile->set = r->facts.sets;
        profile->scope = r->facts.scopes;
        if (!profile->has_column)
            profile->column = column_of(r, &profile->type, seen, profile->body.ptr);
        seen |= UINT64_C(1) << profile->column;
    }
}

/* ---- what our writer did for receivers ------------------------------------------------------ */

typedef struct string_list {
    uint32_t numbers[2 * PPROFDELTA_MAX_TYPES];
    size_t len;
} string_list;

static void add_string(pd_request *r, void *cookie, uint32_t string)
{
    string_list *list = cookie;
    (void)r;
    if (list->len < sizeof list->numbers / sizeof *list->numbers)
        list->numbers[list->len++] = string;
}

/* The types of the profile that was written, also those without samples, in their order. */
static void restore_types(pd_request *r, pd_bytes value)
{
    string_list list = {.len = 0};
    uint64_t seen = 0;
    pd_any_value_strings(r, value, add_string, &list);
    for (size_t i = 0; i + 1 < list.len && !r->parse.status; i += 2) {
        pd_request_type type = {.type = list.numbers[i], .unit = list.numbers[i + 1]};
        seen |= UINT64_C(1) << column_of(r, &type, seen, value.ptr);
    }
}

/* Which of them each Profile of the scope is. */
static void restore_columns(pd_request *r, pd_bytes value, size_t first)
{
    int64_t columns[PPROFDELTA_MAX_TYPES];
    size_t len = pd_any_value_ints(value, columns, PPROFDELTA_MAX_TYPES);
    bool is_sound = len == r->profiles_count - first && len <= r->types_len;
    for (size_t i = 0; i < len && is_sound; i++) {
        const pd_request_type *type = &r->profiles[first + i].type;
        is_sound = columns[i] > (i ? columns[i - 1] : -1) && columns[i] < (int64_t)r->types_len &&
                   r->types[columns[i]].type == type->type &&
                   r->types[columns[i]].unit == type->unit;
    }
    for (size_t i = 0; i < len && is_sound; i++) {
        r->profiles[first + i].column = (uint32_t)columns[i];
        r->profiles[first + i].has_column = true;
    }
}

static void restore_period_type(pd_request *r, pd_bytes value)
{
    string_list list = {.len = 0};
    pd_any_value_strings(r, value, add_string, &list);
    r->facts.period_type = (pd_request_type){.type = list.len == 2 ? list.numbers[0] : 0,
                                             .unit = list.len == 2 ? list.numbers[1] : 0};
}

/* Returns whether the times are the ends of the profiles. */
static bool restore_profiles(pd_request *r, pd_bytes members, size_t first)
{
    pd_reader list = pd_any_value_members(members);
    bool time_is_end = false;
    pd_field f;
    while (!r->parse.status && pd_reader_find(&list, PD_OTLP_KEY_VALUE_LIST_VALUES, &f)) {
        pd_key_value member = pd_key_value_of(r, f.body);
        if (pd_bytes_are(member.key, "time_is_end"))
            time_is_end = pd_any_value_is_true(member.value);
        else if (pd_bytes_are(member.key, "types"))
            restore_types(r, member.value);
        else if (pd_bytes_are(member.key, "columns"))
            restore_columns(r, member.value, first);
        else if (pd_bytes_are(member.key, "period_type"))
            restore_period_type(r, member.value);
        else if (pd_bytes_are(member.key, "period"))
            pd_any_value_int(member.value, &r->facts.period);
        else if (pd_bytes_are(member.key, "default_sample_type"))
            pd_any_value_strings(r, member.value, set_string,
                                 &r->facts.strings[PD_PROFILE_DEFAULT_SAMPLE_TYPE]);
    }
    return time_is_end;
}

/* pprof.scope.sample_type_order has the column of each profile. It counts if there is one set, and
 * if it is a permutation. */
static void reorder_types(pd_request *r)
{
    int64_t order[PPROFDELTA_MAX_TYPES];
    pd_request_column types[PPROFDELTA_MAX_TYPES];
    uint64_t seen = 0;
    size_t len = pd_any_value_ints(r->facts.order, order, PPROFDELTA_MAX_TYPES);
    if (r->facts.sets != 1 || len != r->types_len || len != r->profiles_count)
        return;
    for (size_t i = 0; i < len; i++) {
        if (order[i] < 0 || (uint64_t)order[i] >= len || seen >> order[i] & 1)
            return;
        seen |= UINT64_C(1) << order[i];
    }
    memcpy(types, r->types, sizeof types);
    for (size_t i = 0; i < len; i++) {
        r->profiles[i].column = (uint32_t)order[i];
        r->types[order[i]] = types[i];
    }
}

/* ---- resources and scopes ------------------------------------------------------------------ */

static void take_scope_attributes(pd_request *r, pd_reader scope, pd_request_source *out)
{
    pd_field f;
    while (!r->parse.status && pd_reader_find(&scope, PD_OTLP_SCOPE_ATTRIBUTES, &f)) {
        pd_key_value attribute = pd_key_value_of(r, f.body);
        if (pd_bytes_are(attribute.key, "pprof.scope.default_sample_type"))
            pd_any_value_strings(r, attribute.value, set_string,
                                 &r->facts.strings[PD_PROFILE_DEFAULT_SAMPLE_TYPE]);
        else if (pd_bytes_are(attribute.key, "pprof.scope.sample_type_order"))
            r->facts.order = attribute.value;
        else if (pd_bytes_are(attribute.key, "pprofdelta"))
            out->members = attribute.value;
    }
}

static void read_scope(pd_request *r, pd_reader body, pd_request_source *out)
{
    pd_message message = {body, &pd_request_scope_rows, out};
    pd_field f;
    out->attributes.has_scope = true;
    out->attributes.scope = pd_reader_bytes(body);
    pd_key_values_walk(r, "scope.attributes", body, PD_OTLP_SCOPE_ATTRIBUTES, NULL);
    while (pd_message_next(&r->parse, &message, &f)) /* the attributes were checked */
        continue;
    take_scope_attributes(r, body, out);
}

static void read_resource(pd_request *r, pd_reader body, pd_request_source *out)
{
    pd_bytes text;
    pd_message message = {body, &pd_request_resource_rows, out};
    const pd_field_row *row;
    pd_field f;
    out->attributes.resource = pd_reader_bytes(body);
    pd_key_values_walk(r, "resource.attributes", body, PD_OTLP_RESOURCE_ATTRIBUTES, NULL);
    while ((row = pd_message_next(&r->parse, &message, &f)))
        if (f.number == PD_OTLP_RESOURCE_ENTITY_REFS)
            pd_message_read(&r->parse, pd_parse_body(&r->parse, row->name, &f),
                            &pd_request_entity_rows, &text);
}

static void read_scope_profiles(pd_request *r, pd_reader body, pd_request_source source)
{
    pd_message message = {body, &pd_request_scope_profiles_rows, &source};
    size_t first = r->profiles_count;
    const pd_field_row *row;
    pd_field f;
    while ((row = pd_message_next(&r->parse, &message, &f))) {
        if (f.number == PD_OTLP_SCOPE_PROFILES_PROFILES) {
            r->parse.element = r->profiles_count - first;
            take_profile(r, row->name, &f);
            r->parse.element = PPROFDELTA_NOWHERE;
            continue;
        }
        pd_reader scope = pd_parse_body(&r->parse, row->name, &f);
        if (source.attributes.has_scope)
            PD_REQUEST_FAIL(r, row->name, f.start, "a second scope in one scope_profiles");
        read_scope(r, scope, &source);
    }
    bool time_is_end = restore_profiles(r, source.members, first);
    for (size_t i = first; i < r->profiles_count && !r->parse.status; i++)
        take_time(r, &r->profiles[i], time_is_end);
    make_sets(r, first);
    if (PD_PARSE_GROW(&r->parse, r->sources, r->facts.scopes + 1))
        r->sources[r->facts.scopes++] = source;
}

/* The resource may stand behind the profiles: it is read first. */
static void read_resource_profiles(pd_request *r, pd_reader body)
{
    pd_request_source source = {.dropped = 0};
    pd_message message = {body, &pd_request_resource_profiles_rows, &source};
    bool has_resource = false;
    const pd_field_row *row;
    pd_field f;
    while ((row = pd_message_next(&r->parse, &message, &f))) {
        if (f.number != PD_OTLP_RESOURCE_PROFILES_RESOURCE)
            continue;
        pd_reader part = pd_parse_body(&r->parse, row->name, &f);
        if (has_resource)
            PD_REQUEST_FAIL(r, row->name, f.start, "a second resource in one resource_profiles");
        has_resource = true;
        read_resource(r, part, &source);
    }
    while (!r->parse.status && pd_reader_find(&body, PD_OTLP_RESOURCE_PROFILES_SCOPE_PROFILES, &f))
        read_scope_profiles(r, pd_parse_body(&r->parse, "scope_profiles", &f), source);
    r->facts.resources++;
}

/* ---- the request --------------------------------------------------------------------------- */

/* Reads the dictionary, then everything but the samples. */
static void read_request(pd_request *r, pd_bytes bytes)
{
    pd_reader body = pd_request_reader(bytes);
    pd_message message = {body, &pd_request_rows, NULL};
    pd_field f;
    while (pd_message_next(&r->parse, &message, &f))
        if (f.number == PD_OTLP_REQUEST_DICTIONARY)
            pd_dictionary_find(r, &f);
    pd_dictionary_read(r);
    while (!r->parse.status && pd_reader_find(&body, PD_OTLP_REQUEST_RESOURCE_PROFILES, &f))
        read_resource_profiles(r, pd_parse_body(&r->parse, "resource_profiles", &f));
    if (!r->profiles_count)
        PD_PARSE_FAIL(&r->parse, PPROFDELTA_E_PROFILE, NULL, PPROFDELTA_NOWHERE,
                      "this OTLP request has no profiles");
    if (!r->parse.status && r->facts.sets > 1 && !r->takes_several)
        r->parse.status = pd_because(
            r->parse.err, PPROFDELTA_REASON_SEVERAL,
            PD_FAIL(r->parse.err, PPROFDELTA_E_PROFILE, PPROFDELTA_STAGE_PROFILE, NULL,
                    "this OTLP request has profiles of %zu resources, scopes or times, and a "
                    "window is made of one: split it",
                    r->facts.sets));
}

static void write_type(pd_request *r, uint32_t field, uint64_t type, uint64_t unit)
{
    PD_WRITE_VARINTS(&r->parse.writer, &r->part, PD_VALUE_TYPE_TYPE, type, unit);
    pd_write_part(&r->parse.writer, &r->profile, field, &r->part);
}

static void write_header(pd_request *r)
{
    const pd_request_facts *all = &r->facts;
    for (size_t i = 0; i < r->types_len; i++)
        write_type(r, PD_PROFILE_SAMPLE_TYPE, r->types[i].type, r->types[i].unit);
    if (all->period_type.type || all->period_type.unit)
        write_type(r, PD_PROFILE_PERIOD_TYPE, all->period_type.type, all->period_type.unit);
    const uint32_t *strings = all->strings;
    PD_WRITE_VARINTS(&r->parse.writer, &r->profile, PD_PROFILE_DROP_FRAMES,
                     strings[PD_PROFILE_DROP_FRAMES], strings[PD_PROFILE_KEEP_FRAMES], all->end,
                     all->has_time ? all->end - all->begin : all->lone_duration);
    pd_write_varint(&r->parse.writer, &r->profile, PD_PROFILE_PERIOD, all->period);
    PD_WRITE_VARINTS(&r->parse.writer, &r->profile, PD_PROFILE_DEFAULT_SAMPLE_TYPE,
                     strings[PD_PROFILE_DEFAULT_SAMPLE_TYPE], strings[PD_PROFILE_DOC_URL]);
}

static void clear_request(pd_request *r)
{
    pd_dictionary_clear(&r->dictionary);
    pd_keymap_clear(&r->keys);
    pd_keymap_clear(&r->comments);
    r->is_read = false;
    r->facts = (pd_request_facts){.has_time = false};
    r->profile.len = r->part.len = r->text.len = 0;
    r->stack.len = r->labels.len = r->common.len = 0;
    r->profiles_count = r->types_len = r->rows_len = 0;
}

static void begin_request(pd_request *r, pd_mem *mem, pd_bytes bytes, pprofdelta_error *err)
{
    clear_request(r);
    r->parse = (pd_parse){.mem = mem,
                          .err = err,
                          .read_other = pd_request_field,
                          .zero = bytes.ptr,
                          .element = PPROFDELTA_NOWHERE};
    r->left = r->most = PD_REQUEST_ALWAYS + (uint64_t)bytes.len * PD_REQUEST_TIMES;
}

static pprofdelta_status convert_request(pd_request *r, pd_bytes bytes)
{
    read_request(r, bytes);
    if (r->parse.status)
        return r->parse.status;
    reorder_types(r);
    write_header(r);
    pd_request_points(r);
    return r->parse.status;
}

pprofdelta_status pd_request_read(pd_request *r, pd_mem *mem, pd_bytes *bytes,
                                  pprofdelta_error *err)
{
    begin_request(r, mem, *bytes, err);
    pprofdelta_status status = convert_request(r, *bytes);
    if (status == PPROFDELTA_E_WIRE || status == PPROFDELTA_E_PROFILE)
        return pd_request_tell_older(*bytes, status, err);
    PD_TRY(status);
    r->unknown_fields = r->parse.unknown_fields;
    r->is_read = true;
    r->bytes = *bytes;
    *bytes = pd_buffer_bytes(&r->profile);
    return PPROFDELTA_OK;
}

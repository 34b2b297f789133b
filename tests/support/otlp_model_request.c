/* The model of an OTLP request, and whether it has the form that the manual names. */
#include "otlp_form.h"
#include "otlp_model.h"
#include "view.h"

#include <inttypes.h>
#include <string.h>

/* ---- the parts of a profile ------------------------------------------------------------------ */

typedef struct otlp {
    arena *a;
    const Pd__Otlp__Dictionary *d;
    const Pd__Otlp__KeyValueList *members; /* the attribute "pprofdelta" of the scope */
    bool is_plain;                         /* by the conventions alone */
    const char *wrong;
} otlp;

static void blame(otlp *s, const char *wrong)
{
    if (!s->wrong)
        s->wrong = wrong;
}

static const char *otlp_text(otlp *s, ProtobufCBinaryData text)
{
    if (!otlp_is_utf8(text))
        blame(s, "a string is not UTF-8");
    return otlp_quoted(s->a, text);
}

static const char *otlp_string(otlp *s, int32_t index)
{
    return otlp_quoted(s->a, s->d->string_table[index]);
}

/* The attribute with this index: its key, and the value itself. NULL if it has none. */
static const Pd__Otlp__Attribute *attribute(otlp *s, int32_t index, const char **key)
{
    const Pd__Otlp__Attribute *attr = s->d->attribute_table[index];
    if (!attr->value)
        blame(s, "an attribute has no value");
    *key = otlp_string(s, attr->key_strindex);
    return attr->value ? attr : NULL;
}

static bool is_true(const Pd__Otlp__Attribute *a)
{
    return a->value->value_case == PD__OTLP__ANY_VALUE__VALUE_BOOL_VALUE && a->value->bool_value;
}

static const char *text_value(otlp *s, const Pd__Otlp__AnyValue *value)
{
    if (value->value_case == PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE)
        return otlp_text(s, value->string_value);
    blame(s, "a value is not a string");
    return "lost";
}

/* The member of the list, or NULL. */
static const Pd__Otlp__AnyValue *member(otlp *s, const char *name)
{
    for (size_t i = 0; s->members && i < s->members->n_values; i++)
        if (!strcmp(otlp_text(s, s->members->values[i]->key), otlp_quoted_text(s->a, name)))
            return s->members->values[i]->value;
    return NULL;
}

/* Labels of one key are one attribute, with an array if there are several. A receiver makes a series of each number. */
static void check_sample(otlp *s, const Pd__Otlp__Sample *sample)
{
    if (sample->n_values != 1 || !sample->values[0] || sample->n_timestamps_unix_nano ||
        sample->link_index)
        blame(s, "a sample has not one value, or has more than a value");
    for (size_t i = 0; i < sample->n_attribute_indices; i++) {
        const char *key;
        const Pd__Otlp__Attribute *attr = attribute(s, sample->attribute_indices[i], &key);
        if (attr && attr->value->value_case == PD__OTLP__ANY_VALUE__VALUE_ARRAY_VALUE &&
            attr->value->array_value->n_values < 2)
            blame(s, "an array of a label has fewer than two values");
        if (attr && !s->is_plain && attr->value->value_case == PD__OTLP__ANY_VALUE__VALUE_INT_VALUE)
            blame(s, "a label is a number, of which receivers make a series");
    }
}

/* Attributes of a mapping or a location: texts (perhaps NULL), and flags that are set. */
static void check_attributes(otlp *s, const int32_t *indices, size_t len, const char *text,
                             const char *flag)
{
    for (size_t i = 0; i < len; i++) {
        const char *key;
        const Pd__Otlp__Attribute *attr = attribute(s, indices[i], &key);
        if (attr && !(text && strstr(key, text)) && !(strstr(key, flag) && is_true(attr)))
            blame(s, arena_format(s->a, "an attribute %s is in a wrong place", key));
    }
}

/* The types that were written, also those without samples: "type unit" each. */
static otlp_lines types_of(otlp *s, const Pd__Otlp__ScopeProfiles *scope)
{
    otlp_lines out = {.arena = s->a};
    const Pd__Otlp__AnyValue *all = member(s, "types");
    for (size_t i = 0; all && i + 1 < all->array_value->n_values; i += 2)
        otlp_lines_add(&out, arena_format(s->a, "%s %s", text_value(s, all->array_value->values[i]),
                                          text_value(s, all->array_value->values[i + 1])));
    for (size_t i = 0; !all && i < scope->n_profiles; i++) {
        const Pd__Otlp__ValueType *type = scope->profiles[i]->sample_type;
        otlp_lines_add(&out, arena_format(s->a, "%s %s", otlp_string(s, type->type_strindex),
                                          otlp_string(s, type->unit_strindex)));
    }
    if (all && out.len <= scope->n_profiles)
        blame(s, "types are listed, and none has no samples");
    return out;
}

/* Returns the number of the profile's type, behind that of the profile before it. */
static size_t otlp_profile(otlp *s, const otlp_lines *types, size_t from,
                           const Pd__Otlp__Profile *p)
{
    const char *type = arena_format(s->a, "%s %s", otlp_string(s, p->sample_type->type_strindex),
                                    otlp_string(s, p->sample_type->unit_strindex));
    while (from < types->len && strcmp(types->texts[from], type) != 0)
        from++;
    if (from == types->len)
        blame(s, "the profiles are not in the order of the types");
    if (!p->n_samples)
        blame(s, "a profile has no samples");
    if (!s->is_plain && (!p->period_type || !p->period_type->type_strindex || p->period < 0))
        blame(s, "a profile has no name or a negative period");
    for (size_t i = 0; i < p->n_samples; i++)
        check_sample(s, p->samples[i]);
    return from;
}

static void add_period(otlp *s, const Pd__Otlp__Profile *p, otlp_lines *out)
{
    const Pd__Otlp__AnyValue *type = member(s, "period_type"), *period = member(s, "period");
    const char *text = "0'' 0''";
    if (type && type->array_value->n_values == 2)
        text = arena_format(s->a, "%s %s", text_value(s, type->array_value->values[0]),
                            text_value(s, type->array_value->values[1]));
    else if (!type && p->period_type)
        text = arena_format(s->a, "%s %s", otlp_string(s, p->period_type->type_strindex),
                            otlp_string(s, p->period_type->unit_strindex));
    otlp_lines_add(out, arena_format(s->a, "period %s %" PRId64, text,
                                     period ? period->int_value : p->period));
}

/* What all profiles of the request have alike. */
static otlp_lines otlp_header(otlp *s, const Pd__Otlp__Profile *p)
{
    otlp_lines out = {.arena = s->a};
    const char *texts[3] = {otlp_quoted_text(s->a, ""), otlp_quoted_text(s->a, ""),
                            otlp_quoted_text(s->a, "")};
    static const char *const keys[] = {"pprof.profile.drop_frames", "pprof.profile.keep_frames",
                                       "pprof.profile.doc_url"};
    const Pd__Otlp__AnyValue *is_end = member(s, "time_is_end");
    if (!is_end && !s->is_plain && p->time_unix_nano)
        blame(s, "the time is the beginning, which a receiver may find too old");
    otlp_model_add_times(&out, p->time_unix_nano - (is_end ? p->duration_nano : 0),
                         p->duration_nano);
    add_period(s, p, &out);
    for (size_t i = 0; i < p->n_attribute_indices; i++) {
        const char *key;
        const Pd__Otlp__Attribute *attr = attribute(s, p->attribute_indices[i], &key);
        if (!attr)
            continue;
        if (!strcmp(key, otlp_quoted_text(s->a, "pprof.profile.comment"))) {
            const Pd__Otlp__ArrayValue *all = attr->value->array_value;
            for (size_t j = 0; j < all->n_values; j++)
                otlp_model_add(&out, arena_format(s->a, "comment %zu", j),
                               text_value(s, all->values[j]));
            continue;
        }
        size_t k = 0;
        while (k < 3 && strcmp(key, otlp_quoted_text(s->a, keys[k])) != 0)
            k++;
        if (k < 3)
            texts[k] = text_value(s, attr->value);
        else
            blame(s, arena_format(s->a, "a profile has an attribute %s", key));
    }
    otlp_model_add(&out, "drop_frames", texts[0]);
    otlp_model_add(&out, "keep_frames", texts[1]);
    otlp_model_add(&out, "doc_url", texts[2]);
    sort_texts(out.texts, out.len);
    return out;
}

static void otlp_scope(otlp *s, const Pd__Otlp__Scope *scope, otlp_lines *out)
{
    const char *default_type = otlp_quoted_text(s->a, "");
    if (strcmp(otlp_text(s, scope->version), otlp_quoted_text(s->a, PPROFDELTA_VERSION)) != 0)
        blame(s, "the scope has not our version");
    s->is_plain = !strcmp(otlp_text(s, scope->name), otlp_quoted_text(s->a, "pprofdelta"));
    for (size_t i = 0; i < scope->n_attributes; i++) {
        const Pd__Otlp__KeyValue *pair = scope->attributes[i];
        const char *key = otlp_text(s, pair->key);
        if (!strcmp(key, otlp_quoted_text(s->a, "pprof.scope.default_sample_type")) && s->is_plain)
            default_type = text_value(s, pair->value);
        else if (!strcmp(key, otlp_quoted_text(s->a, "pprofdelta")))
            s->members = pair->value->kvlist_value;
        else
            blame(s, "the scope has an attribute that receivers make a label of");
    }
    const Pd__Otlp__AnyValue *own = member(s, "default_sample_type");
    otlp_model_add(out, "default_sample_type", own ? text_value(s, own) : default_type);
}

/* ---- the request ------------------------------------------------------------------------------ */

static void check_dictionary(otlp *s)
{
    for (size_t i = 0; i < s->d->n_mapping_table; i++)
        check_attributes(s, s->d->mapping_table[i]->attribute_indices,
                         s->d->mapping_table[i]->n_attribute_indices,
                         "process.executable.build_id.", "'pprof.mapping.has_");
    for (size_t i = 0; i < s->d->n_location_table; i++)
        check_attributes(s, s->d->location_table[i]->attribute_indices,
                         s->d->location_table[i]->n_attribute_indices, NULL,
                         "'pprof.location.is_folded'");
    for (size_t i = 0; i < s->d->n_string_table; i++)
        otlp_text(s, s->d->string_table[i]);
    if (s->d->n_link_table != 1)
        blame(s, "there is a link");
}

static const char *resource_text(otlp *s, const Pd__Otlp__Resource *resource)
{
    buf out = buf_begin(s->a);
    for (size_t i = 0; resource && i < resource->n_attributes; i++) {
        const Pd__Otlp__KeyValue *pair = resource->attributes[i];
        buf_text(&out,
                 arena_format(s->a, "%s=%s;", otlp_text(s, pair->key), text_value(s, pair->value)));
    }
    return buf_string(&out);
}

static void check_id(otlp *s, otlp_model *out, size_t nth, ProtobufCBinaryData id)
{
    static const uint8_t zero[16];
    if (id.len != 16 || !memcmp(id.data, zero, 16)) {
        blame(s, "a profile_id is zero or has not 16 bytes");
        return;
    }
    for (size_t i = 0; i < nth; i++)
        if (!memcmp(out->ids[i], id.data, 16))
            blame(s, "two profiles have one id");
    memcpy(out->ids[nth], id.data, 16);
}

static void read_request(otlp *s, const Pd__Otlp__Request *q, otlp_model *out)
{
    otlp_lines l = {.arena = s->a}, points = otlp_points_of_request(s->a, q), header = {.len = 0};
    if (q->n_resource_profiles != 1 || !q->resource_profiles[0]->resource ||
        q->resource_profiles[0]->n_scope_profiles != 1 ||
        !q->resource_profiles[0]->scope_profiles[0]->scope) {
        blame(s, "there is not one resource with one scope");
        return;
    }
    const Pd__Otlp__ScopeProfiles *scope = q->resource_profiles[0]->scope_profiles[0];
    for (size_t i = 0; i < scope->n_profiles; i++)
        if (!scope->profiles[i]->sample_type) {
            blame(s, "a profile has no type");
            return;
        }
    otlp_scope(s, scope->scope, &l);
    otlp_lines types = types_of(s, scope);
    for (size_t i = 0; i < types.len; i++)
        otlp_lines_add(&l, arena_format(s->a, "type %zu %s", i, types.texts[i]));
    out->types = types.len;
    for (size_t i = 0; i < types.len && i < PPROFDELTA_MAX_TYPES; i++)
        out->all[i] = types.texts[i];
    out->resource = resource_text(s, q->resource_profiles[0]->resource);
    for (size_t i = 0, type = 0; i < scope->n_profiles && i < PPROFDELTA_MAX_TYPES; i++, type++) {
        type = otlp_profile(s, &types, type, scope->profiles[i]);
        check_id(s, out, type, scope->profiles[i]->profile_id);
        out->names[type] = types.texts[type];
        otlp_lines this_header = otlp_header(s, scope->profiles[i]);
        if (i && otlp_lines_differ(s->a, &header, &this_header))
            blame(s, "two profiles have different headers");
        header = this_header;
    }
    for (size_t i = 0; i < header.len; i++)
        otlp_lines_add(&l, header.texts[i]);
    check_dictionary(s);
    out->text = otlp_model_join(&l, &points);
}

bool otlp_model_of_request(arena *a, const void *bytes, size_t len, otlp_model *out)
{
    ProtobufCAllocator allocator = {view_take, view_give, NULL};
    Pd__Otlp__Request *q = pd__otlp__request__unpack(&allocator, len, bytes);
    if (!q)
        return false;
    *out = (otlp_model){.text = "", .resource = "", .wrong = otlp_form_wrong(a, q)};
    if (!out->wrong) { /* each index is in its table */
        otlp s = {.a = a, .d = q->dictionary};
        read_request(&s, q, out);
        out->wrong = s.wrong;
    }
    pd__otlp__request__free_unpacked(q, &allocator);
    return true;
}

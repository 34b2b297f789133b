#include "delta/receiver_rules.h"

#include "cli.h"
#include "keep.h"
#include "message.h"
#include "numbers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef Pd__Otlp__Request request;
typedef Pd__Otlp__Profile otlp_profile;
typedef Pd__Otlp__Dictionary dictionary;

/* The file, and what the last rule has found. */
typedef struct checked {
    const cli_profile *profile;
    const request *request; /* NULL: it is no request */
    cli_receiver receiver;
    struct marks *marks; /* of has_orphans */
    const char *found;
} checked;

__attribute__((format(printf, 2, 3))) static bool find(checked *j, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    j->found = cli_keep_print("%s", text);
    return true;
}

/* ---- going over a request ----------------------------------------------------------------------- */

typedef bool visit_profile(checked *j, const otlp_profile *p, size_t number);

/* Until a visit finds something. Profiles are numbered over the request. */
static bool any_profile(checked *j, visit_profile *visit)
{
    const request *q = j->request;
    size_t number = 0;
    for (size_t i = 0; q && i < q->n_resource_profiles; i++)
        for (size_t k = 0; k < q->resource_profiles[i]->n_scope_profiles; k++) {
            const Pd__Otlp__ScopeProfiles *scope = q->resource_profiles[i]->scope_profiles[k];
            for (size_t n = 0; n < scope->n_profiles; n++)
                if (visit(j, scope->profiles[n], number++))
                    return true;
        }
    return false;
}

static cli_string string_at(const dictionary *d, int32_t index)
{
    const ProtobufCBinaryData *s = &d->string_table[index];
    return (cli_string){s->len ? (const char *)s->data : "", s->len};
}

static const char *shown(cli_string s)
{
    return cli_keep_print("%.*s", (int)(s.len < 60 ? s.len : 60), s.ptr);
}

/* ---- what Parca refuses ------------------------------------------------------------------------- */

static bool has_no_samples(checked *j, const otlp_profile *p, size_t number)
{
    return !p->n_samples && find(j, "profile %zu has no samples", number);
}

static bool is_empty_somewhere(checked *j)
{
    return any_profile(j, has_no_samples);
}

static bool has_no_period_type(checked *j, const otlp_profile *p, size_t number)
{
    return !p->period_type && find(j, "profile %zu has no period type", number);
}

static bool lacks_period_type(checked *j)
{
    return any_profile(j, has_no_period_type);
}

static bool has_no_type(checked *j, const otlp_profile *p, size_t number)
{
    return !p->sample_type && find(j, "profile %zu has no sample type", number);
}

static bool lacks_type(checked *j)
{
    return any_profile(j, has_no_type);
}

static bool has_several_values(checked *j, const otlp_profile *p, size_t number)
{
    for (size_t i = 0; i < p->n_samples; i++)
        if (p->samples[i]->n_values > 1 && !p->samples[i]->n_timestamps_unix_nano)
            return find(j, "sample %zu of profile %zu has several values and no timestamps", i,
                        number);
    return false;
}

static bool has_too_many_values(checked *j)
{
    return any_profile(j, has_several_values);
}

static bool has_negative_period(checked *j, const otlp_profile *p, size_t number)
{
    return p->period < 0 && find(j, "the period of profile %zu is %" PRId64, number, p->period);
}

static bool has_bad_period(checked *j)
{
    return any_profile(j, has_negative_period);
}

static bool lacks_resource(checked *j)
{
    for (size_t i = 0; j->request && i < j->request->n_resource_profiles; i++) {
        const Pd__Otlp__ResourceProfiles *r = j->request->resource_profiles[i];
        if (!r->resource)
            return find(j, "resource_profiles %zu has no resource", i);
        for (size_t k = 0; k < r->n_scope_profiles; k++)
            if (!r->scope_profiles[k]->scope)
                return find(j, "scope_profiles %zu has no scope", k);
    }
    return false;
}

static bool is_unset(const Pd__Otlp__AnyValue *value)
{
    return !value || value->value_case == PD__OTLP__ANY_VALUE__VALUE__NOT_SET;
}

static bool has_unset_value(checked *j)
{
    const dictionary *d = j->request ? j->request->dictionary : NULL;
    for (size_t i = 1; d && i < d->n_attribute_table; i++)
        if (is_unset(d->attribute_table[i]->value))
            return find(j, "attribute %zu, %s, has no value", i,
                        shown(string_at(d, d->attribute_table[i]->key_strindex)));
    for (size_t i = 0; d && i < j->request->n_resource_profiles; i++) {
        const Pd__Otlp__Resource *r = j->request->resource_profiles[i]->resource;
        for (size_t k = 0; r && k < r->n_attributes; k++)
            if (is_unset(r->attributes[k]->value) || !r->attributes[k]->key.len)
                return find(j, "attribute %zu of the resource has no key or no value", k);
    }
    return false;
}

static bool has_bad_link(checked *j)
{
    enum { TRACE_ID = 16, SPAN_ID = 8 };
    const dictionary *d = j->request ? j->request->dictionary : NULL;
    for (size_t i = 1; d && i < d->n_link_table; i++)
        if (d->link_table[i]->trace_id.len != TRACE_ID || d->link_table[i]->span_id.len != SPAN_ID)
            return find(j, "link %zu has not the ids of a trace and of a span", i);
    return false;
}

/* The Collector's pdata writes the keys of a resource as references, which not every receiver looks up. */
static bool has_referred_key(checked *j)
{
    for (size_t i = 0; j->request && i < j->request->n_resource_profiles; i++) {
        const Pd__Otlp__Resource *r = j->request->resource_profiles[i]->resource;
        for (size_t k = 0; r && k < r->n_attributes; k++)
            if (!r->attributes[k]->key.len)
                return find(j, "the key of attribute %zu of the resource is a reference", k);
    }
    return false;
}

/* ---- names and series ---------------------------------------------------------------------------- */

static bool is_without_name(checked *j, const otlp_profile *p, size_t number)
{
    bool has = p->period && p->period_type && p->period_type->type_strindex;
    return !has && find(j, "profile %zu has no period type and period, which name it", number);
}

static bool lacks_name(checked *j)
{
    return any_profile(j, is_without_name);
}

static const char *name_of_go(cli_string type)
{
    return cli_string_is(type, "space") || cli_string_is(type, "contentions") ? shown(type) : NULL;
}

static bool has_name_of_go(checked *j, const otlp_profile *p, size_t number)
{
    (void)number;
    const char *name =
        p->period_type
            ? name_of_go(string_at(j->request->dictionary, p->period_type->type_strindex))
            : NULL;
    return name && find(j, "its period type is %s", name);
}

static bool has_other_name(checked *j)
{
    return any_profile(j, has_name_of_go);
}

/* Does the receiver make a label of the value? */
static bool is_label(const checked *j, const Pd__Otlp__AnyValue *v)
{
    if (!v || v->value_case == PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE)
        return v && v->string_value.len;
    if (j->receiver != CLI_FOR_PYROSCOPE)
        return false;
    return v->value_case == PD__OTLP__ANY_VALUE__VALUE_INT_VALUE ||
           (v->value_case == PD__OTLP__ANY_VALUE__VALUE_ARRAY_VALUE &&
            v->array_value->n_values == 1 && is_label(j, v->array_value->values[0]));
}

/* How many series the samples of a profile become: one for each set of labels. */
static size_t count_series(const checked *j, const otlp_profile *p)
{
    const dictionary *d = j->request->dictionary;
    cli_numbers sets = {.len = 0};
    size_t series = 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        const Pd__Otlp__Sample *s = p->samples[i];
        int32_t *labels = cli_keep(s->n_attribute_indices + 1, sizeof *labels);
        size_t len = 0;
        for (size_t k = 0; k < s->n_attribute_indices; k++)
            if (is_label(j, d->attribute_table[s->attribute_indices[k]]->value))
                labels[len++] = s->attribute_indices[k];
        series += cli_numbers_of(&sets, cli_key_of(labels, len * sizeof *labels), series) == series;
        cli_drop(labels);
    }
    cli_drop(sets.slots);
    return series;
}

enum { SERIES_TOLD = 20, SERIES_MOST = 5000 };

static bool has_many_series(checked *j, const otlp_profile *p, size_t number)
{
    size_t series = count_series(j, p);
    return series > SERIES_TOLD &&
           find(j, "the labels of profile %zu make %zu series", number, series);
}

static bool makes_series(checked *j)
{
    return any_profile(j, has_many_series);
}

static bool has_too_many_series(checked *j, const otlp_profile *p, size_t number)
{
    size_t series = count_series(j, p);
    return series > SERIES_MOST &&
           find(j, "the labels of profile %zu make %zu series, and a tenant may have %d", number,
                series, SERIES_MOST);
}

static bool makes_too_many(checked *j)
{
    return any_profile(j, has_too_many_series);
}

/* ---- values, times, sizes ------------------------------------------------------------------------ */

static bool has_negative_values(checked *j)
{
    cli_samples list = j->profile->samples;
    cli_sample sample;
    uint64_t found = 0;
    while (cli_samples_next(&list, &sample))
        for (size_t i = 0; i < sample.values_len; i++)
            found += sample.values[i] < 0;
    return found && find(j, "%" PRIu64 " values are negative", found);
}

/* Both are how receivers are set by default. */
static bool is_of_another_time(checked *j, int64_t nanos)
{
    enum { HOUR = 3600, TEN_MINUTES = 600 };
    int64_t seconds = nanos / 1000000000, now = (int64_t)time(NULL);
    if (seconds && seconds < now - HOUR)
        return find(j, "its time is %" PRId64 " minutes ago, and an hour is taken by default",
                    (now - seconds) / 60);
    return seconds > now + TEN_MINUTES && find(j, "its time is in the future");
}

static bool has_another_time(checked *j, const otlp_profile *p, size_t number)
{
    (void)number;
    return is_of_another_time(j, (int64_t)p->time_unix_nano);
}

static bool is_late(checked *j)
{
    return j->request ? any_profile(j, has_another_time)
                      : is_of_another_time(j, j->profile->view->time_nanos);
}

static bool is_zstd(checked *j)
{
    return !strcmp(j->profile->census.format, "zstd") && find(j, "it is compressed by zstd");
}

enum { SAMPLES_MOST = 16000, BYTES_MOST = 4 << 20 };

static bool is_large(checked *j)
{
    const pprofdelta_census *c = &j->profile->census;
    if (c->samples > SAMPLES_MOST)
        return find(j, "it has %" PRIu64 " samples, and %d are taken by default", c->samples,
                    SAMPLES_MOST);
    return c->inflated_len > BYTES_MOST &&
           find(j, "it has %" PRIu64 " bytes, and %d are taken by default", c->inflated_len,
                BYTES_MOST);
}

static bool has_type_with_dash(checked *j)
{
    for (size_t i = 0; i < j->profile->view->n_sample_type; i++) {
        cli_string type = cli_profile_type(j->profile, i);
        if (memchr(type.ptr, '-', type.len))
            return find(j, "the name of the type %s has a dash", shown(type));
    }
    return false;
}

/* Nothing can find a name for such a location. */
static bool has_lost_locations(checked *j)
{
    const Pd__View__Profile *v = j->profile->view;
    size_t found = 0;
    for (size_t i = 0; i < v->n_location; i++)
        found += !v->location[i]->n_line && !v->location[i]->mapping_id;
    return found && find(j, "%zu locations have neither lines nor a mapping", found);
}

/* ---- profcheck ----------------------------------------------------------------------------------- */

enum { MAPPING, LOCATION, FUNCTION, LINK, STRING, ATTRIBUTE, STACK, TABLES };

static const char *const table_names[TABLES] = {"mapping", "location",  "function", "link",
                                                "string",  "attribute", "stack"};

static void count_entries(const dictionary *d, size_t lens[TABLES])
{
    lens[MAPPING] = d->n_mapping_table;
    lens[LOCATION] = d->n_location_table;
    lens[FUNCTION] = d->n_function_table;
    lens[LINK] = d->n_link_table;
    lens[STRING] = d->n_string_table;
    lens[ATTRIBUTE] = d->n_attribute_table;
    lens[STACK] = d->n_stack_table;
}

/* Our reader takes a table without its zero value if nothing refers to it. */
static bool lacks_table(checked *j)
{
    size_t lens[TABLES] = {0};
    if (j->request && j->request->dictionary)
        count_entries(j->request->dictionary, lens);
    for (unsigned i = 0; j->request && i < TABLES; i++)
        if (!lens[i])
            return find(j, "the %s table has not its zero value", table_names[i]);
    return false;
}

/* Which entries something refers to. */
typedef struct marks {
    const dictionary *d;
    bool *used[TABLES];
} marks;

static void mark(marks *m, unsigned table, const int32_t *list, size_t len)
{
    for (size_t i = 0; i < len; i++)
        m->used[table][list[i]] = true;
}

static void mark_one(marks *m, unsigned table, int32_t index)
{
    mark(m, table, &index, 1);
}

static void mark_type(marks *m, const Pd__Otlp__ValueType *type)
{
    if (!type)
        return;
    mark_one(m, STRING, type->type_strindex);
    mark_one(m, STRING, type->unit_strindex);
}

static void mark_profile(marks *m, const otlp_profile *p)
{
    mark_type(m, p->sample_type);
    mark_type(m, p->period_type);
    mark(m, ATTRIBUTE, p->attribute_indices, p->n_attribute_indices);
    for (size_t i = 0; i < p->n_samples; i++) {
        const Pd__Otlp__Sample *s = p->samples[i];
        mark_one(m, STACK, s->stack_index);
        mark_one(m, LINK, s->link_index);
        mark(m, ATTRIBUTE, s->attribute_indices, s->n_attribute_indices);
    }
}

/* In profcheck's order: what refers to an entry may itself be an orphan. */
static void mark_dictionary(marks *m)
{
    const dictionary *d = m->d;
    for (size_t i = 0; i < d->n_stack_table; i++)
        mark(m, LOCATION, d->stack_table[i]->location_indices,
             d->stack_table[i]->n_location_indices);
    for (size_t i = 0; i < d->n_location_table; i++) {
        const Pd__Otlp__Location *l = d->location_table[i];
        mark_one(m, MAPPING, l->mapping_index);
        mark(m, ATTRIBUTE, l->attribute_indices, l->n_attribute_indices);
        for (size_t k = 0; k < l->n_lines; k++)
            mark_one(m, FUNCTION, l->lines[k]->function_index);
    }
    for (size_t i = 0; i < d->n_mapping_table; i++) {
        mark_one(m, STRING, d->mapping_table[i]->filename_strindex);
        mark(m, ATTRIBUTE, d->mapping_table[i]->attribute_indices,
             d->mapping_table[i]->n_attribute_indices);
    }
    for (size_t i = 0; i < d->n_function_table; i++) {
        const int32_t names[] = {d->function_table[i]->name_strindex,
                                 d->function_table[i]->system_name_strindex,
                                 d->function_table[i]->filename_strindex};
        mark(m, STRING, names, 3);
    }
    for (size_t i = 0; i < d->n_attribute_table; i++) {
        mark_one(m, STRING, d->attribute_table[i]->key_strindex);
        mark_one(m, STRING, d->attribute_table[i]->unit_strindex);
    }
}

static bool mark_visited(checked *j, const otlp_profile *p, size_t number)
{
    (void)number;
    mark_profile(j->marks, p);
    return false;
}

static bool has_orphans(checked *j)
{
    if (!j->request || !j->request->dictionary)
        return false;
    const dictionary *d = j->request->dictionary;
    size_t lens[TABLES];
    count_entries(d, lens);
    marks m = {.d = d};
    for (unsigned i = 0; i < TABLES; i++)
        m.used[i] = cli_keep(lens[i] + 1, sizeof *m.used[i]);
    j->marks = &m;
    any_profile(j, mark_visited);
    j->marks = NULL;
    mark_dictionary(&m);
    for (unsigned i = 0; i < TABLES; i++)
        for (size_t k = 1; k < lens[i]; k++)
            if (!m.used[i][k])
                return find(j, "nothing refers to entry %zu of the %s table", k, table_names[i]);
    return false;
}

static bool has_duplicates(checked *j)
{
    const dictionary *d = j->request ? j->request->dictionary : NULL;
    cli_numbers strings = {.len = 0}, mappings = {.len = 0};
    for (size_t i = 0; d && i < d->n_string_table; i++) {
        cli_string s = string_at(d, (int32_t)i);
        if (cli_numbers_of(&strings, cli_key_of(s.ptr, s.len), i) != i)
            return find(j, "string %zu is there twice", i);
    }
    for (size_t i = 1; d && i < d->n_mapping_table; i++) {
        uint8_t *packed =
            cli_keep(protobuf_c_message_get_packed_size(&d->mapping_table[i]->base) + 1, 1);
        size_t len = protobuf_c_message_pack(&d->mapping_table[i]->base, packed);
        if (cli_numbers_of(&mappings, cli_key_of(packed, len), i) != i)
            return find(j, "mapping %zu is there twice", i);
        cli_drop(packed);
    }
    return false;
}

static bool has_bad_entries(checked *j)
{
    const dictionary *d = j->request ? j->request->dictionary : NULL;
    for (size_t i = 1; d && i < d->n_mapping_table; i++) {
        const Pd__Otlp__Mapping *m = d->mapping_table[i];
        if ((m->memory_start || m->memory_limit) && m->memory_start >= m->memory_limit)
            return find(j, "mapping %zu ends before it begins", i);
    }
    for (size_t i = 0; d && i < d->n_location_table; i++)
        for (size_t k = 0; k < d->location_table[i]->n_lines; k++)
            if (d->location_table[i]->lines[k]->line < 0 ||
                d->location_table[i]->lines[k]->column < 0)
                return find(j, "location %zu has a line or a column below 0", i);
    for (size_t i = 0; d && i < d->n_function_table; i++)
        if (d->function_table[i]->start_line < 0)
            return find(j, "function %zu begins at a line below 0", i);
    return false;
}

static bool has_bad_samples(checked *j, const otlp_profile *p, size_t number)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        const Pd__Otlp__Sample *s = p->samples[i], *first = p->samples[0];
        bool is_other = !s->n_values != !first->n_values ||
                        !s->n_timestamps_unix_nano != !first->n_timestamps_unix_nano;
        size_t due = s->n_timestamps_unix_nano ? s->n_timestamps_unix_nano : 1;
        if (is_other || (s->n_values && s->n_values != due))
            return find(j, "sample %zu of profile %zu has another number of values or timestamps",
                        i, number);
        for (size_t k = 0; k < s->n_timestamps_unix_nano; k++)
            if (s->timestamps_unix_nano[k] - p->time_unix_nano >= p->duration_nano)
                return find(j, "a timestamp of sample %zu of profile %zu is not within its time", i,
                            number);
    }
    return false;
}

static bool has_bad_profiles(checked *j)
{
    for (size_t i = 0; j->request && i < j->request->n_resource_profiles; i++) {
        const Pd__Otlp__ResourceProfiles *r = j->request->resource_profiles[i];
        if (!r->n_scope_profiles)
            return find(j, "resource_profiles %zu has no scope_profiles", i);
        for (size_t k = 0; k < r->n_scope_profiles; k++)
            if (!r->scope_profiles[k]->n_profiles)
                return find(j, "scope_profiles %zu has no profiles", k);
    }
    return any_profile(j, has_bad_samples);
}

/* ---- the table ----------------------------------------------------------------------------------- */

enum {
    PYROSCOPE = 1 << CLI_FOR_PYROSCOPE,
    PARCA = 1 << CLI_FOR_PARCA,
    OTEL = 1 << CLI_FOR_OTEL,
    PPROF = 1 << CLI_FOR_PPROF
};

typedef enum effect { REFUSES, DROPS, RENAMES, MULTIPLIES, LEAVES } effect;

static const struct {
    unsigned receivers;
    effect effect;
    bool (*finds)(checked *j);
    const char *next; /* what to do */
} rules[] = {
    {PARCA, REFUSES, is_empty_somewhere, "write it with --for=parca"},
    {PARCA, REFUSES, lacks_period_type, "write it with --for=parca"},
    {PARCA, REFUSES, lacks_type, "write it with --for=parca"},
    {PARCA, REFUSES, has_too_many_values, "write it with --for=parca"},
    {PARCA | OTEL, REFUSES, lacks_table, "write it with --for=parca or otel"},
    {PARCA, REFUSES, has_bad_link, "mend it where it is made"},
    {PARCA, REFUSES, has_bad_period, "write it with --for=parca"},
    {PARCA, REFUSES, lacks_resource, "write it with --for=parca"},
    {PARCA, REFUSES, has_unset_value, "write it with --for=parca"},
    {PYROSCOPE | PARCA, REFUSES, is_zstd, "write it with --compress=gzip"},
    {PYROSCOPE, REFUSES, is_late, "send it at once, or raise validation.reject-older-than"},
    {PYROSCOPE, REFUSES, is_large, "raise validation.max-profile-*"},
    {PYROSCOPE, REFUSES, has_type_with_dash, "name the type without one where it is made"},
    {PYROSCOPE, REFUSES, makes_too_many, "write it with --for=pyroscope, or without these labels"},
    {PYROSCOPE, DROPS, has_negative_values, "record it with --snapshot or --for=pyroscope"},
    {PYROSCOPE, RENAMES, has_referred_key, "write it with --for=pyroscope"},
    {PYROSCOPE, RENAMES, lacks_name, "write it with --for=pyroscope"},
    {PYROSCOPE, RENAMES, has_other_name, "write it with --for=pyroscope"},
    {PYROSCOPE | PARCA, MULTIPLIES, makes_series, "write it with --for, or without these labels"},
    {OTEL, REFUSES, has_bad_profiles, "write it with --for=otel"},
    {OTEL, REFUSES, has_orphans, "write it with --for=otel"},
    {OTEL, REFUSES, has_duplicates, "write it with --for=otel"},
    {OTEL, REFUSES, has_bad_entries, "mend it where it is made"},
    {PYROSCOPE | PARCA | PPROF, LEAVES, has_lost_locations, "record the mappings, too"},
};

int cli_receiver_check(cli_receiver receiver, const cli_profile *profile)
{
    static const char *const does[] = {[REFUSES] = "refuses it",
                                       [DROPS] = "drops something",
                                       [RENAMES] = "gives it another name",
                                       [MULTIPLIES] = "stores it many times",
                                       [LEAVES] = "shows addresses in place of names"};
    checked j = {.profile = profile, .request = profile->request, .receiver = receiver};
    const cli_needs *needs = &cli_receivers[receiver];
    int code = CLI_DONE;
    bool takes_one = receiver == CLI_FOR_OTEL || receiver == CLI_FOR_PPROF;
    if (takes_one && !j.request != (receiver == CLI_FOR_PPROF))
        return cli_error("%s: %s takes %s", profile->input.name, needs->name,
                         j.request ? "pprof; write it with --for=pprof"
                                   : "requests of OTLP; write it with --for=otel");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!(rules[i].receivers >> receiver & 1) || !rules[i].finds(&j))
            continue;
        bool is_lost = rules[i].effect == REFUSES || rules[i].effect == DROPS;
        cli_message(is_lost ? CLI_ERROR : CLI_NOTE, "%s: %s (%s) %s: %s; %s", profile->input.name,
                    needs->name, needs->version, does[rules[i].effect], j.found, rules[i].next);
        code = is_lost ? CLI_FAILED : code;
    }
    return code;
}

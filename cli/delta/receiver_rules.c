#include "delta/receiver_rules.h"

#include "cli.h"
#include "instant.h"
#include "message.h"
#include "numbers.h"
#include "units.h"

#include <inttypes.h>
#include <string.h>

typedef Pd__Otlp__Profile otlp_profile;
typedef Pd__Otlp__Dictionary dictionary;

/* ---- going over a request ----------------------------------------------------------------------- */

bool cli_any_profile(cli_checked *j, cli_visit_profile *visit)
{
    const Pd__Otlp__Request *q = j->request;
    j->number = 0;
    for (size_t i = 0; q && i < q->n_resource_profiles; i++)
        for (size_t k = 0; k < q->resource_profiles[i]->n_scope_profiles; k++) {
            const Pd__Otlp__ScopeProfiles *scope = q->resource_profiles[i]->scope_profiles[k];
            for (size_t n = 0; n < scope->n_profiles; n++, j->number++)
                if (visit(j, scope->profiles[n]))
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

static bool has_no_samples(cli_checked *j, const otlp_profile *p)
{
    return !p->n_samples && cli_found(j, "profile %zu has no samples", j->number);
}

static bool has_no_period_type(cli_checked *j, const otlp_profile *p)
{
    return !p->period_type && cli_found(j, "profile %zu has no period type", j->number);
}

static bool has_no_type(cli_checked *j, const otlp_profile *p)
{
    return p->n_samples && !p->sample_type &&
           cli_found(j, "profile %zu has no sample type", j->number);
}

static bool has_several_values(cli_checked *j, const otlp_profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++)
        if (p->samples[i]->n_values > 1 && !p->samples[i]->n_timestamps_unix_nano)
            return cli_found(j, "sample %zu of profile %zu has several values and no timestamps", i,
                             j->number);
    return false;
}

static bool has_strange_timestamp(cli_checked *j, const otlp_profile *p)
{
    const uint64_t begin = p->time_unix_nano, end = begin + p->duration_nano;
    for (size_t i = 0; i < p->n_samples; i++)
        for (size_t k = 0; k < p->samples[i]->n_timestamps_unix_nano; k++) {
            uint64_t at = p->samples[i]->timestamps_unix_nano[k];
            if (at < begin || at > end)
                return cli_found(j, "sample %zu of profile %zu has a timestamp outside of its time",
                                 i, j->number);
        }
    return false;
}

static bool has_negative_period(cli_checked *j, const otlp_profile *p)
{
    return p->period < 0 &&
           cli_found(j, "the period of profile %zu is %" PRId64, j->number, p->period);
}

static bool lacks_resource(cli_checked *j)
{
    for (size_t i = 0; j->request && i < j->request->n_resource_profiles; i++) {
        const Pd__Otlp__ResourceProfiles *r = j->request->resource_profiles[i];
        if (!r->resource)
            return cli_found(j, "resource_profiles %zu has no resource", i);
        for (size_t k = 0; k < r->n_scope_profiles; k++)
            if (!r->scope_profiles[k]->scope)
                return cli_found(j, "scope_profiles %zu has no scope", k);
    }
    return false;
}

static bool is_unset(const Pd__Otlp__AnyValue *value)
{
    return !value || value->value_case == PD__OTLP__ANY_VALUE__VALUE__NOT_SET;
}

static bool has_unset_value(cli_checked *j)
{
    const dictionary *d = j->request ? j->request->dictionary : NULL;
    for (size_t i = 1; d && i < d->n_attribute_table; i++)
        if (is_unset(d->attribute_table[i]->value))
            return cli_found(j, "attribute %zu, %s, has no value", i,
                             shown(string_at(d, d->attribute_table[i]->key_strindex)));
    for (size_t i = 0; d && i < j->request->n_resource_profiles; i++) {
        const Pd__Otlp__Resource *r = j->request->resource_profiles[i]->resource;
        for (size_t k = 0; r && k < r->n_attributes; k++)
            if (is_unset(r->attributes[k]->value) || !r->attributes[k]->key.len)
                return cli_found(j, "attribute %zu of the resource has no key or no value", k);
    }
    return false;
}

static bool has_bad_link(cli_checked *j)
{
    enum { TRACE_ID = 16, SPAN_ID = 8 };
    const dictionary *d = j->request ? j->request->dictionary : NULL;
    for (size_t i = 1; d && i < d->n_link_table; i++)
        if (d->link_table[i]->trace_id.len != TRACE_ID || d->link_table[i]->span_id.len != SPAN_ID)
            return cli_found(j, "link %zu has not the ids of a trace and of a span", i);
    return false;
}

/* The Collector's pdata writes keys and values of a resource as references, which not every receiver looks up. */
static bool has_referred_key(cli_checked *j)
{
    for (size_t i = 0; j->request && i < j->request->n_resource_profiles; i++) {
        const Pd__Otlp__Resource *r = j->request->resource_profiles[i]->resource;
        for (size_t k = 0; r && k < r->n_attributes; k++)
            if (!r->attributes[k]->key.len)
                return cli_found(j, "the key of attribute %zu of the resource is a reference", k);
    }
    return false;
}

/* ---- names and series ---------------------------------------------------------------------------- */

static bool has_text(cli_checked *j, int32_t index, const char *text)
{
    return cli_string_is(string_at(j->request->dictionary, index), text);
}

/* It has names of its own for times off the processor. */
static bool is_off_cpu(cli_checked *j, const otlp_profile *p)
{
    bool has_period = p->period && p->period_type &&
                      (p->period_type->type_strindex || p->period_type->unit_strindex);
    return !has_period && p->sample_type && has_text(j, p->sample_type->type_strindex, "off_cpu") &&
           has_text(j, p->sample_type->unit_strindex, "nanoseconds");
}

static bool is_without_name(cli_checked *j, const otlp_profile *p)
{
    bool has = p->period && p->period_type && p->period_type->type_strindex;
    return p->n_samples && !has && !is_off_cpu(j, p) &&
           cli_found(j, "profile %zu has no period type and period, which name it", j->number);
}

static bool lacks_table(cli_checked *j, const otlp_profile *p)
{
    const dictionary *d = j->request->dictionary;
    return p->n_samples && d && d->n_location_table && !d->n_mapping_table &&
           cli_found(j, "the mapping table has not its zero value");
}

/* Without values, each timestamp counts one. */
static bool has_other_values(cli_checked *j, const otlp_profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        const Pd__Otlp__Sample *s = p->samples[i];
        if (s->n_values != 1 && (s->n_values || !s->n_timestamps_unix_nano) &&
            !(s->n_values && is_off_cpu(j, p)))
            return cli_found(j, "sample %zu of profile %zu has %zu values", i, j->number,
                             s->n_values);
    }
    return false;
}

static bool has_name_of_go(cli_checked *j, const otlp_profile *p)
{
    cli_string type = p->period_type
                          ? string_at(j->request->dictionary, p->period_type->type_strindex)
                          : cli_string_of("");
    return (cli_string_is(type, "space") || cli_string_is(type, "contentions")) &&
           cli_found(j, "its period type is %s", shown(type));
}

/* Does the receiver make a label of the value? */
static bool is_label(const cli_checked *j, const Pd__Otlp__AnyValue *v)
{
    if (!v || v->value_case == PD__OTLP__ANY_VALUE__VALUE_STRING_VALUE)
        return v && v->string_value.len;
    if (j->receiver != CLI_FOR_PYROSCOPE)
        return false;
    return v->value_case == PD__OTLP__ANY_VALUE__VALUE_INT_VALUE ||
           (v->value_case == PD__OTLP__ANY_VALUE__VALUE_ARRAY_VALUE &&
            v->array_value->n_values == 1 && is_label(j, v->array_value->values[0]));
}

/* It puts an underscore in the place of a dot, and leaves out a label without a name. */
static bool is_label_name(cli_string name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i], lower = (char)(c | 0x20);
        bool is_digit = c >= '0' && c <= '9';
        if (!(lower >= 'a' && lower <= 'z') && c != '_' && c != '.' && !(is_digit && i))
            return false;
    }
    return true;
}

static bool is_odd_name(cli_checked *j, cli_string name)
{
    return !is_label_name(name) && cli_found(j, "'%s' is no name of a label there", shown(name));
}

static bool is_odd_pair(cli_checked *j, size_t len, Pd__Otlp__KeyValue *const *list)
{
    for (size_t i = 0; i < len; i++) {
        const ProtobufCBinaryData *key = &list[i]->key;
        if (!is_label(j, list[i]->value))
            continue;
        if (!key->len)
            return cli_found(j, "the key of attribute %zu of the resource or scope is a reference",
                             i);
        if (is_odd_name(j, (cli_string){(const char *)key->data, key->len}))
            return true;
    }
    return false;
}

static bool has_odd_attribute(cli_checked *j, const otlp_profile *p)
{
    const dictionary *d = j->request->dictionary;
    for (size_t i = 0; i < p->n_samples; i++)
        for (size_t k = 0; k < p->samples[i]->n_attribute_indices; k++) {
            const Pd__Otlp__Attribute *a = d->attribute_table[p->samples[i]->attribute_indices[k]];
            if (is_label(j, a->value) && is_odd_name(j, string_at(d, a->key_strindex)))
                return true;
        }
    return false;
}

static bool has_odd_resource(cli_checked *j)
{
    for (size_t i = 0; j->request && i < j->request->n_resource_profiles; i++) {
        const Pd__Otlp__ResourceProfiles *r = j->request->resource_profiles[i];
        if (r->resource && is_odd_pair(j, r->resource->n_attributes, r->resource->attributes))
            return true;
        for (size_t k = 0; k < r->n_scope_profiles; k++) {
            const Pd__Otlp__Scope *scope = r->scope_profiles[k]->scope;
            if (scope && is_odd_pair(j, scope->n_attributes, scope->attributes))
                return true;
        }
    }
    return false;
}

static bool has_odd_label(cli_checked *j)
{
    cli_samples list = j->profile->samples;
    cli_sample sample;
    bool found = j->request && cli_any_profile(j, has_odd_attribute);
    while (!found && !j->request && cli_samples_next(&list, &sample)) {
        if (!sample.has_labels)
            continue;
        Pd__View__Sample *s = cli_sample_unpack(&sample);
        for (size_t i = 0; i < s->n_label && !found; i++)
            found = s->label[i]->str &&
                    is_odd_name(j, cli_profile_string(j->profile, s->label[i]->key));
        cli_sample_drop(s);
    }
    return found;
}

/* How many series the samples of a profile become: one for each set of labels. */
static size_t count_series(const cli_checked *j, const otlp_profile *p)
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

static bool has_many_series(cli_checked *j, const otlp_profile *p)
{
    size_t series = count_series(j, p);
    return series > SERIES_TOLD &&
           cli_found(j, "the labels of profile %zu make %zu series", j->number, series);
}

static bool has_too_many_series(cli_checked *j, const otlp_profile *p)
{
    size_t series = count_series(j, p);
    return series > SERIES_MOST &&
           cli_found(j, "the labels of profile %zu make %zu series, and a tenant may have %d",
                     j->number, series, SERIES_MOST);
}

/* ---- values, times, sizes ------------------------------------------------------------------------ */

static bool has_negative_values(cli_checked *j)
{
    cli_samples list = j->profile->samples;
    cli_sample sample;
    uint64_t found = 0;
    while (cli_samples_next(&list, &sample))
        for (size_t i = 0; i < sample.values_len; i++)
            found += sample.values[i] < 0;
    return found && cli_found(j, "%" PRIu64 " values are negative", found);
}

/* Both are how receivers are set by default. */
static bool is_of_another_time(cli_checked *j, int64_t nanos)
{
    const int64_t second = 1000000000, minutes = 600 * second; /* ten */
    const int64_t age = cli_instant_now() - nanos,
                  most = cli_receivers[j->receiver].max_age * second;
    char text[48], limit[48];
    if (nanos > 0 && age > most)
        return cli_found(j, "its time is %s ago, and %s is taken by default",
                         cli_age_format(age, text), cli_age_format(most, limit));
    return nanos > 0 && age < -minutes && cli_found(j, "its time is in the future");
}

static bool has_another_time(cli_checked *j, const otlp_profile *p)
{
    return is_of_another_time(j, (int64_t)p->time_unix_nano);
}

static bool is_late(cli_checked *j)
{
    return j->request ? cli_any_profile(j, has_another_time)
                      : is_of_another_time(j, j->profile->view->time_nanos);
}

static bool is_zstd(cli_checked *j)
{
    return !strcmp(j->profile->census.format, "zstd") && cli_found(j, "it is compressed by zstd");
}

enum { SAMPLES_MOST = 16000, BYTES_MOST = 4 << 20 };

static bool is_large(cli_checked *j)
{
    const pprofdelta_census *c = &j->profile->census;
    if (c->samples > SAMPLES_MOST)
        return cli_found(j, "it has %" PRIu64 " samples, and %d are taken by default", c->samples,
                         SAMPLES_MOST);
    return c->inflated_len > BYTES_MOST &&
           cli_found(j, "it has %" PRIu64 " bytes, and %d are taken by default", c->inflated_len,
                     BYTES_MOST);
}

/* By /ingest, a profile is called by its types. */
static bool has_nameless_types(cli_checked *j)
{
    for (size_t i = 0; i < j->profile->view->n_sample_type; i++)
        if (cli_profile_type(j->profile, i).len)
            return false;
    return j->profile->samples.len && !j->request &&
           cli_found(j, "no type has a name, which /ingest needs");
}

static bool has_type_with_dash(cli_checked *j)
{
    for (size_t i = 0; i < j->profile->view->n_sample_type; i++) {
        cli_string type = cli_profile_type(j->profile, i);
        if (memchr(type.ptr, '-', type.len))
            return cli_found(j, "the name of the type %s has a dash", shown(type));
    }
    return false;
}

/* Nothing can find a name for such a location. */
static bool has_lost_locations(cli_checked *j)
{
    const Pd__View__Profile *v = j->profile->view;
    size_t found = 0;
    for (size_t i = 0; i < v->n_location; i++)
        found += !v->location[i]->n_line && !v->location[i]->mapping_id;
    return found && cli_found(j, "%zu locations have neither lines nor a mapping", found);
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
    bool (*finds)(cli_checked *j); /* or, for each Profile of a request, */
    cli_visit_profile *each;
    const char *next; /* what to do */
} rules[] = {
    {PARCA, REFUSES, NULL, has_no_samples, "write it with --for=parca"},
    {PARCA, REFUSES, NULL, has_no_period_type, "write it with --for=parca"},
    {PARCA | PYROSCOPE, REFUSES, NULL, has_no_type, "write it with --for"},
    {PARCA, REFUSES, NULL, has_several_values, "write it with --for=parca"},
    {PARCA, REFUSES, NULL, has_strange_timestamp, "mend it where it is made"},
    {PARCA | OTEL, REFUSES, cli_profcheck_tables, NULL, "write it with --for=parca or otel"},
    {PARCA, REFUSES, has_bad_link, NULL, "mend it where it is made"},
    {PARCA, REFUSES, NULL, has_negative_period, "write it with --for=parca"},
    {PARCA, REFUSES, lacks_resource, NULL, "write it with --for=parca"},
    {PARCA, REFUSES, has_unset_value, NULL, "write it with --for=parca"},
    {PYROSCOPE | PARCA, REFUSES, is_zstd, NULL, "write it with --compress=gzip"},
    {PYROSCOPE, REFUSES, is_late, NULL, "send it at once, or raise validation.reject-older-than"},
    {PYROSCOPE, REFUSES, is_large, NULL, "raise validation.max-profile-*"},
    {PYROSCOPE, REFUSES, has_nameless_types, NULL, "name them where it is made"},
    {PYROSCOPE, REFUSES, has_type_with_dash, NULL, "name the type without one where it is made"},
    {PYROSCOPE, REFUSES, NULL, lacks_table, "write it with --for=pyroscope"},
    {PYROSCOPE, REFUSES, has_odd_resource, NULL, "name it by letters, digits and _"},
    {PYROSCOPE, REFUSES, has_odd_label, NULL, "name it by letters, digits and _ where it is made"},
    {PYROSCOPE, REFUSES, NULL, has_too_many_series,
     "write it with --for=pyroscope, or without these labels"},
    {PYROSCOPE, DROPS, has_negative_values, NULL, "record it with --snapshot or --for=pyroscope"},
    {PYROSCOPE, REFUSES, NULL, is_without_name, "write it with --for=pyroscope"},
    {PYROSCOPE, REFUSES, NULL, has_other_values, "write it with --for=pyroscope"},
    {PYROSCOPE, RENAMES, has_referred_key, NULL, "write it with --for=pyroscope"},
    {PYROSCOPE, RENAMES, NULL, has_name_of_go, "write it with --for=pyroscope"},
    {PYROSCOPE | PARCA, MULTIPLIES, NULL, has_many_series,
     "write it with --for, or without these labels"},
    {OTEL, REFUSES, cli_profcheck_profiles, NULL, "write it with --for=otel"},
    {OTEL, REFUSES, cli_profcheck_orphans, NULL, "write it with --for=otel"},
    {OTEL, REFUSES, cli_profcheck_duplicates, NULL, "write it with --for=otel"},
    {OTEL, REFUSES, cli_profcheck_entries, NULL, "mend it where it is made"},
    {PYROSCOPE | PARCA | PPROF, LEAVES, has_lost_locations, NULL, "record the mappings, too"},
};

int cli_receiver_check(cli_receiver receiver, const cli_profile *profile)
{
    static const char *const does[] = {[REFUSES] = "refuses it",
                                       [DROPS] = "drops something",
                                       [RENAMES] = "gives it another name",
                                       [MULTIPLIES] = "stores it many times",
                                       [LEAVES] = "shows addresses in place of names"};
    cli_checked j = {.profile = profile, .request = profile->request, .receiver = receiver};
    const pprofdelta_receiver *needs = &cli_receivers[receiver];
    int code = CLI_DONE;
    bool takes_one = receiver == CLI_FOR_OTEL || receiver == CLI_FOR_PPROF;
    if (takes_one && !j.request != (receiver == CLI_FOR_PPROF))
        return cli_error("%s: %s takes %s", profile->input.name, needs->name,
                         j.request ? "pprof; write it with --for=pprof"
                                   : "requests of OTLP; write it with --for=otel");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!(rules[i].receivers >> receiver & 1) ||
            !(rules[i].each ? cli_any_profile(&j, rules[i].each) : rules[i].finds(&j)))
            continue;
        bool is_lost = rules[i].effect == REFUSES || rules[i].effect == DROPS;
        cli_message(is_lost ? CLI_ERROR : CLI_NOTE, "%s: %s (%s) %s: %s; %s", profile->input.name,
                    needs->name, needs->version, does[rules[i].effect], j.found, rules[i].next);
        code = is_lost ? CLI_FAILED : code;
    }
    return code;
}

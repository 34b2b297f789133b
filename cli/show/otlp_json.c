/* The member "otlp" of `show --json`: what an OTLP request has and a pprof profile has not. */
#include "show/otlp_forms.h"
#include "show/record_text.h"

#include <inttypes.h>
#include <stdio.h>

static void put_key_values(const cli_profile *profile, Pd__Otlp__KeyValue *const *attributes,
                           size_t len, uint32_t dropped)
{
    fputs("\"attributes\": [", stdout);
    for (size_t i = 0; i < len; i++) {
        fputs(i ? ", {\"key\": " : "{\"key\": ", stdout);
        cli_string_put(stdout, cli_otlp_key(profile, attributes[i]), CLI_TEXT_JSON);
        fputs(", \"value\": ", stdout);
        cli_otlp_put_value(profile, attributes[i]->value);
        fputs(", \"unit\": \"\"}", stdout);
    }
    printf("], \"dropped_attributes\": %" PRIu32, dropped);
}

static void put_attributes(const cli_profile *profile, const int32_t *indices, size_t len,
                           uint32_t dropped)
{
    fputs("\"attributes\": [", stdout);
    for (size_t i = 0; i < len; i++) {
        const Pd__Otlp__Attribute *attribute =
            profile->request->dictionary->attribute_table[indices[i]];
        fputs(i ? ", " : "", stdout);
        cli_record_put(profile, &attribute->base, "{\"key\": <j:key_strindex>, \"value\": ");
        cli_otlp_put_value(profile, attribute->value);
        cli_record_put(profile, &attribute->base, ", \"unit\": <j:unit_strindex>}");
    }
    printf("], \"dropped_attributes\": %" PRIu32, dropped);
}

static void put_profile(const cli_profile *profile, const Pd__Otlp__Profile *one)
{
    cli_record_put(profile, &one->base,
                   "{\"sample_type\": {\"type\": <j:sample_type.type_strindex>, "
                   "\"unit\": <j:sample_type.unit_strindex>}, "
                   "\"samples\": <n:samples>, \"time_nanos\": <time_unix_nano>, "
                   "\"duration_nanos\": <duration_nano>, "
                   "\"period_type\": {\"type\": <j:period_type.type_strindex>, "
                   "\"unit\": <j:period_type.unit_strindex>}, "
                   "\"period\": <period>, \"profile_id\": \"<h:profile_id>\", "
                   "\"original_payload_format\": <j:original_payload_format>, "
                   "\"original_payload_bytes\": <n:original_payload>, ");
    put_attributes(profile, one->attribute_indices, one->n_attribute_indices,
                   one->dropped_attributes_count);
    putchar('}');
}

static void put_scope(const cli_profile *profile, const Pd__Otlp__ScopeProfiles *scopes)
{
    const Pd__Otlp__Scope empty = PD__OTLP__SCOPE__INIT;
    const Pd__Otlp__Scope *scope = scopes->scope ? scopes->scope : &empty;
    cli_record_put(profile, &scope->base, "{\"name\": <j:name>, \"version\": <j:version>, ");
    cli_record_put(profile, &scopes->base, "\"schema_url\": <j:schema_url>, ");
    put_key_values(profile, scope->attributes, scope->n_attributes,
                   scope->dropped_attributes_count);
    fputs(", \"profiles\": [", stdout);
    for (size_t i = 0; i < scopes->n_profiles; i++) {
        fputs(i ? ",\n" : "\n", stdout);
        put_profile(profile, scopes->profiles[i]);
    }
    fputs("]}", stdout);
}

static void put_resource(const cli_profile *profile, const Pd__Otlp__ResourceProfiles *resources)
{
    const Pd__Otlp__Resource empty = PD__OTLP__RESOURCE__INIT;
    const Pd__Otlp__Resource *resource = resources->resource ? resources->resource : &empty;
    cli_record_put(profile, &resources->base, "{\"schema_url\": <j:schema_url>, ");
    put_key_values(profile, resource->attributes, resource->n_attributes,
                   resource->dropped_attributes_count);
    fputs(", \"scopes\": [", stdout);
    for (size_t i = 0; i < resources->n_scope_profiles; i++) {
        fputs(i ? ",\n" : "\n", stdout);
        put_scope(profile, resources->scope_profiles[i]);
    }
    fputs("]}", stdout);
}

void cli_otlp_put_json(const cli_profile *profile)
{
    const Pd__Otlp__Request *request = profile->request;
    const pprofdelta_census *facts = &profile->census;
    if (!request) {
        fputs("\"otlp\": null,\n", stdout);
        return;
    }
    fputs("\"otlp\": {\"resources\": [", stdout);
    for (size_t i = 0; i < request->n_resource_profiles; i++) {
        fputs(i ? ",\n" : "\n", stdout);
        put_resource(profile, request->resource_profiles[i]);
    }
    printf("],\n\"timestamps\": %" PRIu64 ", \"links\": %" PRIu64 ", \"other_attributes\": %" PRIu64
           "},\n",
           facts->timestamps, facts->links, facts->other_attributes);
}

/* The member "otlp" of `show --json`: what an OTLP request has and a pprof profile has not. */
#include "show/otlp_forms.h"

#include <inttypes.h>
#include <stdio.h>

static void put_bytes(const char *name, ProtobufCBinaryData bytes)
{
    printf("\"%s\": ", name);
    cli_string_put(stdout, cli_otlp_bytes(bytes), CLI_TEXT_JSON);
    fputs(", ", stdout);
}

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
        fputs(i ? ", {\"key\": " : "{\"key\": ", stdout);
        cli_string_put(stdout, cli_otlp_string(profile, attribute->key_strindex), CLI_TEXT_JSON);
        fputs(", \"value\": ", stdout);
        cli_otlp_put_value(profile, attribute->value);
        fputs(", \"unit\": ", stdout);
        cli_string_put(stdout, cli_otlp_string(profile, attribute->unit_strindex), CLI_TEXT_JSON);
        putchar('}');
    }
    printf("], \"dropped_attributes\": %" PRIu32, dropped);
}

static void put_type(const cli_profile *profile, const Pd__Otlp__ValueType *type)
{
    fputs("{\"type\": ", stdout);
    cli_string_put(stdout, cli_otlp_string(profile, type ? type->type_strindex : 0), CLI_TEXT_JSON);
    fputs(", \"unit\": ", stdout);
    cli_string_put(stdout, cli_otlp_string(profile, type ? type->unit_strindex : 0), CLI_TEXT_JSON);
    putchar('}');
}

static void put_profile(const cli_profile *profile, const Pd__Otlp__Profile *one)
{
    fputs("{\"sample_type\": ", stdout);
    put_type(profile, one->sample_type);
    printf(", \"samples\": %zu, \"time_nanos\": %" PRIu64 ", \"duration_nanos\": %" PRIu64
           ", \"period_type\": ",
           one->n_samples, one->time_unix_nano, one->duration_nano);
    put_type(profile, one->period_type);
    printf(", \"period\": %" PRId64 ", \"profile_id\": \"", one->period);
    cli_otlp_put_hex(one->profile_id);
    fputs("\", ", stdout);
    put_bytes("original_payload_format", one->original_payload_format);
    printf("\"original_payload_bytes\": %zu, ", one->original_payload.len);
    put_attributes(profile, one->attribute_indices, one->n_attribute_indices,
                   one->dropped_attributes_count);
    putchar('}');
}

static void put_scope(const cli_profile *profile, const Pd__Otlp__ScopeProfiles *scopes)
{
    const Pd__Otlp__Scope empty = PD__OTLP__SCOPE__INIT;
    const Pd__Otlp__Scope *scope = scopes->scope ? scopes->scope : &empty;
    putchar('{');
    put_bytes("name", scope->name);
    put_bytes("version", scope->version);
    put_bytes("schema_url", scopes->schema_url);
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
    putchar('{');
    put_bytes("schema_url", resources->schema_url);
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
    pprofdelta_request facts = PPROFDELTA_REQUEST_INIT;
    if (!request) {
        fputs("\"otlp\": null,\n", stdout);
        return;
    }
    pprofdelta_request_of(profile->context, &facts);
    fputs("\"otlp\": {\"resources\": [", stdout);
    for (size_t i = 0; i < request->n_resource_profiles; i++) {
        fputs(i ? ",\n" : "\n", stdout);
        put_resource(profile, request->resource_profiles[i]);
    }
    printf("],\n\"timestamps\": %" PRIu64 ", \"links\": %" PRIu64 ", \"other_attributes\": %" PRIu64
           "},\n",
           facts.timestamps, facts.links, facts.other_attributes);
}

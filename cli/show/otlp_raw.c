/* pprofdelta show --raw of an OTLP request: the whole request, one line for each record.
 *
 * The records are in the order of the file and refer to the tables of the dictionary by index. */
#include "show/otlp_forms.h"

#include "cli.h"
#include "output_file.h"

#include <inttypes.h>
#include <stdio.h>

static void put_bytes(const char *before, ProtobufCBinaryData bytes)
{
    fputs(before, stdout);
    cli_string_put(stdout, cli_otlp_bytes(bytes), CLI_TEXT_QUOTED);
}

static void put_string(const cli_profile *profile, const char *before, int32_t index)
{
    fputs(before, stdout);
    cli_string_put(stdout, cli_otlp_string(profile, index), CLI_TEXT_QUOTED);
}

static void put_indices(const char *name, const int32_t *indices, size_t len)
{
    if (len)
        printf(" %s", name);
    for (size_t i = 0; i < len; i++)
        printf(" %" PRId32, indices[i]);
}

static void put_key_values(const cli_profile *profile, Pd__Otlp__KeyValue *const *attributes,
                           size_t len, uint32_t dropped)
{
    for (size_t i = 0; i < len; i++) {
        fputs("  attribute ", stdout);
        cli_string_put(stdout, cli_otlp_key(profile, attributes[i]), CLI_TEXT_QUOTED);
        fputs(" = ", stdout);
        cli_otlp_put_value(profile, attributes[i]->value);
        putchar('\n');
    }
    if (dropped)
        printf("  dropped attributes: %" PRIu32 "\n", dropped);
}

static void put_type(const cli_profile *profile, const char *name, const Pd__Otlp__ValueType *type)
{
    printf("  %s:", name);
    put_string(profile, " ", type ? type->type_strindex : 0);
    put_string(profile, " ", type ? type->unit_strindex : 0);
    putchar('\n');
}

static void put_sample(const Pd__Otlp__Sample *sample)
{
    printf("   ");
    for (size_t i = 0; i < sample->n_values; i++)
        printf(" %" PRId64, sample->values[i]);
    printf(": stack %" PRId32, sample->stack_index);
    put_indices("attributes", sample->attribute_indices, sample->n_attribute_indices);
    if (sample->link_index)
        printf(" link %" PRId32, sample->link_index);
    for (size_t i = 0; i < sample->n_timestamps_unix_nano; i++)
        printf("%s%" PRIu64, i ? " " : " at ", sample->timestamps_unix_nano[i]);
    putchar('\n');
}

static void put_profile(const cli_profile *profile, const Pd__Otlp__Profile *one)
{
    puts("profile:");
    put_type(profile, "sample_type", one->sample_type);
    printf("  time_unix_nano: %" PRIu64 "\n  duration_nano: %" PRIu64 "\n", one->time_unix_nano,
           one->duration_nano);
    put_type(profile, "period_type", one->period_type);
    printf("  period: %" PRId64 "\n  profile_id: ", one->period);
    cli_otlp_put_hex(one->profile_id);
    putchar('\n');
    if (one->n_attribute_indices) {
        putchar(' ');
        put_indices("attributes", one->attribute_indices, one->n_attribute_indices);
        putchar('\n');
    }
    if (one->dropped_attributes_count)
        printf("  dropped attributes: %" PRIu32 "\n", one->dropped_attributes_count);
    if (one->original_payload.len || one->original_payload_format.len) {
        put_bytes("  original payload: ", one->original_payload_format);
        printf(" %zu bytes\n", one->original_payload.len);
    }
    puts("  samples:");
    for (size_t i = 0; i < one->n_samples && !cli_output_is_over(); i++)
        put_sample(one->samples[i]);
}

static void put_scope(const cli_profile *profile, const Pd__Otlp__ScopeProfiles *scopes)
{
    const Pd__Otlp__Scope empty = PD__OTLP__SCOPE__INIT;
    const Pd__Otlp__Scope *scope = scopes->scope ? scopes->scope : &empty;
    put_bytes("scope: ", scope->name);
    put_bytes(" ", scope->version);
    put_bytes(" ", scopes->schema_url);
    putchar('\n');
    put_key_values(profile, scope->attributes, scope->n_attributes,
                   scope->dropped_attributes_count);
    for (size_t i = 0; i < scopes->n_profiles && !cli_output_is_over(); i++)
        put_profile(profile, scopes->profiles[i]);
}

static void put_resources(const cli_profile *profile)
{
    const Pd__Otlp__Request *request = profile->request;
    for (size_t i = 0; i < request->n_resource_profiles; i++) {
        const Pd__Otlp__ResourceProfiles *resources = request->resource_profiles[i];
        const Pd__Otlp__Resource empty = PD__OTLP__RESOURCE__INIT;
        const Pd__Otlp__Resource *resource = resources->resource ? resources->resource : &empty;
        put_bytes("resource: ", resources->schema_url);
        putchar('\n');
        put_key_values(profile, resource->attributes, resource->n_attributes,
                       resource->dropped_attributes_count);
        for (size_t j = 0; j < resource->n_entity_refs; j++) {
            put_bytes("  entity ", resource->entity_refs[j]->type);
            putchar('\n');
        }
        for (size_t j = 0; j < resources->n_scope_profiles; j++)
            put_scope(profile, resources->scope_profiles[j]);
    }
}

static void put_locations(const Pd__Otlp__Dictionary *d)
{
    puts("location_table:");
    for (size_t i = 0; i < d->n_location_table && !cli_output_is_over(); i++) {
        const Pd__Otlp__Location *location = d->location_table[i];
        printf("  %zu: 0x%" PRIx64 " mapping %" PRId32, i, location->address,
               location->mapping_index);
        put_indices("attributes", location->attribute_indices, location->n_attribute_indices);
        putchar('\n');
        for (size_t j = 0; j < location->n_lines; j++)
            printf("    function %" PRId32 " line %" PRId64 " column %" PRId64 "\n",
                   location->lines[j]->function_index, location->lines[j]->line,
                   location->lines[j]->column);
    }
}

static void put_mappings(const cli_profile *profile, const Pd__Otlp__Dictionary *d)
{
    puts("mapping_table:");
    for (size_t i = 0; i < d->n_mapping_table && !cli_output_is_over(); i++) {
        const Pd__Otlp__Mapping *mapping = d->mapping_table[i];
        printf("  %zu: 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64, i, mapping->memory_start,
               mapping->memory_limit, mapping->file_offset);
        put_string(profile, " ", mapping->filename_strindex);
        put_indices("attributes", mapping->attribute_indices, mapping->n_attribute_indices);
        putchar('\n');
    }
}

static void put_functions(const cli_profile *profile, const Pd__Otlp__Dictionary *d)
{
    puts("function_table:");
    for (size_t i = 0; i < d->n_function_table && !cli_output_is_over(); i++) {
        const Pd__Otlp__Function *function = d->function_table[i];
        printf("  %zu:", i);
        put_string(profile, " ", function->name_strindex);
        put_string(profile, " ", function->system_name_strindex);
        put_string(profile, " ", function->filename_strindex);
        printf(" %" PRId64 "\n", function->start_line);
    }
}

static void put_attributes(const cli_profile *profile, const Pd__Otlp__Dictionary *d)
{
    puts("attribute_table:");
    for (size_t i = 0; i < d->n_attribute_table && !cli_output_is_over(); i++) {
        printf("  %zu:", i);
        put_string(profile, " ", d->attribute_table[i]->key_strindex);
        fputs(" = ", stdout);
        cli_otlp_put_value(profile, d->attribute_table[i]->value);
        put_string(profile, " ", d->attribute_table[i]->unit_strindex);
        putchar('\n');
    }
}

static void put_rest(const cli_profile *profile, const Pd__Otlp__Dictionary *d)
{
    puts("stack_table:");
    for (size_t i = 0; i < d->n_stack_table && !cli_output_is_over(); i++) {
        printf("  %zu:", i);
        put_indices("locations", d->stack_table[i]->location_indices,
                    d->stack_table[i]->n_location_indices);
        putchar('\n');
    }
    puts("link_table:");
    for (size_t i = 0; i < d->n_link_table && !cli_output_is_over(); i++) {
        printf("  %zu: trace ", i);
        cli_otlp_put_hex(d->link_table[i]->trace_id);
        fputs(" span ", stdout);
        cli_otlp_put_hex(d->link_table[i]->span_id);
        putchar('\n');
    }
    puts("string_table:");
    for (size_t i = 0; i < d->n_string_table && !cli_output_is_over(); i++) {
        printf("  %zu:", i);
        put_string(profile, " ", (int32_t)i);
        putchar('\n');
    }
}

int cli_show_raw_request(const cli_profile *profile)
{
    const Pd__Otlp__Dictionary empty = PD__OTLP__DICTIONARY__INIT;
    const Pd__Otlp__Dictionary *d =
        profile->request->dictionary ? profile->request->dictionary : &empty;
    put_resources(profile);
    put_mappings(profile, d);
    put_locations(d);
    put_functions(profile, d);
    put_attributes(profile, d);
    put_rest(profile, d);
    return CLI_DONE;
}

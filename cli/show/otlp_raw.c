/* pprofdelta show --raw of an OTLP request: the whole request, one line for each record.
 *
 * The records are in the order of the file and refer to the tables of the dictionary by index. */
#include "show/otlp_forms.h"

#include "cli.h"
#include "output_file.h"
#include "show/record_text.h"

#include <inttypes.h>
#include <stdio.h>

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

static void put_profile(const cli_profile *profile, const Pd__Otlp__Profile *one)
{
    cli_record_put(profile, &one->base,
                   "profile:\n"
                   "  sample_type: <q:sample_type.type_strindex> <q:sample_type.unit_strindex>\n"
                   "  time_unix_nano: <time_unix_nano>\n"
                   "  duration_nano: <duration_nano>\n"
                   "  period_type: <q:period_type.type_strindex> <q:period_type.unit_strindex>\n"
                   "  period: <period>\n"
                   "  profile_id: <h:profile_id>\n");
    if (one->n_attribute_indices)
        cli_record_put(profile, &one->base, " <*attribute_indices:attributes>\n");
    if (one->dropped_attributes_count)
        cli_record_put(profile, &one->base, "  dropped attributes: <dropped_attributes_count>\n");
    if (one->original_payload.len || one->original_payload_format.len)
        cli_record_put(profile, &one->base,
                       "  original payload: <q:original_payload_format> <n:original_payload> "
                       "bytes\n");
    puts("  samples:");
    cli_records_put(profile, &one->base, "samples", "",
                    "   <*values>: stack <stack_index><*attribute_indices:attributes>"
                    "<+link_index:link><*timestamps_unix_nano:at>\n");
}

static void put_scope(const cli_profile *profile, const Pd__Otlp__ScopeProfiles *scopes)
{
    const Pd__Otlp__Scope empty = PD__OTLP__SCOPE__INIT;
    const Pd__Otlp__Scope *scope = scopes->scope ? scopes->scope : &empty;
    cli_record_put(profile, &scope->base, "scope: <q:name> <q:version>");
    cli_record_put(profile, &scopes->base, " <q:schema_url>\n");
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
        cli_record_put(profile, &resources->base, "resource: <q:schema_url>\n");
        put_key_values(profile, resource->attributes, resource->n_attributes,
                       resource->dropped_attributes_count);
        cli_records_put(profile, &resource->base, "entity_refs", "", "  entity <q:type>\n");
        for (size_t j = 0; j < resources->n_scope_profiles; j++)
            put_scope(profile, resources->scope_profiles[j]);
    }
}

static void put_locations(const cli_profile *profile, const Pd__Otlp__Dictionary *d)
{
    puts("location_table:");
    for (size_t i = 0; i < d->n_location_table && !cli_output_is_over(); i++) {
        const Pd__Otlp__Location *location = d->location_table[i];
        printf("  %zu: ", i);
        cli_record_put(profile, &location->base,
                       "<x:address> mapping <mapping_index><*attribute_indices:attributes>\n");
        cli_records_put(profile, &location->base, "lines", "",
                        "    function <function_index> line <line> column <column>\n");
    }
}

static void put_attributes(const cli_profile *profile, const Pd__Otlp__Dictionary *d)
{
    puts("attribute_table:");
    for (size_t i = 0; i < d->n_attribute_table && !cli_output_is_over(); i++) {
        const Pd__Otlp__Attribute *attribute = d->attribute_table[i];
        printf("  %zu: ", i);
        cli_record_put(profile, &attribute->base, "<q:key_strindex> = ");
        cli_otlp_put_value(profile, attribute->value);
        cli_record_put(profile, &attribute->base, " <q:unit_strindex>\n");
    }
}

static void put_strings(const cli_profile *profile, const Pd__Otlp__Dictionary *d)
{
    puts("string_table:");
    for (size_t i = 0; i < d->n_string_table && !cli_output_is_over(); i++) {
        printf("  %zu: ", i);
        cli_string_put(stdout, cli_otlp_string(profile, (int32_t)i), CLI_TEXT_QUOTED);
        putchar('\n');
    }
}

static void put_table(const cli_profile *profile, const Pd__Otlp__Dictionary *d, const char *table,
                      const char *format)
{
    printf("%s:\n", table);
    cli_records_put(profile, &d->base, table, "", format);
}

int cli_show_raw_request(const cli_profile *profile)
{
    const Pd__Otlp__Dictionary empty = PD__OTLP__DICTIONARY__INIT;
    const Pd__Otlp__Dictionary *d =
        profile->request->dictionary ? profile->request->dictionary : &empty;
    put_resources(profile);
    put_table(profile, d, "mapping_table",
              "  <#>: <x:memory_start> <x:memory_limit> <x:file_offset> <q:filename_strindex>"
              "<*attribute_indices:attributes>\n");
    put_locations(profile, d);
    put_table(profile, d, "function_table",
              "  <#>: <q:name_strindex> <q:system_name_strindex> <q:filename_strindex> "
              "<start_line>\n");
    put_attributes(profile, d);
    put_table(profile, d, "stack_table", "  <#>:<*location_indices:locations>\n");
    put_table(profile, d, "link_table", "  <#>: trace <h:trace_id> span <h:span_id>\n");
    put_strings(profile, d);
    return CLI_DONE;
}

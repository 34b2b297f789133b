/* The lines of the heading that an OTLP request has in addition to those of a profile:
 *
 *     resource  service.name="shop", host.name="a"
 *     scope     pprofdelta 0.1.0
 *     profiles  2 (alloc_space 0102030405060708090a0b0c0d0e0f10, inuse_space ...)
 *
 * Long lists are cut: --json has all. */
#include "show/otlp_forms.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_LINES = 5, MOST_PROFILES = 8 };

static void put_title(size_t nth, const char *title)
{
    printf("%-10s", nth ? "" : title);
}

static void put_more(size_t len)
{
    if (len > MOST_LINES)
        printf("%-10sand %zu more: --json\n", "", len - MOST_LINES);
}

static void put_attributes(const cli_profile *profile, Pd__Otlp__KeyValue *const *attributes,
                           size_t len)
{
    for (size_t i = 0; i < len; i++) {
        fputs(i ? ", " : "", stdout);
        cli_string_put(stdout, cli_otlp_key(profile, attributes[i]), CLI_TEXT_SHOWN);
        putchar('=');
        cli_otlp_put_value(profile, attributes[i]->value);
    }
    if (!len)
        fputs("(no attributes)", stdout);
    putchar('\n');
}

static void put_resources(const cli_profile *profile)
{
    const Pd__Otlp__Request *request = profile->request;
    size_t len = request->n_resource_profiles;
    for (size_t i = 0; i < len && i < MOST_LINES; i++) {
        const Pd__Otlp__Resource *resource = request->resource_profiles[i]->resource;
        put_title(i, "resource");
        put_attributes(profile, resource ? resource->attributes : NULL,
                       resource ? resource->n_attributes : 0);
    }
    put_more(len);
}

static void put_scopes(const cli_profile *profile)
{
    size_t nth = 0;
    for (size_t i = 0; i < profile->request->n_resource_profiles; i++) {
        const Pd__Otlp__ResourceProfiles *resource = profile->request->resource_profiles[i];
        for (size_t j = 0; j < resource->n_scope_profiles; j++) {
            const Pd__Otlp__Scope *scope = resource->scope_profiles[j]->scope;
            if (nth++ >= MOST_LINES || !scope)
                continue;
            put_title(nth - 1, "scope");
            cli_string_put(stdout, cli_otlp_bytes(scope->name), CLI_TEXT_SHOWN);
            fputs(scope->version.len ? " " : "", stdout);
            cli_string_put(stdout, cli_otlp_bytes(scope->version), CLI_TEXT_SHOWN);
            putchar('\n');
        }
    }
    put_more(nth);
}

static void put_profile(const cli_profile *profile, const Pd__Otlp__Profile *one, size_t nth)
{
    fputs(nth ? ", " : " (", stdout);
    cli_string type =
        cli_otlp_string(profile, one->sample_type ? one->sample_type->type_strindex : 0);
    cli_string_put(stdout, type.len ? type : cli_string_of("(no type)"), CLI_TEXT_SHOWN);
    if (one->profile_id.len)
        putchar(' ');
    cli_otlp_put_hex(one->profile_id);
}

static void put_profiles(const cli_profile *profile)
{
    size_t nth = 0;
    const pprofdelta_census *facts = &profile->census;
    printf("%-10s%" PRIu64, "profiles", facts->profiles);
    for (size_t i = 0; i < profile->request->n_resource_profiles; i++) {
        const Pd__Otlp__ResourceProfiles *resource = profile->request->resource_profiles[i];
        for (size_t j = 0; j < resource->n_scope_profiles; j++) {
            const Pd__Otlp__ScopeProfiles *scope = resource->scope_profiles[j];
            for (size_t k = 0; k < scope->n_profiles && nth < MOST_PROFILES; k++)
                put_profile(profile, scope->profiles[k], nth++);
        }
    }
    puts(facts->profiles > nth ? ", ...: --json)" : ")");
    if (facts->other_attributes)
        printf("%-10s%" PRIu64 " attributes of mappings, locations and profiles: --raw\n", "and",
               facts->other_attributes);
    if (facts->payloads)
        printf("%-10s%" PRIu64 " original payloads, which are not shown\n", "and", facts->payloads);
}

void cli_otlp_put_heading(const cli_profile *profile)
{
    if (!profile->request)
        return;
    put_resources(profile);
    put_scopes(profile);
    put_profiles(profile);
}

/* The lines of the heading that an OTLP request has in addition to those of a profile:
 *
 *     resource  service.name="shop", host.name="a"
 *     scope     pprofdelta 0.1.0
 *     profiles  2 (alloc_space 0102030405060708090a0b0c0d0e0f10, inuse_space ...)
 *
 * Long lists are cut: --json has all. */
#include "show/otlp_forms.h"
#include "show/record_text.h"

#include <inttypes.h>

enum { MOST_LINES = 5, MOST_PROFILES = 8 };

static const char resource[] = "<[resource.attributes|, ><s:key>=<v:value><]>"
                               "<!resource.attributes|>(no attributes)<]>\n";
static const char scope[] = "<s:scope.name><?scope.version|> <s:scope.version><]>\n";
static const char one_profile[] = "<?sample_type.type_strindex|><s:sample_type.type_strindex><]>"
                                  "<!sample_type.type_strindex|>(no type)<]>"
                                  "<?profile_id|> <h:profile_id><]>";

static void put_title(size_t nth, const char *title)
{
    printf("%-10s", nth ? "" : title);
}

static void put_more(size_t len)
{
    if (len > MOST_LINES)
        printf("%-10sand %zu more: --json\n", "", len - MOST_LINES);
}

static void put_resources(const cli_profile *profile)
{
    size_t len = profile->request->n_resource_profiles;
    for (size_t i = 0; i < len && i < MOST_LINES; i++) {
        put_title(i, "resource");
        cli_record_put(profile, &profile->request->resource_profiles[i]->base, resource);
    }
    put_more(len);
}

static void put_scopes(const cli_profile *profile)
{
    size_t nth = 0;
    for (size_t i = 0; i < profile->request->n_resource_profiles; i++) {
        const Pd__Otlp__ResourceProfiles *resources = profile->request->resource_profiles[i];
        for (size_t j = 0; j < resources->n_scope_profiles; j++) {
            if (nth++ >= MOST_LINES || !resources->scope_profiles[j]->scope)
                continue;
            put_title(nth - 1, "scope");
            cli_record_put(profile, &resources->scope_profiles[j]->base, scope);
        }
    }
    put_more(nth);
}

static void put_profiles(const cli_profile *profile)
{
    size_t nth = 0;
    const pprofdelta_census *facts = &profile->census;
    printf("%-10s%" PRIu64, "profiles", facts->profiles);
    for (size_t i = 0; i < profile->request->n_resource_profiles; i++) {
        const Pd__Otlp__ResourceProfiles *resources = profile->request->resource_profiles[i];
        for (size_t j = 0; j < resources->n_scope_profiles; j++) {
            const Pd__Otlp__ScopeProfiles *scopes = resources->scope_profiles[j];
            for (size_t k = 0; k < scopes->n_profiles && nth < MOST_PROFILES; k++) {
                fputs(nth++ ? ", " : " (", stdout);
                cli_record_put(profile, &scopes->profiles[k]->base, one_profile);
            }
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

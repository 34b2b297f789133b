/* Which types are shown: see show_stacks.h. */
#include "show_stacks.h"

#include "arguments.h"
#include "cli.h"
#include "message.h"

#include <stdio.h>
#include <string.h>

/* The place of cur's type `column` among prev's, or -1. */
static int find_same(const cli_profile *prev, const cli_profile *cur, size_t column)
{
    for (size_t i = 0; i < prev->view->n_sample_type; i++)
        if (!strcmp(cli_profile_type(prev, i), cli_profile_type(cur, column)) &&
            !strcmp(cli_profile_unit(prev, i), cli_profile_unit(cur, column)))
            return (int)i;
    return -1;
}

static void name_types(const cli_profile *profile, char *names, size_t room)
{
    for (size_t i = 0, at = 0; i < profile->view->n_sample_type && at < room; i++)
        at += (size_t)snprintf(names + at, room - at, "%s%s/%s", i ? ", " : "",
                               cli_profile_type(profile, i), cli_profile_unit(profile, i));
}

static int nothing_in_common(const cli_profile *profiles)
{
    char prev[512] = "none", cur[512] = "none";
    name_types(&profiles[0], prev, sizeof prev);
    name_types(&profiles[1], cur, sizeof cur);
    cli_error("%s and %s: have no sample type in common: %s against %s", profiles[0].input.name,
              profiles[1].input.name, prev, cur);
    return CLI_FAILED;
}

int cli_types_match(cli_types *types, const cli_profile *profiles, size_t sides)
{
    const cli_profile *cur = &profiles[sides - 1];
    *types = (cli_types){.len = 0};
    for (size_t i = 0; i < cur->view->n_sample_type && i < PPROFDELTA_MAX_TYPES; i++) {
        int same = sides == 1 ? (int)i : find_same(&profiles[0], cur, i);
        if (same < 0)
            continue;
        types->column[0][types->len] = (size_t)same;
        types->column[sides - 1][types->len] = i;
        types->len++;
    }
    if (types->len)
        return CLI_DONE;
    if (sides > 1)
        return nothing_in_common(profiles);
    cli_error("%s: has no sample types; --raw shows what it has", cur->input.name);
    return CLI_FAILED;
}

int cli_types_choose(const cli_types *types, const cli_profile *profiles, size_t sides,
                     const char *name, size_t *chosen)
{
    const cli_profile *cur = &profiles[sides - 1];
    int wanted = name ? cli_profile_find_type(cur, name) : (int)cli_profile_default_type(cur);
    char names[512] = "";
    *chosen = 0;
    for (size_t i = 0, at = 0; i < types->len; i++) {
        size_t column = types->column[sides - 1][i];
        if (wanted == (int)column) {
            *chosen = i;
            return CLI_DONE;
        }
        if (at < sizeof names)
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? " or " : "",
                                   cli_profile_type(cur, column));
    }
    return name ? cli_bad_value("--type", name, names) : CLI_DONE;
}

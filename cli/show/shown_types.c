/* The sample types that `show` shows: see shown.h. */
#include "cli.h"
#include "message.h"
#include "show/shown.h"

/* ---- facts -------------------------------------------------------------------------------- */

static const cli_profile *last_of(const cli_shown *shown)
{
    return &shown->profiles[shown->sides - 1];
}

cli_string cli_types_name(const cli_shown *shown, size_t at)
{
    return cli_profile_type(last_of(shown), shown->types.column[shown->sides - 1][at]);
}

cli_string cli_types_unit(const cli_shown *shown, size_t at)
{
    return cli_profile_unit(last_of(shown), shown->types.column[shown->sides - 1][at]);
}

pprofdelta_sum cli_types_total(const cli_shown *shown, size_t side, size_t at)
{
    return shown->profiles[side].samples.totals[shown->types.column[side][at]];
}

bool cli_types_are_zero(const cli_shown *shown, size_t at)
{
    for (size_t side = 0; side < shown->sides; side++)
        if (shown->profiles[side].samples.has_values[shown->types.column[side][at]])
            return false;
    return true;
}

/* ---- matching ----------------------------------------------------------------------------- */

/* The column of prev that has the name and the unit of cur's column; -1 if there is none. */
static int find_same(const cli_profile *prev, const cli_profile *cur, size_t column)
{
    for (size_t i = 0; i < prev->view->n_sample_type; i++)
        if (!cli_string_compare(cli_profile_type(prev, i), cli_profile_type(cur, column)) &&
            !cli_string_compare(cli_profile_unit(prev, i), cli_profile_unit(cur, column)))
            return (int)i;
    return -1;
}

/* Prints that two profiles have no type, or not that one, in common. */
static int refuse_pair(const cli_shown *shown, const char *name)
{
    char before[CLI_TYPES_ROOM], now[CLI_TYPES_ROOM];
    const cli_profile *profiles = shown->profiles;
    return cli_error("%s and %s: have no sample type%s%s in common: %s against %s",
                     profiles[0].input.name, profiles[1].input.name, *name ? " " : "", name,
                     cli_profile_list_types(&profiles[0], before),
                     cli_profile_list_types(&profiles[1], now));
}

int cli_types_match(cli_shown *shown)
{
    const cli_profile *prev = shown->profiles, *cur = last_of(shown);
    cli_types *types = &shown->types;
    for (size_t i = 0; i < cur->view->n_sample_type && i < PPROFDELTA_MAX_TYPES; i++) {
        int same = shown->sides == 1 ? (int)i : find_same(prev, cur, i);
        if (same < 0)
            continue;
        types->column[0][types->len] = (size_t)same;
        types->column[shown->sides - 1][types->len] = i;
        types->len++;
    }
    if (types->len)
        return CLI_DONE;
    if (shown->sides > 1)
        return refuse_pair(shown, "");
    cli_error("%s: has no sample types", cur->input.name);
    return cli_hint("--raw shows everything else in the profile");
}

int cli_types_choose(const cli_shown *shown, const char *name, size_t *chosen)
{
    const cli_profile *cur = last_of(shown);
    int wanted =
        name ? cli_profile_find_type(cur, cli_string_of(name)) : cli_profile_default_type(cur);
    for (size_t i = 0; i < shown->types.len; i++) {
        *chosen = i;
        if (wanted == (int)shown->types.column[shown->sides - 1][i])
            return CLI_DONE;
    }
    if (!name)
        return CLI_DONE;
    return wanted < 0 ? cli_profile_no_type(cur, name) : refuse_pair(shown, name);
}

/* ---- another type than the default one ---------------------------------------------------- */

/* The type of the peak of a live heap, if at most a hundredth of it is in use, as when the program
 * frees what it has before it ends; else `at`. */
static size_t peak_instead(const cli_shown *shown, size_t at)
{
    static const double share = 0.01;
    size_t last = shown->sides - 1;
    bool is_space = cli_string_is(cli_types_name(shown, at), "inuse_space");
    if (!is_space && !cli_string_is(cli_types_name(shown, at), "inuse_objects"))
        return at;
    double in_use = cli_sum_double(cli_types_total(shown, last, at));
    for (size_t i = 0; i < shown->types.len; i++) {
        double peak = cli_sum_double(cli_types_total(shown, last, i));
        if (cli_string_is(cli_types_name(shown, i), is_space ? "peak_space" : "peak_objects") &&
            peak > 0 && in_use >= 0 && in_use <= share * peak)
            return i;
    }
    return at;
}

size_t cli_types_instead(const cli_shown *shown, size_t at)
{
    cli_string unit = cli_types_unit(shown, at);
    size_t peak = peak_instead(shown, at);
    if (peak != at || !cli_types_are_zero(shown, at))
        return peak;
    for (int any = 0; any < 2; any++)
        for (size_t i = 0; i < shown->types.len; i++)
            if ((any || !cli_string_compare(cli_types_unit(shown, i), unit)) &&
                !cli_types_are_zero(shown, i))
                return i;
    return at;
}

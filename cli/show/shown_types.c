/* The sample types that `show` shows: see shown_types.h. */
#include "show/shown_types.h"

#include "cli.h"
#include "message.h"

/* The column of prev that has the name and the unit of cur's column; -1 if there is none. */
static int find_same(const cli_profile *prev, const cli_profile *cur, size_t column)
{
    for (size_t i = 0; i < prev->view->n_sample_type; i++)
        if (!cli_string_compare(cli_profile_type(prev, i), cli_profile_type(cur, column)) &&
            !cli_string_compare(cli_profile_unit(prev, i), cli_profile_unit(cur, column)))
            return (int)i;
    return -1;
}

/* A list of names for a message. */
typedef struct list {
    char text[1024];
    size_t len;
} list;

static void add_word(list *to, cli_string word)
{
    to->len += cli_string_write(to->text + to->len, sizeof to->text - to->len, word);
}

static void add_type(list *to, const char *comma, const cli_profile *profile, size_t column)
{
    if (to->len)
        add_word(to, cli_string_of(comma));
    add_word(to, cli_profile_type(profile, column));
    add_word(to, cli_string_of("/"));
    add_word(to, cli_profile_unit(profile, column));
}

static list list_of(const cli_profile *profile)
{
    list types = {"", 0};
    for (size_t i = 0; i < profile->view->n_sample_type; i++)
        add_type(&types, ", ", profile, i);
    if (!types.len)
        add_word(&types, cli_string_of("none"));
    return types;
}

static int nothing_in_common(const cli_profile *profiles)
{
    cli_error("%s and %s: have no sample type in common: %s against %s", profiles[0].input.name,
              profiles[1].input.name, list_of(&profiles[0]).text, list_of(&profiles[1]).text);
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
    cli_error("%s: has no sample types", cur->input.name);
    cli_hint("--raw shows everything else in the profile");
    return CLI_FAILED;
}

/* The type that --type names is not there: prints which are. The exit code is not that of a wrong
 * command line, because another profile may have the type. */
static int refuse_name(const cli_types *types, const cli_profile *profiles, size_t sides,
                       const char *name)
{
    const cli_profile *cur = &profiles[sides - 1];
    list there = {"", 0};
    for (size_t i = 0; i < types->len; i++)
        add_type(&there, ", ", cur, types->column[sides - 1][i]);
    if (sides > 1)
        cli_error("%s and %s: have no sample type \"%s\" in common; there are: %s",
                  profiles[0].input.name, cur->input.name, name, there.text);
    else
        cli_error("%s: no sample type is named \"%s\"; there are: %s", cur->input.name, name,
                  there.text);
    return CLI_FAILED;
}

int cli_types_choose(const cli_types *types, const cli_profile *profiles, size_t sides,
                     const char *name, size_t *chosen)
{
    const cli_profile *cur = &profiles[sides - 1];
    int wanted =
        name ? cli_profile_find_type(cur, cli_string_of(name)) : cli_profile_default_type(cur);
    for (size_t i = 0; i < types->len; i++) {
        *chosen = i;
        if (wanted == (int)types->column[sides - 1][i])
            return CLI_DONE;
    }
    return name ? refuse_name(types, profiles, sides, name) : CLI_DONE;
}

bool cli_types_are_zero(const cli_types *types, const cli_profile *profiles, size_t sides,
                        size_t at)
{
    for (size_t side = 0; side < sides; side++)
        for (size_t i = 0; i < profiles[side].view->n_sample; i++)
            if (profiles[side].view->sample[i]->value[types->column[side][at]])
                return false;
    return true;
}

/* The index of the type of the peak of a live heap, if at most a hundredth of it is in use, as when the
 * program frees what it has before it ends; else `at`. */
static size_t peak_instead(const cli_types *types, const cli_profile *cur, const size_t *columns,
                           size_t at)
{
    static const double share = 0.01;
    bool is_space = cli_string_is(cli_profile_type(cur, columns[at]), "inuse_space");
    const char *name = is_space ? "peak_space" : "peak_objects";
    if (!is_space && !cli_string_is(cli_profile_type(cur, columns[at]), "inuse_objects"))
        return at;
    double in_use = cli_sum_double(cli_profile_total(cur, columns[at]));
    for (size_t i = 0; i < types->len; i++) {
        double peak = cli_sum_double(cli_profile_total(cur, columns[i]));
        if (cli_string_is(cli_profile_type(cur, columns[i]), name) && peak > 0 && in_use >= 0 &&
            in_use <= share * peak)
            return i;
    }
    return at;
}

size_t cli_types_instead(const cli_types *types, const cli_profile *profiles, size_t sides,
                         size_t at)
{
    const cli_profile *cur = &profiles[sides - 1];
    const size_t *columns = types->column[sides - 1];
    cli_string unit = cli_profile_unit(cur, columns[at]);
    size_t peak = peak_instead(types, cur, columns, at);
    if (peak != at || !cli_types_are_zero(types, profiles, sides, at))
        return peak;
    for (int any = 0; any < 2; any++)
        for (size_t i = 0; i < types->len; i++)
            if ((any || !cli_string_compare(cli_profile_unit(cur, columns[i]), unit)) &&
                !cli_types_are_zero(types, profiles, sides, i))
                return i;
    return at;
}

/* The stacks of one profile or of two, read root first and sorted by the names in them.
 *
 *     profile 0   main;serve;parse   5 2048     --\
 *     profile 1   main;serve;parse   7 4096     --+-- one group: their stacks read the same
 *     profile 1   main;serve;write   1   16     ----- the next
 *
 * Two profiles share their names here: equal functions have one number, whatever their ids, and the
 * numbers follow the names, so the order is that of the text whatever the order of the samples. */
#ifndef CLI_SHOW_STACKS_H
#define CLI_SHOW_STACKS_H

#include "show.h"

enum { CLI_SIDES = 2 };

typedef struct cli_stack {
    const uint32_t *frames; /* places in names, root first */
    size_t len;
    const int64_t *values; /* the sample's, as its profile orders them */
    size_t side;           /* whose it is: 0, or 1 for the second profile */
} cli_stack;

typedef struct cli_stacks {
    cli_symbols symbols[CLI_SIDES]; /* their frames are places in the names below */
    cli_string *names;              /* distinct, in the order of their bytes */
    size_t names_len;
    cli_stack *stacks; /* sorted; equal ones lie together */
    size_t len;
    uint32_t *frames;
} cli_stacks;

/* Takes the stacks of one profile, or of two. Returns an exit code; *stacks is to be freed whatever
 * it is, and does not outlive the profiles. */
int cli_stacks_make(cli_stacks *stacks, const cli_profile *profiles, size_t sides);
void cli_stacks_free(cli_stacks *stacks);

/* Behind the last stack that reads as stacks[at] does. */
size_t cli_stacks_group_end(const cli_stacks *stacks, size_t at);

/* What a group holds of one side's column. */
pprofdelta_sum cli_stacks_group_sum(const cli_stacks *stacks, size_t at, size_t end, size_t side,
                                    size_t column);

/* The types of what is shown: those of one profile, or those that both have, in the second's order.
 * column[side][i] is the place of the i-th in the profile of that side. */
typedef struct cli_types {
    size_t column[CLI_SIDES][PPROFDELTA_MAX_TYPES];
    size_t len;
} cli_types;

/* Matches the types by name and unit. Returns an exit code; having none in common is an error that
 * prints both sets. */
int cli_types_match(cli_types *types, const cli_profile *profiles, size_t sides);

/* The type that --type names (NULL: the last profile's default one), or says which there are. */
int cli_types_choose(const cli_types *types, const cli_profile *profiles, size_t sides,
                     const char *name, size_t *chosen);

/* The forms that show two profiles as well as one. */
int cli_show_folded(const cli_profile *profiles, size_t sides, const cli_types *types,
                    size_t chosen);
int cli_show_flame(const cli_profile *profiles, size_t sides, const cli_types *types, size_t chosen,
                   const char *path);

/* The table of two: what changed, and where. */
int cli_show_change(const cli_profile *profiles, const cli_types *types, size_t chosen,
                    size_t most_rows);

#endif

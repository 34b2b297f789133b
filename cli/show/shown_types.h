/* The sample types that `show` shows: those of one profile, or those that two profiles have in
 * common, in the order of the second. */
#ifndef CLI_SHOW_SHOWN_TYPES_H
#define CLI_SHOW_SHOWN_TYPES_H

#include "show/stacks.h"

typedef struct cli_types {
    size_t column[CLI_SIDES][PPROFDELTA_MAX_TYPES]; /* column[side][i]: of the i-th shown type */
    size_t len;
} cli_types;

/* Matches the types by name and unit. If there are none to show, prints that; returns an exit
 * code. */
int cli_types_match(cli_types *types, const cli_profile *profiles, size_t sides);

/* Sets *chosen to the index in *types of the type that --type names, or of the default type of the
 * last profile if name is NULL. If there is no such type, prints which there are. Returns an exit
 * code. */
int cli_types_choose(const cli_types *types, const cli_profile *profiles, size_t sides,
                     const char *name, size_t *chosen);

/* Whether a type is 0 in every sample of every side. at is an index in *types. */
bool cli_types_are_zero(const cli_types *types, const cli_profile *profiles, size_t sides,
                        size_t at);

/* The type to show in place of the default type `at`: `at` itself unless it is 0 in every sample, or
 * nearly nothing is in use beside the peak of a live heap, which is shown then. Otherwise the first type of its unit that is not, else the first of any unit; `at` if all are 0. */
size_t cli_types_instead(const cli_types *types, const cli_profile *profiles, size_t sides,
                         size_t at);

#endif

/* The forms of `show`.
 *
 *     verb_show.c --> view.c: read, check, inflate, unpack
 *                 --> shown_types.c: which sample types
 *                 --> one of form_*.c: print
 *                         --> symbol_names.c, stacks.c: names and stacks
 *                         --> heading.c: what stands above a table
 *                         --> screen.c, units.c: widths, colours, numbers
 *
 * Each form prints to stdout, but for the page of --flame, which goes to its file. Each returns an
 * exit code for its own failures; the caller closes stdout and checks it. */
#ifndef CLI_SHOW_FORMS_H
#define CLI_SHOW_FORMS_H

#include "show/shown_types.h"

/* The functions of one profile that count most, with all types or only the chosen one. */
int cli_show_top(const cli_profile *profile, const cli_types *types, size_t chosen,
                 bool only_chosen, size_t most_rows);

/* The functions that changed most between two profiles. */
int cli_show_change(const cli_profile *profiles, const cli_types *types, size_t chosen,
                    size_t most_rows);

int cli_show_raw(const cli_profile *profile);
int cli_show_json(const cli_profile *profile);

/* For one profile, or for two. path is the page's file; "-" is stdout. */
int cli_show_folded(const cli_profile *profiles, size_t sides, const cli_types *types,
                    size_t chosen);
int cli_show_flame(const cli_profile *profiles, size_t sides, const cli_types *types, size_t chosen,
                   const char *path);

#endif

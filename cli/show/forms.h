/* The forms of `show`.
 *
 *     verb_show.c --> view.c: read, check, inflate, unpack
 *                 --> shown_types.c: which sample types
 *                 --> selection.c: which samples and frames
 *                         --> symbol_names.c: names
 *                         --> filters.c, wrappers.c: what is kept, what is hidden
 *                 --> one of form_*.c: print
 *                         --> stacks.c, frame_place.c: stacks, files and lines
 *                         --> heading.c, shown.c: what stands above a table
 *                         --> screen.c, units.c: widths, colours, numbers
 *
 * Each form prints to stdout, but for the page of --flame, which goes to its file. Each returns an
 * exit code for its own failures; the caller closes stdout and checks it. */
#ifndef CLI_SHOW_FORMS_H
#define CLI_SHOW_FORMS_H

#include "show/shown.h"

/* The functions of one profile that count most, with all types or only the chosen one. */
int cli_show_top(const cli_shown *shown);

/* The functions that changed most between two profiles. */
int cli_show_change(const cli_shown *shown);

/* The rest takes one profile or two. */

/* The stacks that count most, or that changed most. */
int cli_show_stacks(const cli_shown *shown);

int cli_show_folded(const cli_shown *shown);
int cli_show_json(const cli_shown *shown);

/* path is the page's file; "-" is stdout. */
int cli_show_flame(const cli_shown *shown, const char *path);

/* One profile only. */
int cli_show_raw(const cli_shown *shown);

#endif

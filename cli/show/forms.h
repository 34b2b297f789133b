/* The forms of `show`.
 *
 *     verb_show.c --> view.c: read, check, inflate, unpack
 *                 --> shown.c: which samples and frames (see shown.h)
 *                 --> one of form_*.c: print
 *                         --> heading.c, notes.c: what stands above a table
 *                         --> screen.c, units.c: widths, colours, numbers
 *
 * Each form prints to stdout, but for the page of --flame, which goes to its file and returns an exit
 * code. The caller closes stdout and checks it. */
#ifndef CLI_SHOW_FORMS_H
#define CLI_SHOW_FORMS_H

#include "show/shown.h"

/* The functions of one profile that count most, with all types or only the chosen one; or those that
 * changed most between two. */
void cli_show_table(const cli_shown *shown);

/* The stacks that count most, or that changed most. This and the next two sort the stacks. */
void cli_show_stacks(cli_shown *shown);
void cli_show_folded(cli_shown *shown);
void cli_show_json(cli_shown *shown);

/* path is the page's file; "-" is stdout. */
int cli_show_flame(cli_shown *shown, const char *path);

/* One profile only; of an OTLP request, its own records. */
void cli_show_raw(const cli_shown *shown);

#endif

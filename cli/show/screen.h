/* The terminal that stdout is: its width, and whether it gets colours.
 *
 * Output has colours only on a terminal, if TERM is not "dumb" and NO_COLOR is not set. Otherwise
 * every member of cli_ink is "", so that callers print it without asking. */
#ifndef CLI_SHOW_SCREEN_H
#define CLI_SHOW_SCREEN_H

#include "units.h"
#include "text.h"

#include <stddef.h>

typedef struct cli_ink {
    const char *bold, *dim, *growth, *shrinkage;
    const char *end; /* back to plain */
} cli_ink;

cli_ink cli_screen_ink(void);

/* The columns of the terminal, at least 40; 80 if stdout is not a terminal. */
size_t cli_screen_width(void);

/* Prints text in the SHOWN form, with spaces before it up to `width` columns. */
void cli_screen_put_right(cli_string text, size_t width);

/* The ink of a change: growth, shrinkage, or dim if it is 0. */
const char *cli_screen_change_ink(const cli_ink *ink, pprofdelta_sum change);

#endif

/* What stdout is to the eye: how wide, and whether it may be coloured.
 *
 * Colour is for a terminal alone, and not for one that is called dumb or where the variable
 * NO_COLOR is set. Everywhere else every member is "", so that printing needs to ask nothing. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "text.h"

#include <stddef.h>

typedef struct cli_ink {
    const char *bold, *dim, *growth, *shrinkage;
    const char *end; /* back to plain */
} cli_ink;

cli_ink cli_screen_ink(void);

/* Columns of the terminal that stdout is, 40 at least; 80 for everything else. */
size_t cli_screen_width(void);

/* Prints a name or a number so that it ends at the right of `width` columns. */
void cli_screen_put_right(cli_string text, size_t width);

#endif

/* The names of the frames at each location of a profile.
 *
 * A location with lines has one frame for each line, so inlined calls are frames too. A location
 * without lines has one frame, which is named by its address in its mapping: "libc.so.6+0x27a10",
 * or "[anon]@0x7f0000000100" if the mapping is not a file. */
#ifndef CLI_SHOW_SYMBOL_NAMES_H
#define CLI_SHOW_SYMBOL_NAMES_H

#include "view.h"

typedef struct cli_symbols {
    cli_string *names; /* distinct, in the order of their bytes */
    size_t len;
    uint32_t *frames; /* indexes into names */
    size_t frames_len;
    size_t *first;   /* view->location[i] has frames[first[i]] to frames[first[i + 1] - 1],
                      innermost call first, at least one */
    char *made;      /* the bytes of the names that were made from addresses */
    char *shortened; /* and of the short names */
} cli_symbols;

/* The name of one frame, for callers that do not number the names: of a line of the location, or of
 * the location if line is NULL. It is in the profile or in made. */
enum { CLI_SYMBOL_MADE = 96 };
cli_string cli_symbols_name(const cli_profile *profile, const Pd__View__Location *location,
                            const Pd__View__Line *line, char made[CLI_SYMBOL_MADE]);

/* is_short: the names of functions are those of short_names.h. Prints what is wrong; returns an exit
 * code. Free *symbols whatever is returned. */
int cli_symbols_make(cli_symbols *symbols, const cli_profile *profile, bool is_short);
void cli_symbols_free(cli_symbols *symbols);

#endif

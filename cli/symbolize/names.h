/* The names of functions for the verbs that print them: the options --no-symbolize, --no-demangle and
 * --debug-dir, and what they do to a profile. */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include "view.h"

#include <stdbool.h>
#include <stddef.h>

/* The values of the options: rows of a verb's table of options. */
enum { CLI_NAMES_NO_SYMBOLIZE = 512, CLI_NAMES_NO_DEMANGLE, CLI_NAMES_DEBUG_DIR };

typedef struct cli_names {
    bool is_not_symbolized, is_not_demangled;
    const char *dirs[64];
    size_t dirs_len;
} cli_names;

/* Takes one of the options above. Prints what is wrong; returns an exit code, CLI_USAGE for another
 * option. */
int cli_names_take(cli_names *names, int option, const char *value);

/* Names what can be named without a question: uses only files with the build id of their mapping,
 * asks no server, and prints only that a file is another build or is damaged. Returns an exit code. */
int cli_names_find(cli_profile *profile, const cli_names *names);

#endif

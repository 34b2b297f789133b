/* The names of functions for the verbs that print them: the options --no-symbolize, --no-demangle and
 * --debug-dir, and what they do to a profile. */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include "arguments.h"
#include "symbolize/symbolize_module.h"
#include "view.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_names {
    bool is_not_symbolized, is_not_demangled;
    cli_debug_places places;
} cli_names;

/* For cli_option.take of --debug-dir, whose member is a cli_debug_places. The others are flags. */
int cli_names_take_dir(const cli_option *option, const char *dir, void *member);

/* Names what can be named without a question: uses only files with the build id of their mapping,
 * asks no server, and prints only that a file is another build or is damaged. Returns an exit code. */
int cli_names_find(cli_profile *profile, const cli_names *names);

#endif

/* Regular expressions on the command line: POSIX extended ones, as grep -E takes them.
 *
 * Expressions that other tools take and POSIX does not are refused, because regcomp would give them
 * another meaning: \d, \p, (?i), a lone ")", and references to groups. */
#ifndef CLI_SHOW_PATTERN_H
#define CLI_SHOW_PATTERN_H

#include "text.h"

#include <regex.h>

typedef struct cli_pattern {
    regex_t compiled;
    bool is_compiled;
} cli_pattern;

/* Compiles text. is_whole: it matches whole strings only. If it is not an expression, prints where
 * and why with the name of the option, and returns CLI_USAGE. Free *pattern whatever is returned. */
int cli_pattern_make(cli_pattern *pattern, const char *option, const char *text, bool is_whole);
void cli_pattern_free(cli_pattern *pattern);

/* Whether it matches the string as it is shown (CLI_TEXT_SHOWN). Of a string longer
 * than 32 KiB, only the beginning takes part. */
bool cli_pattern_matches(const cli_pattern *pattern, cli_string string);

#endif

/* What a profile has, for a filter that matches nothing in it. */
#ifndef CLI_SHOW_UNMATCHED_H
#define CLI_SHOW_UNMATCHED_H

#include "show/selection.h"

/* Calls put with what may have been meant: the names of functions nearest to an expression; the labels,
 * or the values of a label, of a --tag. Returns what they are: "the nearest functions are"; and if
 * there are none, a sentence that says so, and put is not called. */
typedef void cli_unmatched_put(void *cookie, cli_string text);
const char *cli_unmatched_list(const cli_filter *filter, const cli_selection *selections,
                               size_t sides, cli_unmatched_put *put, void *cookie);

#endif

/* All that a form of `show` prints from: one profile, or PREV and CUR. */
#ifndef CLI_SHOW_SHOWN_H
#define CLI_SHOW_SHOWN_H

#include "show/shown_types.h"

typedef struct cli_shown {
    const cli_profile *profiles;     /* one for each side */
    const cli_selection *selections; /* the same */
    size_t sides;
    const cli_filters *filters;
    const cli_types *types;
    size_t chosen;    /* the type in *types that is sorted by */
    size_t preferred; /* the default type: chosen, unless it is 0 in every sample */
    bool only_chosen; /* the user has named it */
    bool is_by_cum;   /* tables are sorted by cumulative values */
    size_t most;      /* rows, or stacks */
} cli_shown;

/* Calls put for each line that says what the filters kept and what is hidden:
 *
 *     type      alloc_space, because inuse_space is 0 in every sample
 *     focus     12.3% of alloc_space: parse
 *     kept      40 of 812 samples, 12.3% of alloc_space
 *     hidden    3 wrapper and start-up functions; --all-frames shows them
 *
 * Control characters in text are escaped. */
typedef void (*cli_selection_put)(void *cookie, const char *title, const char *text);
void cli_selection_describe(const cli_shown *shown, cli_selection_put put, void *cookie);

/* Prints those lines as notes on stderr. */
void cli_selection_note(const cli_shown *shown);

/* What a caption says behind the chosen type if that type is 0 in every sample; else "". */
const char *cli_shown_zero(const cli_shown *shown);

#endif

/* What is shown of one profile: the samples that the filters keep, and of each the frames that are
 * not hidden.
 *
 *     profile --> symbol_names.c: the name of each frame
 *             --> selection.c: samples kept, frames shown      (this file)
 *             --> stacks.c, form_*.c
 *
 * Values do not change here: a total over all samples is that of the profile, and hiding a frame
 * takes no sample away. */
#ifndef CLI_SHOW_SELECTION_H
#define CLI_SHOW_SELECTION_H

#include "show/filters.h"
#include "show/symbol_names.h"
#include "show/units.h"

typedef struct cli_selection {
    const cli_profile *profile;
    cli_symbols symbols;
    size_t *samples; /* indexes into view->sample of those that are kept, in their order */
    size_t len;
    size_t *first;               /* samples[i] has frames[first[i]] to frames[first[i + 1] - 1] */
    uint32_t *frames;            /* indexes into symbols.frames, leaf first */
    unsigned char *is_folded;    /* for each name: it is a wrapper that was hidden somewhere */
    pprofdelta_sum *kept;        /* kept[filter * types + column]: by this filter alone */
    pprofdelta_sum *kept_by_all; /* for each column */
    size_t *matched;             /* for each filter: the number of samples that match */
    bool has_filters;            /* one of focus, ignore or tag is there */
} cli_selection;

/* Which frames are taken out of the stacks. */
typedef enum cli_folding {
    CLI_FOLD_NOTHING, /* only --hide counts: for the forms that show a profile whole */
    CLI_FOLD_WRAPPERS /* and the functions of allocators and start-up, unless --all-frames; names
                         are short */
} cli_folding;

/* Prints what is wrong; returns an exit code. filters may be NULL. Free *selection whatever is
 * returned, before the profile. */
int cli_selection_make(cli_selection *selection, const cli_profile *profile,
                       const cli_filters *filters, cli_folding folding);
void cli_selection_free(cli_selection *selection);

/* The name of a frame, which is an element of selection->frames. */
cli_string cli_selection_name(const cli_selection *selection, size_t frame);

#endif

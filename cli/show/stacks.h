/* The stacks that are selected of one profile or of two, root first, sorted by the names of their frames.
 *
 *     profile 0   main;serve;parse   5 2048     --\
 *     profile 1   main;serve;parse   7 4096     --+-- one group: the same names in the same order
 *     profile 1   main;serve;write   1   16     ----- the next group
 *
 * Two profiles share one list of names here. Functions with equal names have one number, whatever
 * their ids are. The numbers are in the order of the names, so the order of the stacks does not
 * depend on the order of the samples. */
#ifndef CLI_SHOW_STACKS_H
#define CLI_SHOW_STACKS_H

#include "show/frame_place.h"
#include "show/selection.h"

enum { CLI_SIDES = 2 };

typedef struct cli_stack {
    const uint32_t *frames; /* indexes into names, root first */
    size_t len;
    const uint32_t *places; /* the same frames as in the selection: leaf first */
    const Pd__View__Sample *sample;
    const int64_t *values; /* those of the sample, one for each column of its profile */
    size_t side;           /* which profile it is from: 0, or 1 for the second */
} cli_stack;

typedef struct cli_stacks {
    const cli_selection *selections; /* one for each side */
    cli_string *names;               /* distinct, in the order of their bytes */
    size_t names_len;
    cli_stack *stacks; /* sorted; the stacks of one group are adjacent */
    size_t len;
    uint32_t *frames;
} cli_stacks;

/* Takes the stacks that are selected of one profile (sides 1) or of two. Prints what is wrong;
 * returns an exit code. Free *stacks whatever is returned, before the selections. */
int cli_stacks_make(cli_stacks *stacks, const cli_selection *selections, size_t sides);
void cli_stacks_free(cli_stacks *stacks);

/* The index behind the last stack of the group that begins at stacks[at]. */
size_t cli_stacks_group_end(const cli_stacks *stacks, size_t at);

/* The sum of one column over the stacks of a group that are from one side. */
pprofdelta_sum cli_stacks_group_sum(const cli_stacks *stacks, size_t at, size_t end, size_t side,
                                    size_t column);

/* Where frame `i` of a group lies, counted from the leaf: in the last profile that has the group.
 * What is not the same in all stacks of the group that are from that profile is left out. */
cli_place cli_stacks_group_place(const cli_stacks *stacks, size_t at, size_t end, size_t i);

#endif

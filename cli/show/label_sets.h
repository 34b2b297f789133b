/* The distinct labels of the stacks, and the distinct sets of them.
 *
 *     labels   0 "user=x"   1 "user=y"   2 "size=4096 bytes"
 *     sets     0 {}   1 {0, 2}   2 {1}
 *     of       [1, 1, 2, 0]      the set of each stack
 *
 * The numbers are in the order of the labels' bytes, so they do not depend on the order of the
 * samples. */
#ifndef CLI_SHOW_LABEL_SETS_H
#define CLI_SHOW_LABEL_SETS_H

#include "show/stacks.h"

typedef struct cli_label_ref {
    const cli_profile *profile;
    const Pd__View__Label *label;
    size_t stack;
    uint32_t number; /* of the distinct label */
} cli_label_ref;

typedef struct cli_label_set {
    const cli_label_ref *refs; /* sorted by number */
    size_t len;
    size_t stack;
} cli_label_set;

typedef struct cli_label_sets {
    cli_label_ref *refs;
    size_t refs_len;
    const cli_label_ref **labels; /* one of each distinct label */
    size_t labels_len;
    cli_label_set *sets; /* the first sets_len are distinct; set 0 may be any */
    size_t sets_len;
    uint32_t *of; /* for each stack */
} cli_label_sets;

/* Returns false if memory is short. Free *sets whatever is returned, before the stacks. */
bool cli_label_sets_make(cli_label_sets *sets, const cli_stacks *stacks);
void cli_label_sets_free(cli_label_sets *sets);

#endif

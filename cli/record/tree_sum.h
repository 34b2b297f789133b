/* Adds up the profiles of several processes. */
#ifndef CLI_TREE_SUM_H
#define CLI_TREE_SUM_H

#include <stddef.h>

typedef struct cli_tree_total {
    size_t processes, profiles; /* that were added; a process has one more for each exec */
} cli_tree_total;

/* Adds up the profiles that the agent wrote to the folder and writes the sum to the file `out`, if
 * there are any: the windows of each process in their order, and then the processes. What is in use
 * is added, too. The resident memory is left out: see tree_sum.c. What cannot be added is left out, with a message. Prints what is
 * wrong; returns an exit code. */
int cli_tree_sum(const char *folder, const char *out, cli_tree_total *total);

#endif

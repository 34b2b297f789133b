/* Judges all stacks of a run, and the stacks that share a frame; ranks what was found.
 *
 * A leak is often spread over many stacks, each with too few samples for a verdict. So stacks that
 * do not grow for certain are added up by each function that occurs in them, and the sums are judged
 * too. Of the functions whose sums grow about equally, the one with the fewest stacks is reported. */
#ifndef CLI_LEAKS_RANK_H
#define CLI_LEAKS_RANK_H

#include "leaks_windows.h"

typedef struct cli_leaks_finding {
    cli_leaks_verdict verdict;
    size_t row;    /* the stack; of a group, the stack that has most of what is in use */
    size_t stacks; /* 1, or those of the group */
    size_t group;  /* number of the group that this is, or that the stack is in; 0: none */
    bool is_group;
    uint32_t shared; /* a group: the text with the function's name */
    double now, objects;
    double rate;   /* allocated per second; below 0: not known */
    double age;    /* seconds: now / rate; INFINITY: nothing was allocated; below 0: not known */
    double weight; /* what a sample stands for */
} cli_leaks_finding;

typedef struct cli_leaks_findings {
    cli_leaks_finding *list; /* suspects, then unknown, then the others; the largest first */
    size_t len;
    size_t suspects, unknown;  /* without the stacks of groups */
    double now, growth, slope; /* of the whole run */
} cli_leaks_findings;

/* Prints what is wrong; returns an exit code. Free *out whatever is returned. */
int cli_leaks_rank(cli_leaks_findings *out, cli_leaks_run *run);
void cli_leaks_findings_free(cli_leaks_findings *findings);

#endif

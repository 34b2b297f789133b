/* Judges all stacks of a run, and sums of them; ranks what was found.
 *
 *     place     suspects whose first frame of the program's own, and its caller, are the same: one
 *               cause, whatever library functions allocate for it
 *     shared    a leak that is spread over many stacks, each with too few samples for a verdict:
 *               stacks that do not grow for certain are added up by each function that occurs in
 *               them. Of the functions whose sums grow about equally, the one with the fewest
 *               stacks is reported
 *     rest      all stacks without a verdict. If they grow together, that is unknown
 *     areas     the resident memory. If it grows and the stacks do not explain it, that is unknown.
 *               It is read from the kernel and has no sampling error */
#ifndef CLI_LEAKS_RANK_H
#define CLI_LEAKS_RANK_H

#include "leaks/leaks_stack.h"

typedef enum cli_leaks_what {
    CLI_LEAKS_STACK,
    CLI_LEAKS_PLACE, /* this and the next are groups: their stacks have the number of the group */
    CLI_LEAKS_SHARED,
    CLI_LEAKS_REST,
    CLI_LEAKS_AREAS
} cli_leaks_what;

/* An area of the resident memory that grew. */
typedef struct cli_leaks_area {
    cli_string name;       /* "[anonymous mappings]" */
    cli_leaks_cause cause; /* what mapped it, or its file; frame is NULL if that is not known */
    size_t row;            /* of run->areas */
    double growth, now;    /* bytes */
    bool has_python;       /* Python's own allocator mapped it */
} cli_leaks_area;

typedef struct cli_leaks_finding {
    cli_leaks_verdict verdict;
    cli_leaks_what what;
    size_t row;      /* the stack; of several, the one that has most; areas: a row of run->areas */
    size_t stacks;   /* 1, or those that are added up */
    size_t group;    /* number of the group that this is, or that the stack is in; 0: none */
    uint32_t shared; /* SHARED: the text with the function's name */
    cli_leaks_cause cause;
    double now, objects;
    double rate; /* allocated per second; below 0: not known */
    double age;  /* seconds: now / rate; INFINITY: nothing was allocated; below 0: not known */
    /* AREAS: those that grew, the one that grew most first. Those that have less than a twentieth of
     * the growth are left out, and so are those behind the fifth. */
    cli_leaks_area *areas;
    size_t areas_len;
} cli_leaks_finding;

typedef struct cli_leaks_findings {
    cli_leaks_finding *list; /* suspects, then unknown, then the others; the largest first */
    size_t len;
    size_t suspects, unknown; /* without the stacks of groups */
    double now, slope;        /* of the whole run */
    /* The smallest leaks that would be suspects: see cli_leaks_smallest. */
    double smallest, smallest_in_noise;
} cli_leaks_findings;

/* Is the finding a stack of a group? */
bool cli_leaks_is_member(const cli_leaks_finding *finding);

/* Judges the areas. Adds up to two findings to the list, which has room. */
void cli_leaks_judge_areas(cli_leaks_findings *out, cli_leaks_run *run);

void cli_leaks_rank(cli_leaks_findings *out, cli_leaks_run *run);

#endif

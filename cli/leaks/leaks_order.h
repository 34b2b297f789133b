/* Which files are windows of which run, and in which order: the plan of `pprofdelta leaks`.
 *
 * A run is one process. The profiles of one live heap (see pprofdelta_heap.h) have its id; all
 * other profiles are taken for those of one process. The times and stamps in the profiles decide,
 * not the order of the command line. */
#ifndef CLI_LEAKS_ORDER_H
#define CLI_LEAKS_ORDER_H

#include "input.h"

typedef enum cli_leaks_role {
    CLI_LEAKS_WINDOW, /* a window of its run */
    CLI_LEAKS_AGAIN,  /* the same window as a file that counts */
    CLI_LEAKS_GAP     /* changes of in-use values, and what they change is missing */
} cli_leaks_role;

typedef struct cli_leaks_file {
    cli_file place;
    size_t operand;     /* the place on the command line, and among the files of a directory */
    int64_t time_nanos; /* when the values were taken; 0: not known */
    pprofdelta_stamp stamp;
    double in_use, made; /* of all stacks; made below 0: it has no such counter */
    bool has_negative;   /* at a stack, less than nothing is in use */
    bool has_older;      /* or more than was allocated */
    /* Set by cli_leaks_order: */
    int64_t begin_nanos; /* when the first values of its process were taken */
    bool is_window; /* set by leaks_windows.c: without a stamp, it counts from the window before */
    size_t run;
    cli_leaks_role role;
} cli_leaks_file;

/* What the plan changed. */
typedef struct cli_leaks_order_report {
    size_t moved; /* files that are older than one of their run before them on the command line */
    size_t again;
    size_t gaps;
} cli_leaks_order_report;

/* Sorts the files by run and time, and sets run and role of each. The runs are numbered in the order
 * of their first files. The result depends on the files only, but for files with equal times, which
 * keep their order. */
cli_leaks_order_report cli_leaks_order(cli_leaks_file *files, size_t len);

/* What is in use at the end of a window, and what was allocated until then. */
typedef struct cli_leaks_pace {
    double seconds, in_use;
    double made; /* below 0: not known */
} cli_leaks_pace;

/* Returns how many of the windows are from before the program began to end. A program that ends frees its
 * memory, which may take several windows.
 *
 *     in use |          p
 *            |    . - ' |\
 *            |  '       | \
 *            | '        |  `-.__      nothing rises behind p, and little is allocated
 *            +------------------->
 *
 * The last window is left out if less is in use than in the one before. The windows behind p are, if they are
 * five or a third of all at most. If they leave less than CLI_LEAKS_LEAST_POINTS, a small part must be left in
 * use; then no verdict is better than one about the fall. If a small part is left, the first window behind p may
 * have allocated as before: the program worked in it until it began to end. */
size_t cli_leaks_end_of(const cli_leaks_pace *windows, size_t len);

/* Returns how many of the windows are not the same as the one before. */
size_t cli_leaks_count_fresh(const cli_leaks_pace *windows, size_t len);

#endif

/* Reads the windows of a run into the series of its stacks.
 *
 *     profile with in-use values     --------------------------------+
 *     changes of in-use values  --> the library's sum so far --------+--> leaks_rows.c
 *
 * A cumulative profile without a stamp is also compared with the one before it by the library, which
 * decides if the process restarted. Then the run ends, and a new run begins.
 *
 * The account of the resident memory that the heap agent writes (rss_space/bytes) has one stack for
 * each area. The areas are the rows of a table of their own. */
#ifndef CLI_LEAKS_WINDOWS_H
#define CLI_LEAKS_WINDOWS_H

#include "leaks/leaks_order.h"
#include "leaks/leaks_rows.h"
#include "symbolize/names.h"

/* A part of the files that is one process. */
typedef struct cli_leaks_run {
    size_t first, end;            /* in the files */
    size_t windows;               /* that are judged */
    const char *left_out;         /* the last file, if it is of the end of the program; else NULL */
    int64_t from_nanos, to_nanos; /* of the first and the last window's values */
    double span;                  /* seconds between them */
    cli_leaks_rows rows;
    cli_leaks_rows areas;  /* points: only those of blocks with an account */
    size_t areas_block;    /* the block of the last point of areas */
    cli_string type, unit; /* what is judged */
    double period;         /* bytes between two samples; 0: not known */
    bool is_heap;          /* the profiles have bytes */
    bool has_allocated;
    bool has_restarted; /* it begins with a restart of the process of the run before */
    cli_string binary;  /* empty: not known */
} cli_leaks_run;

/* How files are read and judged: what the command line says. */
typedef struct cli_leaks_how {
    const char *type; /* what is judged; NULL: what is in use */
    int64_t
        every_nanos; /* the time between two windows. 0: the times of the files count; else files
                            without a time follow each other as they are listed */
    uint64_t max_memory;
    cli_names names; /* that may be found for what is in use at the end */
} cli_leaks_how;

typedef struct cli_leaks_runs {
    cli_leaks_run *runs;
    size_t len;
} cli_leaks_runs;

/* Whether the profile has the type, or, if type is NULL, in-use values. */
bool cli_leaks_can_judge(const cli_profile *profile, const char *type);

/* Reads all files with the role of a window. Prints what is wrong; returns an exit code. */
int cli_leaks_read(cli_leaks_runs *out, const cli_leaks_file *files, size_t len,
                   const cli_leaks_how *how);

#endif

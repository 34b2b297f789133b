/* Prints what was found in the runs: as text (leaks_text.c), or as JSON (leaks_json.c). */
#ifndef CLI_LEAKS_PRINT_H
#define CLI_LEAKS_PRINT_H

#include "leaks/leaks_rank.h"

typedef struct cli_leaks_report {
    const cli_leaks_runs *runs;
    const cli_leaks_findings *findings; /* of each run */
    cli_leaks_order_report order;
    size_t top; /* findings of each run; SIZE_MAX: all of the kinds that are printed */
    bool all;   /* also what is not a suspect */
    bool all_frames;
} cli_leaks_report;

/* Print a run, the first of which is number 0. */
void cli_leaks_put_text(const cli_leaks_report *report, size_t number);
void cli_leaks_put_json(const cli_leaks_report *report, size_t number);

/* Makes a list of the findings that are printed, of which there may be `top`; *left more would be
 * printed, and follow in the list. Returns the number of those that are printed. */
size_t cli_leaks_find_shown(const cli_leaks_report *report, const cli_leaks_findings *findings,
                            const cli_leaks_finding ***shown, size_t *left);

#endif

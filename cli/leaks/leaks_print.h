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

/* Returns false if memory is short. */
bool cli_leaks_print_text(const cli_leaks_report *report);
void cli_leaks_print_json(const cli_leaks_report *report);

/* Is the finding printed? */
bool cli_leaks_is_shown(const cli_leaks_report *report, const cli_leaks_finding *finding);

#endif

/* What the command prints about a delta, on stderr: notes, and the report of --report. And what it
 * prints about a state. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "delta/options.h"
#include "delta/state_file.h"

/* Prints the notes: the target restarted, samples were clamped, and so on. `unread` is the number of
 * bytes that the uploader left unread when it exited with status 0, else 0. */
void cli_report_notes(const cli_options *options, const pprofdelta_report *report,
                      const char *prev_name, const char *cur_name, uint64_t unread);

/* Prints the report in the form that --report names, in one write. If it cannot be printed, the
 * run has succeeded all the same: the output is complete, and the window counts. is_lost: it was not sent, because of
 * --max-age. */
void cli_report_print(const cli_options *options, const pprofdelta_report *report, uint64_t unread,
                      bool is_lost);

/* Print what is in one state, as text, or as JSON in one line. m is NULL if it cannot be read; age is in seconds, and
 * NAN if it is not known. */
void cli_status_text(const cli_state *state, const pprofdelta_memory *m);
void cli_status_json(const cli_state *state, const pprofdelta_memory *m, double age);

/* --status: prints what is in the states of the options, in the form that the option names. Returns an exit code. */
int cli_status_print(const cli_options *options);

#endif

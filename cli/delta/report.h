/* What the command prints on stderr about a delta: notes, and the report of --report. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "delta/options.h"

#include <stdio.h>

/* Prints the notes: the target restarted, samples were clamped, and so on. `unread` is the number of
 * bytes that the uploader left unread when it exited with status 0, else 0. */
void cli_report_notes(const cli_options *options, const pprofdelta_report *report,
                      const char *prev_name, const char *cur_name, uint64_t unread);

/* Prints the report in the form that --report names, in one write. If it cannot be printed, the run has succeeded all the same: the output is complete, and
 * the window counts. */
void cli_report_print(const cli_options *options, const pprofdelta_report *report, uint64_t unread);

/* The reason of a restart, as a clause for people. */
const char *cli_restart_reason(pprofdelta_restart restart);

/* The parts that the report and the status of a state share. */

/* Prints the id of a series of windows as JSON; null for 0. */
void cli_report_put_id(FILE *out, uint64_t id);

/* Prints the word of a restart as JSON; null for none. */
void cli_report_put_restart(FILE *out, pprofdelta_restart restart);

/* Prints a time, or "unknown" for 0. */
void cli_report_put_time(FILE *out, int64_t nanos);

/* The time between two times in nanoseconds: 0 if one of them is 0, INT64_MAX if it does not
 * fit. */
int64_t cli_report_duration(int64_t from_nanos, int64_t to_nanos);

/* Prints "TYPE/UNIT" or "TYPE/UNIT (gauge)", and ends the line. */
void cli_report_put_type(FILE *out, const pprofdelta_type_report *type);

/* Begins the object of a type in an array of JSON: with the members type, unit and kind. */
void cli_report_put_type_json(FILE *out, const pprofdelta_type_report *type, size_t index);

#endif

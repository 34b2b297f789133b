/* What a delta did, told on stderr: the notes that are always said, and --report. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "options.h"

/* Says that the target restarted or that samples were clamped, where that is so. */
void cli_report_notes(const cli_options *options, const pprofdelta_report *report,
                      const char *prev_name, const char *cur_name);

/* Says that the uploader ended with status 0 and did not read so many bytes, where it is not 0. */
void cli_report_unread(const cli_options *options, const pprofdelta_report *report,
                       uint64_t unread);

/* Prints the report in the form that was asked for, in one write; unread is 0 where there was no
 * uploader. Returns an exit code. */
int cli_report_print(const cli_options *options, const pprofdelta_report *report, uint64_t unread);

/* Why it was a restart: a word for programs (NULL where it was none), and a sentence. */
const char *cli_restart_name(pprofdelta_restart restart);
const char *cli_restart_reason(pprofdelta_restart restart);

#endif

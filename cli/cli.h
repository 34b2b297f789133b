/* What every verb shares: its exit codes, its entry point, and the help that main.c prints.
 *
 * A verb is one file with one function that takes its own argument vector (argv[0] is the verb's
 * name) and returns the exit code. A new verb is a new file and a row in main.c. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>

enum {
    CLI_DONE = 0,
    CLI_FAILED = 1, /* the input or the system */
    CLI_USAGE = 2,  /* the command line */
    CLI_RESET = 3,  /* a reset with --on-reset=fail */
    CLI_UPLOAD = 4, /* the uploader failed: the next run covers the window too */
    /* record, as env: the status of the command that it runs is what it returns otherwise */
    CLI_RECORD_FAILED = 125, /* record itself, for any reason */
    CLI_NOT_RUN = 126,       /* the command is there and cannot be run, or not be recorded */
    CLI_NOT_FOUND = 127
};

int cli_delta(int argc, char **argv);
int cli_show(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_sum(int argc, char **argv);
int cli_record(int argc, char **argv);

/* Before the process becomes another program: signals are again as they were when it began. */
void cli_signals_restore(void);

/* Is it the name of a verb? */
bool cli_is_verb(const char *word);

/* Print to stdout; the exit code says whether that went well. */
int cli_help(void);
int cli_version(void);

#endif

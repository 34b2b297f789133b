/* What all verbs share: exit codes, entry points, and the help that main.c prints.
 *
 * The way from the command line to a verb:
 *
 *     main.c           the first word is a verb, or the command line is that of the delta
 *     verb_*.c         one file for each verb: --help, command line, run. Its function takes its own
 *                      argument vector (argv[0] is the verb) and returns the exit code
 *     options.c        the command line that the delta and the sum share, read into
 *                      pprofdelta_options
 *     arguments.c      one option after the other, and messages about unknown ones
 *     option_values.c  the values of options that several verbs have
 *
 * The delta is verb_delta.c; verb_state.c with --state; status.c with --status. The verb show has a
 * room of its own, show/, with one file for each form (form_*.c). The other files are parts that
 * verbs use. A new verb is a new file and a row in main.c. No .c file has the name of one in
 * lib/. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>

enum {
    CLI_DONE = 0,
    CLI_FAILED = 1, /* the input or the system */
    CLI_USAGE = 2,  /* the command line */
    CLI_RESET = 3,  /* a reset with --on-reset=fail */
    CLI_UPLOAD = 4, /* the uploader failed: the next run covers the window too */
    /* leaks --fail */
    CLI_LEAKS_FOUND = 5,
    CLI_LEAKS_NO_VERDICT = 6, /* growth that is unknown, or too few profiles */
    /* record, as env: otherwise the exit status is that of the command */
    CLI_RECORD_FAILED = 125, /* record itself failed */
    CLI_NOT_RUN = 126,       /* the command exists but cannot be run, or cannot be recorded */
    CLI_NOT_FOUND = 127
};

int cli_delta(int argc, char **argv);
int cli_show(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_sum(int argc, char **argv);
int cli_record(int argc, char **argv);
int cli_symbolize(int argc, char **argv);
int cli_leaks(int argc, char **argv);

/* Restores the signal handling and the closed descriptors that the process began with. Call it before
 * exec. */
void cli_inherited_restore(void);

/* Is the word the name of a verb? */
bool cli_is_verb(const char *word);

/* Prints the version to stdout; returns the exit code. */
int cli_version(void);

#endif

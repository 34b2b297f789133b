/* What all verbs share: exit codes and entry points.
 *
 *     main.c           the first word is a verb, or the command line is that of the delta
 *     delta/           the delta of two files or with a state, the sum, the merge, check
 *     show/  leaks/  symbolize/  export/  record/
 *                      one folder for each verb; its verb_*.c has the table of options, and a
 *                      function that takes its own argument vector (argv[0] is the verb) and returns
 *                      the exit code
 *     attach/          record --pid: a process that runs already, seen and changed from outside
 *     arguments.c      reads a command line by such a table, and the values that options of several
 *                      verbs have; prints its --help
 *     input.c          what is read: inputs, regular files, folders
 *     output_file.c    where bytes go: memory, stdout, OUT, a state
 *     message.c        what is printed on stderr
 *
 * The other files in this folder are parts that several verbs use. A new verb is a new folder and a row
 * in main.c. No .c file has the name of one in lib/. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>

enum {
    CLI_OVERTAKEN = -1, /* another run was first; nothing was printed */
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

/* Ends the process with this exit code, unless it is CLI_DONE: a verb goes on only with what has succeeded. Temporary
 * files are removed then (output_file.h), and memory is not given back: what a run holds is static. */
void cli_must(int code);

int cli_delta(int argc, char **argv);
int cli_show(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_sum(int argc, char **argv);
int cli_merge(int argc, char **argv);
int cli_record(int argc, char **argv);
int cli_symbolize(int argc, char **argv);
int cli_leaks(int argc, char **argv);
int cli_export(int argc, char **argv);
int cli_recover(int argc, char **argv);

/* Restores the signal handling and the closed descriptors that the process began with. Call it before
 * exec. */
void cli_inherited_restore(void);

/* Sets a variable of the environment, or removes it. Returns false if memory is short. */
__attribute__((format(printf, 3, 4))) bool cli_set_variable(const char *name, bool has_value,
                                                            const char *format, ...);

#endif

/* What the command prints on stderr: errors, hints, notes, and a line of progress on a terminal.
 *
 * Every message begins with "pprofdelta: " and is one write, so that the messages of several runs
 * do not mix in a log. On a terminal it is wrapped to 80 columns; elsewhere it is one line. Control
 * characters are escaped (see text.h). Nothing here allocates memory, so that an error about memory
 * can be printed.
 *
 * The library does not know the command's options. What to do next after an error of the library is
 * in one table in message.c; it is printed as a hint below the error. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include "pprofdelta.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum cli_message_kind { CLI_ERROR, CLI_HINT, CLI_NOTE } cli_message_kind;

/* Prints a message of that kind. Returns the exit code after it, which is CLI_FAILED unless cli_message_verb has set
 * another one. */
__attribute__((format(printf, 2, 3))) int cli_message(cli_message_kind kind, const char *format,
                                                      ...);

/* "pprofdelta: TEXT" */
#define cli_error(...) cli_message(CLI_ERROR, __VA_ARGS__)

/* The same if the command line is wrong; below it, a line names --help. Ends the process. */
__attribute__((format(printf, 1, 2))) _Noreturn void cli_usage(const char *format, ...);

/* "pprofdelta: hint: TEXT", below the error that it is about */
#define cli_hint(...) cli_message(CLI_HINT, __VA_ARGS__)

/* "pprofdelta: note: TEXT" */
#define cli_note(...) ((void)cli_message(CLI_NOTE, __VA_ARGS__))

/* --quiet was given: there are no notes and no line of progress. */
extern bool cli_is_quiet;

/* "NAME: WHY", and the hint how to raise the limit. Returns CLI_FAILED. */
int cli_memory_error(const char *name, const char *why);

/* The verb whose --help cli_usage names from now on, and its exit codes. */
void cli_message_verb(const char *verb, int failed, int misused);

/* "NAME: cannot VERB: the text of errno `error`". Returns CLI_FAILED. */
int cli_system_error(const char *name, const char *verb, int error);

/* Prints an error of the library about a file: where, what, and a hint if there is one. Returns the
 * exit code for the error. */
int cli_library_error(const char *name, const pprofdelta_error *err);

/* The note that a file, which no user has named, is left out, and why. */
void cli_note_left_out(const char *name, const char *why);
void cli_note_refused(const char *name, const pprofdelta_error *err);

/* The same for a context that could not be made: the options are wrong, or the limit is too low for
 * the first file. */
int cli_options_error(const char *first, const pprofdelta_error *err);

/* The inputs that an error may be about. */
enum { CLI_ONE_FILE = 1, CLI_TWO_FILES = 2, CLI_A_STATE = 4, CLI_A_SUM = 8, CLI_A_MERGE = 16 };

/* The same for one of two inputs, of this kind: a mismatch names both, every other error the second. If
 * first is NULL, there is only the second. */
int cli_inputs_error(unsigned kind, const char *first, const char *second,
                     const pprofdelta_error *err);

/* Writes bytes to stderr unchanged. A failure is ignored: it could not be printed
 * either. */
void cli_message_raw(const char *bytes, size_t len);

/* The line of progress shows what a long run is doing:
 *
 *     pprofdelta: reading prev.pb.gz, 3 s
 *
 * It appears after two seconds and is erased before anything else is printed, and when the process ends.
 * A timer draws it, so the code that takes long has no calls for it. If stderr is not a terminal, or
 * with --quiet, there is no timer. */

/* Starts the timer. */
void cli_progress_start(void);

/* Sets the text: "reading", "prev.pb.gz". Does nothing before cli_progress_start. */
void cli_progress_say(const char *doing, const char *name);

/* Erases the line until the timer draws it again. */
void cli_progress_clear(void);

/* Stops the timer and erases the line, before other code uses the terminal. */
void cli_progress_end(void);

/* The same before text is printed to stdout, unless that is a regular file: a pipe may lead to the terminal. */
void cli_progress_end_for_text(void);

#endif

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

#include <stddef.h>

/* "pprofdelta: TEXT". Returns CLI_FAILED. */
__attribute__((format(printf, 1, 2))) int cli_error(const char *format, ...);

/* "pprofdelta: note: TEXT" */
__attribute__((format(printf, 1, 2))) void cli_note(const char *format, ...);

/* "pprofdelta: hint: TEXT", below the error that it is about. Returns CLI_FAILED, as cli_error does. */
__attribute__((format(printf, 1, 2))) int cli_hint(const char *format, ...);

/* From now on cli_note prints nothing. */
void cli_message_quiet(void);

/* The hint for an input that is too large: how to raise the limit. Returns CLI_FAILED. */
int cli_hint_memory(void);

/* The verb whose --help cli_usage names from now on. */
void cli_message_verb(const char *verb);

/* The command line is wrong: prints why, names --help and returns CLI_USAGE. */
__attribute__((format(printf, 1, 2))) int cli_usage(const char *format, ...);

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

/* The same for the two inputs of a delta. A mismatch names both. */
int cli_pair_error(const char *prev, const char *cur, const pprofdelta_error *err);

/* The same for a state and a profile. */
int cli_window_error(const char *state, const char *cur, const pprofdelta_error *err);

/* The same for two inputs of a sum; last is NULL for the first input. */
int cli_sum_error(const char *last, const char *name, const pprofdelta_error *err);

/* Writes bytes to stderr unchanged. A failure is ignored: it could not be printed
 * either. */
void cli_message_raw(const char *bytes, size_t len);

/* The line of progress shows what a long run is doing:
 *
 *     pprofdelta: reading prev.pb.gz, 3 s
 *
 * It appears after a second and is erased before anything else is printed, and when the process ends.
 * A timer draws it, so the code that takes long has no calls for it. If stderr is not a terminal, there
 * is no timer. */

/* Starts the timer. */
void cli_progress_start(void);

/* Sets the text: "reading", "prev.pb.gz". Does nothing before cli_progress_start. */
void cli_progress_say(const char *doing, const char *name);

/* Erases the line until the timer draws it again. */
void cli_progress_clear(void);

/* Stops the timer and erases the line, before other code uses the terminal. */
void cli_progress_end(void);

#endif

/* What the command says on stderr: errors, hints, notes.
 *
 * Every message begins with "pprofdelta: " and leaves in one write, so that those of several runs
 * do not mix in a log. It is one line there, and lines of 80 columns at most on a terminal. Control
 * characters are made visible (see text.h). Nothing here allocates: an error about memory must
 * still find its way out. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include "pprofdelta.h"

#include <stddef.h>

/* "pprofdelta: TEXT" */
__attribute__((format(printf, 1, 2))) void cli_error(const char *format, ...);

/* "pprofdelta: note: TEXT", "pprofdelta: hint: TEXT" */
__attribute__((format(printf, 1, 2))) void cli_note(const char *format, ...);
__attribute__((format(printf, 1, 2))) void cli_hint(const char *format, ...);

/* Whose --help is pointed to from now on: `pprofdelta VERB --help`. */
void cli_message_verb(const char *verb);

/* The command line is wrong: says why, points to --help and returns CLI_USAGE. */
__attribute__((format(printf, 1, 2))) int cli_usage(const char *format, ...);

/* "cannot VERB: why" about a file, from errno; returns CLI_FAILED. */
int cli_system_error(const char *name, const char *verb, int error);

/* What the library said about a file: where, what, and the next step where there is one. name may
 * stand for two files. Returns the exit code that belongs to it. */
int cli_library_error(const char *name, const pprofdelta_error *err);

/* The same for a context that could not be made: its options are wrong, or the limit is too low for
 * the file that it was to read first. */
int cli_options_error(const char *first, const pprofdelta_error *err);

/* The same for the two inputs of a delta: a mismatch is about both. */
int cli_pair_error(const char *prev, const char *cur, const pprofdelta_error *err);

/* The same for a state and a profile. */
int cli_window_error(const char *state, const char *cur, const pprofdelta_error *err);

/* Bytes to stderr as they are. Returns 0, or -1 when they could not be written. */
int cli_message_raw(const char *bytes, size_t len);

#endif

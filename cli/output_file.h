/* The output: stdout, or the file OUT, which is replaced as a whole or not at all.
 *
 *   stdout, a pipe,   written directly
 *   a device
 *   a regular file    OUT's directory: .pprofdelta-HASH-XXXXXX --written, closed--> rename --> OUT
 *   or no file yet    (a symbolic link is followed first, so the link stays)
 *
 * Nothing is opened before the first byte is written. Until then a failure leaves no trace, not
 * even an empty write to a pipe. A run that fails later, or is ended by a signal, removes its
 * temporary file. If a state depends on the output, the file is synced before it is renamed, and
 * its directory after. */
#ifndef CLI_OUTPUT_FILE_H
#define CLI_OUTPUT_FILE_H

#include "pprofdelta.h"
#include "temporary.h"

#include <stdbool.h>

typedef enum cli_output_kind {
    CLI_OUTPUT_STDOUT,
    CLI_OUTPUT_DIRECT,
    CLI_OUTPUT_REPLACE
} cli_output_kind;

typedef struct cli_output {
    cli_output_kind kind;
    const char *name;        /* for messages: OUT as it was given, or "(stdout)" */
    char *target;            /* REPLACE: OUT with its symbolic links followed */
    cli_temporary temporary; /* REPLACE: once the first byte was written */
    int fd;                  /* -1 before the first byte */
    const char *state;       /* the state of the run, or NULL; set it after prepare */
    bool is_synced;          /* finish syncs the file to the disk; set it after prepare */
    bool is_page;            /* a page: it is no failure if the reader of stdout closes the pipe */
    bool is_unread;          /* that has happened */
    int failure;             /* the exit code of a failure that was printed, else 0 */
} cli_output;

/* Checks that OUT (NULL or "-": stdout) can be an output, and that a profile may replace it: only a
 * profile or an empty file is replaced, by whatever name. Prints what is wrong; returns an exit code. Close *out whatever is returned. */
int cli_output_prepare(cli_output *out, const char *path);

/* The same for the page of a flame graph, which replaces a page or an empty file. */
int cli_output_prepare_page(cli_output *out, const char *path);

/* Is OUT (NULL: stdout) the file at path, through symbolic links? The file need not exist. */
bool cli_output_leads_to(const char *out, const char *path);

/* The sink that writes to the output. A failure is printed at once and kept in out->failure. */
pprofdelta_sink cli_output_sink(cli_output *out);

/* Ends the output after the last byte: closes it and renames it to OUT. Prints what is wrong;
 * returns an exit code. */
int cli_output_finish(cli_output *out);

/* Frees everything. If cli_output_finish was not called or failed, OUT is unchanged. */
void cli_output_close(cli_output *out);

/* Flushes, closes and checks stdout after text was printed to it. Prints what is wrong; returns an
 * exit code. A closed pipe (`| head`) is no failure. */
int cli_output_end_text(void);

/* Prints text to stdout and ends it. Returns an exit code. */
int cli_output_text(const char *text);

/* Has writing to stdout failed, so that printing more text is useless? */
bool cli_output_is_over(void);

#endif

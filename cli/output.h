/* Where the bytes go: stdout, or OUT, which is replaced whole or not at all.
 *
 *   stdout, a pipe,   written directly
 *   a device
 *   a regular file    OUT's directory: .pprofdelta-HASH-XXXXXX --written, closed--> rename --> OUT
 *   or nothing yet    (a symbolic link is followed first, so that the link stays and leads to it)
 *
 * Nothing is opened before the first byte: until then the run may still fail, and a failure leaves
 * no trace, not even an empty write to a pipe. A run that fails later, or is ended by a signal,
 * takes its temporary file with it. Where a state depends on the output, the file is synced before
 * it is renamed, and its directory after. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "pprofdelta.h"

#include <stdbool.h>

typedef enum cli_output_kind {
    CLI_OUTPUT_STDOUT,
    CLI_OUTPUT_DIRECT,
    CLI_OUTPUT_REPLACE
} cli_output_kind;

typedef struct cli_output {
    cli_output_kind kind;
    const char *name;  /* for messages: OUT as it was given, or "(stdout)" */
    char *target;      /* REPLACE: OUT with its symbolic links followed */
    char *temporary;   /* REPLACE: the file beside it, once that exists */
    int fd;            /* -1 before the first byte */
    const char *state; /* set after prepare, as is_synced: the state of the run, if it has one */
    bool is_synced;    /* finish returns when the bytes are safe on their disk */
    bool is_page;      /* a page is for a reader, who may have had enough of it */
    bool is_unread;    /* ... and has: stdout is a pipe that was closed */
    int failure;       /* the exit code of a failure that was told, else 0 */
} cli_output;

/* Looks where OUT leads (NULL or "-": stdout) and refuses what cannot be an output, and a file that
 * a profile does not replace (see overwrite.h). Prints why; returns an exit code. *out is to be
 * closed whatever is returned. */
int cli_output_prepare(cli_output *out, const char *path);

/* The same for the page of a flame graph. A reader that closes stdout early is no failure. */
int cli_output_prepare_page(cli_output *out, const char *path);

/* Does OUT (NULL: stdout) lead to the file at path, be that there already or not? */
bool cli_output_leads_to(const char *out, const char *path);

/* The library's way in. A failure is printed at once and kept in out->failure. */
pprofdelta_sink cli_output_sink(cli_output *out);

/* Everything was written: closes, checks and puts OUT in its place. Returns an exit code. */
int cli_output_finish(cli_output *out);

/* Gives everything back; without a finish before, OUT is as it was. */
void cli_output_close(cli_output *out);

/* The same for what was printed to stdout as text: flushes, closes and checks it. A pipe whose reader
 * has gone (`| head`) is no failure: the reader has what it wanted, and nothing is said. */
int cli_output_end_text(void);

/* Is it in vain to print more text? Asked by what prints without end. */
bool cli_output_is_over(void);

#endif

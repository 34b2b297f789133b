/* An input file, read whole: a regular file, a pipe, a device, or stdin for "-".
 *
 * It is read, not mapped. The library checks a plain profile first and relies on the checks later,
 * and a mapping shows every change that somebody makes to the file in between, up to a bus error
 * when it is cut short. A copy stays as it was checked. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_input {
    const char *name; /* for messages: the path, or "(stdin)" */
    uint8_t *bytes;
    size_t len;
} cli_input;

/* Whether a path means stdin. */
bool cli_input_is_stdin(const char *path);

/* What messages call it. */
const char *cli_input_name(const char *path);

/* Reads path whole, at most `limit` bytes, into *in, which is to be freed whatever is returned.
 * Prints what went wrong; returns an exit code. */
int cli_input_read(cli_input *in, const char *path, uint64_t limit);

/* The same of a file, for a thread: prints nothing, and says only whether that went well. */
bool cli_input_try(cli_input *in, const char *path, uint64_t limit);

/* Gives the bytes back, and keeps the name. */
void cli_input_release(cli_input *in);

void cli_input_free(cli_input *in);

#endif

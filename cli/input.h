/* An input file in memory: a regular file, a pipe, a device, or stdin for "-".
 *
 * The file is read, not mapped. The library checks a plain profile first and relies on the checks
 * later, but a mapping changes when someone writes to the file, and cutting the file short raises
 * SIGBUS. A copy does not change. */
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

/* Is the path "-", which means stdin? */
bool cli_input_is_stdin(const char *path);

/* The name of the file in messages. */
const char *cli_input_name(const char *path);

/* Reads the whole file, at most `limit` bytes. Prints what is wrong; returns an exit code. Free *in
 * whatever is returned. */
int cli_input_read(cli_input *in, const char *path, uint64_t limit);

/* The same without messages, for a file and for any thread. Returns false if it failed; the bytes
 * are then freed. */
bool cli_input_try(cli_input *in, const char *path, uint64_t limit);

/* Frees the bytes and keeps the name. */
void cli_input_release(cli_input *in);

void cli_input_free(cli_input *in);

#endif

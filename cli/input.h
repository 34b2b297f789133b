/* An input file in memory: a regular file, a pipe, a device, or stdin for "-".
 *
 * The file is read, not mapped. The library checks a plain profile first and relies on the checks
 * later, but a mapping changes when someone writes to the file, and cutting the file short raises
 * SIGBUS. A copy does not change.
 *
 * The first bytes decide whether the rest is read: of an endless device, a disk image or a core dump
 * only CLI_INPUT_HEAD bytes are. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "pprofdelta_profile.h"
#include "regular.h"

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

enum { CLI_INPUT_HEAD = 256 << 10 };

/* Reads the whole file that the user named, at most `limit` bytes. Prints what is wrong; returns an
 * exit code. Free *in whatever is returned. */
int cli_input_read(cli_input *in, const char *path, uint64_t limit);

/* A file that is read more than once, or was found in a folder: a regular file only. */
typedef struct cli_file {
    const char *path;
    DIR *found_in; /* the folder that has path's last name, which is no link there; or NULL */
} cli_file;

enum { CLI_FOUND_MAX = 1 << 30 }; /* bytes of a file that no user has named */

/* Reads the file. Prints what is wrong, and frees the bytes then; returns an exit code. */
int cli_input_read_again(cli_input *in, cli_file file, uint64_t limit);

/* Checks the profile. The names in the census are not valid. */
pprofdelta_status cli_input_check(const cli_input *in, uint64_t limit, pprofdelta_census *census,
                                  pprofdelta_error *err);

/* Reads a file that was found, and checks it. If it is no profile, prints a note that it is left out,
 * and why, and returns false. */
bool cli_input_check_found(cli_file file, uint64_t limit, pprofdelta_census *census);

/* Frees the bytes and keeps the name. */
void cli_input_free(cli_input *in);

#endif

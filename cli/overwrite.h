/* Which existing file an output may replace.
 *
 *     output       replaces
 *     a profile    a pprof profile (plain, gzip, zstd), an empty file
 *     a page       an HTML page, an empty file
 *
 * Every other file stays: a state, an archive, a program, text, unknown data. The kind of a file is
 * known from its first bytes; its name does not matter. */
#ifndef CLI_OVERWRITE_H
#define CLI_OVERWRITE_H

#include "pprofdelta_profile.h"

/* Checks that the regular file at path may be replaced. `name` is its name in messages; `written`
 * is the kind of the output, PPROFDELTA_FILE_PROFILE or PPROFDELTA_FILE_HTML. Prints why it may not
 * be replaced; returns an exit code. */
int cli_overwrite_check(const char *path, const char *name, pprofdelta_file_kind written);

/* The kind of the file at path for a message, like "a zip archive"; NULL if it cannot be read. */
const char *cli_overwrite_name(const char *path);

#endif

/* May a file that is there already be replaced by what is about to be written?
 *
 *     written      replaces
 *     a profile    a pprof profile (plain, gzip, zstd), a file without a byte
 *     a page       an HTML page, a file without a byte
 *
 * Everything else stays: a state, an archive, a program, a text, what nobody knows. The first bytes
 * of the file tell what it is, whatever its name. */
#ifndef CLI_OVERWRITE_H
#define CLI_OVERWRITE_H

#include "pprofdelta.h"

/* path is a regular file, and `name` what messages call it. written: PPROFDELTA_FILE_PROFILE or
 * PPROFDELTA_FILE_HTML. Prints why not; returns an exit code. */
int cli_overwrite_check(const char *path, const char *name, pprofdelta_file_kind written);

/* What the file at path is ("a zip archive"), for a message; NULL where that cannot be told. */
const char *cli_overwrite_name(const char *path);

#endif

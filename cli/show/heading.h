/* What `show` prints about a profile, besides its samples. */
#ifndef CLI_SHOW_HEADING_H
#define CLI_SHOW_HEADING_H

#include "show/shown.h"

/* Prints all that stands above a table: of one profile, or of two. Returns an exit code. */
int cli_heading_put(const cli_shown *shown);

/* Prints "NAME (FORMAT, N samples)" and ends the line. */
void cli_heading_put_file(const cli_profile *profile, const char *title);

/* Prints a line with the file and the build id of the first mapping, which is the main binary. */
void cli_heading_put_binary(const cli_profile *profile, const char *title);

/* Prints a line for each other mapping that has a frame without a function. Returns an exit
 * code. */
int cli_heading_put_libraries(const cli_profile *profile);

/* The width of the widest "TYPE/UNIT" of `len` columns. */
size_t cli_heading_types_width(const cli_profile *profile, const size_t *columns, size_t len);

/* Prints "TYPE/UNIT" and spaces up to `width`. */
void cli_heading_put_type(const cli_profile *profile, size_t column, size_t width);

/* A comment as it is shown: in a stamp of pprofdelta the times are readable. Returns the comment
 * itself, or one in buf. */
enum { CLI_COMMENT_MAX = 1024 };
cli_string cli_heading_comment(cli_string comment, char buf[CLI_COMMENT_MAX]);

#endif

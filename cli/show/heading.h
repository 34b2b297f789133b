/* What `show` prints about a profile, besides its samples. */
#ifndef CLI_SHOW_HEADING_H
#define CLI_SHOW_HEADING_H

#include "show/shown.h"

/* Prints all that stands above a table: of one profile, or of two. */
void cli_heading_put(const cli_shown *shown);

/* A comment as it is shown: in a stamp of pprofdelta the times are readable. Returns the comment
 * itself, or one in buf. */
enum { CLI_COMMENT_MAX = 1024 };
cli_string cli_heading_comment(cli_string comment, char buf[CLI_COMMENT_MAX]);

#endif

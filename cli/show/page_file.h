/* A page for a browser: `show --flame OUT.html` and `leaks --html OUT.html`.
 *
 * The build makes a page of the files in show/flame/ and leaks/page/ (see embed.py), in two parts: one
 * before the place of the data, and one behind it. The data is JSON in the form CLI_TEXT_SCRIPT. */
#ifndef CLI_SHOW_PAGE_FILE_H
#define CLI_SHOW_PAGE_FILE_H

#include "output_file.h"

#include <stdio.h>

typedef struct cli_page {
    FILE *to; /* a failure stays in the output, which takes nothing after it */
    cli_output output;
} cli_page;

/* Opens OUT, "-" for stdout, which must be no terminal; option is named in the message then. Prints what
 * is wrong; returns an exit code. Close it whatever is returned. */
int cli_page_open(cli_page *page, const char *path, const char *option);

/* Ends the page if code is CLI_DONE; else OUT stays as it was. Returns code, or the exit code of a
 * failure. */
int cli_page_close(cli_page *page, int code);

#endif

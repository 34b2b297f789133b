/* A page for a browser: `show --flame OUT.html` and `leaks --html OUT.html`.
 *
 * The build makes a page of the files in show/flame/ and leaks/page/ (see embed.py), in two parts: one
 * before the place of the data, and one behind it. The data is JSON in the form CLI_TEXT_SCRIPT. */
#ifndef CLI_SHOW_PAGE_FILE_H
#define CLI_SHOW_PAGE_FILE_H

#include "output_file.h"

#include <stdio.h>

typedef struct cli_page {
    const char *head, *tail;
    size_t head_len, tail_len;
} cli_page;

/* The page of this name: NAME_page.h, which the build makes, has its parts. */
#define CLI_PAGE(name)                                                                             \
    ((cli_page){name##_page_head, name##_page_tail, sizeof name##_page_head,                       \
                sizeof name##_page_tail})

/* Writes the page to OUT, "-" for stdout, which must be no terminal; option is named in the message then. put
 * writes the data. A failure stays in the output, which takes nothing after it. */
void cli_page_write(const char *path, const char *option, cli_page page,
                    void (*put)(FILE *to, void *cookie), void *cookie);

#endif

/* Writes the bytes of a page, with a buffer in front of the output. A failure stays in
 * output.failure; nothing is written after it. */
#ifndef CLI_SHOW_PAGE_WRITER_H
#define CLI_SHOW_PAGE_WRITER_H

#include "output_file.h"
#include "text.h"

#include <stdint.h>

enum { CLI_PAGE_ROOM = 64 * 1024 };

typedef struct cli_page_writer {
    cli_output output;
    pprofdelta_sink sink;
    size_t len;
    char bytes[CLI_PAGE_ROOM];
} cli_page_writer;

void cli_page_put(cli_page_writer *to, const char *bytes, size_t len);
void cli_page_text(cli_page_writer *to, const char *text);
void cli_page_number(cli_page_writer *to, int64_t number);

/* Writes a JSON string. '<' is always escaped, so that the string cannot end the script element. */
void cli_page_string(cli_page_writer *to, cli_string text);

/* The same for a string in two parts. */
void cli_page_strings(cli_page_writer *to, const cli_string *parts, size_t len);

void cli_page_flush(cli_page_writer *to);

#endif

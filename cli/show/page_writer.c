/* Writes the bytes of a page: see page_writer.h. */
#include "show/page_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void cli_page_flush(cli_page_writer *to)
{
    if (to->len && !to->output.failure && !to->output.is_unread)
        to->sink.write(to->sink.cookie, to->bytes, to->len);
    to->len = 0;
}

void cli_page_put(cli_page_writer *to, const char *bytes, size_t len)
{
    while (len) {
        size_t part = len < CLI_PAGE_ROOM - to->len ? len : CLI_PAGE_ROOM - to->len;
        memcpy(to->bytes + to->len, bytes, part);
        to->len += part;
        bytes += part;
        len -= part;
        if (to->len == CLI_PAGE_ROOM)
            cli_page_flush(to);
    }
}

void cli_page_text(cli_page_writer *to, const char *text)
{
    cli_page_put(to, text, strlen(text));
}

void cli_page_number(cli_page_writer *to, int64_t number)
{
    char text[24];
    cli_page_put(to, text, (size_t)snprintf(text, sizeof text, "%" PRId64, number));
}

void cli_page_strings(cli_page_writer *to, const cli_string *parts, size_t len)
{
    cli_page_text(to, "\"");
    for (size_t i = 0; i < len; i++) {
        for (size_t at = 0; at < parts[i].len;) {
            const char *ptr = parts[i].ptr + at;
            cli_glyph glyph = cli_text_next(ptr, parts[i].len - at, CLI_TEXT_JSON);
            if (*ptr == '<')
                cli_page_text(to, "\\u003c");
            else
                cli_page_put(to, glyph.bytes, glyph.len);
            at += glyph.taken;
        }
    }
    cli_page_text(to, "\"");
}

void cli_page_string(cli_page_writer *to, cli_string text)
{
    cli_page_strings(to, &text, 1);
}

/* Names made safe to print.
 *
 * What a profile calls its functions and types is its own business: it may hold newlines that
 * break a table, escape sequences that a terminal obeys, or bytes that are no UTF-8 at all. Every
 * name goes through here, one character at a time, in one of these forms. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum cli_text_form {
    CLI_TEXT_SHOWN,  /* for people: controls and stray bytes become \xNN, the rest stands */
    CLI_TEXT_QUOTED, /* between double quotes, which the caller writes: loses nothing */
    CLI_TEXT_JSON    /* the same for JSON, where stray bytes can only become \ufffd */
} cli_text_form;

/* The next character: the bytes to print for it, and how many bytes of the input it took. */
typedef struct cli_glyph {
    char bytes[16];
    size_t len;
    size_t taken;
    size_t columns; /* that it takes on a terminal, wide characters counted as one */
} cli_glyph;

/* len is the length of what is left of the text, at least 1. */
cli_glyph cli_text_next(const char *text, size_t len, cli_text_form form);

/* Prints a whole string in the SHOWN form, or between double quotes in the other two. */
void cli_text_put(FILE *out, const char *text, cli_text_form form);

/* A string of a profile: any bytes, NUL among them. */
typedef struct cli_string {
    const char *ptr; /* never NULL */
    size_t len;
} cli_string;

cli_string cli_string_of(const char *text);
bool cli_string_is(cli_string string, const char *text);

/* In the order of their bytes: negative, 0, positive. */
int cli_string_compare(cli_string a, cli_string b);

/* As cli_text_put. */
void cli_string_put(FILE *out, cli_string string, cli_text_form form);

/* Writes it to buf in the SHOWN form, for a message: as many whole characters as have room before a
 * NUL. Returns their length in bytes. */
size_t cli_string_write(char *buf, size_t room, cli_string string);

/* The columns that a string takes in the SHOWN form. */
size_t cli_string_columns(cli_string string);

/* Prints a string in the SHOWN form in at most `columns` columns: what is too long loses its
 * middle, because a package path tells from its beginning and a method from its end. */
void cli_string_put_cut(FILE *out, cli_string string, size_t columns);

#endif

/* Names made safe to print.
 *
 * The names in a profile may have newlines, which break a table, escape sequences for the terminal,
 * or bytes that are not UTF-8. Every name is printed through these functions, in one of the forms
 * below. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum cli_text_form {
    CLI_TEXT_SHOWN,  /* control characters and bytes that are not UTF-8 become \xNN */
    CLI_TEXT_QUOTED, /* between double quotes, which the caller writes; loses nothing */
    CLI_TEXT_JSON,   /* the same for JSON; bytes that are not UTF-8 become \ufffd */
    CLI_TEXT_SCRIPT, /* JSON for a page: of the text as it is shown, and no '<' ends the script element */
    CLI_TEXT_LABEL /* the same for a label of a metric, which knows no escapes but those of '"', '\\' and newline */
} cli_text_form;

/* One character: the bytes to print, and the number of input bytes that it takes. */
typedef struct cli_glyph {
    char bytes[24];
    size_t len;
    size_t taken;
    size_t columns; /* on a terminal; wide characters count as one */
} cli_glyph;

/* A string of a profile: any bytes, NUL among them. */
typedef struct cli_string {
    const char *ptr; /* never NULL */
    size_t len;
} cli_string;

cli_string cli_string_of(const char *text);
bool cli_string_is(cli_string string, const char *text);
bool cli_string_begins(cli_string string, const char *with);
bool cli_string_ends(cli_string string, const char *with);

/* Takes the first character off the string. Returns false if there is none. */
bool cli_string_next(cli_string *string, cli_text_form form, cli_glyph *glyph);

/* The last part of a path, without its folders. */
cli_string cli_string_base(cli_string path);

/* Compares the bytes. Returns a negative number, 0, or a positive number. */
int cli_string_compare(cli_string a, cli_string b);

/* Prints a whole string in the SHOWN form, or between double quotes in the others. */
void cli_string_put(FILE *out, cli_string string, cli_text_form form);

/* Writes the string to buf in the SHOWN form and ends it with a NUL. Only whole characters are
 * written. Returns the length in bytes. */
size_t cli_string_write(char *buf, size_t room, cli_string string);

/* The columns of a string in the SHOWN form. */
size_t cli_string_columns(cli_string string);

/* Prints a string in the SHOWN form, in at most `columns` columns. A string that is too long loses
 * its middle: the beginning of a name has the package, the end the method. */
void cli_string_put_cut(FILE *out, cli_string string, size_t columns);

#endif

/* Reads a text line by line, and the words and numbers in a line.
 *
 * The functions that take a word or a number skip spaces before it and return whether it was there.
 * If not, they take nothing. Numbers are ASCII digits in every locale. */
#ifndef PD_TEXT_LINES_H
#define PD_TEXT_LINES_H

#include "base/mem.h"

#include <stdbool.h>

typedef struct pd_lines {
    pd_bytes text;
    size_t at;     /* offset of the next line */
    size_t number; /* of the current line, from 1 */
    pd_bytes rest; /* of the current line, without its end */
    size_t start;  /* offset of the current line */
} pd_lines;

static inline pd_lines pd_lines_of(pd_bytes text)
{
    return (pd_lines){.text = text};
}

/* Goes to the next line. Returns false after the last one. */
bool pd_lines_next(pd_lines *lines);

/* Takes these characters. */
bool pd_lines_take(pd_lines *lines, const char *word);

/* Takes a decimal number of 63 bits, with or without a '-'. */
bool pd_lines_decimal(pd_lines *lines, int64_t *value);

/* Takes a hexadecimal number of 64 bits, with or without 0x. */
bool pd_lines_hex(pd_lines *lines, uint64_t *value);

/* Returns whether only spaces are left in the line. */
bool pd_lines_is_done(pd_lines *lines);

/* Returns whether the current line ends with a newline, not with the end of the text. */
bool pd_lines_is_ended(const pd_lines *lines);

/* Fails with "line 12: ..." and the offset of the line. */
__attribute__((cold)) pprofdelta_status pd_lines_fail(const pd_lines *lines, const char *what,
                                                      pprofdelta_error *err);

#endif

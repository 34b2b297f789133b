/* A text, line by line, and the numbers in a line.
 *
 * A word reader takes what it names from the front of the rest of the line, behind any spaces, and
 * says whether it was there; a reader that fails takes nothing. Numbers are ASCII digits, whatever
 * the locale says. */
#ifndef PD_TEXT_LINES_H
#define PD_TEXT_LINES_H

#include "base/mem.h"

#include <stdbool.h>

typedef struct pd_lines {
    pd_bytes text;
    size_t at;     /* where the next line begins */
    size_t number; /* of the line under way, from 1 */
    pd_bytes rest; /* of the line under way, without its end */
    size_t start;  /* where that line begins */
} pd_lines;

static inline pd_lines pd_lines_of(pd_bytes text)
{
    return (pd_lines){.text = text};
}

/* The next line, or false behind the last one. */
bool pd_lines_next(pd_lines *lines);

/* These characters, or not. */
bool pd_lines_take(pd_lines *lines, const char *word);

/* A decimal number of 63 bits, with a '-' in front or not. */
bool pd_lines_decimal(pd_lines *lines, int64_t *value);

/* A hexadecimal number of 64 bits, with 0x in front or not. */
bool pd_lines_hex(pd_lines *lines, uint64_t *value);

/* Is nothing left but spaces? */
bool pd_lines_is_done(pd_lines *lines);

/* Does the line under way end with a newline, and not with the text? */
bool pd_lines_is_ended(const pd_lines *lines);

/* "line 12: ...", with the place of the line in the text. */
__attribute__((cold)) pprofdelta_status pd_lines_fail(const pd_lines *lines, const char *what,
                                                      pprofdelta_error *err);

#endif

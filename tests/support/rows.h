/* The rows of a table in unit/tables: "CELL | CELL | CELL". "== NAME" begins a part of it. Empty lines, and those that
 * begin with #, are left out.
 *
 *     table_rows r = {0};
 *     while (rows_next(&r, "wrappers", "stacks"))
 *         check(r.cells[0], r.cells[1]);
 */
#ifndef PD_TESTS_ROWS_H
#define PD_TESTS_ROWS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_CELLS = 32 };

typedef struct table_rows {
    FILE *file;
    char line[4096];
    char *cells[ROWS_CELLS]; /* "" behind the last one */
    size_t len;
} table_rows;

static inline bool rows_line(table_rows *r)
{
    do {
        if (!fgets(r->line, sizeof r->line, r->file))
            return false;
        r->line[strcspn(r->line, "\n")] = 0;
    } while (!*r->line || *r->line == '#');
    return true;
}

/* Ends the test program if there is no such table, or nothing in it. */
static inline void rows_open(table_rows *r, const char *table, const char *part)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.txt", PD_TABLES, table);
    r->file = fopen(path, "r");
    while (r->file && rows_line(r))
        if (!strncmp(r->line, "== ", 3) && !strcmp(r->line + 3, part))
            return;
    fprintf(stderr, "there is no table \"%s\" in %s\n", part, path);
    exit(1);
}

/* The next row of this part. */
static inline bool rows_next(table_rows *r, const char *table, const char *part)
{
    if (!r->file)
        rows_open(r, table, part);
    if (!rows_line(r) || !strncmp(r->line, "== ", 3)) {
        fclose(r->file);
        return false;
    }
    char *at = r->line;
    for (r->len = 0; r->len < ROWS_CELLS; r->len++) {
        char *end = strstr(at, " | ");
        r->cells[r->len] = at;
        if (!end)
            break;
        *end = 0;
        at = end + 3;
    }
    for (size_t i = ++r->len; i < ROWS_CELLS; i++)
        r->cells[i] = r->line + sizeof r->line - 1;
    r->line[sizeof r->line - 1] = 0;
    return true;
}

/* Puts a byte for each \xNN of a cell. Returns how many bytes it has then. */
static inline size_t rows_bytes(char *cell)
{
    size_t len = 0;
    for (const char *at = cell; *at; len++) {
        bool is_escape = at[0] == '\\' && at[1] == 'x';
        const char digits[3] = {is_escape ? at[2] : '0', is_escape ? at[3] : '0', 0};
        cell[len] = is_escape ? (char)strtoul(digits, NULL, 16) : *at;
        at += is_escape ? 4 : 1;
    }
    return len;
}

#endif

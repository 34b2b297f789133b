/* The table of `show`, laid out for a screen.
 *
 *       alloc    alloc    alloc
 *     objects    space  objects
 *        flat     flat      cum  function
 *      103570  8.42MiB   103570  main.(*service).renderLine
 *
 * Every column is as wide as what stands in it; the names take what the screen has left, and lose
 * their middle where that is too little. Types that leave no room for the names are left out, and
 * said to be. */
#include "show_top.h"

#include "output.h"
#include "screen.h"
#include "text.h"
#include "units.h"

#include <stdio.h>
#include <string.h>

enum { LEAST_NAME = 24, GAP = 2, CELL = 48, HEADS = 3 };

/* ---- the table ----------------------------------------------------------------------------------
 */

/* One printed column but the last: the type it shows and what of it. */
typedef enum cell_kind { FLAT, FLAT_SHARE, CUM, CUM_SHARE } cell_kind;
typedef struct cell_column {
    cell_kind kind;
    size_t type;
    cli_string head[HEADS]; /* lines: alloc / space / flat */
    size_t width;
} cell_column;

typedef struct layout {
    cell_column columns[PPROFDELTA_MAX_TYPES + 4];
    size_t len;
    size_t name_width;
} layout;

static char *format_cell(const cli_top *t, const cell_column *column, const cli_row *r,
                         char text[CELL])
{
    cli_string unit = cli_profile_unit(t->profile, column->type);
    pprofdelta_sum flat = t->flat[r->symbol * t->profile->view->n_sample_type + column->type];
    pprofdelta_sum part = column->kind == FLAT || column->kind == FLAT_SHARE ? flat : r->cum;
    if (column->kind == FLAT || column->kind == CUM)
        return cli_units_format(part, unit, text);
    if (cli_sum_is_zero(t->total))
        snprintf(text, CELL, "-");
    else
        snprintf(text, CELL, "%.1f%%", 100 * cli_sum_double(part) / cli_sum_double(t->total));
    return text;
}

/* "alloc_space" stands in two lines, so that the column is no wider than its numbers need. */
static void split_head(cli_string head[HEADS], cli_string name)
{
    size_t bar = name.len;
    while (bar && name.ptr[bar - 1] != '_')
        bar--;
    head[0] = (cli_string){name.ptr, bar ? bar - 1 : 0};
    head[1] = (cli_string){name.ptr + bar, name.len - bar};
    for (int i = 0; i < 2; i++)
        if (head[i].len >= CELL)
            head[i].len = CELL - 1;
}

static void add_column(layout *l, const cli_top *t, cell_kind kind, size_t type, size_t rows)
{
    static const char *const kinds[] = {"flat", "flat%", "cum", "cum%"};
    cell_column *column = &l->columns[l->len++];
    *column = (cell_column){.kind = kind, .type = type};
    for (int i = 0; i < HEADS; i++)
        column->head[i] = cli_string_of("");
    if (t->columns_len > 1)
        split_head(column->head, cli_profile_type(t->profile, type));
    column->head[HEADS - 1] = cli_string_of(kinds[kind]);
    for (int i = 0; i < HEADS; i++)
        if (cli_string_columns(column->head[i]) > column->width)
            column->width = cli_string_columns(column->head[i]);
    for (size_t i = 0; i < rows; i++) {
        char text[CELL];
        size_t len = strlen(format_cell(t, column, &t->rows[i], text));
        if (len > column->width)
            column->width = len;
    }
}

static size_t width_of(const layout *l)
{
    size_t width = 0;
    for (size_t i = 0; i < l->len; i++)
        width += l->columns[i].width + GAP;
    return width;
}

/* Drops types from the right, never the one to sort by, until the names have room. */
static void lay_out(layout *l, cli_top *t, bool has_shares, size_t rows)
{
    size_t screen = cli_screen_width();
    for (;;) {
        l->len = 0;
        for (size_t i = 0; i < t->columns_len; i++)
            add_column(l, t, FLAT, t->columns[i], rows);
        if (has_shares)
            add_column(l, t, FLAT_SHARE, t->sort, rows);
        add_column(l, t, CUM, t->sort, rows);
        if (has_shares)
            add_column(l, t, CUM_SHARE, t->sort, rows);
        if (t->columns_len == 1 || width_of(l) + LEAST_NAME <= screen)
            break;
        size_t drop = t->columns_len - 1 - (t->columns[t->columns_len - 1] == t->sort);
        memmove(&t->columns[drop], &t->columns[drop + 1],
                (t->columns_len - drop - 1) * sizeof *t->columns);
        t->columns_len--;
    }
    size_t width = width_of(l);
    l->name_width = width + LEAST_NAME <= screen ? screen - width : LEAST_NAME;
}

static void put_caption(const cli_top *t, size_t rows)
{
    fputs(rows < t->rows_len ? "\nthe first " : "\n", stdout);
    if (rows < t->rows_len)
        printf("%zu of ", rows);
    printf("%zu function%s, by ", t->rows_len, t->rows_len == 1 ? "" : "s");
    cli_string_put(stdout, cli_profile_type(t->profile, t->sort), CLI_TEXT_SHOWN);
    putchar('\n');
}

static bool is_dropped(const cli_top *t, size_t type)
{
    for (size_t i = 0; i < t->columns_len; i++)
        if (t->columns[i] == type)
            return false;
    return true;
}

/* Types that would have been shown, had there been room. */
static void put_dropped(const cli_top *t)
{
    const char *comma = "no room for ";
    for (size_t i = 0; i < t->profile->view->n_sample_type; i++) {
        if (!is_dropped(t, i))
            continue;
        fputs(comma, stdout);
        cli_string_put(stdout, cli_profile_type(t->profile, i), CLI_TEXT_SHOWN);
        comma = ", ";
    }
    if (*comma == ',')
        puts(": use --type");
}

/* A line of the head, unless no column has a word for it. */
static void put_heads(const layout *l, int line)
{
    bool is_last = line == HEADS - 1, is_empty = true;
    for (size_t i = 0; i < l->len; i++)
        is_empty &= !l->columns[i].head[line].len;
    if (is_empty)
        return;
    for (size_t i = 0; i < l->len; i++) {
        printf("%*s", i ? GAP : 0, "");
        cli_screen_put_right(l->columns[i].head[line], l->columns[i].width);
    }
    printf("%*s%s\n", is_last ? GAP : 0, "", is_last ? "function" : "");
}

/* "0", "0B" and "0.0%" say nothing, and step back. */
static bool says_nothing(const char *cell)
{
    return cell[0] == '0' && (cell[1] != '.' || cell[2] == '0');
}

static void put_table(const cli_top *t, const layout *l, size_t rows)
{
    cli_ink ink = cli_screen_ink();
    fputs(ink.bold, stdout);
    for (int line = 0; line < HEADS; line++)
        put_heads(l, line);
    fputs(ink.end, stdout);
    for (size_t i = 0; i < rows && !cli_output_is_over(); i++) {
        char text[CELL];
        for (size_t c = 0; c < l->len; c++) {
            format_cell(t, &l->columns[c], &t->rows[i], text);
            bool dim = says_nothing(text), bold = l->columns[c].type == t->sort && !dim;
            fputs(dim ? ink.dim : bold ? ink.bold : "", stdout);
            cli_screen_put_right(cli_string_of(text), l->columns[c].width);
            fputs(dim || bold ? ink.end : "", stdout);
            printf("%*s", GAP, "");
        }
        cli_string_put_cut(stdout, t->symbols.names[t->rows[i].symbol], l->name_width);
        putchar('\n');
    }
}

void cli_table_print(cli_top *top, bool has_shares, size_t rows)
{
    bool shows_all = top->columns_len > 1;
    layout l = {.len = 0};
    lay_out(&l, top, has_shares, rows);
    put_caption(top, rows);
    put_table(top, &l, rows);
    if (shows_all)
        put_dropped(top);
}

/* pprofdelta show FILE: the functions that count most.
 *
 *       alloc    alloc    alloc
 *     objects    space  objects
 *        flat     flat      cum  function
 *      103570  8.42MiB   103570  main.(*service).renderLine
 *
 * Flat values are those of the function itself; cumulative ones include what it called. Without
 * --type every sample type has a column of flat values, and the type that the rows are sorted by
 * has a column of cumulative values too. With --type only that type is shown, with shares of its
 * total.
 *
 * Every column is as wide as its widest cell. The names get the rest of the screen and lose their
 * middle if that is too little. Types are left out from the right if the names have no room; a line
 * below the table names them. */
#include "show/forms.h"

#include "cli.h"
#include "message.h"
#include "output_file.h"
#include "show/heading.h"
#include "show/screen.h"
#include "show/units.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_NAME = 24, GAP = 2, CELL = 48, HEADS = 3 };

/* One function, with its sums of the column that the rows are sorted by. */
typedef struct row {
    size_t symbol;
    pprofdelta_sum flat, cum;
} row;

typedef struct top {
    const cli_shown *shown;
    const cli_profile *profile;
    const cli_selection *selection;
    size_t sort; /* the column that the rows are sorted by */
    pprofdelta_sum total;
    size_t columns[PPROFDELTA_MAX_TYPES]; /* those that are shown */
    size_t columns_len;
    pprofdelta_sum *flat; /* flat[symbol * n_sample_type + column] */
    row *rows;            /* sorted, without those whose values are all 0 */
    size_t rows_len;
} top;

/* ---- sums --------------------------------------------------------------------------------- */

/* The frames of the sample number `at` of the selection. */
typedef struct span {
    const uint32_t *frames; /* leaf first */
    size_t len;
    const Pd__View__Sample *sample;
} span;

static span span_of(const top *t, size_t at)
{
    const cli_selection *s = t->selection;
    return (span){s->frames + s->first[at], s->first[at + 1] - s->first[at],
                  t->profile->view->sample[s->samples[at]]};
}

/* Adds the sample to the symbol that spent the time or memory: the leaf. */
static void add_flat(top *t, span stack)
{
    const Pd__View__Sample *sample = stack.sample;
    if (!stack.len)
        return;
    size_t symbol = t->selection->symbols.frames[stack.frames[0]];
    pprofdelta_sum *flat = t->flat + symbol * sample->n_value;
    for (size_t c = 0; c < sample->n_value; c++)
        cli_sum_add(&flat[c], sample->value[c]);
}

/* Adds the sample to each symbol of its stack once, also if the symbol recurs. last_seen[symbol] is
 * the number of the last sample that has the symbol. */
static void add_cum(top *t, span stack, size_t *last_seen, size_t number)
{
    for (size_t i = 0; i < stack.len; i++) {
        size_t symbol = t->selection->symbols.frames[stack.frames[i]];
        if (last_seen[symbol] != number)
            cli_sum_add(&t->rows[symbol].cum, stack.sample->value[t->sort]);
        last_seen[symbol] = number;
    }
}

static int by_size(pprofdelta_sum x, pprofdelta_sum y)
{
    return cli_sum_compare(cli_sum_size(y), cli_sum_size(x));
}

/* By the size of the flat value, then of the cumulative one, then by name. */
static int by_flat(const void *a, const void *b)
{
    const row *x = a, *y = b;
    int order = by_size(x->flat, y->flat);
    order = order ? order : by_size(x->cum, y->cum);
    return order ? order : (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

/* By the size of the cumulative value, then of the flat one, then by name. */
static int by_cum(const void *a, const void *b)
{
    const row *x = a, *y = b;
    int order = by_size(x->cum, y->cum);
    order = order ? order : by_size(x->flat, y->flat);
    return order ? order : (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

static bool is_zero(const top *t, const row *r)
{
    const pprofdelta_sum *flat = t->flat + r->symbol * t->profile->view->n_sample_type;
    bool zero = cli_sum_is_zero(r->cum);
    for (size_t i = 0; i < t->columns_len; i++)
        zero &= cli_sum_is_zero(flat[t->columns[i]]);
    return zero;
}

static int add_up(top *t)
{
    const Pd__View__Profile *view = t->profile->view;
    size_t symbols = t->selection->symbols.len;
    size_t *last_seen = calloc(symbols + 1, sizeof *last_seen);
    t->flat = calloc(symbols * view->n_sample_type + 1, sizeof *t->flat);
    t->rows = calloc(symbols + 1, sizeof *t->rows);
    if (!last_seen || !t->flat || !t->rows) {
        free(last_seen);
        return cli_system_error(t->profile->input.name, "show", ENOMEM);
    }
    for (size_t i = 0; i < t->selection->len; i++) {
        add_flat(t, span_of(t, i));
        add_cum(t, span_of(t, i), last_seen, i + 1);
    }
    free(last_seen);
    for (size_t i = 0; i < symbols; i++) {
        row r = {i, t->flat[i * view->n_sample_type + t->sort], t->rows[i].cum};
        if (!is_zero(t, &r))
            t->rows[t->rows_len++] = r;
    }
    qsort(t->rows, t->rows_len, sizeof *t->rows, t->shown->is_by_cum ? by_cum : by_flat);
    return CLI_DONE;
}

/* ---- table -------------------------------------------------------------------------------- */

/* One printed column, but for the last, which has the names. */
typedef enum cell_kind { FLAT, FLAT_SHARE, CUM, CUM_SHARE } cell_kind;
typedef struct cell_column {
    cell_kind kind;
    size_t type;
    cli_string head[HEADS]; /* its lines: alloc / space / flat */
    size_t width;
} cell_column;

typedef struct layout {
    cell_column columns[PPROFDELTA_MAX_TYPES + 4];
    size_t len;
    size_t name_width;
} layout;

static char *format_cell(const top *t, const cell_column *column, const row *r, char text[CELL])
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

/* Puts "alloc_space" on two lines, so that the column is no wider than its numbers. */
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

static void add_column(layout *l, const top *t, cell_kind kind, size_t type, size_t rows)
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

/* Drops types from the right until the names have room, but never the one to sort by. */
static void lay_out(layout *l, top *t, bool has_shares, size_t rows)
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
        if (t->columns_len <= 1 || width_of(l) + LEAST_NAME <= screen)
            break;
        size_t drop = t->columns_len - 1 - (t->columns[t->columns_len - 1] == t->sort);
        memmove(&t->columns[drop], &t->columns[drop + 1],
                (t->columns_len - drop - 1) * sizeof *t->columns);
        t->columns_len--;
    }
    size_t width = width_of(l);
    l->name_width = width + LEAST_NAME <= screen ? screen - width : LEAST_NAME;
}

static void put_caption(const top *t, size_t rows)
{
    fputs(rows < t->rows_len ? "\nthe first " : "\n", stdout);
    if (rows < t->rows_len)
        printf("%zu of ", rows);
    printf("%zu function%s, by %s", t->rows_len, t->rows_len == 1 ? "" : "s",
           t->shown->is_by_cum ? "cumulative " : "");
    cli_string_put(stdout, cli_profile_type(t->profile, t->sort), CLI_TEXT_SHOWN);
    puts(cli_shown_zero(t->shown));
}

static bool is_dropped(const top *t, size_t type)
{
    for (size_t i = 0; i < t->columns_len; i++)
        if (t->columns[i] == type)
            return false;
    return true;
}

/* Prints the types that there was no room for. */
static void put_dropped(const top *t)
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

/* Prints a line of the head, unless it is empty in every column. */
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

/* "0", "0B" and "0.0%" are printed dim. */
static bool is_zero_cell(const char *cell)
{
    return cell[0] == '0' && (cell[1] != '.' || cell[2] == '0');
}

static void put_table(const top *t, const layout *l, size_t rows)
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
            bool dim = is_zero_cell(text), bold = l->columns[c].type == t->sort && !dim;
            fputs(dim ? ink.dim : bold ? ink.bold : "", stdout);
            cli_screen_put_right(cli_string_of(text), l->columns[c].width);
            fputs(dim || bold ? ink.end : "", stdout);
            printf("%*s", GAP, "");
        }
        cli_string_put_cut(stdout, t->selection->symbols.names[t->rows[i].symbol], l->name_width);
        putchar('\n');
    }
}

static void put_functions(top *t, bool has_shares, size_t rows)
{
    bool shows_all = t->columns_len > 1;
    layout l = {.len = 0};
    lay_out(&l, t, has_shares, rows);
    put_caption(t, rows);
    if (rows)
        put_table(t, &l, rows);
    if (rows && shows_all)
        put_dropped(t);
}

int cli_show_top(const cli_shown *shown)
{
    const cli_types *types = shown->types;
    top t = {.shown = shown,
             .profile = shown->profiles,
             .selection = shown->selections,
             .sort = types->column[0][shown->chosen]};
    for (size_t i = 0; i < types->len; i++)
        if (!shown->only_chosen || i == shown->chosen)
            t.columns[t.columns_len++] = types->column[0][i];
    t.total = cli_profile_total(t.profile, t.sort);
    int code = add_up(&t);
    if (!code)
        code = cli_heading_put(shown);
    if (!code)
        put_functions(&t, t.columns_len == 1, t.rows_len < shown->most ? t.rows_len : shown->most);
    free(t.flat);
    free(t.rows);
    return code;
}

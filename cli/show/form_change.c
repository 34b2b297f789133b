/* pprofdelta show PREV CUR: the functions whose values grew or shrank.
 *
 *        prev      cur    change       cum
 *        flat     flat      flat    change  function
 *     1.00KiB  1.56KiB     +600B     +600B  work
 *        500B       0B     -500B     -500B  idle
 *
 * The table has one sample type. Functions are matched by name, so the profiles may be of different
 * builds. The rows are sorted by the size of the change, whatever its sign. A function that did not
 * change has no row. */
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

enum { CELLS = 4, CELL = CLI_CHANGE_ROOM, GAP = 2, LEAST_NAME = 24 };

typedef struct row {
    size_t name;
    pprofdelta_sum flat[CLI_SIDES], cum[CLI_SIDES];
} row;

typedef struct change {
    const cli_shown *shown;
    cli_stacks stacks;
    row *rows; /* sorted, without functions that did not change */
    size_t rows_len;
} change;

static pprofdelta_sum grown(const pprofdelta_sum sides[CLI_SIDES])
{
    return cli_sum_minus(sides[1], sides[0]);
}

/* ---- adding up ---------------------------------------------------------------------------- */

static int by_flat(const row *x, const row *y)
{
    return cli_sum_compare(cli_sum_size(grown(y->flat)), cli_sum_size(grown(x->flat)));
}

static int by_cum(const row *x, const row *y)
{
    return cli_sum_compare(cli_sum_size(grown(y->cum)), cli_sum_size(grown(x->cum)));
}

static int by_name(const row *x, const row *y)
{
    return (x->name > y->name) - (x->name < y->name);
}

static int by_flat_change(const void *a, const void *b)
{
    int order = by_flat(a, b);
    order = order ? order : by_cum(a, b);
    return order ? order : by_name(a, b);
}

static int by_cum_change(const void *a, const void *b)
{
    int order = by_cum(a, b);
    order = order ? order : by_flat(a, b);
    return order ? order : by_name(a, b);
}

/* Adds the stack to each of its names once, also if the name recurs. last_seen[name] is the number
 * of the last stack that has the name. */
static void add_stack(change *c, const cli_stack *stack, size_t *last_seen, size_t number)
{
    int64_t value = stack->values[c->shown->types->column[stack->side][c->shown->chosen]];
    for (size_t i = 0; i < stack->len; i++) {
        size_t name = stack->frames[i];
        if (last_seen[name] != number)
            cli_sum_add(&c->rows[name].cum[stack->side], value);
        last_seen[name] = number;
    }
    if (stack->len)
        cli_sum_add(&c->rows[stack->frames[stack->len - 1]].flat[stack->side], value);
}

static int add_up(change *c)
{
    int code = cli_stacks_make(&c->stacks, c->shown->selections, CLI_SIDES);
    if (code)
        return code;
    size_t *last_seen = calloc(c->stacks.names_len + 1, sizeof *last_seen);
    c->rows = calloc(c->stacks.names_len + 1, sizeof *c->rows);
    if (!last_seen || !c->rows) {
        free(last_seen);
        return cli_system_error(c->shown->profiles[1].input.name, "show", ENOMEM);
    }
    for (size_t i = 0; i < c->stacks.len; i++)
        add_stack(c, &c->stacks.stacks[i], last_seen, i + 1);
    free(last_seen);
    for (size_t i = 0; i < c->stacks.names_len; i++) {
        row r = c->rows[i];
        r.name = i;
        if (!cli_sum_is_zero(grown(r.flat)) || !cli_sum_is_zero(grown(r.cum)))
            c->rows[c->rows_len++] = r;
    }
    qsort(c->rows, c->rows_len, sizeof *c->rows,
          c->shown->is_by_cum ? by_cum_change : by_flat_change);
    return CLI_DONE;
}

/* ---- printing ----------------------------------------------------------------------------- */

static cli_string unit_of(const change *c)
{
    return cli_profile_unit(&c->shown->profiles[1], c->shown->types->column[1][c->shown->chosen]);
}

static char *format_cell(const change *c, const row *r, size_t cell, char text[CELL])
{
    if (cell < CLI_SIDES)
        return cli_units_format(r->flat[cell], unit_of(c), text);
    return cli_units_format_change(grown(cell == CLI_SIDES ? r->flat : r->cum), unit_of(c), text);
}

static void put_rows(const change *c, size_t rows, const cli_ink *ink)
{
    static const char *const heads[2][CELLS] = {{"prev", "cur", "change", "change"},
                                                {"flat", "flat", "flat", "cum"}};
    size_t width[CELLS], used = 0;
    char text[CELL];
    for (size_t cell = 0; cell < CELLS; cell++) {
        width[cell] = strlen(heads[0][cell]);
        for (size_t i = 0; i < rows; i++) {
            size_t len = strlen(format_cell(c, &c->rows[i], cell, text));
            width[cell] = len > width[cell] ? len : width[cell];
        }
        used += width[cell] + GAP;
    }
    for (int line = 0; line < 2; line++) {
        fputs(ink->bold, stdout);
        for (size_t cell = 0; cell < CELLS; cell++)
            printf("%*s%*s", cell ? GAP : 0, "", (int)width[cell], heads[line][cell]);
        printf("%s%s\n", line ? "  function" : "", ink->end);
    }
    size_t screen = cli_screen_width();
    size_t room = used + LEAST_NAME <= screen ? screen - used : LEAST_NAME;
    for (size_t i = 0; i < rows && !cli_output_is_over(); i++) {
        const row *r = &c->rows[i];
        for (size_t cell = 0; cell < CELLS; cell++) {
            bool is_change = cell >= CLI_SIDES;
            fputs(is_change
                      ? cli_screen_change_ink(ink, grown(cell == CLI_SIDES ? r->flat : r->cum))
                      : "",
                  stdout);
            printf("%*s%s%*s", (int)width[cell], format_cell(c, r, cell, text),
                   is_change ? ink->end : "", GAP, "");
        }
        cli_string_put_cut(stdout, c->stacks.names[r->name], room);
        putchar('\n');
    }
}

static void put_caption(const change *c, size_t rows)
{
    const cli_shown *shown = c->shown;
    cli_string type = cli_profile_type(&shown->profiles[1], shown->types->column[1][shown->chosen]);
    const char *cum = shown->is_by_cum ? "cumulative " : "";
    if (rows < c->rows_len)
        printf("\nthe first %zu of %zu functions that changed, by %s", rows, c->rows_len, cum);
    else
        printf("\n%zu function%s changed, by %s", c->rows_len, c->rows_len == 1 ? "" : "s", cum);
    cli_string_put(stdout, type, CLI_TEXT_SHOWN);
    puts(cli_shown_zero(shown));
}

int cli_show_change(const cli_shown *shown)
{
    change c = {.shown = shown};
    int code = add_up(&c);
    if (!code)
        code = cli_heading_put(shown);
    if (!code) {
        cli_ink ink = cli_screen_ink();
        size_t rows = c.rows_len < shown->most ? c.rows_len : shown->most;
        put_caption(&c, rows);
        if (rows)
            put_rows(&c, rows, &ink);
    }
    cli_stacks_free(&c.stacks);
    free(c.rows);
    return code;
}

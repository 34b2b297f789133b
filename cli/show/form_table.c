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
 * pprofdelta show PREV CUR: the functions whose values grew or shrank, of one sample type.
 *
 *        prev      cur    change       cum
 *        flat     flat      flat    change  function
 *     1.00KiB  1.56KiB     +600B     +600B  work
 *        500B       0B     -500B     -500B  idle
 *
 * Functions are matched by name, so the profiles may be of different builds. The rows are sorted by
 * the size of the value, or of the change. A function that has none has no row.
 *
 * Every column is as wide as its widest cell. The names get the rest of the screen and lose their
 * middle if that is too little. Types are left out from the right if the names have no room; a line
 * below the table says how many. */
#include "show/shown.h"

#include "keep.h"
#include "output_file.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_NAME = 24, GAP = 2, CELL = CLI_CHANGE_ROOM, HEAD = 48, HEADS = 3 };

/* Which values a column has: those of a side, or the difference. */
enum { CHANGE = CLI_SIDES, VALUES };

/* One function. The sums are the flat ones of each type, and the cumulative one of the type that the
 * rows are sorted by. */
typedef struct row {
    cli_rank rank; /* at: the number of the name */
    pprofdelta_sum *sums[VALUES];
} row;

typedef struct column {
    size_t values; /* a side, or CHANGE */
    size_t sum;    /* index in sums[values] */
    size_t type;
    bool is_share;          /* of the total */
    cli_string head[HEADS]; /* its lines: alloc / space / flat */
    size_t width;
} column;

typedef struct table {
    cli_shown *shown;
    row *rows;        /* sorted, without those whose values are all 0 */
    size_t len, most; /* most: rows that are printed */
    pprofdelta_sum total;
    column columns[PPROFDELTA_MAX_TYPES + 4];
    size_t columns_len;
    size_t dropped; /* types that there was no room for */
    /* While the rows are added up: the number of the last stack that has the name, or the location. */
    size_t *name_seen, *location_seen[CLI_SIDES], stacks;
} table;

/* ---- rows --------------------------------------------------------------------------------- */

/* Adds the value to each function of these frames that is not in the stack so far. */
static void add_cumulative(const table *t, const cli_stack *stack, const cli_frame *from,
                           const cli_frame *to, int64_t value)
{
    size_t cum = t->shown->types.len, stacks = t->stacks, *seen = t->name_seen;
    row *rows = t->rows;
    for (; from < to; from++)
        if (seen[from->name] != stacks && !cli_stack_hides(t->shown, stack, from)) {
            cli_sum_add(&rows[from->name].sums[stack->side][cum], value);
            seen[from->name] = stacks;
        }
}

/* Adds the stack to the function that spent the time or memory, the leaf; and to each function of it
 * once, also if the function recurs. A location that recurs is looked at once. */
static uint64_t add_stack(void *cookie, const cli_stack *stack, const cli_sample *sample)
{
    table *t = cookie;
    const cli_shown *shown = t->shown;
    const size_t *columns = shown->types.column[stack->side];
    size_t *seen = t->location_seen[stack->side];
    const cli_frame *leaf = cli_stack_leaf(shown, stack), *from, *to;
    int64_t value = sample->values[columns[shown->chosen]];
    uint64_t frames = 0;
    bool is_part;
    t->stacks++;
    for (size_t i = 0; leaf && i < shown->types.len; i++)
        cli_sum_add(&t->rows[leaf->name].sums[stack->side][i], sample->values[columns[i]]);
    if (leaf && stack->is_hidden)
        cli_sum_add(&t->rows[leaf->name].sums[stack->side][shown->types.len], value);
    cli_walk walk = cli_walk_from_leaf(shown, stack);
    for (size_t at; (at = cli_walk_location(&walk, &from, &to, &is_part)) != SIZE_MAX;) {
        if (seen[at] == t->stacks)
            continue;
        seen[at] = is_part ? seen[at] : t->stacks;
        add_cumulative(t, stack, from, to, value);
        frames += (uint64_t)(to - from);
    }
    return frames;
}

/* Sets what the row is sorted by. Returns whether it has a value that is printed. */
static bool finish_row(const cli_shown *shown, row *r)
{
    size_t cum = shown->types.len;
    bool has_value = false, is_change = shown->sides > 1;
    for (size_t i = 0; i <= cum && is_change; i++)
        r->sums[CHANGE][i] = cli_sum_minus(r->sums[1][i], r->sums[0][i]);
    const pprofdelta_sum *sums = r->sums[is_change ? CHANGE : 0];
    for (size_t i = 0; i <= cum; i++)
        if (i == shown->chosen || i == cum || !(is_change || shown->only_chosen))
            has_value |= !cli_sum_is_zero(sums[i]);
    r->rank.first = sums[shown->is_by_cum ? cum : shown->chosen];
    r->rank.second = sums[shown->is_by_cum ? shown->chosen : cum];
    return has_value;
}

/* More frames than in other forms are no harm: they are not printed. */
static void add_up(table *t)
{
    enum { MORE = 1 << 28 };
    cli_shown *shown = t->shown;
    size_t names = shown->names_len, sums = shown->types.len + 1;
    size_t values = shown->sides > 1 ? VALUES : 1;
    t->name_seen = cli_keep(names, sizeof *t->name_seen);
    for (size_t k = 0; k < shown->sides; k++)
        t->location_seen[k] = cli_keep(shown->profiles[k].view->n_location, sizeof(size_t));
    pprofdelta_sum *all = cli_keep(names * values * sums, sizeof *all);
    t->rows = cli_keep(names, sizeof *t->rows);
    for (size_t i = 0; i < names; i++) {
        t->rows[i].rank.at = i;
        for (size_t k = 0; k < values; k++)
            t->rows[i].sums[k] = all + (i * values + k) * sums;
    }
    cli_shown_each(shown, MORE, add_stack, t);
    for (size_t i = 0; i < names; i++)
        if (finish_row(shown, &t->rows[i]))
            t->rows[t->len++] = t->rows[i];
    qsort(t->rows, t->len, sizeof *t->rows, cli_by_rank);
    t->most = t->len < shown->most ? t->len : shown->most;
}

/* ---- columns ------------------------------------------------------------------------------ */

static char *format_cell(const table *t, const column *c, const row *r, char text[CELL])
{
    pprofdelta_sum sum = r->sums[c->values][c->sum];
    cli_string unit = cli_types_unit(t->shown, c->type);
    if (!c->is_share)
        return c->values == CHANGE ? cli_units_format_change(sum, unit, text)
                                   : cli_units_format(sum, unit, text);
    return cli_share_format(sum, t->total, text);
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
        if (head[i].len >= HEAD)
            head[i].len = HEAD - 1;
}

/* Appends a column. Its head ends with two words; the type is above the last one if there is no
 * other. */
static void add_column(table *t, column c, const char *above, const char *word)
{
    c.head[0] = c.head[1] = cli_string_of(above);
    c.head[0].len = 0;
    if (!*above && !t->shown->only_chosen && t->shown->types.len > 1)
        split_head(c.head, cli_types_name(t->shown, c.type));
    c.head[2] = cli_string_of(word);
    for (int i = 0; i < HEADS; i++)
        if (cli_string_columns(c.head[i]) > c.width)
            c.width = cli_string_columns(c.head[i]);
    for (size_t i = 0; i < t->most; i++) {
        char text[CELL];
        size_t len = strlen(format_cell(t, &c, &t->rows[i], text));
        c.width = len > c.width ? len : c.width;
    }
    t->columns[t->columns_len++] = c;
}

static void add_columns(table *t)
{
    const cli_shown *shown = t->shown;
    size_t type = shown->chosen, cum = shown->types.len;
    if (shown->sides > 1) {
        add_column(t, (column){.values = 0, .sum = type, .type = type}, "prev", "flat");
        add_column(t, (column){.values = 1, .sum = type, .type = type}, "cur", "flat");
        add_column(t, (column){.values = CHANGE, .sum = type, .type = type}, "change", "flat");
        add_column(t, (column){.values = CHANGE, .sum = cum, .type = type}, "change", "cum");
        return;
    }
    bool has_shares = shown->only_chosen || shown->types.len == 1;
    for (size_t i = 0; i < shown->types.len; i++)
        if (!shown->only_chosen || i == type)
            add_column(t, (column){.sum = i, .type = i}, "", "flat");
    if (has_shares)
        add_column(t, (column){.sum = type, .type = type, .is_share = true}, "", "flat%");
    add_column(t, (column){.sum = cum, .type = type}, "", "cum");
    if (has_shares)
        add_column(t, (column){.sum = cum, .type = type, .is_share = true}, "", "cum%");
}

static size_t width_of(const table *t)
{
    size_t width = 0;
    for (size_t i = 0; i < t->columns_len; i++)
        width += t->columns[i].width + GAP;
    return width;
}

/* Drops types from the right until the names have room, but never the one to sort by. Returns the
 * width of the names. */
static size_t lay_out(table *t)
{
    size_t screen = cli_screen_width();
    add_columns(t);
    for (size_t i = t->columns_len; i-- > 0 && width_of(t) + LEAST_NAME > screen;) {
        if (t->columns[i].type == t->shown->chosen)
            continue;
        t->dropped++;
        memmove(&t->columns[i], &t->columns[i + 1], (--t->columns_len - i) * sizeof *t->columns);
    }
    size_t width = width_of(t);
    return width + LEAST_NAME <= screen ? screen - width : LEAST_NAME;
}

/* ---- printing ----------------------------------------------------------------------------- */

/* Prints a line of the head, unless it is empty in every column. */
static void put_heads(const table *t, int line, const cli_ink *ink)
{
    bool is_empty = true;
    for (size_t i = 0; i < t->columns_len; i++)
        is_empty &= !t->columns[i].head[line].len;
    if (is_empty)
        return;
    fputs(ink->bold, stdout);
    for (size_t i = 0; i < t->columns_len; i++) {
        printf("%*s", i ? GAP : 0, "");
        cli_screen_put_right(t->columns[i].head[line], t->columns[i].width);
    }
    printf("%s%s\n", line == HEADS - 1 ? "  function" : "", ink->end);
}

/* "0", "0B" and "0.0%" are printed dim, and the type that the rows are sorted by bold. */
static const char *ink_of(const table *t, const column *c, const row *r, const char *text,
                          const cli_ink *ink)
{
    if (c->values == CHANGE)
        return cli_screen_change_ink(ink, r->sums[CHANGE][c->sum]);
    if (t->shown->sides > 1)
        return "";
    if (text[0] == '0' && (text[1] != '.' || text[2] == '0'))
        return ink->dim;
    return c->type == t->shown->chosen ? ink->bold : "";
}

static void put_table(table *t)
{
    cli_ink ink = cli_screen_ink();
    size_t name_width = lay_out(t);
    for (int line = 0; line < HEADS; line++)
        put_heads(t, line, &ink);
    for (size_t i = 0; i < t->most && !cli_output_is_over(); i++) {
        const row *r = &t->rows[i];
        for (size_t k = 0; k < t->columns_len; k++) {
            char text[CELL];
            const column *c = &t->columns[k];
            const char *begin = ink_of(t, c, r, format_cell(t, c, r, text), &ink);
            fputs(begin, stdout);
            cli_screen_put_right(cli_string_of(text), c->width);
            printf("%s%*s", *begin ? ink.end : "", GAP, "");
        }
        cli_string_put_cut(stdout, t->shown->names[r->rank.at], name_width);
        putchar('\n');
    }
    if (t->dropped)
        printf("no room for %zu other type%s: use --type\n", t->dropped,
               t->dropped == 1 ? "" : "s");
}

void cli_show_table(cli_shown *shown)
{
    table t = {.shown = shown, .total = cli_types_total(shown, 0, shown->chosen)};
    add_up(&t);
    cli_heading_put_caption(shown, t.most, t.len, "function", " changed");
    putchar('\n');
    if (t.most)
        put_table(&t);
}

/* pprofdelta leaks --markdown: a comment on a pull request.
 *
 *     **1 suspect**, 1 unknown, 810 stacks without steady growth; 412MiB in use (inuse_space) after 60 windows
 *
 *     | | Place | In use | Slope | Why |
 *     |---|---|---:|---:|---|
 *     | **suspect** | new_session server.c:120, called by handle | 48.2MiB | +12.0MiB/h | grows steadily, ... |
 *
 *     | | Stack | Base | Now | Change |        with --base; else the stacks above the budget
 *
 * A name is any text. It stands in a code element, with each character that Markdown, HTML or a table
 * could read as its own written as a number: so no name is a link, a mention or a row. */
#include "leaks/leaks.h"

#include "keep.h"
#include "show/short_names.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 120 };

/* ---- text --------------------------------------------------------------------------------- */

static void put_safe(cli_string text)
{
    cli_glyph glyph;
    for (size_t columns = 0; columns < MOST_COLUMNS; columns += glyph.columns) {
        if (!cli_string_next(&text, CLI_TEXT_SHOWN, &glyph))
            return;
        for (size_t i = 0; i < glyph.len; i++) {
            unsigned char c = (unsigned char)glyph.bytes[i];
            if (c >= 0x80 || isalnum(c) || strchr(" ,/-+=", c))
                putchar(c);
            else
                printf("&#%d;", c);
        }
    }
    fputs("...", stdout);
}

static void put_code(cli_string text)
{
    fputs("<code>", stdout);
    put_safe(text);
    fputs("</code>", stdout);
}

/* "new_session server.c:120, called by handle" */
static void put_cause(const cli_leaks_cause *cause)
{
    char room[CLI_SHORT_NAME_MAX];
    const cli_frame_text *frame = cause->frame ? &cause->frame->text : NULL;
    put_code(frame ? cli_short_name(frame->name, room) : cli_string_of("(no stack)"));
    if (frame && frame->file.len) {
        putchar(' ');
        put_code(cli_string_base(frame->file));
        if (frame->line > 0)
            printf(":%lld", (long long)frame->line);
    }
    if (!cause->caller)
        return;
    fputs(", called by ", stdout);
    put_code(cli_short_name(cause->caller->text.name, room));
}

/* ---- suspects ------------------------------------------------------------------------------- */

static void put_finding(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    char now[48], slope[CLI_LEAKS_SLOPE_ROOM];
    bool is_suspect = f->verdict.kind == CLI_LEAKS_SUSPECT, is_areas = f->what == CLI_LEAKS_AREAS;
    cli_string unit = is_areas ? cli_string_of("bytes") : run->unit;
    printf("| %s%s%s | ", is_suspect ? "**" : "", cli_leaks_kinds[f->verdict.kind].text,
           is_suspect ? "**" : "");
    if (is_areas)
        fputs("resident memory", stdout);
    else
        put_cause(&f->cause);
    if (f->stacks > 1 && !is_areas)
        printf(", and %zu more stack%s", f->stacks - 1, f->stacks > 2 ? "s" : "");
    printf(" | %s | %s | %s |\n", cli_leaks_format_value(f->now, unit, now),
           cli_leaks_format_slope(run, unit, f->verdict.slope, slope),
           cli_leaks_reasons[f->verdict.reason].text);
}

static void put_run(const cli_leaks_run *run)
{
    const cli_leaks_findings *found = &run->findings;
    char text[48];
    fputs("\n", stdout);
    put_code(run->binary.len ? run->binary : cli_string_of("(no name)"));
    printf(": %s%zu suspect%s%s, %zu unknown, %zu stack%s without steady growth; %s in use (",
           found->suspects ? "**" : "", found->suspects, found->suspects == 1 ? "" : "s",
           found->suspects ? "**" : "", found->unknown, found->others,
           found->others == 1 ? "" : "s", cli_leaks_format_value(found->now, run->unit, text));
    put_code(run->type);
    printf(") after %zu window%s\n", run->windows, run->windows == 1 ? "" : "s");
    if (!found->shown_len)
        return;
    fputs("\n| | Place | In use | Slope | Why |\n|---|---|---:|---:|---|\n", stdout);
    for (size_t i = 0; i < found->shown_len; i++)
        put_finding(run, found->shown[i]);
    if (found->left)
        printf("\nand %zu more\n", found->left);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Stacks of the same functions are one. */
typedef struct change {
    const cli_leaks_run *run; /* where it has most, and its row there */
    size_t row;
    double now, before;
} change;

typedef struct changes {
    change *list;
    size_t list_len, list_cap;
    cli_numbers by_names;
} changes;

/* The functions of a stack: between two builds, addresses and lines differ. */
static cli_key key_of(const cli_leaks_rows *rows, const cli_leaks_row *row)
{
    cli_key *names = cli_keep(row->path_len, sizeof *names);
    for (size_t i = 0; i < row->path_len; i++) {
        cli_string name = cli_leaks_frame_at(rows, row, i)->text.name;
        names[i] = cli_key_of(name.ptr, name.len);
    }
    cli_key key = cli_key_of(names, row->path_len * sizeof *names);
    cli_drop(names);
    return key;
}

static void add_run(changes *to, const cli_leaks_run *run, bool is_base)
{
    for (size_t i = 0; i < run->rows.len; i++) {
        const cli_leaks_row *row = &run->rows.rows[i];
        size_t number = cli_numbers_of(&to->by_names, key_of(&run->rows, row), to->list_len);
        if (number == to->list_len) {
            CLI_KEEP_MORE(to->list, 1);
            to->list[to->list_len++] = (change){.run = run, .row = i};
        }
        change *sum = &to->list[number];
        if (!is_base && row->now > sum->run->rows.rows[sum->row].now) {
            sum->run = run;
            sum->row = i;
        }
        *(is_base ? &sum->before : &sum->now) += row->now;
    }
}

/* What a process had before it restarted is not in use any more. */
static void add_work(changes *to, const cli_leaks_work *w, bool is_base)
{
    for (size_t i = 0; i < w->runs_len; i++)
        if (i + 1 == w->runs_len || !w->runs[i + 1].has_restarted)
            add_run(to, &w->runs[i], is_base);
}

static int by_growth(const void *a, const void *b)
{
    const change *x = a, *y = b;
    double left = x->now - x->before, right = y->now - y->before;
    if (left != right)
        return left > right ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static void put_change(const change *c, bool has_base, bool is_over)
{
    char text[48];
    cli_string unit = c->run->unit;
    fputs(is_over ? "| **over** | " : c->before == 0 && has_base ? "| new | " : "| | ", stdout);
    put_cause(&c->run->rows.rows[c->row].cause);
    if (has_base)
        printf(" | %s", cli_leaks_format_value(c->before, unit, text));
    printf(" | %s |", cli_leaks_format_value(c->now, unit, text));
    if (has_base)
        printf(" +%s |", cli_leaks_format_value(c->now - c->before, unit, text));
    putchar('\n');
}

/* Prints the stacks that grew, or those above the budget. Returns whether one is above it. */
static bool put_changes(const cli_leaks_work *w, const cli_leaks_work *base, double budget)
{
    changes all = {.list = NULL};
    char text[48];
    size_t over = 0, listed = 0;
    add_work(&all, w, false);
    if (base)
        add_work(&all, base, true);
    qsort(all.list, all.list_len, sizeof *all.list, by_growth);
    while (over < all.list_len && all.list[over].now - all.list[over].before > budget)
        over++;
    while (base && listed < all.list_len && all.list[listed].now > all.list[listed].before)
        listed++;
    listed = base ? listed : over;
    if (base)
        printf("\n%zu stack%s grown since the base\n", listed, listed == 1 ? " has" : "s have");
    if (isfinite(budget))
        printf("\n%s%zu stack%s above the budget of %s for each%s\n", over ? "**" : "", over,
               over == 1 ? " is" : "s are", cli_leaks_format_value(budget, w->runs[0].unit, text),
               over ? "**" : "");
    if (listed)
        fputs(base ? "\n| | Stack | Base | Now | Change |\n|---|---|---:|---:|---:|\n"
                   : "\n| | Stack | Now |\n|---|---|---:|\n",
              stdout);
    for (size_t i = 0; i < listed && i < w->how.top; i++)
        put_change(&all.list[i], base != NULL, i < over);
    if (listed > w->how.top)
        printf("\nand %zu more\n", listed - w->how.top);
    return over > 0;
}

bool cli_leaks_put_markdown(const cli_leaks_work *w, const cli_leaks_work *base, double budget)
{
    size_t left_out = 0;
    fputs("### pprofdelta leaks\n", stdout);
    for (size_t i = 0; i < w->runs_len; i++) {
        bool counts = w->runs_len == 1 || w->runs[i].findings.shown_len;
        left_out += !counts;
        if (counts)
            put_run(&w->runs[i]);
    }
    if (left_out)
        printf("\n%zu more without a suspect and without unknown growth\n", left_out);
    return (base || isfinite(budget)) && put_changes(w, base, budget);
}

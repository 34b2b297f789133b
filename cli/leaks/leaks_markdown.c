/* pprofdelta leaks --markdown: a comment on a pull request.
 *
 *     server: suspects 1, unknown 1, stacks without steady growth 810; in use 412MiB inuse_space, windows 60
 *
 *     | | Place | In use | Slope | Why |
 *     |---|---|---:|---:|---|
 *     | **suspect** | new_session server.c:120, called by handle | 48.2MiB | +12.0MiB/h | grows steadily, ... |
 *
 *     | | Stack | Before | Now | Change |        with --base; else the stacks above the budget
 *
 * A name is any text. It stands in a code element, with each character that Markdown, HTML or a table
 * could read as its own written as a number: so no name is a link, a mention or a row. */
#include "leaks/leaks.h"

#include "keep.h"

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
    put_code(frame ? cli_frame_short_name(frame, room) : cli_string_of("(no stack)"));
    if (frame && frame->file.len) {
        putchar(' ');
        put_code(cli_string_base(frame->file));
        if (frame->line > 0)
            printf(":%lld", (long long)frame->line);
    }
    if (!cause->caller)
        return;
    fputs(", called by ", stdout);
    put_code(cli_frame_short_name(&cause->caller->text, room));
}

static void put_left(size_t left)
{
    if (left)
        printf("\nand %zu more\n", left);
}

/* ---- findings ------------------------------------------------------------------------------- */

static void begin_section(const cli_leaks_report *r, const cli_leaks_section *s)
{
    (void)r;
    const cli_leaks_run *run = s->run;
    const cli_leaks_findings *found = &run->findings;
    putchar('\n');
    put_code(run->binary.len ? run->binary : cli_string_of("(no name)"));
    printf(": suspects %zu, unknown %zu, stacks without steady growth %zu; in use %s ",
           found->suspects, found->unknown, found->others, cli_leaks_amount(found->now, run->unit));
    put_code(run->type);
    printf(", windows %zu%s\n", run->windows,
           cli_leaks_is_enough(run) ? "" : ", which are no evidence for a verdict");
    if (s->len)
        fputs("\n| | Place | In use | Slope | Why |\n|---|---|---:|---:|---|\n", stdout);
}

static void put_finding(const cli_leaks_report *r, const cli_leaks_section *s, size_t at)
{
    (void)r;
    const cli_leaks_finding *f = s->list[at];
    const char *bold = f->of->verdict.kind == CLI_LEAKS_SUSPECT ? "**" : "";
    cli_string unit = cli_leaks_unit_of(s->run, f);
    printf("| %s%s%s | %s", bold, cli_leaks_kinds[f->of->verdict.kind].text, bold,
           f->what == CLI_LEAKS_AREAS ? "resident memory: " : "");
    put_cause(&f->of->cause);
    if (f->stacks > 1)
        printf(", %zu stacks", f->stacks);
    if (f->runs > 1)
        printf(", in %zu processes", f->runs);
    printf(" | %s | %s | %s |\n", cli_leaks_amount(f->of->now.total, unit),
           cli_leaks_slope(s->run, unit, f->of->verdict.slope), cli_leaks_why(&f->of->verdict));
}

static void end_section(const cli_leaks_report *r, const cli_leaks_section *s)
{
    (void)r;
    put_left(s->len ? s->left : 0);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Stacks of the same functions are one: between two builds, addresses and lines differ. */
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

static void add_run(changes *to, const cli_leaks_run *run, bool is_base)
{
    for (size_t i = 0; i < run->rows.len; i++) {
        const cli_leaks_row *row = &run->rows.rows[i];
        size_t number =
            cli_numbers_of(&to->by_names, cli_leaks_key_of(&run->rows, row, false), to->list_len);
        if (number == to->list_len) {
            CLI_KEEP_MORE(to->list, 1);
            to->list[to->list_len++] = (change){.run = run, .row = i};
        }
        change *sum = &to->list[number];
        if (!is_base && row->now.total > sum->run->rows.rows[sum->row].now.total) {
            sum->run = run;
            sum->row = i;
        }
        *(is_base ? &sum->before : &sum->now) += row->now.total;
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

/* Without a base, a stack had nothing before. */
static void put_change(const change *c, bool is_over)
{
    cli_string unit = c->run->unit;
    fputs(is_over ? "| **over** | " : c->before == 0 ? "| new | " : "| | ", stdout);
    put_cause(&c->run->rows.rows[c->row].cause);
    printf(" | %s | %s | +%s |\n", cli_leaks_amount(c->before, unit),
           cli_leaks_amount(c->now, unit), cli_leaks_amount(c->now - c->before, unit));
}

/* Prints the stacks that grew, or those above the budget. Returns whether one is above it. */
static bool put_changes(const cli_leaks_work *w, const cli_leaks_work *base, double budget)
{
    changes all = {.list = NULL};
    size_t over = 0, listed = 0;
    add_work(&all, w, false);
    if (base)
        add_work(&all, base, true);
    if (all.list_len)
        qsort(all.list, all.list_len, sizeof *all.list, by_growth);
    for (size_t i = 0; i < all.list_len; i++) {
        double grown = all.list[i].now - all.list[i].before;
        over += grown > budget;
        listed += base ? grown > 0 : grown > budget;
    }
    if (base)
        printf("\nStacks that have grown since the base: %zu\n", listed);
    if (isfinite(budget))
        printf("\nStacks above the budget of %s: %zu\n", cli_leaks_amount(budget, w->runs[0].unit),
               over);
    if (listed)
        fputs("\n| | Stack | Before | Now | Change |\n|---|---|---:|---:|---:|\n", stdout);
    for (size_t i = 0; i < listed && i < w->how.top; i++)
        put_change(&all.list[i], i < over);
    put_left(listed > w->how.top ? listed - w->how.top : 0);
    return over > 0;
}

/* Of several runs, those without a finding are left out. */
bool cli_leaks_put_markdown(const cli_leaks_work *w, const cli_leaks_work *base, double budget)
{
    static const cli_leaks_form form = {begin_section, put_finding, end_section};
    cli_leaks_report report = {.work = w, .to = stdout, .has_others = w->runs_len == 1};
    fputs("### pprofdelta leaks\n", stdout);
    cli_leaks_write(&report, &form);
    return (base || isfinite(budget)) && put_changes(w, base, budget);
}

/* The same finding in several runs of a program: see leaks.h.
 *
 * A server of many processes leaks in all of them at one stack. That is printed once, with the number of the
 * processes. */
#include "leaks/leaks.h"

#include "keep.h"

cli_key cli_leaks_key_of(const cli_leaks_rows *rows, const cli_leaks_row *row, bool by_places)
{
    cli_key key = {0};
    const cli_frame *frame;
    for (cli_walk w = cli_leaks_walk(rows, row); (frame = cli_walk_next(&w));) {
        key = cli_key_with(key, frame->text.name.ptr, frame->text.name.len);
        if (by_places) {
            key = cli_key_with(key, frame->text.file.ptr, frame->text.file.len);
            key.lo ^= (uint64_t)frame->text.line;
        }
    }
    return key;
}

/* The identity of what is found. A group is known by its function, or by the stack that has most. */
static cli_key key_of(const cli_leaks_run *run, const cli_leaks_finding *f)
{
    const cli_leaks_rows *rows = cli_leaks_rows_of(run, f);
    cli_key stack = {0};
    if (f->what != CLI_LEAKS_REST)
        stack = cli_leaks_key_of(rows, &rows->rows[f->row], true);
    stack = cli_key_with(stack, &f->what, sizeof f->what);
    return cli_key_with(stack, run->binary.ptr, run->binary.len);
}

/* All findings, each with the first one that is the same. */
typedef struct joined {
    cli_leaks_finding **list;
    size_t list_len, list_cap;
    cli_numbers by_key;
} joined;

static void join_finding(joined *all, const cli_leaks_run *run, cli_leaks_finding *f)
{
    size_t number = cli_numbers_of(&all->by_key, key_of(run, f), all->list_len);
    if (number == all->list_len) {
        CLI_KEEP_MORE(all->list, 1);
        all->list[all->list_len++] = f;
    }
    cli_leaks_finding *first = all->list[number];
    f->is_repeated = first != f;
    first->runs++;
    first->now_in_all += f->of->now.total;
    first->slope_in_all += f->of->verdict.slope;
}

/* Suspects come first, so that what is unknown elsewhere counts to them. */
void cli_leaks_join(cli_leaks_work *w)
{
    joined all = {.list = NULL};
    for (int kind = CLI_LEAKS_SUSPECT; kind > CLI_LEAKS_NONE; kind--)
        for (size_t i = 0; i < w->runs_len; i++) {
            const cli_leaks_run *run = &w->runs[i];
            for (size_t k = 0; k < run->findings.len; k++) {
                cli_leaks_finding *f = &run->findings.list[k];
                if ((int)f->of->verdict.kind == kind && !cli_leaks_is_member(f) &&
                    !cli_leaks_is_short(run))
                    join_finding(&all, run, f);
            }
        }
}

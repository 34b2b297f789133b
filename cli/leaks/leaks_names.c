/* The names of what is shown, for all runs at once: see leaks.h. */
#include "leaks/leaks.h"

#include "keep.h"

#include <string.h>

static void want_row(bool *wanted, const cli_leaks_row *row)
{
    cli_sample sample;
    cli_sample_read(row->stack.sample, &sample);
    for (const uint8_t *at = sample.path; at < sample.path_end;)
        wanted[cli_path_next(&at, sample.is_tagged) - 1] = true;
}

static bool has_frame(const cli_leaks_rows *rows, const cli_leaks_row *row, const cli_frame *wanted)
{
    const cli_frame *frame;
    cli_walk w = cli_leaks_walk(rows, row);
    while ((frame = cli_walk_next(&w)) && frame != wanted) {
    }
    return frame;
}

/* Is the row one of what was found, or may it be one of the place of a suspect? */
static bool is_found(const cli_leaks_run *run, const cli_leaks_row *row)
{
    return row->verdict.kind != CLI_LEAKS_NONE || row->group ||
           (run->findings.suspects && row->verdict.growth > 0);
}

/* Of an area, the cause may be in a stack. */
static void want_finding(bool *wanted, const cli_leaks_run *run, const cli_leaks_finding *f)
{
    const cli_leaks_rows *rows = &run->rows;
    if (f->what != CLI_LEAKS_AREAS)
        want_row(wanted, &rows->rows[f->row]);
    for (size_t i = 0; i < rows->len && f->what == CLI_LEAKS_AREAS; i++)
        if (has_frame(rows, &rows->rows[i], f->cause.frame))
            want_row(wanted, &rows->rows[i]);
}

/* Marks the locations of a run of which names are needed. */
static void want_run(bool *wanted, const cli_leaks_run *run, const cli_leaks_how *how)
{
    const cli_leaks_findings *found = &run->findings;
    bool is_shown = how->names_all || found->suspects || found->unknown;
    for (size_t i = 0; i < run->rows.len && is_shown; i++)
        if (how->names_all || is_found(run, &run->rows.rows[i]))
            want_row(wanted, &run->rows.rows[i]);
    for (size_t i = 0; i < run->areas.len && is_shown; i++)
        want_row(wanted, &run->areas.rows[i]);
    for (size_t i = 0; i < found->shown_len; i++)
        want_finding(wanted, run, found->shown[i]);
}

void cli_leaks_find_names(cli_leaks_work *w)
{
    cli_profile *profile = &w->all.merged.profile;
    cli_symbolizing names = w->how.names;
    size_t len = profile->view->n_location;
    bool *wanted = cli_keep(len, sizeof *wanted);
    for (size_t i = 0; i < w->runs_len; i++)
        want_run(wanted, &w->runs[i], &w->how);
    names.wanted = wanted;
    const size_t changes = profile->changes;
    if (memchr(wanted, true, len))
        cli_names_find(profile, names);
    if (profile->changes != changes)
        cli_leaks_make_frames(w);
    for (size_t i = 0; i < w->runs_len && profile->changes != changes; i++)
        cli_leaks_rank(&w->runs[i], &w->how);
    cli_drop(wanted);
}

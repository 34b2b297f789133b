/* The frames of all locations, their names, and the stacks of rows as `show` prints them: see
 * leaks.h. */
#include "leaks/leaks.h"

#include "keep.h"
#include "names.h"
#include "show/wrappers.h"

#include <string.h>

void cli_leaks_make_frames(cli_leaks_work *w)
{
    cli_leaks_all *all = &w->all;
    all->shown = (cli_shown){.sides = 1, .profiles = &all->profile, .filters = &w->how.allocators};
    cli_shown_make(&all->shown, true);
}

/* ---- the program's own frame ----------------------------------------------------------------- */

/* Higher by the owner (cli_frame_owner). */
enum { NOTHING, OF_ALLOCATOR, OF_LANGUAGE };

static unsigned char grade_of(const cli_leaks_run *run, const cli_frame *frame)
{
    const cli_frame_text *text = &frame->text;
    bool is_own_file = !cli_string_compare(text->module, run->binary);
    if (frame->kind & (CLI_FRAME_ALLOCATES | CLI_FRAME_STARTS | CLI_FRAME_INTERPRETS))
        return OF_ALLOCATOR;
    cli_frame_owner owner =
        cli_frame_owner_of(text->name, is_own_file ? cli_string_of("") : text->module, text->file);
    if (owner == CLI_FRAME_OF_LIBRARY && text->is_nameless)
        return OF_LANGUAGE;
    return (unsigned char)(OF_LANGUAGE + owner);
}

/* What an event loop of Python has called has no caller in the program. */
static bool is_turn(const cli_frame *frame)
{
    return frame->kind & CLI_FRAME_STARTS && cli_is_foreign(frame->text.file, frame->text.module);
}

void cli_leaks_grade_frames(const cli_leaks_run *run, cli_leaks_rows *rows)
{
    const cli_shown *shown = &rows->all->shown;
    const cli_frame *frame;
    cli_drop(rows->grades);
    rows->grades = cli_keep(shown->frames_len, 1);
    for (size_t i = 0; i < rows->len; i++)
        for (cli_walk w = cli_leaks_walk(rows, &rows->rows[i]); (frame = cli_walk_next(&w));) {
            unsigned char *grade = &rows->grades[frame - shown->frames];
            *grade = *grade ? *grade : grade_of(run, frame);
        }
}

cli_leaks_cause cli_leaks_find_cause(const cli_leaks_rows *rows, size_t row, size_t from)
{
    cli_leaks_cause cause = {0};
    unsigned char grade = NOTHING;
    const cli_frame *frame;
    cli_walk w = cli_leaks_walk(rows, &rows->rows[row]);
    for (size_t i = 0; (frame = cli_walk_next(&w)); i++) {
        unsigned char own = i < from ? NOTHING : rows->grades[frame - rows->all->shown.frames];
        if (cause.frame && !cause.caller)
            cause.caller = frame;
        if (is_turn(frame) && cause.frame)
            break;
        if (own <= grade)
            continue;
        grade = own;
        cause = (cli_leaks_cause){.frame = frame};
    }
    return cause;
}

/* ---- one stack as it is shown ---------------------------------------------------------------------- */

cli_stack cli_leaks_shown_stack(const cli_leaks_run *run, const cli_leaks_row *row, bool all_frames)
{
    cli_stack stack = row->stack;
    if (!all_frames)
        cli_stack_fold(&run->rows.all->shown, &stack, run->is_heap);
    return stack;
}

/* ---- the names of what is shown --------------------------------------------------------------- */

static void want_row(bool *wanted, const cli_leaks_row *row)
{
    cli_sample sample;
    cli_sample_read(row->stack.sample, &sample);
    for (const uint8_t *at = sample.path; at < sample.path_end;)
        wanted[cli_path_next(&at, sample.is_tagged) - 1] = true;
}

/* Is the row one of what was found, or may it be one of the place of a suspect? Of an area, the cause may be
 * that of a stack. */
static bool is_found(const cli_leaks_run *run, const cli_leaks_row *row)
{
    bool is = row->verdict.kind != CLI_LEAKS_NONE || row->group ||
              (run->findings.suspects && row->verdict.growth > 0);
    for (size_t i = 0; i < run->findings.shown_len && !is; i++) {
        const cli_leaks_finding *f = run->findings.shown[i];
        is = f->what == CLI_LEAKS_AREAS ? row->cause.frame && row->cause.frame == f->of->cause.frame
                                        : row == &run->rows.rows[f->row];
    }
    return is;
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
}

void cli_leaks_find_names(cli_leaks_work *w)
{
    cli_profile *profile = &w->all.profile;
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
}

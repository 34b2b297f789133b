/* The frames of all locations, and the stacks of rows as `show` prints them: see leaks.h. */
#include "leaks/leaks.h"

#include "keep.h"
#include "show/wrappers.h"

void cli_leaks_make_frames(cli_leaks_work *w)
{
    cli_leaks_all *all = &w->all;
    cli_shown_drop(&all->shown);
    all->shown =
        (cli_shown){.sides = 1, .profiles = &all->merged.profile, .filters = &w->how.allocators};
    cli_shown_make(&all->shown, true);
}

/* ---- the program's own frame ----------------------------------------------------------------- */

enum { NOTHING, OF_ALLOCATOR, OF_LIBRARY, OWN };

static unsigned char grade_of(const cli_leaks_run *run, const cli_frame *frame)
{
    const cli_frame_text *text = &frame->text;
    bool is_own_file = !cli_string_compare(text->module, run->binary);
    if (frame->kind & (CLI_FRAME_ALLOCATES | CLI_FRAME_STARTS))
        return OF_ALLOCATOR;
    return cli_frame_is_of_library(text->name, is_own_file ? cli_string_of("") : text->module,
                                   text->file)
               ? OF_LIBRARY
               : OWN;
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
        if (own <= grade)
            continue;
        grade = own;
        cause = (cli_leaks_cause){.frame = frame};
    }
    return cause;
}

/* ---- one stack as text ---------------------------------------------------------------------- */

cli_stack cli_leaks_shown_stack(const cli_leaks_run *run, const cli_leaks_row *row, bool all_frames)
{
    cli_stack stack = row->stack;
    if (!all_frames)
        cli_stack_fold(&run->rows.all->shown, &stack, run->is_heap);
    return stack;
}

void cli_leaks_put_stack(const cli_leaks_run *run, size_t number, bool all_frames,
                         const char *indent)
{
    cli_stack stack = cli_leaks_shown_stack(run, &run->rows.rows[number], all_frames);
    size_t len;
    cli_frame_text *frames = cli_stack_frames(&run->rows.all->shown, &stack, &len);
    if (!len)
        printf("%s(no stack)\n", indent);
    cli_frames_put(frames, len, indent);
    cli_drop(frames);
}

/* The stacks of rows: whole for JSON, and as text without the functions of allocators and of
 * start-up, as `show` prints a stack. See leaks.h. */
#include "leaks/leaks.h"

#include "keep.h"
#include "show/wrappers.h"

/* ---- the program's own frame ----------------------------------------------------------------- */

enum { NOTHING, OF_ALLOCATOR, OF_LIBRARY, OWN };

uint64_t cli_leaks_match_allocators(const cli_leaks_how *how, const cli_frame_text *frame)
{
    char room[CLI_SHORT_NAME_MAX];
    if (!how->allocators.len)
        return 0;
    return cli_filters_match_frame(&how->allocators, frame) |
           cli_filters_match(&how->allocators, cli_frame_short_name(frame, room));
}

void cli_leaks_grade_frames(const cli_leaks_run *run, cli_leaks_rows *rows,
                            const cli_leaks_how *how)
{
    for (size_t i = 0; i < rows->frames_len; i++) {
        const cli_frame_text *text = &rows->frames[i].text;
        bool is_own_file = !cli_string_compare(text->module, run->binary);
        unsigned kind = cli_frame_kind(text->name, text->module, text->file, text->is_nameless);
        if (cli_leaks_match_allocators(how, text))
            kind = cli_frame_as_allocator(kind);
        bool is_of_library = cli_frame_is_of_library(
            text->name, is_own_file ? cli_string_of("") : text->module, text->file);
        rows->frames[i].kind = (unsigned char)kind;
        rows->frames[i].grade = kind & (CLI_FRAME_ALLOCATES | CLI_FRAME_STARTS) ? OF_ALLOCATOR
                                : is_of_library                                 ? OF_LIBRARY
                                                                                : OWN;
    }
}

cli_leaks_cause cli_leaks_find_cause(const cli_leaks_rows *rows, size_t row, size_t from)
{
    cli_leaks_cause cause = {0};
    unsigned char grade = NOTHING;
    for (size_t i = from; i < rows->rows[row].path_len; i++) {
        const cli_leaks_frame *frame = cli_leaks_frame_at(rows, &rows->rows[row], i);
        if (cause.frame && !cause.caller)
            cause.caller = frame;
        if (frame->grade <= grade)
            continue;
        grade = frame->grade;
        cause = (cli_leaks_cause){.frame = frame};
    }
    return cause;
}

/* ---- one stack as text ---------------------------------------------------------------------- */

void cli_leaks_cut(const cli_leaks_run *run, const cli_leaks_row *row, bool all_frames,
                   size_t *from, size_t *to)
{
    *from = 0;
    *to = row->path_len;
    if (all_frames)
        return;
    unsigned char *kinds = cli_keep(row->path_len, 1);
    for (size_t i = 0; i < row->path_len; i++)
        kinds[i] = cli_leaks_frame_at(&run->rows, row, i)->kind;
    cli_wrappers_cut(kinds, row->path_len, run->is_heap, from, to);
    cli_drop(kinds);
}

void cli_leaks_put_stack(const cli_leaks_run *run, size_t number, bool all_frames,
                         const char *indent)
{
    const cli_leaks_row *row = &run->rows.rows[number];
    cli_frame_text *texts = cli_keep(row->path_len, sizeof *texts);
    size_t from, to;
    cli_leaks_cut(run, row, all_frames, &from, &to);
    for (size_t i = from; i < to; i++)
        texts[i - from] = cli_leaks_frame_at(&run->rows, row, i)->text;
    if (!row->path_len)
        printf("%s(no stack)\n", indent);
    cli_frames_put(texts, to - from, indent);
}

/* The stacks of rows: whole for JSON, and as text without the functions of allocators and of
 * start-up, as `show` prints a stack. See leaks_stack.h. */
#include "leaks/leaks_stack.h"

#include "keep.h"
#include "show/wrappers.h"

#include <stdio.h>

size_t cli_leaks_frames(const cli_leaks_rows *rows, size_t row, const cli_leaks_frame ***frames)
{
    const cli_leaks_row *r = &rows->rows[row];
    const uint32_t *path = rows->path + r->path;
    size_t len = 0;
    for (size_t i = 0; i < r->path_len; i++)
        len += rows->places[path[i]].len;
    *frames = cli_keep(len, sizeof **frames);
    len = 0;
    for (size_t i = 0; i < r->path_len; i++)
        for (size_t k = 0; k < rows->places[path[i]].len; k++)
            (*frames)[len++] = &rows->frames[rows->places[path[i]].first + k];
    return len;
}

/* ---- the program's own frame ----------------------------------------------------------------- */

enum { NOTHING, OF_ALLOCATOR, OF_LIBRARY, OWN };

void cli_leaks_grade_frames(const cli_leaks_run *run, cli_leaks_rows *rows)
{
    for (size_t i = 0; i < rows->frames_len; i++) {
        const cli_frame_text *text = &rows->frames[i].text;
        bool is_own_file = !cli_string_compare(text->module, run->binary);
        unsigned kind = cli_frame_kind(text->name, text->module, text->file, text->is_nameless);
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
    const cli_leaks_frame **frames;
    size_t len = cli_leaks_frames(rows, row, &frames);
    for (size_t i = from; i < len; i++) {
        if (cause.frame && !cause.caller)
            cause.caller = frames[i];
        if (frames[i]->grade <= grade)
            continue;
        grade = frames[i]->grade;
        cause = (cli_leaks_cause){.frame = frames[i]};
    }
    cli_drop(frames);
    return cause;
}

/* ---- one stack as text ---------------------------------------------------------------------- */

/* The frames of a stack, of which those from *from to *to - 1 are printed. Returns their number. */
static size_t cut(const cli_leaks_run *run, size_t row, bool all_frames,
                  const cli_leaks_frame ***frames, size_t *from, size_t *to)
{
    size_t len = cli_leaks_frames(&run->rows, row, frames);
    unsigned char *kinds = cli_keep(len, 1);
    for (size_t i = 0; i < len; i++)
        kinds[i] = (*frames)[i]->kind;
    *from = 0;
    *to = len;
    if (!all_frames)
        cli_wrappers_cut(kinds, len, run->is_heap, from, to);
    cli_drop(kinds);
    return len;
}

void cli_leaks_put_stack(const cli_leaks_run *run, size_t row, bool all_frames, const char *indent)
{
    const cli_leaks_frame **frames;
    size_t from, to, len = cut(run, row, all_frames, &frames, &from, &to);
    cli_frame_text *texts = cli_keep(len, sizeof *texts);
    for (size_t i = from; i < to; i++)
        texts[i - from] = frames[i]->text;
    if (!len)
        printf("%s(no stack)\n", indent);
    cli_frames_put(texts, to - from, indent);
}

void cli_leaks_note_folded(const cli_leaks_run *run, size_t row, bool *is_folded)
{
    const cli_leaks_frame **frames;
    size_t from, to, len = cut(run, row, false, &frames, &from, &to);
    for (size_t i = 0; i < len; i++)
        if (i < from || i >= to)
            is_folded[frames[i]->name] = true;
}

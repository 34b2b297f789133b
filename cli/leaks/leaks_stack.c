/* The stacks of rows: whole for JSON, and as text without the functions of allocators and of
 * start-up, as `show` prints a stack. See leaks_stack.h. */
#include "leaks/leaks_stack.h"

#include "show/frame.h"
#include "show/wrappers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cli_leaks_walk cli_leaks_walk_begin(const cli_leaks_rows *rows, size_t row)
{
    return (cli_leaks_walk){.rows = rows, .row = row};
}

bool cli_leaks_walk_next(cli_leaks_walk *walk)
{
    const cli_leaks_rows *rows = walk->rows;
    const cli_leaks_row *row = &rows->rows[walk->row];
    walk->at += walk->frame != NULL;
    for (; walk->place < row->path_len; walk->place++, walk->line = 0) {
        const cli_leaks_place *place = &rows->places[rows->path[row->path + walk->place]];
        if (walk->line < place->len) {
            walk->frame = &rows->frames[place->first + walk->line++];
            return true;
        }
    }
    return false;
}

/* ---- the program's own frame ----------------------------------------------------------------- */

static unsigned kind_of(const cli_leaks_rows *rows, const cli_leaks_frame *frame)
{
    return cli_frame_kind(cli_leaks_text(rows, frame->name), cli_leaks_text(rows, frame->module),
                          cli_leaks_text(rows, frame->file), frame->is_nameless);
}

enum { NOTHING, OF_ALLOCATOR, OF_LIBRARY, OWN };

void cli_leaks_grade_frames(const cli_leaks_run *run, cli_leaks_rows *rows)
{
    for (size_t i = 0; i < rows->frames_len; i++) {
        cli_leaks_frame *frame = &rows->frames[i];
        unsigned kind = kind_of(rows, frame);
        cli_string module = cli_leaks_text(rows, frame->module);
        bool is_of_library =
            cli_frame_is_of_library(cli_leaks_text(rows, frame->name),
                                    cli_string_is(module, run->binary) ? cli_string_of("") : module,
                                    cli_leaks_text(rows, frame->file));
        frame->grade = kind & (CLI_FRAME_ALLOCATES | CLI_FRAME_STARTS) ? OF_ALLOCATOR
                       : is_of_library                                 ? OF_LIBRARY
                                                                       : OWN;
    }
}

cli_leaks_cause cli_leaks_find_cause(const cli_leaks_rows *rows, size_t row, size_t from)
{
    cli_leaks_cause cause = {0};
    unsigned char grade = NOTHING;
    cli_leaks_walk walk = cli_leaks_walk_begin(rows, row);
    while (cli_leaks_walk_next(&walk)) {
        if (walk.at < from)
            continue;
        if (cause.frame && !cause.caller)
            cause.caller = walk.frame;
        if (walk.frame->grade <= grade)
            continue;
        grade = walk.frame->grade;
        cause = (cli_leaks_cause){.frame = walk.frame};
    }
    return cause;
}

/* ---- one stack as text ---------------------------------------------------------------------- */

typedef struct stack {
    cli_frame_text *texts;
    unsigned char *kinds; /* see show/wrappers.h */
    uint32_t *names;      /* of the text of each name */
    size_t len;
} stack;

static cli_frame_text text_of(const cli_leaks_rows *rows, const cli_leaks_frame *frame)
{
    return (cli_frame_text){.name = cli_leaks_text(rows, frame->name),
                            .file = cli_leaks_text(rows, frame->file),
                            .line = frame->line,
                            .module = cli_leaks_text(rows, frame->module)};
}

static void release(stack *s)
{
    free(s->texts);
    free(s->kinds);
    free(s->names);
}

static bool take(stack *s, const cli_leaks_rows *rows, size_t row)
{
    cli_leaks_walk walk = cli_leaks_walk_begin(rows, row);
    *s = (stack){.len = 0};
    while (cli_leaks_walk_next(&walk))
        s->len++;
    s->texts = calloc(s->len + 1, sizeof *s->texts);
    s->kinds = calloc(s->len + 1, 1);
    s->names = calloc(s->len + 1, sizeof *s->names);
    if (!s->texts || !s->kinds || !s->names) {
        release(s);
        return false;
    }
    walk = cli_leaks_walk_begin(rows, row);
    while (cli_leaks_walk_next(&walk)) {
        s->texts[walk.at] = text_of(rows, walk.frame);
        s->kinds[walk.at] = (unsigned char)kind_of(rows, walk.frame);
        s->names[walk.at] = walk.frame->name;
    }
    return true;
}

/* The frames of the stack that are printed: from *from to *to - 1. */
static void cut(const stack *s, const cli_leaks_run *run, bool all_frames, size_t *from, size_t *to)
{
    *from = 0;
    *to = s->len;
    if (!all_frames)
        cli_wrappers_cut(s->kinds, s->len, run->is_heap, from, to);
}

bool cli_leaks_put_stack(const cli_leaks_run *run, size_t row, bool all_frames, const char *indent)
{
    size_t from, to;
    stack s;
    if (!take(&s, &run->rows, row))
        return false;
    cut(&s, run, all_frames, &from, &to);
    if (!s.len)
        printf("%s(no stack)\n", indent);
    cli_frames_put(s.texts + from, to - from, indent);
    release(&s);
    return true;
}

void cli_leaks_put_line(const cli_leaks_rows *rows, const cli_leaks_frame *frame,
                        const char *indent)
{
    cli_frame_text text = text_of(rows, frame);
    cli_frames_put(&text, 1, indent);
}

bool cli_leaks_note_folded(const cli_leaks_run *run, size_t row, unsigned char *is_folded)
{
    size_t from, to;
    stack s;
    if (!take(&s, &run->rows, row))
        return false;
    cut(&s, run, false, &from, &to);
    for (size_t i = 0; i < s.len; i++)
        if (i < from || i >= to)
            is_folded[s.names[i]] = 1;
    release(&s);
    return true;
}

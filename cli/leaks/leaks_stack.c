/* The stacks of rows: whole for JSON, and as text without the functions of allocators and of
 * start-up, as `show` prints a stack. See leaks_stack.h. */
#include "leaks/leaks_stack.h"

#include "show/frame_place.h"
#include "show/wrappers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_leaks_each_frame(const cli_leaks_rows *rows, size_t row, cli_leaks_put_frame *put,
                          void *cookie)
{
    const cli_leaks_row *r = &rows->rows[row];
    size_t at = 0;
    for (size_t i = 0; i < r->path_len; i++) {
        const cli_leaks_place *place = &rows->places[rows->path[r->path + i]];
        for (size_t j = 0; j < place->len; j++)
            put(rows, &rows->frames[place->first + j], at++, cookie);
    }
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

typedef struct choosing {
    size_t from;
    unsigned char grade;
    cli_leaks_cause cause;
} choosing;

static void choose(const cli_leaks_rows *rows, const cli_leaks_frame *frame, size_t at,
                   void *cookie)
{
    choosing *c = cookie;
    (void)rows;
    if (at < c->from)
        return;
    if (c->cause.frame && !c->cause.caller)
        c->cause.caller = frame;
    if (frame->grade <= c->grade)
        return;
    c->grade = frame->grade;
    c->cause = (cli_leaks_cause){.frame = frame};
}

cli_leaks_cause cli_leaks_find_cause(const cli_leaks_rows *rows, size_t row, size_t from)
{
    choosing c = {.from = from, .grade = NOTHING};
    cli_leaks_each_frame(rows, row, choose, &c);
    return c.cause;
}

/* ---- one stack as text ---------------------------------------------------------------------- */

typedef struct stack {
    cli_frame_text *texts;
    unsigned char *kinds; /* see show/wrappers.h */
    uint32_t *names;      /* of the text of each name */
    size_t len;
} stack;

static void count_frame(const cli_leaks_rows *rows, const cli_leaks_frame *frame, size_t at,
                        void *cookie)
{
    (void)rows;
    (void)frame;
    *(size_t *)cookie = at + 1;
}

static cli_frame_text text_of(const cli_leaks_rows *rows, const cli_leaks_frame *frame)
{
    return (cli_frame_text){cli_leaks_text(rows, frame->name),
                            {cli_leaks_text(rows, frame->file), frame->line,
                             cli_leaks_text(rows, frame->module), frame->is_nameless}};
}

static void add_frame(const cli_leaks_rows *rows, const cli_leaks_frame *frame, size_t at,
                      void *cookie)
{
    stack *s = cookie;
    s->texts[at] = text_of(rows, frame);
    s->kinds[at] = (unsigned char)kind_of(rows, frame);
    s->names[at] = frame->name;
}

static void release(stack *s)
{
    free(s->texts);
    free(s->kinds);
    free(s->names);
}

static bool take(stack *s, const cli_leaks_rows *rows, size_t row)
{
    *s = (stack){.len = 0};
    cli_leaks_each_frame(rows, row, count_frame, &s->len);
    s->texts = calloc(s->len + 1, sizeof *s->texts);
    s->kinds = calloc(s->len + 1, 1);
    s->names = calloc(s->len + 1, sizeof *s->names);
    if (!s->texts || !s->kinds || !s->names) {
        release(s);
        return false;
    }
    cli_leaks_each_frame(rows, row, add_frame, s);
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

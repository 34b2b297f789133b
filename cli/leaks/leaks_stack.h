/* The stacks of rows: their frames, and the frame that is the program's own. */
#ifndef CLI_LEAKS_STACK_H
#define CLI_LEAKS_STACK_H

#include "leaks/leaks_windows.h"

/* A walk over the frames of a row, leaf first:
 *
 *     cli_leaks_walk walk = cli_leaks_walk_begin(rows, row);
 *     while (cli_leaks_walk_next(&walk)) ... walk.frame, walk.at ... */
typedef struct cli_leaks_walk {
    const cli_leaks_rows *rows;
    const cli_leaks_frame *frame;
    size_t at;          /* the number of the frame, from 0 at the leaf */
    size_t place, line; /* of the next frame: its place in the path, and its line in the place */
    size_t row;
} cli_leaks_walk;

cli_leaks_walk cli_leaks_walk_begin(const cli_leaks_rows *rows, size_t row);

/* Returns false behind the last frame. */
bool cli_leaks_walk_next(cli_leaks_walk *walk);

/* Where the program causes what a row has. */
typedef struct cli_leaks_cause {
    const cli_leaks_frame *frame;  /* NULL: the row has no stack */
    const cli_leaks_frame *caller; /* NULL: none */
} cli_leaks_cause;

/* Judges all frames. Call it before cli_leaks_find_cause. */
void cli_leaks_grade_frames(const cli_leaks_run *run, cli_leaks_rows *rows);

/* Finds the first frame, from the leaf, that is the program's own: not of an allocator, of start-up
 * or of a library. Without one, it is the first that is not of an allocator, else the leaf. The
 * frames before number `from` do not count. */
cli_leaks_cause cli_leaks_find_cause(const cli_leaks_rows *rows, size_t row, size_t from);

/* Prints the stack of a row of run->rows, leaf first, without wrappers of malloc and start-up
 * functions unless all_frames is set. Returns false if memory is short. */
bool cli_leaks_put_stack(const cli_leaks_run *run, size_t row, bool all_frames, const char *indent);

/* Prints one frame behind the indent as a line of a stack. */
void cli_leaks_put_line(const cli_leaks_rows *rows, const cli_leaks_frame *frame,
                        const char *indent);

/* Marks the names of the frames that are left out there; is_folded has one element for each text of
 * the run. Returns false if memory is short. */
bool cli_leaks_note_folded(const cli_leaks_run *run, size_t row, unsigned char *is_folded);

#endif

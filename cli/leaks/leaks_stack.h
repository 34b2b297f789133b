/* The stacks of rows: their frames, and the frame that is the program's own. */
#ifndef CLI_LEAKS_STACK_H
#define CLI_LEAKS_STACK_H

#include "leaks/leaks_windows.h"

/* Makes a list of the frames of a row, leaf first, which may be dropped (keep.h). Returns their
 * number. */
size_t cli_leaks_frames(const cli_leaks_rows *rows, size_t row, const cli_leaks_frame ***frames);

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
 * functions unless all_frames is set. */
void cli_leaks_put_stack(const cli_leaks_run *run, size_t row, bool all_frames, const char *indent);

/* Marks the names of the frames that are left out there; is_folded has one element for each text of
 * the run. */
void cli_leaks_note_folded(const cli_leaks_run *run, size_t row, bool *is_folded);

#endif

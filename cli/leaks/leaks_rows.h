/* The stacks of a run, each with its series of in-use values.
 *
 *     places   0: main.c:10   1: serve <- inlined   2: libc.so.6+0x27a10 ...   distinct locations
 *     path     | 2 1 0 | 5 1 0 | ...        the places of each row, leaf first
 *     rows     one for each distinct stack: its part of path, and the values
 *
 * Two locations are one place if they have the same address in the same file, whatever the ids and
 * the load addresses are; without an address, if they have the same lines. Labels do not matter. A
 * series has one point for each block of windows: the lowest in-use value in the block, since memory
 * that is given back within a block does not leak. So a row has the same size for 10 windows and for
 * 10,000. */
#ifndef CLI_LEAKS_ROWS_H
#define CLI_LEAKS_ROWS_H

#include "leaks/leaks_verdict.h"
#include "numbers.h"
#include "show/frame.h"

typedef struct cli_leaks_frame {
    cli_frame_text text; /* equal texts have equal pointers */
    uint32_t name;       /* the number of the name: an index into texts */
    unsigned char kind;  /* see show/wrappers.h; this and the next are set by leaks_stack.c */
    unsigned char grade;
} cli_leaks_frame;

typedef struct cli_leaks_place {
    size_t first, len; /* in frames, innermost call first */
} cli_leaks_place;

typedef struct cli_leaks_row {
    size_t path, path_len;
    double levels[CLI_LEAKS_POINTS], allocated[CLI_LEAKS_POINTS];
    double level, made;      /* of the window that is being read; made: allocated until then */
    double now, objects_now; /* of the last window */
    double sum_level, sum_bytes, sum_objects; /* over all windows: their ratios are mean sizes */
    cli_leaks_verdict verdict;
    size_t group; /* number of the group that it belongs to, from 1; 0: none */
} cli_leaks_row;

typedef struct cli_leaks_rows {
    cli_leaks_row *rows;
    size_t len, cap;
    cli_leaks_place *places;
    size_t places_len, places_cap;
    cli_leaks_frame *frames;
    size_t frames_len, frames_cap;
    uint32_t *path;
    size_t path_len, path_cap;
    cli_string *texts;
    size_t texts_len, texts_cap;
    cli_numbers by_stack, by_place, by_text;
    double seconds[CLI_LEAKS_POINTS];
    size_t points;
    uint64_t text_bytes;
} cli_leaks_rows;

/* The columns of one profile; SIZE_MAX: the profile has no such column. */
typedef struct cli_leaks_columns {
    size_t level;          /* what is judged */
    size_t bytes, objects; /* in use, for the mean size */
    size_t allocated;      /* the counter of level */
} cli_leaks_columns;

/* Where a window belongs in the series. */
typedef struct cli_leaks_moment {
    size_t point;
    bool is_first; /* of its block */
    double seconds;
    bool adds_allocated; /* the profile counts from the window before, not from the beginning */
} cli_leaks_moment;

/* Adds the values of one window. */
void cli_leaks_rows_add(cli_leaks_rows *rows, const cli_profile *profile,
                        const cli_leaks_columns *columns, const cli_leaks_moment *moment);

/* Gives the places the names that this profile has for them: it was added as a window, and its names
 * were found since. */
void cli_leaks_rows_rename(cli_leaks_rows *rows, const cli_profile *profile);

/* The bytes that the rows take. */
uint64_t cli_leaks_rows_size(const cli_leaks_rows *rows);

#endif

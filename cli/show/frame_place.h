/* Where a frame lies in the source, or in which file where that is not known. */
#ifndef CLI_SHOW_FRAME_PLACE_H
#define CLI_SHOW_FRAME_PLACE_H

#include "show/symbol_names.h"

typedef struct cli_place {
    cli_string file;   /* of the source; empty: not known */
    int64_t line;      /* 0: not known */
    cli_string module; /* the file of the mapping; empty: not known */
    bool is_nameless;  /* the frame has no function */
} cli_place;

/* The location that has symbols->frames[frame], and which of its lines is the frame. NULL if none
 * has it: it stands for hidden frames. */
const Pd__View__Location *cli_frame_location(const cli_profile *profile, const cli_symbols *symbols,
                                             size_t frame, size_t *line);

/* The place of symbols->frames[frame]. symbols was made from the profile. */
cli_place cli_place_of(const cli_profile *profile, const cli_symbols *symbols, size_t frame);

/* Orders by file, then by line. Returns a negative number, 0, or a positive number. */
int cli_place_compare(const cli_place *a, const cli_place *b);

/* One frame as text, whatever it was made from. */
typedef struct cli_frame_text {
    cli_string name;
    cli_place place;
} cli_frame_text;

/* Prints a stack, one line for each frame:
 *
 *         parse  src/parse.c:120
 *         0x4f2  [libx.so]
 *
 * Names are short (short_names.h). Nothing is cut. indent stands in front of each line. */
void cli_frames_put(const cli_frame_text *frames, size_t len, const char *indent);

#endif

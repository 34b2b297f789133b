/* One frame of a stack as text: the name of its function, and where it lies.
 *
 * A location with lines has one frame for each line, so inlined calls are frames too. A location
 * without lines has one frame, which is named by its address in its mapping: "libc.so.6+0x27a10",
 * or "[anon]@0x7f0000000100" if the mapping is not a file. */
#ifndef CLI_SHOW_FRAME_H
#define CLI_SHOW_FRAME_H

#include "show/short_names.h"
#include "view.h"

typedef struct cli_frame_text {
    cli_string name;
    cli_string file;   /* of the source; empty: not known */
    int64_t line;      /* 0: not known */
    cli_string module; /* the file of the mapping; empty: not known */
    bool is_nameless;  /* the frame has no function: its name was made from an address */
    bool is_foreign;   /* not of C, C++, Rust or Go: see language.h */
} cli_frame_text;

/* The frame of a line of the location, or of the location if line is NULL. The strings are those of
 * the profile, but a made name is in made. */
enum { CLI_FRAME_MADE = 96 };
cli_frame_text cli_frame_of(const cli_profile *profile, const Pd__View__Location *location,
                            const Pd__View__Line *line, char made[CLI_FRAME_MADE]);

/* The name as it is shown: short (short_names.h) unless the frame is foreign. It may be in `to`. */
cli_string cli_frame_short_name(const cli_frame_text *frame, char to[CLI_SHORT_NAME_MAX]);

/* Orders by file, then by line. Returns a negative number, 0, or a positive number. */
int cli_frame_compare_places(const cli_frame_text *a, const cli_frame_text *b);

/* Makes *place that of both: what differs is left out. */
void cli_frame_join_places(cli_frame_text *place, const cli_frame_text *other);

/* Prints a stack, one line for each frame:
 *
 *         parse  src/parse.c:120
 *         0x4f2  [libx.so]
 *
 * Names are short. Nothing is cut. indent stands in front of each line. */
void cli_frames_put(const cli_frame_text *frames, size_t len, const char *indent);

#endif

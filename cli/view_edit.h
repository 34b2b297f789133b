/* Changes an unpacked profile: adds strings, functions and lines.
 *
 * New records are kept memory (keep.h). Equal strings and equal functions are
 * added once. Records that are not used any more stay; pprofdelta_rewrite leaves them out. */
#ifndef CLI_VIEW_EDIT_H
#define CLI_VIEW_EDIT_H

#include "numbers.h"
#include "output_file.h"
#include "view.h"

typedef struct cli_edit {
    cli_profile *profile;
    cli_numbers strings, functions; /* indexes in the view by content */
    size_t string_room, function_room, mapping_room, location_room; /* of the arrays of the view */
    uint64_t next_function;                                         /* no smaller id is free */
} cli_edit;

/* Frame of a location: a function, and where in it the address is. name.ptr is NULL if there is no
 * function. */
typedef struct cli_edit_frame {
    cli_string name, system_name, filename;
    int64_t start_line, line, column;
} cli_edit_frame;

/* Begins; cli_edit_end ends. */
void cli_edit_begin(cli_edit *edit, cli_profile *profile);

/* Begins with an empty profile. Only such a profile gets mappings and locations. */
void cli_edit_new(cli_edit *edit, cli_profile *profile);

/* Adds a mapping like this one, whose strings are indexes, and returns its id. */
uint64_t cli_edit_mapping(cli_edit *edit, const Pd__View__Mapping *wanted);

/* Adds a location, with an id. */
Pd__View__Location *cli_edit_location(cli_edit *edit);

/* Returns the index of the string, or 0 for the empty one. */
int64_t cli_edit_string(cli_edit *edit, cli_string text);

/* Replaces the lines of a location, innermost call first. */
void cli_edit_lines(cli_edit *edit, Pd__View__Location *location, const cli_edit_frame *frames,
                    size_t len);

/* Ends: the indexes of the profile are valid again. */
void cli_edit_end(cli_edit *edit);

/* Writes the changed profile to the end of a buffer. Prints what is wrong; returns an exit code. */
int cli_edit_write(const cli_profile *profile, cli_buffer *to);

#endif

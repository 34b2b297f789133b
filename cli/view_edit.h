/* Changes an unpacked profile: adds strings, functions and lines.
 *
 * New records count against the memory limit of the profile. Equal strings and equal functions are
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
    bool is_failed; /* memory was short: sticky, nothing is added any more */
} cli_edit;

/* Frame of a location: a function, and where in it the address is. name.ptr is NULL if there is no function. */
typedef struct cli_edit_frame {
    cli_string name, system_name, filename;
    int64_t start_line, line, column;
} cli_edit_frame;

/* Begins. Free *edit whatever is returned. */
void cli_edit_begin(cli_edit *edit, cli_profile *profile);

/* Begins with an empty profile, which may take so much memory. Returns false if that is too little. Only such a
 * profile gets mappings and locations. */
bool cli_edit_new(cli_edit *edit, cli_profile *profile, uint64_t memory);

/* Adds a mapping like this one, whose strings are indexes, and returns its id; 0 if memory was short. */
uint64_t cli_edit_mapping(cli_edit *edit, const Pd__View__Mapping *wanted);

/* Adds a location, with an id; NULL if memory was short. */
Pd__View__Location *cli_edit_location(cli_edit *edit);

/* Returns the index of the string, or 0 for the empty one. */
int64_t cli_edit_string(cli_edit *edit, cli_string text);

/* Replaces the lines of a location, innermost call first. */
void cli_edit_lines(cli_edit *edit, Pd__View__Location *location, const cli_edit_frame *frames,
                    size_t len);

/* Ends: the indexes of the profile are valid again. Prints what is wrong if memory was short;
 * returns an exit code. */
int cli_edit_end(cli_edit *edit);

/* Writes the changed profile and ends the output. Prints what is wrong; returns an exit code. */
int cli_edit_write(cli_profile *profile, cli_output *out);

#endif

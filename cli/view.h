/* One profile in memory, unpacked into the message structs of proto/, but for its samples (view_samples.h).
 *
 * The library has checked the profile before it is unpacked, so every id and every index in it
 * leads somewhere. */
#ifndef CLI_SHOW_VIEW_H
#define CLI_SHOW_VIEW_H

#include "input.h"
#include "otlp.pb-c.h"
#include "pprofdelta_profile.h"
#include "profile.pb-c.h"
#include "text.h"
#include "view_samples.h"

#include <stdbool.h>

/* The ids of one table of the profile, sorted, each with the index of its record. */
typedef struct cli_ids {
    struct cli_id {
        uint64_t id;
        size_t index;
    } * ids; /* NULL: the ids are 1, 2, 3 ... */
    size_t len;
} cli_ids;

typedef struct cli_profile {
    cli_input input;
    pprofdelta_options options; /* how it is written again */
    pprofdelta_profile *opened;
    pprofdelta_census census;
    Pd__View__Profile *view; /* without samples */
    cli_samples samples;
    Pd__Otlp__Request *request; /* what the profile was made of; NULL: a profile from the start */
    int64_t held;   /* bytes of the library that count against the limit of kept memory */
    size_t changes; /* of lines and names: see view_edit.h */
    cli_ids locations, functions, mappings;
} cli_profile;

/* Reads and checks the file, to write it as these options say, which must stay. Prints what
 * is wrong; returns an exit code. Free *profile whatever is returned. */
int cli_profile_load(cli_profile *profile, cli_file file, const pprofdelta_options *options);

/* The same for bytes that are already in memory. The profile takes them, and frees them. */
int cli_profile_take(cli_profile *profile, cli_input input, const pprofdelta_options *options);

/* The same in two steps: the check, after which there is a census, and the rest. */
int cli_profile_open(cli_profile *profile, cli_input input, const pprofdelta_options *options);
int cli_profile_unpack(cli_profile *profile);
void cli_profile_free(cli_profile *profile);

/* Makes the ids below valid again after functions were added. */
void cli_profile_index(cli_profile *profile);

/* The string at an index of the string table; empty if the index is not in the table. */
cli_string cli_profile_string(const cli_profile *profile, int64_t index);

/* The record that has this id; NULL if there is none. */
const Pd__View__Function *cli_profile_function(const cli_profile *profile, uint64_t id);
Pd__View__Mapping *cli_profile_mapping(const cli_profile *profile, uint64_t id);

/* The length of the file's name in a mapping's name: without " (deleted)". 0 if the name is made up for
 * memory without a file. */
size_t cli_profile_file_len(cli_string name);
/* The offset in the file of a mapping. An address before the mapping is one already: eBPF profilers write those. */
uint64_t cli_profile_offset(const Pd__View__Mapping *mapping, uint64_t address);

/* The index of the record that has this id; SIZE_MAX: there is none. */
size_t cli_ids_find(const cli_ids *ids, uint64_t id);

/* The index of the location that has this id; 0 if there is none. */
static inline size_t cli_profile_location_index(const cli_profile *profile, uint64_t id)
{
    const cli_ids *ids = &profile->locations;
    size_t index = ids->ids ? cli_ids_find(ids, id) : id - 1;
    return index < ids->len ? index : 0;
}

/* The name and the unit of a sample type. A column is the index of a sample type. */
cli_string cli_profile_type(const cli_profile *profile, size_t column);
cli_string cli_profile_unit(const cli_profile *profile, size_t column);

/* Writes "TYPE/UNIT, TYPE/UNIT", or "none", for a message. Returns text. */
enum { CLI_TYPES_ROOM = 1024 };
char *cli_profile_list_types(const cli_profile *profile, char text[CLI_TYPES_ROOM]);

/* Prints that the profile has no such type, and which it has. Returns CLI_FAILED: another profile may
 * have the type, so the command line is not wrong. */
int cli_profile_no_type(const cli_profile *profile, const char *name);

/* A profile of memory has bytes. In others, the time in an allocator is what is looked for. */
bool cli_profile_has_bytes(const cli_profile *profile);

/* The column that `name` ("TYPE" or "TYPE/UNIT") names; -1 if there is none. */
int cli_profile_find_type(const cli_profile *profile, cli_string name);

/* The column of the default sample type: the one that the profile names, else the last, as in
 * pprof; -1 if the profile has no sample types. */
int cli_profile_default_type(const cli_profile *profile);

/* The age of what ended in a sample of a live heap, in windows; 0 without the label "age". A hostile one is
 * negative. */
int64_t cli_profile_age(const cli_profile *profile, const cli_sample *sample);

#endif

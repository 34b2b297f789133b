/* What the parts of `show` share: a profile taken whole, and its frames by name.
 *
 *   show.c --> show_profile.c: read, check, inflate, unpack
 *          --> show_symbols.c: which names stand at a location
 *          --> show_head.c: which files its code lies in
 *          --> one of show_top.c, show_raw.c, show_json.c: print to stdout
 *          --> or show_stacks.c, for one profile or two, and then one of show_folded.c,
 *              show_change.c and show_flame.c
 *
 * The profile has passed pprofdelta_check before, so every id and index in it leads somewhere. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "input.h"
#include "pprofdelta.h"
#include "profile.pb-c.h"
#include "text.h"

#include <stdbool.h>

/* From the ids of a message's records to their places in it, sorted by id. */
typedef struct cli_ids {
    struct cli_id {
        uint64_t id;
        size_t index;
    } * ids;
    size_t len;
} cli_ids;

typedef struct cli_profile {
    cli_input input;
    pprofdelta *context; /* owns what was inflated */
    pprofdelta_census census;
    Pd__View__Profile *view;
    uint64_t memory_left;  /* for the view */
    bool is_over_limit;    /* it did not suffice, */
    bool is_out_of_memory; /* or the system had none */
    cli_ids locations, functions, mappings;
} cli_profile;

/* Reads and checks path into *profile, which is to be freed whatever is returned. Prints what went
 * wrong; returns an exit code. */
int cli_profile_load(cli_profile *profile, const char *path, uint64_t max_memory);
void cli_profile_free(cli_profile *profile);

/* The text at an index of the string table; empty where there is none. */
cli_string cli_profile_string(const cli_profile *profile, int64_t index);

/* The record of an id, or NULL (0 stands for none). */
const Pd__View__Location *cli_profile_location(const cli_profile *profile, uint64_t id);
const Pd__View__Function *cli_profile_function(const cli_profile *profile, uint64_t id);
const Pd__View__Mapping *cli_profile_mapping(const cli_profile *profile, uint64_t id);

/* A type's own name and unit, the column that `--type` names (-1: none), the one to sort by: the
 * default type that the profile names, else the last, as in pprof (-1: it has no types). */
cli_string cli_profile_type(const cli_profile *profile, size_t column);
cli_string cli_profile_unit(const cli_profile *profile, size_t column);
int cli_profile_find_type(const cli_profile *profile, cli_string name);
int cli_profile_default_type(const cli_profile *profile);

/* The sum of one column over all samples. */
pprofdelta_sum cli_profile_total(const cli_profile *profile, size_t column);

/* Distinct frame names, numbered in the order of their bytes, and the run of them that stands at
 * each location, innermost call first. A location has one at least. */
typedef struct cli_symbols {
    cli_string *names;
    size_t len;
    uint32_t *frames;
    size_t frames_len;
    size_t *first; /* frames[first[i]] to frames[first[i + 1]] stand at view->location[i] */
    char *made;    /* the names that no function gives: addresses */
} cli_symbols;

/* Returns an exit code; *symbols is to be freed whatever it is. */
int cli_symbols_make(cli_symbols *symbols, const cli_profile *profile);
void cli_symbols_free(cli_symbols *symbols);

/* The place of a location or a mapping in the message, for its id. */
size_t cli_profile_location_index(const cli_profile *profile, uint64_t id);
size_t cli_profile_mapping_index(const cli_profile *profile, uint64_t id);

/* The head of a table: a line with the file and the build id of the first mapping, which is the main
 * binary, and lines with those of the other mappings where a frame has no function. The second
 * returns an exit code. */
void cli_show_put_binary(const cli_profile *profile, const char *title);
int cli_show_put_libraries(const cli_profile *profile);

/* A comment as people read it: the times of a stamp of pprofdelta are times. It is the comment
 * itself, or in buf. */
enum { CLI_COMMENT_MAX = 1024 };
cli_string cli_show_comment(cli_string comment, char buf[CLI_COMMENT_MAX]);

/* The forms. Each prints to stdout and returns an exit code of its own failures; the caller closes
 * stdout and checks it. */
int cli_show_top(const cli_profile *profile, size_t sort_column, bool only_sort_column,
                 size_t most_rows);
int cli_show_raw(const cli_profile *profile);
int cli_show_json(const cli_profile *profile);

#endif

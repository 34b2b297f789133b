/* A profile read naively: the protobuf-c message view, and texts that say what each thing is.
 *
 * Whatever the contract calls the same has the same text here, and nothing else has: the oracle
 * decides everything by comparing strings. Strings inside a text carry their length, so that no two
 * things can run into one text. Slow, and meant to be seen to be right. */
#ifndef PD_TESTS_READING_H
#define PD_TESTS_READING_H

#include "arena.h"
#include "pprofdelta.h"
#include "profile.pb-c.h"

#define NOWHERE SIZE_MAX

typedef struct reading_mapping {
    const Pd__View__Mapping *view;
    const char *name; /* its identity; NULL where its addresses are all there is */
    const char *file; /* what its locations go by: its name, or another mapping's */
    const char *part; /* which part of the file it is; where there is no name, same as text */
    const char *text; /* every field but the id */
} reading_mapping;

typedef struct reading_location {
    const Pd__View__Location *view;
    size_t mapping;       /* in mappings; NOWHERE: none */
    const char *identity; /* what the delta goes by */
    const char *text;     /* what a reader of the profile sees: place, mapping, lines */
} reading_location;

/* One distinct sample: as the first record with its key has it, the values of all added up. */
typedef struct reading_sample {
    const char *key;
    size_t *stack; /* in locations */
    size_t depth;
    const char *labels; /* in an order that does not depend on the profile's */
    int64_t *values;
} reading_sample;

typedef struct reading {
    arena *arena;
    Pd__View__Profile *view;
    reading_mapping *mappings;
    reading_location *locations;
    reading_sample *samples; /* in order of first appearance */
    size_t samples_len;
    size_t records; /* samples before they were added up */
    uint64_t unknown_fields;
} reading;

/* Unpacks, checks what can be checked of one profile, and names everything. OK, E_INFLATE, E_WIRE
 * or E_PROFILE; *out is set on OK and lives in a. */
pprofdelta_status reading_make(arena *a, const void *bytes, size_t len, reading *out);

/* Reads the same profile once more, which was found to be valid; files: for each mapping, what its
 * locations go by. */
void reading_make_as(arena *a, const void *bytes, size_t len, const char *const *files,
                     reading *out);

const char *reading_string(const reading *r, int64_t index);

/* Is this comment, by its place, the mark of a delta? */
bool reading_is_stamp(const reading *r, size_t comment);
#define STAMP "pprofdelta: delta"

/* The file of a mapping by its name, without " (deleted)"; NULL where the name is made up. */
const char *reading_file(arena *a, const char *name);

/* "" where there is no mapping or it has none. */
const char *reading_main_build_id(const reading *r);

/* "5:bytes": a string that says where it ends. */
void reading_quote(buf *b, const char *text);

/* The header but for comments and the default type. */
const char *reading_header(const reading *r);

/* All of it, for holding two profiles against each other; columns in order of their types. loosely:
 * samples in any order, and places by their identity instead of their lines. */
const char *reading_all(const reading *r, bool loosely);

#endif

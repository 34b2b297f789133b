/* Reads a profile naively: through protobuf-c's message view, with a text for the identity of each
 * thing.
 *
 * Two things have the same text if and only if the contract calls them the same, so the oracle
 * compares strings only. Strings inside a text have their length, so that no two things have one
 * text by accident. The code is slow and simple. */
#ifndef PD_TESTS_READING_H
#define PD_TESTS_READING_H

#include "arena.h"
#include "pprofdelta.h"
#include "profile.pb-c.h"

#define NOWHERE SIZE_MAX

typedef struct reading_mapping {
    const Pd__View__Mapping *view;
    const char *name; /* its identity; NULL: only its addresses */
    const char *file; /* the identity of its locations: its name, or another mapping's */
    const char *part; /* the part of the file; without a name, same as text */
    const char *text; /* every field except the id */
    bool stays;       /* an address before its start is one of the file */
} reading_mapping;

/* An address before a mapping that has a range is one of its file: eBPF profilers write those. */
static inline bool reading_is_of_file(const Pd__View__Mapping *m, uint64_t address)
{
    return m->memory_start < m->memory_limit && address - m->memory_start > INT64_MAX;
}

typedef struct reading_location {
    const Pd__View__Location *view;
    size_t mapping;       /* in mappings; NOWHERE: none */
    const char *identity; /* the identity used by the delta */
    const char *text;     /* what the profile shows: place, mapping, lines */
} reading_location;

/* One distinct sample: from the first record with its key, with the values of all records added up.
 */
typedef struct reading_sample {
    const char *key;
    size_t *stack; /* in locations */
    size_t depth;
    const char *labels; /* in an order independent of the profile's */
    int64_t *values;
} reading_sample;

typedef struct reading {
    arena *arena;
    Pd__View__Profile *view;
    reading_mapping *mappings;
    reading_location *locations;
    reading_sample *samples; /* in order of first appearance */
    size_t samples_len;
    size_t records;  /* number of records */
    bool *overflows; /* by column: adding up the records of a sample leaves 64 bits */
    uint64_t unknown_fields;
} reading;

/* Decompresses, checks all that can be checked in one profile, and names everything. Returns OK,
 * E_INFLATE, E_WIRE or E_PROFILE. *out is set on OK and is in a. */
pprofdelta_status reading_make(arena *a, const void *bytes, size_t len, reading *out);

/* Reads a valid profile again. files: for each mapping, the identity of its locations. */
void reading_make_as(arena *a, const void *bytes, size_t len, const char *const *files,
                     reading *out);

/* Visits each index of a string in the message and in those inside it. Returns the number of their
 * unknown fields. visit may be NULL. */
typedef void reading_visit(void *cookie, int64_t string);
uint64_t reading_walk(const ProtobufCMessage *m, reading_visit *visit, void *cookie);

const char *reading_string(const reading *r, int64_t index);

/* Returns whether the comment with this index is a delta's stamp. */
bool reading_is_stamp(const reading *r, size_t comment);
#define STAMP "pprofdelta: delta"

/* The file of a mapping by its name, without " (deleted)"; NULL if the name is made up. */
const char *reading_file(arena *a, const char *name);

/* The types of the period, and the default type. */
const char *reading_kind(const reading *r);

/* "" if there is no mapping or it has none. */
const char *reading_main_build_id(const reading *r);

/* "5:bytes": a string with its length. */
void reading_quote(buf *b, const char *text);

/* The header without comments and default type. */
const char *reading_header(const reading *r);

#endif

/* The tables of a profile: the first of two passes over its bytes.
 *
 * The tables may be before, after or between the samples (Go writes a location before the first
 * sample that uses it, and the strings last), so nothing can be resolved while reading. The first
 * pass decodes every table into arrays, in order of appearance, and only counts the samples.
 * Sealing then resolves ids to indices, checks every reference, and computes the identity of each
 * location. The second pass reads the samples (samples.h). delta/reading.h has both passes.
 *
 *     strings    [ptr,len] ...                       into the profile's bytes
 *     functions  [name,system,file,start] ...
 *     lines      [function,line,column] ...          of all locations, one after the other
 *     locations  [mapping,address,first line,lines] ...
 *     idents     [128 bits] ...                      of each location: see identity.h
 *
 * Only the strings point into the parsed bytes, which must outlive the tables. */
#ifndef PD_PROFILE_TABLES_H
#define PD_PROFILE_TABLES_H

#include <string.h>

#include "base/keymap.h"
#include "profile/identity.h"
#include "wire/message.h"

/* ---- ids ------------------------------------------------------------------------------------- */

/* The ids of a table (mappings, functions, locations), and their indices in order of appearance. An id
 * is any number except 0. Nearly all producers use 1, 2, 3, ...; then id - 1 is the index and nothing is
 * stored. The ids after the end of that sequence are in a hashed set. */
#define PD_IDMAP_NONE UINT32_MAX

typedef struct pd_idmap {
    size_t sequential; /* the first ids, which are 1, 2, 3 ... */
    pd_keymap others;  /* {hash, id} of the ids after these */
    uint64_t seed;     /* of that hash: where the map was when it got the first of them */
} pd_idmap;            /* zero it to begin */

uint32_t pd_idmap_find_other(const pd_idmap *map, uint64_t id);

/* Returns the index, or PD_IDMAP_NONE. */
static inline uint32_t pd_idmap_find(const pd_idmap *map, uint64_t id)
{
    if (__builtin_expect(id - 1 < map->sequential, 1))
        return (uint32_t)(id - 1);
    return pd_idmap_find_other(map, id);
}

/* ---- the tables ------------------------------------------------------------------------------ */

typedef struct pd_value_type {
    uint32_t type, unit; /* string indices */
    uint64_t off;
} pd_value_type;

typedef struct pd_mapping {
    uint64_t id;
    uint64_t start, limit, file_offset;
    uint32_t filename, build_id;
    bool has[4]; /* the flags from PD_MAPPING_HAS_FUNCTIONS on */
    bool stays;  /* an address before its start is one of the file: it is written with this start */
    uint32_t mark; /* used by mapping.c */
    uint64_t off;  /* of its message, for errors, as in all structs below */
} pd_mapping;

typedef struct pd_function {
    uint64_t id;
    uint32_t name, system_name, filename;
    int64_t start_line;
    uint64_t off;
} pd_function;

typedef struct pd_line {
    uint64_t function; /* its id; after sealing its index plus one; in a model its id there, or 0 */
    int64_t line, column;
} pd_line;

typedef struct pd_location {
    uint64_t id;
    uint64_t mapping; /* its id; after sealing its index plus one. 0: none */
    uint64_t address;
    uint64_t off;
    size_t lines_first, lines_len;
    bool is_folded;
} pd_location;

/* The scalars of a profile. */
typedef struct pd_header {
    pd_value_type period_type;
    bool has_period_type;
    int64_t period, time_nanos, duration_nanos;
    pd_string_ref drop_frames, keep_frames, default_sample_type, doc_url;
} pd_header;

typedef struct pd_tables {
    pd_header header;
    pd_value_type *types;
    pd_string_ref *comments;
    pd_bytes *strings;
    pd_mapping *mappings;
    pd_function *functions;
    pd_line *lines;
    pd_location *locations;
    pd_key *idents;              /* of the locations: see identity.h */
    pd_place *places;            /* of the mappings: see identity.h */
    bool has_addresses_of_files; /* a mapping stays, so a place in memory says nothing of a file */
    pd_key *string_keys;         /* of the strings, while the tables are sealed */
    size_t types_len, comments_len, strings_len, mappings_len, functions_len, lines_len,
        locations_len;
    pd_idmap mapping_map, function_map, location_map;
    pd_bytes bytes;                 /* the profile, or the part of it in memory, */
    uint64_t base;                  /* which begins at this offset */
    uint64_t len;                   /* of the profile */
    uint64_t first_string_off;      /* offset of the first string */
    size_t samples;                 /* number of sample records */
    uint64_t samples_off;           /* offset of the first sample record */
    uint64_t samples_len;           /* bytes of all sample records */
    uint64_t unknown_fields;        /* outside samples */
    uint64_t sample_unknown_fields; /* inside samples: counted by the second pass */
    uint64_t by_address, by_lines;  /* numbers of locations */
    uint64_t by_both;               /* those by_lines that have an address */
    bool is_stamped;                /* a comment is a delta's stamp */
} pd_tables;                        /* zero it to begin */

/* The fields of the messages (wire/message.h). */
extern const pd_rows pd_sample_type_rows, pd_period_type_rows, pd_mapping_rows, pd_function_rows,
    pd_location_rows, pd_line_rows, pd_profile_rows;

/* Parses and seals a profile that is in memory. Borrows `bytes`. After a failure the content is
 * undefined, but the tables can be parsed into again. Keeps capacity from profile to profile. */
pprofdelta_status pd_tables_parse(pd_tables *tables, pd_mem *mem, pd_bytes bytes,
                                  pprofdelta_error *err);

/* The steps of the first pass, if a part is in memory at a time. begin. read: reads the top-level fields of
 * a part, from `top` to where that can read no further; t->bytes and t->base are set, and *parse has no
 * failure. read_end: `top` can read no further, for good. */
void pd_tables_begin(pd_tables *tables);
void pd_tables_read(pd_tables *tables, pd_parse *parse, pd_reader *top);
void pd_tables_read_end(pd_tables *t, pd_parse *p, const pd_reader *r);

/* Checks what could not be checked while reading, resolves ids to indices, and identifies mappings
 * and locations. */
pprofdelta_status pd_tables_seal(pd_tables *tables, pd_mem *mem, pprofdelta_error *err);

/* For sealed tables: sets the places of the mappings again, from the mappings, and the identities of the
 * locations. */
pprofdelta_status pd_tables_place(pd_tables *tables, pd_mem *mem, pprofdelta_error *err);

/* For sealed tables: sets the identities of the locations again, after places were changed. */
pprofdelta_status pd_tables_identify(pd_tables *tables, pd_mem *mem, pprofdelta_error *err);

/* Shrinks the arrays of parsed tables to their lengths. */
void pd_tables_trim(pd_tables *tables, pd_mem *mem);

#endif

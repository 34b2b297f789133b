/* The compact writer: samples in, a dense profile out, as pprof, as OTLP or as tables.
 *
 * The caller (with one parsed profile, several, records, or a live heap) adds strings, functions,
 * mappings and locations as the samples that are written need them, and gets the output ids. All of
 * them are interned by content: nothing is written twice, whatever the number of sources, and
 * nothing that no sample uses. Ids count from 1 in order of first use, strings from 0, the empty
 * string. So equal input gives equal bytes.
 *
 *     compact.c          numbers what is added: strings, mappings, functions, locations. Encodes it
 *                        as pprof: samples go to `out` as they are added, with what they refer to in
 *                        a buffer for each table, and the scalars in `tail`
 *     compact_otlp.c     encodes it as OTLP: a buffer of samples for each value type (compact_otlp.h)
 *     compact_tables.c   keeps rows, and makes Arrow tables of them at the end (compact_tables.h)
 *
 * The encoded profile is all buffers in the order of the format.
 * The caller sets `format` and `resource` once. It does not know the format otherwise.
 *
 * Errors are sticky: the functions then return 0 or do nothing, and pd_compact_finish returns the
 * status. */
#ifndef PD_PROFILE_COMPACT_H
#define PD_PROFILE_COMPACT_H

#include "base/keymap.h"
#include "profile/compact_otlp.h"
#include "profile/compact_tables.h"
#include "wire/writer.h"

typedef struct pd_compact {
    pprofdelta_format format;
    pd_bytes resource;            /* of the format (otlp_attributes.h); borrowed */
    const pd_otlp_origin *origin; /* OTLP: takes the place of the resource and the scope; or NULL */
    pd_writer writer;
    /* buffers[] is all of them, for begin and release. */
    union {
        struct {
            pd_buffer out, mapping_bytes, location_bytes, function_bytes, string_bytes;
            pd_buffer comments;      /* packed indices */
            pd_buffer scratch;       /* the message that is being built */
            pd_buffer lines;         /* of the location, encoded */
            pd_buffer stack, labels; /* of the sample: packed ids; encoded labels */
            pd_buffer tail;          /* the scalars */
        };
        pd_buffer buffers[11];
    };
    union {
        struct {
            pd_keymap strings, mappings, functions, locations;
        };
        pd_keymap maps[4];
    };
    struct pd_compact_known *known;          /* of each key in `mappings` */
    struct pd_compact_mapping *mapping_list; /* by output id, from 1; encoded at the end */
    uint32_t *location_ids;                  /* output ids of the keys in `locations` */
    size_t known_cap, mapping_len, mapping_list_cap, location_ids_cap;
    uint64_t samples;
    pd_compact_otlp otlp;
    pd_compact_tables tables;
} pd_compact; /* zero it, set format and resource, to begin */

/* Begins a profile; keeps capacity. err is borrowed until pd_compact_finish. */
void pd_compact_begin(pd_compact *compact, pd_mem *mem, pprofdelta_error *err);

/* Returns the number of the string: in pprof its output index. */
uint32_t pd_compact_string(pd_compact *compact, pd_bytes string);

/* Adds a sample type, before the first sample. type and unit are numbers of strings, as are all
 * strings below. */
void pd_compact_type(pd_compact *compact, uint32_t type, uint32_t unit);

typedef struct pd_compact_mapping {
    uint64_t start, limit, file_offset;
    uint32_t filename, build_id;
    uint32_t has;        /* bit n: the flag with field number PD_MAPPING_HAS_FUNCTIONS + n */
    size_t own, own_len; /* OTLP: its attributes, if they were given (pd_otlp_own) */
} pd_compact_mapping;

/* What is known of the key of a mapping. */
typedef struct pd_compact_known {
    uint64_t start; /* memory_start as written */
    uint32_t id;    /* 0: it was not added, or OTLP has no id for it */
} pd_compact_known;

/* Returns the output id of the mapping with this key (see transfer.c), or 0. */
uint32_t pd_compact_find_mapping(const pd_compact *compact, pd_key key);

/* The same, but adds the mapping if it is not there. Its start, as written, is the expected one of
 * the key, if there is one. */
uint32_t pd_compact_add_mapping(pd_compact *compact, pd_key key, const pd_compact_mapping *mapping);

/* Does the format have the mapping of the main binary first, although no location may be in it? In OTLP, no
 * mapping is the main one, and no entry is unused. */
static inline bool pd_compact_has_main(const pd_compact *compact)
{
    return compact->format != PPROFDELTA_OTLP;
}

/* The memory_start of a mapping as written: addresses in it must be moved accordingly. */
static inline uint64_t pd_compact_mapping_start(const pd_compact *compact, uint32_t id)
{
    return id ? compact->mapping_list[id - 1].start : 0;
}

/* What is known of the mapping with this output id after all, besides what it was added with. (In
 * OTLP, mappings of two keys that were added with equal contents have one output id.) */
void pd_compact_mapping_has(pd_compact *compact, uint32_t id, uint32_t has);

/* If a mapping with this key is added later, its start is `start`. Returns what is known of the key, or
 * NULL on failure. */
pd_compact_known *pd_compact_expect_mapping(pd_compact *compact, pd_key key, uint64_t start);

uint32_t pd_compact_add_function(pd_compact *compact, uint32_t name, uint32_t system_name,
                                 uint32_t filename, int64_t start_line);

/* Returns the output id of the location with this identity, or 0. */
uint32_t pd_compact_find_location(const pd_compact *compact, pd_key ident);

/* Adds a location that is not there: first its lines, in order, then the location. mapping and
 * function are output ids. 0: no mapping; a function of which nothing is known, which only OTLP has: the
 * line is left out. */
void pd_compact_add_line(pd_compact *compact, uint32_t function, int64_t line, int64_t column);
uint32_t pd_compact_add_location(pd_compact *compact, pd_key ident, uint32_t mapping,
                                 uint64_t address, bool is_folded);

/* An output id as a varint of up to four bytes, the first byte in the lowest bits, then zeros. It is
 * encoded once and copied often. 0: no id yet, or the id 0, which only OTLP has; it is one byte of a
 * stack. In tables, a stack is an array: an id has four bytes, with PD_ENCODED_WHOLE. */
typedef uint32_t pd_encoded;

enum { PD_ENCODED_MAX = (1 << 28) - 1, PD_ENCODED_WHOLE = 1 << 30 }; /* ids are below */

pd_encoded pd_encode_id(const pd_compact *compact, uint32_t id);

/* A sample: its locations, leaf first, and its labels, then its values. pd_compact_stack makes room
 * for a number of locations, at least one, and returns where they go, or NULL on failure. They are
 * written there one after the other, and pd_compact_stack_end sets the end. Between the two only
 * functions that add locations may be called. */
enum { PD_STACK_SLACK = 64 }; /* bytes after the locations that may be overwritten */

static inline uint8_t *pd_compact_stack(pd_compact *compact, size_t locations)
{
    size_t most = SIZE_MAX / sizeof(pd_encoded) - PD_STACK_SLACK;
    return pd_write_room(&compact->writer, &compact->stack,
                         locations > most ? SIZE_MAX
                                          : locations * sizeof(pd_encoded) + PD_STACK_SLACK);
}

static inline uint8_t *pd_compact_stack_put(uint8_t *at, pd_encoded location)
{
    uint32_t bytes = pd_le32(location);
    memcpy(at, &bytes, sizeof bytes);
    return at + (39 - __builtin_clz(location | 1)) / 8;
}

static inline void pd_compact_stack_end(pd_compact *compact, const uint8_t *end)
{
    pd_write_done(&compact->stack, end);
}

void pd_compact_sample_label(pd_compact *compact, uint32_t key, uint32_t str, int64_t num,
                             uint32_t num_unit);

void pd_compact_sample_end(pd_compact *compact, const int64_t *values, size_t len);

/* Is any of the values not 0? Other samples are not written. */
static inline bool pd_compact_has_value(const int64_t *values, size_t len)
{
    int64_t any = 0;
    for (size_t i = 0; i < len; i++)
        any |= values[i];
    return any != 0;
}

typedef struct pd_compact_header {
    bool has_period_type;
    uint32_t period_type, period_unit;
    int64_t period, time_nanos, duration_nanos;
    uint32_t drop_frames, keep_frames, default_sample_type, doc_url;
    uint64_t
        series; /* OTLP: profile_id is made of this id of the series and of the sequence. 0: none;
                        then it is made of the content */
    uint64_t sequence;
} pd_compact_header;

/* Adds a comment. */
void pd_compact_comment(pd_compact *compact, uint32_t string);

/* Writes what comes after the samples and joins the buffers. *out belongs to the writer and is valid
 * until the next begin. Tables: ptr is a pprofdelta_tables, and len counts all its bytes. */
pprofdelta_status pd_compact_finish(pd_compact *compact, const pd_compact_header *header,
                                    pd_bytes *out);

/* Tables, after pd_compact_finish: makes them again, since they may have been moved. The status of the writer
 * does not change. */
pprofdelta_status pd_compact_tables_make(pd_compact *compact, pd_bytes *out, pprofdelta_error *err);

/* Adds up the value columns. */
void pd_compact_tables_sums(const pd_compact *compact, pprofdelta_sum *sums);

/* After pd_compact_finish: the length of the string table. */
size_t pd_compact_strings(const pd_compact *compact);

void pd_compact_release(pd_compact *compact, pd_mem *mem);

#endif

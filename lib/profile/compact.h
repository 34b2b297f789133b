/* The compact writer: samples in, a dense profile out.
 *
 * Whoever has samples (a parsed profile, two of them, raw records, a live heap) hands over strings,
 * functions, mappings and locations as it meets them in samples that are written, and gets the ids
 * to use. Each is interned by content, so nothing is written twice whatever number of sources there
 * are, and nothing is written that no sample uses. Ids count from 1 in order of first use (strings
 * from 0, the empty one): equal input gives equal bytes.
 *
 *     out                                the types, then the samples as they come
 *     mappings, locations, functions,    a buffer each: appended to out at the end,
 *     strings                            and the scalars behind them
 *
 * Trouble is sticky; the functions then return 0 or do nothing, and pd_compact_finish tells. */
#ifndef PD_PROFILE_COMPACT_H
#define PD_PROFILE_COMPACT_H

#include "base/keymap.h"
#include "wire/writer.h"

typedef struct pd_compact {
    pd_writer writer;
    /* Together: buffers[] names the lot for those that begin and release. */
    union {
        struct {
            pd_buffer out, mapping_bytes, location_bytes, function_bytes, string_bytes;
            pd_buffer comments;      /* packed indices */
            pd_buffer scratch;       /* the message being put together */
            pd_buffer lines;         /* of the location, as fields */
            pd_buffer stack, labels; /* of the sample: packed ids, fields */
            pd_buffer tail;          /* what finishes the profile */
        };
        pd_buffer buffers[11];
    };
    pd_keymap strings, mappings, functions, locations;
    uint64_t *mapping_starts;  /* memory_start of each mapping, as written */
    pd_keymap expected;        /* mappings that need not be written, and */
    uint64_t *expected_starts; /* where they begin */
    size_t mapping_starts_cap, expected_starts_cap;
    uint64_t samples;
} pd_compact; /* zero it to begin */

/* Begins a profile, keeping capacity from the last one. err is borrowed until pd_compact_finish. */
void pd_compact_begin(pd_compact *compact, pd_mem *mem, pprofdelta_error *err);

/* The output index of the string. */
uint32_t pd_compact_string(pd_compact *compact, pd_bytes string);

/* All types come before the first sample. type and unit are output strings, as are all string
 * fields below. */
void pd_compact_type(pd_compact *compact, uint32_t type, uint32_t unit);

typedef struct pd_compact_mapping {
    uint64_t start, limit, file_offset;
    uint32_t filename, build_id;
    uint32_t has; /* as in pd_mapping */
} pd_compact_mapping;

/* The output id of the mapping that this key tells from others (see transfer.c), or 0 where it is
 * not there yet. *start becomes the address at which it begins as written, to which addresses in it
 * are to be moved. */
uint32_t pd_compact_find_mapping(const pd_compact *compact, pd_key key, uint64_t *start);

/* The same, adding it where it is not there yet. Its start, as written, is the one that was
 * expected for the key, if there was one. */
uint32_t pd_compact_add_mapping(pd_compact *compact, pd_key key, const pd_compact_mapping *mapping,
                                uint64_t *start);

/* Whoever adds this mapping later, it is to begin here: where the profile saw it whose addresses
 * the output speaks. */
void pd_compact_expect_mapping(pd_compact *compact, pd_key key, uint64_t start);

uint32_t pd_compact_add_function(pd_compact *compact, uint32_t name, uint32_t system_name,
                                 uint32_t filename, int64_t start_line);

/* The output id of the location with this identity, or 0 where it is not there yet. */
uint32_t pd_compact_find_location(const pd_compact *compact, pd_key ident);

/* Adds one that is not there: the lines first, in order, then the location. mapping and function
 * are output ids, 0 for none. */
void pd_compact_add_line(pd_compact *compact, uint32_t function, int64_t line, int64_t column);
uint32_t pd_compact_add_location(pd_compact *compact, pd_key ident, uint32_t mapping,
                                 uint64_t address, bool is_folded);

/* An output id as it is written, so that it is encoded once and copied often: its bytes, the first
 * the lowest, and zeros behind them (no byte of a varint that is not 0 is 0). 0 is no id. */
typedef uint32_t pd_encoded;

enum { PD_ENCODED_MAX = (1 << 28) - 1 }; /* the largest id of four bytes */

pd_encoded pd_encode_id(uint32_t id);

/* A sample: its locations, leaf first, and labels, then its values. Locations are put one behind
 * the other where pd_compact_stack has made room for so many (at least one; NULL where there is
 * none), and pd_compact_stack_end is told where they end. Nothing else may be asked of the writer
 * between the two but what adds locations. */
enum { PD_STACK_SLACK = 64 }; /* so many bytes behind them may be written, too */

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
/* A label that was written to this profile before: what it was in `labels`, of `len` bytes. */
enum { PD_SHORT_LABEL = 23 };

static inline void pd_compact_sample_label_again(pd_compact *compact,
                                                 const uint8_t bytes[PD_SHORT_LABEL], size_t len)
{
    uint8_t *p = pd_write_room(&compact->writer, &compact->labels, PD_SHORT_LABEL);
    if (!p)
        return;
    memcpy(p, bytes, PD_SHORT_LABEL);
    pd_write_done(&compact->labels, p + len);
}

void pd_compact_sample_end(pd_compact *compact, const int64_t *values, size_t len);

typedef struct pd_compact_header {
    bool has_period_type;
    uint32_t period_type, period_unit;
    int64_t period, time_nanos, duration_nanos;
    uint32_t drop_frames, keep_frames, default_sample_type, doc_url;
} pd_compact_header;

/* Comments, in order, before pd_compact_finish. */
void pd_compact_comment(pd_compact *compact, uint32_t string);

/* Writes the scalars into tail: the profile is then out, the tables' buffers in their order, and
 * tail. */
pprofdelta_status pd_compact_end(pd_compact *compact, const pd_compact_header *header);

/* The same, and puts everything together. *out belongs to the writer and lasts until the next
 * begin. */
pprofdelta_status pd_compact_finish(pd_compact *compact, const pd_compact_header *header,
                                    pd_bytes *out);

void pd_compact_release(pd_compact *compact, pd_mem *mem);

#endif

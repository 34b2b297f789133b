/* The samples of a profile, read where they are: in its bytes.
 *
 * Nearly all of a large profile is samples, and an unpacked message takes many times the memory of its
 * bytes. So the view (view.h) has no samples. A sample is known by the address of its length:
 *
 *     tag | len | 0a len id id id | 12 len value value | 1a len label | ...
 *         `-- here        `-- the path: location ids, leaf first
 *
 * The library has checked the bytes, so nothing is checked again. */
#ifndef CLI_VIEW_SAMPLES_H
#define CLI_VIEW_SAMPLES_H

#include "pprofdelta.h"
#include "profile.pb-c.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_sample {
    const uint8_t *from;            /* its length */
    const uint8_t *at, *end;        /* its fields */
    const uint8_t *path, *path_end; /* ids as varints; if is_tagged, each with a byte before it */
    int64_t values[PPROFDELTA_MAX_TYPES];
    size_t values_len;
    bool is_tagged, has_labels;
    bool is_odd; /* its ids are not in one piece: see cli_samples_find */
} cli_sample;

/* All samples: top-level fields, among which others may be. */
typedef struct cli_samples {
    const uint8_t *at, *end;
    size_t len;
    uint8_t *made; /* by cli_samples_find, or NULL; kept (keep.h) */
    pprofdelta_sum totals[PPROFDELTA_MAX_TYPES];
    bool has_values[PPROFDELTA_MAX_TYPES]; /* some sample has a value that is not 0 */
} cli_samples;

/* Finds all samples of a profile. If the ids of a sample are not in one piece, which is rare, all are written
 * again. Returns false if protobuf-c refuses a sample. */
bool cli_samples_find(const uint8_t *bytes, size_t len, cli_samples *all);

/* Copies the fields that are samples, or all others, to `to`, unless it is NULL. Returns their length. */
size_t cli_fields_copy(const uint8_t *at, const uint8_t *end, bool is_samples, uint8_t *to);

/* Appends a sample to an array of kept bytes (keep.h). Returns the array, which may have moved. */
uint8_t *cli_samples_append(uint8_t *bytes, size_t *len, size_t *cap, Pd__View__Sample *sample);

/* Sets *sample to the first sample, and takes it off the list. Returns false if there is none. */
bool cli_samples_next(cli_samples *list, cli_sample *sample);

/* Sets *sample to the one whose length is at `from`. */
void cli_sample_read(const uint8_t *from, cli_sample *sample);

/* For messages that are kept (keep.h). */
extern ProtobufCAllocator cli_kept_messages;

/* The message. It is kept (keep.h): free it with cli_sample_drop. */
Pd__View__Sample *cli_sample_unpack(const cli_sample *sample);
void cli_sample_drop(Pd__View__Sample *sample);

static inline uint64_t cli_varint_read(const uint8_t **at)
{
    const uint8_t *next = *at;
    uint64_t value = *next & 0x7f;
    for (unsigned shift = 7; *next++ & 0x80; shift += 7)
        value |= (uint64_t)(*next & 0x7f) << shift;
    *at = next;
    return value;
}

/* Reads the id at *at of a path, or the one that ends there. Sets *at behind it, or before it. */
static inline uint64_t cli_path_next(const uint8_t **at, bool is_tagged)
{
    *at += is_tagged;
    return cli_varint_read(at);
}

uint64_t cli_path_last(const uint8_t **at, const uint8_t *path, bool is_tagged);

#endif

/* From a parsed profile into the compact writer.
 *
 * A sample that is written is decoded once more, and what it refers to (locations, their lines and
 * functions, mappings, strings) goes over with it the first time it is met. What has gone over is
 * remembered per index, so that the writer's hashing is asked once for each. Two transfers may feed
 * one writer: equal things meet there, and an address moves with its mapping where the other
 * profile saw that mapping somewhere else. */
#ifndef PD_PROFILE_TRANSFER_H
#define PD_PROFILE_TRANSFER_H

#include "profile/compact.h"
#include "profile/tables.h"

typedef struct pd_transfer pd_transfer;

/* Puts a packed run of ids, encoded anew, at `out`, and tells where they end; NULL where they are
 * not for it. */
typedef uint8_t *pd_transfer_run(pd_transfer *transfer, const uint8_t *p, const uint8_t *end,
                                 uint8_t *out);

/* A short label that was carried over, as it was read and as it was written. */
typedef struct pd_label_sent {
    uint64_t word; /* pd_label_word, or 0 */
    uint8_t bytes[PD_SHORT_LABEL], len;
} pd_label_sent;

enum { PD_LABELS_SENT_BITS = 7, PD_LABELS_SENT = 1 << PD_LABELS_SENT_BITS };

struct pd_transfer {
    const pd_tables *tables;
    pd_compact *compact;
    /* By index in the tables, the output id: of strings plus one, so that 0 is "not yet". */
    uint32_t *strings, *functions, *mappings;
    pd_encoded *locations;
    uint64_t *starts; /* memory_start of the mapping as written; where mappings[i] is set */
    size_t strings_cap, functions_cap, mappings_cap, locations_cap, starts_cap;
    pd_label_sent labels[PD_LABELS_SENT];
    pd_transfer_run *run; /* what this processor does better, or NULL */
};                        /* zero it to begin */

/* Begins to carry from these sealed tables to a writer that has begun; both are borrowed. */
pprofdelta_status pd_transfer_begin(pd_transfer *transfer, pd_mem *mem, const pd_tables *tables,
                                    pd_compact *compact, pprofdelta_error *err);

/* Carries the location over that has not been yet. */
void pd_transfer_meet(pd_transfer *transfer, uint32_t index);

pd_transfer_run pd_transfer_run_avx512;

uint32_t pd_transfer_string(pd_transfer *transfer, uint32_t index);
uint32_t pd_transfer_mapping(pd_transfer *transfer, uint32_t index);

/* The addresses of the output are this profile's: mappings that another one brings begin where this
 * one saw them, if it did, whether or not it has written them. */
void pd_transfer_expect_mappings(pd_transfer *transfer);

/* Writes the sample whose record begins at the offset `origin` of the profile, with these values in
 * the output's order of columns. The body was checked when it was read. */
void pd_transfer_sample(pd_transfer *transfer, uint64_t origin, const int64_t *values, size_t len);

void pd_transfer_release(pd_transfer *transfer, pd_mem *mem);

#endif

/* Copies samples of a parsed profile into the compact writer.
 *
 * A sample that is written is decoded once more. What it refers to (locations, their lines and
 * functions, mappings, strings) is added to the writer at its first use; the output ids are kept by
 * index, so the writer interns each of them once. Several transfers may feed one writer. The writer
 * joins what is equal. If another profile has a mapping at another place, the addresses in it are
 * moved to the place that was written. */
#ifndef PD_PROFILE_TRANSFER_H
#define PD_PROFILE_TRANSFER_H

#include "profile/compact.h"
#include "profile/tables.h"

typedef struct pd_transfer pd_transfer;

/* Writes a packed run of ids, encoded as output ids, to `out` and returns their end; NULL if it
 * cannot. */
typedef uint8_t *pd_transfer_run(pd_transfer *transfer, const uint8_t *p, const uint8_t *end,
                                 uint8_t *out);

/* A short label that was copied before, as read and as written. */
typedef struct pd_label_sent {
    uint64_t word; /* pd_label_word, or 0: unused */
    uint8_t bytes[PD_SHORT_LABEL], len;
} pd_label_sent;

enum { PD_LABELS_SENT_BITS = 7, PD_LABELS_SENT = 1 << PD_LABELS_SENT_BITS };

struct pd_transfer {
    const pd_tables *tables;
    pd_compact *compact;
    /* Output ids by index in the tables; of strings plus one. 0: not added yet. */
    uint32_t *strings, *functions, *mappings;
    pd_encoded *locations;
    uint64_t *starts; /* memory_start as written; valid if mappings[i] is set */
    size_t strings_cap, functions_cap, mappings_cap, locations_cap, starts_cap;
    pd_label_sent labels[PD_LABELS_SENT];
    pd_transfer_run *run; /* vector code, or NULL */
};                        /* zero it to begin */

/* Begins to copy from these sealed tables to a writer that has begun. Borrows both. */
pprofdelta_status pd_transfer_begin(pd_transfer *transfer, pd_mem *mem, const pd_tables *tables,
                                    pd_compact *compact, pprofdelta_error *err);

/* Adds a location that was not added yet. */
void pd_transfer_add_location(pd_transfer *transfer, uint32_t index);

pd_transfer_run pd_transfer_run_avx512;

uint32_t pd_transfer_string(pd_transfer *transfer, uint32_t index);
uint32_t pd_transfer_mapping(pd_transfer *transfer, uint32_t index);

/* Makes the addresses of the output those of this profile: mappings that another transfer adds
 * begin where this profile has them. */
void pd_transfer_expect_mappings(pd_transfer *transfer);

/* Writes the sample whose record is at the offset `origin` of the profile, with these values, in
 * the output's order of columns. The record was checked by the second pass. */
void pd_transfer_sample(pd_transfer *transfer, uint64_t origin, const int64_t *values, size_t len);

void pd_transfer_release(pd_transfer *transfer, pd_mem *mem);

#endif

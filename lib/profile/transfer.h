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

/* Puts to the writer what a profile has that pprof has no place for, by the index in the tables, or the
 * offset of the sample: the attributes of a request (otlp/origin.c). entry may be NULL. */
typedef struct pd_transfer_more {
    void *cookie;
    void (*entry)(void *cookie, pd_compact *compact, bool is_mapping, uint32_t index);
    void (*labels)(void *cookie, pd_compact *compact, uint64_t origin); /* after the record's */
} pd_transfer_more;

typedef struct pd_transfer {
    const pd_tables *tables;
    pd_compact *compact;
    struct pd_transfer *main;     /* to the same writer; its first mapping is the main one */
    const pd_transfer_more *more; /* or NULL; borrowed */
    /* Output ids by index in the tables; of strings plus one, of locations encoded. 0: not added yet.
     * ids[] is all of them. */
    union {
        struct {
            uint32_t *strings, *functions, *mappings, *locations;
        };
        uint32_t *ids[4];
    };
    size_t caps[4];
} pd_transfer; /* zero it to begin */

/* Begins to copy from these sealed tables to a writer that has begun. Borrows both. Sets `main` to this transfer
 * and `more` to NULL. */
pprofdelta_status pd_transfer_begin(pd_transfer *transfer, pd_mem *mem, const pd_tables *tables,
                                    pd_compact *compact, pprofdelta_error *err);

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

/* Copies samples into a model, of a parsed profile or of another model.
 *
 * A sample that is copied is decoded once more. What it refers to (locations, their lines and
 * functions, mappings, strings) is added to the model at its first use; its ids are kept by index, so
 * each is interned once. Several transfers may fill one model, which joins what is equal. If the source
 * has a mapping at another place, the addresses in it are moved to the place in the model. */
#ifndef PD_MODEL_TRANSFER_H
#define PD_MODEL_TRANSFER_H

#include "model/model.h"
#include "profile/tables.h"

/* Adds what a profile has that pprof has no place for: the attributes of a request (otlp/request_attributes.c). `entry` is for a
 * mapping or a location that got this id, by its index in the tables; `labels` for the sample at this offset,
 * after its labels. */
typedef struct pd_transfer_more {
    void *cookie;
    void (*entry)(void *cookie, pd_model *model, pd_model_owner kind, uint32_t index, uint32_t id);
    void (*labels)(void *cookie, pd_model *model, uint64_t offset);
} pd_transfer_more;

typedef struct pd_transfer {
    const pd_tables *tables; /* the source, or NULL: */
    const pd_model *from;    /* the source */
    const pd_idmap *location_map;
    pd_model *model;
    const pd_transfer_more *more; /* or NULL; borrowed */
    /* Output ids by index in the source; of strings plus one, of locations encoded. 0: not added yet.
     * ids[] is all of them. */
    union {
        struct {
            uint32_t *strings, *functions, *mappings, *locations;
        };
        uint32_t *ids[4];
    };
} pd_transfer; /* zero it to begin */

/* Begins to copy from sealed tables, or a model, to a model that has begun. Borrows both. Sets `more` to NULL. Nothing
 * is added to the source meanwhile. */
pprofdelta_status pd_transfer_begin(pd_transfer *transfer, pd_mem *mem, const pd_tables *tables,
                                    pd_model *model, pprofdelta_error *err);
pprofdelta_status pd_transfer_begin_model(pd_transfer *transfer, pd_mem *mem, const pd_model *from,
                                          pd_model *model, pprofdelta_error *err);

uint32_t pd_transfer_string(pd_transfer *transfer, uint32_t index);
uint32_t pd_transfer_mapping(pd_transfer *transfer, uint32_t index);

/* Makes the addresses of the output those of this profile: mappings that another transfer adds
 * begin where this profile has them. */
void pd_transfer_expect_mappings(pd_transfer *transfer);

/* Puts the stack and the labels of the sample at this offset of the source. Then the caller adds the sample. That of a
 * profile was checked by the second pass. */
void pd_transfer_sample(pd_transfer *transfer, uint64_t offset);

#endif

/* Copies samples from one model to another.
 *
 * What a sample refers to is added to the other model at its first use; its ids there are kept by id, so each is
 * interned once. The addresses in a mapping are moved to where the other model has it. */
#ifndef PD_MODEL_COPY_H
#define PD_MODEL_COPY_H

#include "model/model.h"

typedef struct pd_model_copy {
    const pd_model *from;
    pd_model *to;
    /* Ids by id; of strings plus one, of locations encoded. 0: not added yet. ids[] is all of them. */
    union {
        struct {
            uint32_t *strings, *functions, *mappings, *locations;
        };
        uint32_t *ids[4];
    };
    size_t caps[4];
} pd_model_copy; /* zero it to begin */

/* Begins to copy to a model that has begun. Borrows both. Nothing is added to `from` meanwhile. */
pprofdelta_status pd_model_copy_begin(pd_model_copy *copy, pd_mem *mem, const pd_model *from,
                                      pd_model *to, pprofdelta_error *err);

/* Copies the stack and the labels of the sample at this offset of `from`. Then the caller adds the sample. */
void pd_model_copy_sample(pd_model_copy *copy, size_t at);

void pd_model_copy_release(pd_model_copy *copy, pd_mem *mem);

#endif

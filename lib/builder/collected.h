/* Samples that were added and not written yet. Adding a sample succeeds or changes nothing that is written. */
#ifndef PD_BUILDER_COLLECTED_H
#define PD_BUILDER_COLLECTED_H

#include "base/sum.h"
#include "model/totals.h"
#include "places/packed.h"
#include "pprofdelta_record.h"

#include <stdatomic.h>

/* A sample of a builder, copied and hashed.
 *
 * The thread that adds it does the work: when it is on the queue, its key and the keys of its frames
 * are known, and strings are read only for new keys. Frames and labels stand one after the other in
 * two buffers:
 *
 *     frames | pd_sample_frame, packed frame | pd_sample_frame, packed frame | ...
 *     labels | packed labels
 *
 * First a sample belongs to the thread that adds it. Then it belongs to the queue, to the thread
 * that empties the queue, and to the pool, which keeps its buffers. */
/* Before each packed frame. */
typedef struct pd_sample_frame {
    pd_key ident; /* of its location */
    uint64_t address;
    size_t size; /* of both */
} pd_sample_frame;

typedef struct pd_sample {
    pprofdelta_builder *builder;
    struct pd_sample *next;     /* in the queue */
    struct pd_sample *next_all; /* of all that the builder ever made */
    atomic_bool is_used;        /* not in the pool */
    pd_mem mem;
    uint64_t generation; /* of the builder, when the sample was started */
    pd_identity hash;
    size_t frames_len, labels_len;
    pd_buffer frames, labels;
    int64_t values[]; /* one to each type */
} pd_sample;

typedef struct pd_collected {
    pd_mem mem;
    size_t types;
    pd_totals sum;
    pd_transfer transfer; /* from another one */
    uint64_t in, lost;    /* samples that were added; those of them that were left out */
} pd_collected;           /* zero it, then set mem and types */

/* Adds a sample. If its sum with an equal one does not fit in 64 bits, or if it alone takes more than the limit, it is
 * left out and counted as lost. */
pprofdelta_status pd_collected_add(pd_collected *collected, const pd_sample *sample,
                                   pprofdelta_error *err);

/* Moves all samples of `from`. If it fails, the rest stays in `from` and can be moved later. */
pprofdelta_status pd_collected_move(pd_collected *collected, pd_collected *from,
                                    pprofdelta_error *err);

/* Copies each sample that has a value to a model that has begun. Its failures are sticky there. */
void pd_collected_write(const pd_collected *collected, pd_transfer *transfer, pd_model *out);

/* Removes everything and keeps the capacity. */
void pd_collected_clear(pd_collected *collected);

void pd_collected_release(pd_collected *collected);

#endif

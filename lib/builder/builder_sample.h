/* A sample of a builder: what was pushed, copied and hashed.
 *
 * The thread that pushes does the work: when a sample is added, its key and the keys of its frames
 * are known, and strings are read only for new keys. Frames and labels stand one after the other in
 * two buffers:
 *
 *     frames | pd_sample_frame, packed frame | pd_sample_frame, packed frame | ...
 *     labels | packed labels
 *
 * From start to add a sample belongs to one thread. Then it belongs to the queue, to the thread
 * that empties the queue, and to the pool, which keeps its buffers. */
#ifndef PD_BUILDER_BUILDER_SAMPLE_H
#define PD_BUILDER_BUILDER_SAMPLE_H

#include "pprofdelta_record.h"
#include "places/packed.h"

#include <stdatomic.h>

/* Before each packed frame. */
typedef struct pd_sample_frame {
    pd_key ident; /* of its location */
    uint64_t address;
    size_t size; /* of both */
} pd_sample_frame;

struct pprofdelta_sample {
    pprofdelta_builder *builder;
    pprofdelta_sample *next;     /* in the queue */
    pprofdelta_sample *next_all; /* of all that the builder ever made */
    atomic_bool is_used;         /* not in the pool */
    pd_mem mem;
    uint64_t generation;      /* of the builder, when the sample was started */
    pprofdelta_status status; /* sticky */
    pd_identity hash;
    size_t frames_len, labels_len;
    pd_buffer frames, labels;
    int64_t values[]; /* one to each type */
};

#endif

/* The sample builder: many threads add samples, and one window at a time takes them out.
 *
 *                     add                   try                  begin              write
 *     pool  ------->  sample ----->  queue ----->  gathering  ----->  outgoing  ----->  sink
 *
 * pprofdelta_builder_add puts the sample on the queue with one atomic operation. Then it tries to take
 * the lock `adding`, and if it is free, moves the whole queue to the collection. It never waits: a
 * thread that finds the lock taken (by another thread, or by itself, if a sampler interrupted it or is
 * called by the allocator) leaves its sample to the next one that finds it free.
 *
 * A sample for which there is no memory waits in `waiting` for the next one that drains the queue, so what was added
 * is not lost. While samples wait, new ones are refused.
 *
 * begin moves the collection to the outgoing one: if that is empty, they are swapped. A window that is
 * abandoned leaves its samples in the outgoing collection, and the next begin adds its own to them.
 *
 *     adding   the collection `gathering`, and `waiting`
 *     work     everything else. It is held during begin, commit and abandon, and during write except
 *              while the sink is called. It is taken before adding
 *
 * The pool is the list of all samples that were ever made: each is marked while it is in use. A fork
 * takes both locks, so the child finds everything complete. */
#ifndef PD_BUILDER_BUILDER_H
#define PD_BUILDER_BUILDER_H

#include "base/lock.h"
#include "encode/door.h"
#include "model/totals.h"
#include "places/packed.h"

#include <stdatomic.h>

/* A sample of a builder, copied and hashed.
 *
 * The thread that adds it does the work: when it is on the queue, its key and the keys of its frames
 * are known, and strings are read only for new keys. Frames and labels stand one after the other in
 * one buffer:
 *
 *     pd_sample_frame, packed frame | pd_sample_frame, packed frame | ... | packed labels
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
    pd_buffer parts;
    int64_t values[]; /* one to each type */
} pd_sample;

typedef struct pd_collected {
    pd_mem mem;
    size_t types;
    pd_totals sum;
    pd_transfer transfer; /* from another one */
    uint64_t in, lost;    /* samples that were added; those of them that were left out */
} pd_collected;           /* zero it, then set mem and types */

struct pprofdelta_builder {
    pd_mem mem; /* of the builder itself and its options; it does not change later */
    /* What the caller chose. */
    pd_stack_numbers numbers;
    /* Samples that are being put together. */
    _Atomic(pd_sample *) all;
    _Atomic(pd_sample *) queue;
    atomic_uint_fast64_t generation; /* grows in the child of a fork */
    /* Samples that were added. */
    pd_lock adding;
    pd_collected gathering;
    pd_sample *waiting; /* those that `gathering` has no room for */
    atomic_int trouble; /* the status of the last try to gather them; OK: none waits */
    /* Windows. */
    pd_lock work;
    pd_collected outgoing;
    pd_steps steps;
    pd_door door;
    pd_mem export_mem; /* of the output */
    pd_transfer transfer;
};

/* ---- collected.c ----------------------------------------------------------------------------- */

/* Adds a sample, or changes nothing that is written. If its sum with an equal one does not fit in 64 bits, or if it alone takes more than the limit, it is
 * left out and counted as lost. */
pprofdelta_status pd_collected_add(pd_collected *collected, const pd_sample *sample,
                                   pprofdelta_error *err);

/* Moves all samples of `from`. If it fails, the rest stays in `from` and can be moved later. */
pprofdelta_status pd_collected_move(pd_collected *collected, pd_collected *from,
                                    pprofdelta_error *err);

/* Removes everything and keeps the capacity. */
void pd_collected_clear(pd_collected *collected);

#endif

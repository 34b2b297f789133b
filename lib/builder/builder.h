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
#include "builder/collected.h"
#include "encode/door.h"

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
    pd_life life;
    pd_door door;
    pd_mem export_mem; /* of the output */
    pd_transfer transfer;
};

/* Moves the samples that wait, and those of the queue, to the collection. The caller holds `adding`. E_MEMORY, or
 * E_LIMIT: the rest waits. */
pprofdelta_status pd_builder_drain(pprofdelta_builder *builder, pprofdelta_error *err);

#endif

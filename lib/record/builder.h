/* The sample builder: many threads in, one export out.
 *
 *               start            flush                    export
 *     pool  ->  sample  ->  shard 0  collected  =swap=>  spare  -> outgoing -> sink
 *                           shard 1  collected  =swap=>  spare  /
 *                           ...                                /
 *                           queue  ---------------------------
 *
 * A flush adds the sample to the first shard that nobody is at, beginning with one that goes with
 * the thread. It never waits, not even for itself: a sampler that interrupts another, or is called
 * by the allocator in the middle of a flush, finds that shard taken and goes to the next. Should
 * all of them be taken, the sample goes onto a list, with one atomic operation, and the next who
 * comes to a shard takes the list over.
 *
 * An export takes each shard's collection away, leaving an empty one, and moves it into the
 * outgoing one while samples come into the shards. What was not delivered stays in the outgoing
 * one, and the next export moves its own to it.
 *
 *     a shard's gate   its collection
 *     a shelf's gate   what lies on it, in the pool
 *     work             spare, outgoing, the numbers of the next export, and what writes it: from the
 *                      beginning of an export to its sink, and again behind it
 *     busy             an export, from beginning to end, its sink included; nobody waits for it
 *
 * A fork happens with work and all shards and shelves taken, so that the child finds everything
 * whole. */
#ifndef PD_RECORD_BUILDER_H
#define PD_RECORD_BUILDER_H

#include "codec/compress.h"
#include "delta/types.h"
#include "record/collected.h"
#include "record/gate.h"

enum { PD_SHARDS = 16, PD_SHELVES = 16 };

typedef struct pd_shard {
    pd_gate gate;
    pd_collected collected;
} pd_shard;

typedef struct pd_shelf {
    pd_gate gate;
    pprofdelta_sample *samples;
} pd_shelf;

struct pprofdelta_builder {
    pd_mem mem; /* of the builder itself and what it was made with: not used after that */
    pprofdelta_allocator allocator;
    uint64_t max_memory;
    /* What the caller chose. */
    unsigned flags;
    size_t types;
    pd_buffer text; /* type, unit of each type; period type, period unit, default type: with NULs */
    bool has_period_type;
    int64_t period;
    pd_stack_numbers numbers;
    /* Samples on their way. */
    pd_shelf pool[PD_SHELVES];
    _Atomic(pprofdelta_sample *) all;
    _Atomic(pprofdelta_sample *) queue;
    atomic_uint_fast64_t generation; /* grows in the child of a fork */
    /* What was flushed. */
    pd_shard shards[PD_SHARDS];
    /* Exports. */
    pd_gate busy, work;
    pd_collected spare, outgoing;
    int64_t pid, from_nanos;
    uint64_t sequence; /* of the last export that arrived */
    uint64_t attempts; /* at the next one, that were refused */
    pd_mem export_mem;
    pd_compact compact;
    pd_compressor compressor;
    /* builder_fork.c's list of builders. */
    pprofdelta_builder *next_at_fork;
};

/* Puts a sample that is not used any more on a shelf. */
void pd_builder_recycle(pprofdelta_builder *builder, pprofdelta_sample *sample);

/* Takes what is in the queue over into a collection, which is the caller's. */
void pd_builder_drain(pprofdelta_builder *builder, pd_collected *collected);

/* builder_fork.c: takes it off the list, if it is on it. */
void pd_builder_forget_fork(pprofdelta_builder *builder);

int64_t pd_builder_now(void);

#endif

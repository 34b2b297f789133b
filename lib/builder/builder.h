/* The sample builder: many threads add samples, and one window at a time takes them out.
 *
 *               start            add                      begin                  write
 *     pool  ->  sample  ->  shard 0  collected  =swap=>  spare  ->  outgoing  ->  sink
 *                           shard 1  collected  =swap=>  spare  /
 *                           ...                                /
 *                           queue  ---------------------------
 *
 * pprofdelta_sample_add puts the sample into the first shard whose gate is open; where it begins to
 * look depends on the thread. It never waits. A sampler that interrupts another one, or is called
 * by the allocator while a sample is being added, finds that shard closed and takes the next. If
 * all are closed, the sample is put on the queue with one atomic operation. The thread that takes a
 * shard next empties the queue into it.
 *
 * begin swaps the collection of each shard with an empty one and moves it to the outgoing
 * collection. Meanwhile samples are added to the shards. A window that is abandoned leaves its
 * samples in the outgoing collection, and the next begin adds its own to them.
 *
 *     gate of a shard   its collection
 *     gate of a shelf   the samples on it (the pool)
 *     work              everything else. It is held during begin, commit and abandon, and during
 *                       write except while the sink is called
 *
 * A fork takes work and the gates of all shards and shelves, so the child finds everything
 * complete. */
#ifndef PD_BUILDER_BUILDER_H
#define PD_BUILDER_BUILDER_H

#include "base/life.h"
#include "codec/compress.h"
#include "ledger/types.h"
#include "builder/collected.h"
#include "builder/gate.h"

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
    pd_mem mem; /* of the builder itself and its options; not used later */
    pprofdelta_allocator allocator;
    uint64_t max_memory;
    /* What the caller chose. */
    unsigned flags;
    size_t types;
    pd_buffer text; /* type, unit of each type; period type, period unit, default type: with NULs */
    bool has_period_type;
    int64_t period;
    pd_stack_numbers numbers;
    /* Samples that are being put together. */
    pd_shelf pool[PD_SHELVES];
    _Atomic(pprofdelta_sample *) all;
    _Atomic(pprofdelta_sample *) queue;
    atomic_uint_fast64_t generation; /* grows in the child of a fork */
    /* Samples that were added. */
    pd_shard shards[PD_SHARDS];
    /* Windows. */
    pd_gate work;
    pd_collected spare, outgoing;
    pd_life life;
    int64_t pid;
    pd_mem export_mem;
    pd_compact compact;
    pd_buffer resource; /* OTLP: encoded */
    uint64_t id;        /* of the series of windows: random */
    pd_compressor compressor;
};

/* Puts a sample that is not used any more back into the pool. */
void pd_builder_recycle(pprofdelta_builder *builder, pprofdelta_sample *sample);

/* Moves the samples of the queue to a collection. The caller holds the gate of the collection. */
void pd_builder_drain(pprofdelta_builder *builder, pd_collected *collected);

#endif

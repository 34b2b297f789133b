/* The sample builder: many threads in, one export out.
 *
 *     start          flush                  drain                    export
 *     pool  ->  sample  ->  queue (lock-free)  ->  collected[active]  =>  collected[other] -> sink
 *       \________________________________________/                  swap
 *
 * A flush pushes the sample onto a list with one atomic operation. If nobody is at it, it then takes
 * what is on the list over into the active collection; if somebody is, that one or the next will. So
 * nobody who flushes ever waits, not even for itself: a sampler that interrupts another, or that is
 * called by the allocator in the middle of a flush, finds the gate taken and goes its way.
 *
 * An export swaps the two collections and writes the other one while samples come into the first. If
 * it fails, the other one is `held`: the next export moves the active one into it and writes both.
 *
 *     gate    the two collections, which is active, the numbers of the next export
 *     work    the other collection and what writes it, from the swap to the sink and again at the end
 *     busy    an export, from beginning to end, its sink included; nobody waits for it
 *     pool    each of its shelves by itself
 *
 * A fork happens with gate, work and all shelves taken, so that the child finds everything whole. */
#ifndef PD_RECORD_BUILDER_H
#define PD_RECORD_BUILDER_H

#include "codec/deflate.h"
#include "delta/types.h"
#include "record/collected.h"
#include "record/gate.h"

enum { PD_SHELVES = 16 };

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
    pd_gate gate;
    pd_collected collected[2];
    unsigned active;
    bool is_held; /* the other one was not delivered */
    int64_t pid, from_nanos;
    uint64_t sequence; /* of the last export that arrived */
    /* Exports. */
    pd_gate busy, work;
    pd_mem export_mem;
    pd_compact compact;
    pd_deflater deflater;
    /* builder_fork.c's list of builders. */
    pprofdelta_builder *next_at_fork;
};

/* Puts a sample that is not used any more on a shelf. */
void pd_builder_recycle(pprofdelta_builder *builder, pprofdelta_sample *sample);

/* Takes what is in the queue over. The gate is taken. */
void pd_builder_drain(pprofdelta_builder *builder);

/* builder_fork.c: takes it off the list, if it is on it. */
void pd_builder_forget_fork(pprofdelta_builder *builder);

int64_t pd_builder_now(void);

#endif

/* The slow path of malloc and free: an allocation that may be a sample, a pointer that may be
 * tracked, a call that failed. These functions keep errno. */
#ifndef PD_AGENT_SLOW_PATH_H
#define PD_AGENT_SLOW_PATH_H

#include "agent/stacks/callers.h"
#include "agent/base/agent.h"

/* Decides whether an allocation is a sample. Call it before the allocation if
 * pprofdelta_sampler_tick returned 1. If it returns true, call pd_slow_keep after the allocation,
 * with NULL if that failed. is_piece: a realloc added it to a block. */
bool pd_slow_draw(size_t size, pprofdelta_weight *weight);
void pd_slow_keep(const void *ptr, size_t size, const pprofdelta_weight *weight, bool is_piece,
                  const pd_caller *caller);

/* Removes a pointer from the tracker. Call before the allocator frees a pointer that may be
 * tracked. */
void pd_slow_free(const void *ptr);

/* A realloc. The block keeps its birth; what is added is a piece that may be a sample. */
typedef struct pd_resizing {
    size_t before; /* bytes of the block; 0: not known, or there is none */
    bool is_exact; /* they are those that the program asked for; else those that it can use */
    bool was_tracked;
    pprofdelta_heap_realloc move;
} pd_resizing;

/* Call it before the allocator resizes a block. old may be NULL. before: 0 if it is not known. */
void pd_slow_resize(pd_resizing *resizing, const void *old, size_t before);

/* ... and then this. ptr: where the block is now, NULL if it was freed; after: its bytes, as before. If
 * nothing has changed, give before. */
void pd_slow_resized(pd_resizing *resizing, const void *ptr, size_t after, const pd_caller *caller);

/* What realloc added to a block that was not tracked may be a sample, since the tick returned 1. */
void pd_slow_grown(const void *ptr, size_t added, bool is_piece, const pd_caller *caller);

/* Call when an allocation of this size failed. If memory has run out (is_full), reports the largest sites. Returns
 * NULL. */
void *pd_slow_failed(size_t size, bool is_full);

#endif

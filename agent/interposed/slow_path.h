/* The slow path of malloc and free: an allocation that may be a sample, a pointer that may be
 * tracked, a call that failed. These functions keep errno. */
#ifndef PD_AGENT_SLOW_PATH_H
#define PD_AGENT_SLOW_PATH_H

#include "agent/stacks/callers.h"
#include "agent/base/self.h"

/* Decides whether an allocation is a sample. Call it before the allocation if
 * pprofdelta_sampler_tick returned 1. If it returns true, call pd_slow_keep after the allocation,
 * with NULL if that failed. */
bool pd_slow_draw(size_t size, pprofdelta_weight *weight);
void pd_slow_keep(const void *ptr, size_t size, const pprofdelta_weight *weight,
                  const pd_caller *caller);

/* Removes a pointer from the tracker. Call before the allocator frees a pointer that may be
 * tracked. */
void pd_slow_free(const void *ptr);

/* The same for realloc: call pd_slow_move before it and, if that returned true, pd_slow_moved
 * after it. is_gone: the old block was freed or moved. */
bool pd_slow_move(const void *ptr, pprofdelta_heap_realloc *move);
void pd_slow_moved(pprofdelta_heap_realloc *move, bool is_gone);

/* Call when an allocation of this size failed because memory has run out. Reports the largest sites. */
void pd_slow_out_of_memory(size_t size);

/* Call when an allocation without pd_slow_draw failed. is_full: memory has run out. Returns NULL. */
void *pd_slow_failed(size_t size, bool is_full);

#endif

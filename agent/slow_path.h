/* The seldom way through malloc and free: an allocation that may be a sample, a pointer that may be
 * tracked, a call that failed. Everything here keeps errno but where the allocator behind us set
 * it. */
#ifndef PD_AGENT_SLOW_PATH_H
#define PD_AGENT_SLOW_PATH_H

#include "agent/self.h"
#include "agent/callers.h"

#include <stdbool.h>
#include <stddef.h>

/* An allocation for which the tick said 1, before it is made. False: it is none to look at. Where
 * it returns true, pd_slow_keep is to be called, with NULL where the allocation failed. */
bool pd_slow_draw(size_t size, pprofdelta_weight *weight);
void pd_slow_keep(const void *ptr, const pprofdelta_weight *weight, const pd_caller *caller);

/* Before the allocator has it back: a pointer that the filter let through. */
void pd_slow_free(const void *ptr);

/* The same for realloc, in its steps; begin's answer says whether there is an end to call. */
bool pd_slow_move(const void *ptr, pprofdelta_heap_realloc *move);
void pd_slow_moved(pprofdelta_heap_realloc *move, bool is_gone);

/* An allocation of this size failed that was ticked and not drawn: no size may turn the sampler's
 * distance round. */
void pd_slow_failed(size_t size);

/* An allocation of this size failed for want of memory: has it told. */
void pd_slow_out_of_memory(size_t size);

#endif

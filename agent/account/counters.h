/* What jemalloc and tcmalloc say of their own memory, for the comment of an account.
 *
 *     jemalloc   stats.allocated, active, metadata, resident, mapped
 *     tcmalloc   generic.current_allocated_bytes, heap_size; pageheap_free_bytes, unmapped_bytes
 *
 * These numbers are exact where the account has an estimate. They are only asked for in the agent's
 * thread, since the allocator takes its locks, and only in a process that is no child of a fork, in
 * which another thread may have left a lock taken. glibc's mallinfo2 is not asked: it walks all free
 * blocks under the locks of malloc. */
#ifndef PD_AGENT_ALLOCATOR_COUNTERS_H
#define PD_AGENT_ALLOCATOR_COUNTERS_H

#include "agent/base/text.h"

/* Finds the functions. Call once, in the agent's constructor. */
void pd_counters_begin(void);

/* Adds " allocator=NAME" and the counters, or nothing if they are not known. */
void pd_counters_add(pd_fixed_text *text);

#endif

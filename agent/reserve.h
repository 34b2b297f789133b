/* Pages for the agent's own work, some of which are kept for when there are no others.
 *
 * A program may use up its memory (RLIMIT_AS, RLIMIT_DATA, overcommit), and its last profile says
 * where that memory went. So what a profile is put together in is reserved at the start:
 *
 *     PD_RESERVE_LEN of address space, of which nothing is resident until it is used
 *
 * A profile of 10,000 distinct stacks of 30 frames fits, without names of functions. Blocks are
 * whole pages, first fit, and are given back to the kernel when they are released. Only the thread
 * that is putting a profile together may take them: what tracks allocations would use them up. */
#ifndef PD_AGENT_RESERVE_H
#define PD_AGENT_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

#define PD_RESERVE_LEN ((size_t)4 << 20)

/* Reserves. Call once, before the others. */
void pd_reserve_begin(void);

/* From now on, may the calling thread take reserved pages? */
void pd_reserve_allow(bool is_allowed);

/* At least size bytes of zeros, from the kernel or else from the reserve; or NULL. */
void *pd_reserve_map(size_t size);

/* To be given the same size. NULL is fine. */
void pd_reserve_unmap(void *ptr, size_t size);

/* In the child of a fork. */
void pd_reserve_forget(void);

#endif

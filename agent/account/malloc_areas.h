/* Which anonymous memory belongs to glibc's malloc.
 *
 * glibc maps memory for its malloc by calls that nobody else sees. What it mapped is recognised by
 * what it writes there:
 *
 *     an arena       begins at a multiple of 64 MiB with a record: arena, previous, size, mapped
 *     a large block  begins at a page with its size and the flag that it was mapped alone
 *
 * The memory is read through /proc/self/mem, since another thread may unmap it. This needs none of
 * malloc's locks and does not walk its lists, as mallinfo2 does, which stops the program's
 * allocations meanwhile and cannot be called in a signal handler. */
#ifndef PD_AGENT_MALLOC_AREAS_H
#define PD_AGENT_MALLOC_AREAS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether areas can be recognised in this process: it runs with glibc, in 64 bits. */
bool pd_malloc_areas_are_known(void);

/* Call before and after the calls below. begin returns false if memory cannot be read. */
bool pd_malloc_areas_begin(void);
void pd_malloc_areas_end(void);

/* Returns where the area of malloc ends that begins at `at`, a page within anonymous memory that
 * ends at `end`. Returns 0 if none begins there. Once too many pages were tried in vain, returns 0
 * for all. */
uintptr_t pd_malloc_area_at(uintptr_t at, uintptr_t end);

#endif

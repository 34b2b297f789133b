/* Pages for the tracker's tables: one area of address space, whose contents can outlive the process.
 *
 *     begin     private memory
 *     share     the same addresses, now a shared mapping of a file, with the contents they had
 *     fork      the child has private memory again, with the contents of the fork
 *
 * The area begins with a pd_remains_head. Pages that it has no room for, or that the file system has no
 * space for, are private ones of the reserve; what is in those does not outlive the process. Memory
 * of the file is allocated before it is used, since a write to a page that has none ends the
 * process (SIGBUS).
 *
 * The tracker's lock guards the area. */
#ifndef PD_AGENT_REGION_H
#define PD_AGENT_REGION_H

#include "agent/base/remains.h"

#include <stdbool.h>
#include <stddef.h>

/* Reserves the address space. Call once, after pd_reserve_begin. Without it, all pages are those of the
 * reserve. */
void pd_region_begin(void);

/* The functions of pprofdelta_heap_pages. */
void *pd_region_map(void *cookie, size_t size);
void pd_region_unmap(void *cookie, void *ptr, size_t size);

/* The beginning of the area; NULL: there is none. */
pd_remains_head *pd_region_head(void);

/* Returns whether some pages are private ones, because there was no room or no space. */
bool pd_region_has_overflowed(void);

/* Makes the area a mapping of an empty file. Nobody may use it meanwhile. Returns 0 or an errno value;
 * after an error the area is as it was. */
int pd_region_share(int fd);

/* Around fork, with the tracker's locks. child: returns false if there was no memory for its copy; then
 * the child must not use the tracker. */
void pd_region_fork_prepare(void);
void pd_region_fork_parent(void);
bool pd_region_fork_child(void);

#endif

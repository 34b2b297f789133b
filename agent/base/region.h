/* Pages for the tracker's tables, in a few areas of address space whose contents can outlive the process.
 *
 *     begin     private memory
 *     share     the same addresses, now a shared mapping of a file, with the contents they had
 *     fork      the child has private memory again, with the contents of the fork; any other child has none
 *
 * The first area begins with a pd_remains_head. An area is added when there is no room in those before it; it is
 * private memory until it is shared, too. Pages that no area has room for, or the file system no
 * space, are private ones of the reserve. What is in those does not outlive the process. Memory of
 * the file is allocated before it is used, since a write to a page that has none ends the process
 * (SIGBUS).
 *
 * The tracker's lock guards what is in the areas. Pages are taken and given back by any thread. */
#ifndef PD_AGENT_REGION_H
#define PD_AGENT_REGION_H

#include "agent/base/remains.h"

#include <stddef.h>

/* Reserves the first area. Call once, after pd_reserve_begin. Without it, all pages are those of the
 * reserve. */
void pd_region_begin(void);

/* The functions of pprofdelta_heap_pages. */
void *pd_region_map(void *cookie, size_t size);
void pd_region_unmap(void *cookie, void *ptr, size_t size);

/* Makes room for the tracker to grow without a system call (life/life.h). */
void pd_region_spare(void);

/* NULL: there is no area. */
pd_remains_head *pd_region_head(void);

/* Returns whether there is more to share since the last call. */
bool pd_region_has_grown(void);

/* Returns whether an area is not shared yet, or pages of the reserve are in use: then the file has less than
 * the tracker. */
bool pd_region_has_private(void);

/* Makes the areas that are private, or all, a mapping of the file, which is empty or has the others. Nobody
 * may use them meanwhile. Returns 0 or an errno value; then those that failed are as they were.
 * ENOSPC or EFBIG also if pages of the reserve are in use. */
int pd_region_share(int fd, bool is_all);

/* Makes the areas private again, with their contents, as far as there is memory. Nobody may use them meanwhile. */
void pd_region_leave(void);

/* Around fork, in the thread that forks, with the tracker's locks; or without, by a signal handler that
 * has interrupted the tracker, which goes on in the copy. level: the number of forks of this thread that are under
 * way, which handlers interrupted. is_alone: with the locks; without them another thread may be moving the areas.
 * child: returns false if there was no memory for its copy; then the child must not use the tracker. */
enum { PD_REGION_FORKS = 2 };
void pd_region_fork_prepare(unsigned level, bool is_alone);
void pd_region_fork_parent(unsigned level);
bool pd_region_fork_child(unsigned level);

#endif

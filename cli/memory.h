/* Memory for a run: the C library's, of which the large blocks are made ready at once.
 *
 * A run takes its memory once and touches it once, so that what it costs is the kernel's work on
 * every fresh page: a fifth of a run. Asked for many pages in one call, the kernel needs two thirds
 * of what it needs for as many that are met one by one. (Huge pages need still less where they lie
 * ready; but where room has to be made for one first, as on a host that has been up for a while, a
 * large run took half as long again.)
 *
 * Whoever asked for less memory than the default gets no page before its time, and what is freed
 * goes back to the system at once. */
#ifndef CLI_MEMORY_H
#define CLI_MEMORY_H

#include "pprofdelta.h"

/* For a context with this limit: an allocator, or NULL for the library's own. It may be used from
 * several threads at once. */
const pprofdelta_allocator *cli_memory_within(uint64_t limit);

/* Asks for the pages of a new block that is about to be filled; where it is small, for none. */
void cli_memory_make_ready(void *block, size_t len);

#endif

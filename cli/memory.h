/* Memory for a run: the C library's, but for large blocks, which are mapped on huge pages.
 *
 * A run takes its memory once and touches it once, so that what it costs is the kernel's work on
 * every fresh page: a fifth of a large run. Huge pages halve that. Where the kernel has none to
 * give, the block has ordinary ones.
 *
 * Whoever asked for less memory than the default gets no huge pages, and what is freed goes back to
 * the system at once. */
#ifndef CLI_MEMORY_H
#define CLI_MEMORY_H

#include "pprofdelta.h"

/* For a context with this limit: an allocator, or NULL for the library's own. It may be used from
 * several threads at once. */
const pprofdelta_allocator *cli_memory_within(uint64_t limit);

#endif

/* Memory for a run: the C library's, but for large blocks, which are mapped on huge pages.
 *
 * A run takes its memory once and touches it once, so that what it costs is the kernel's work on
 * every fresh page: a fifth of a large run. Huge pages halve that. Where the kernel has none to
 * give, the block has ordinary ones. */
#ifndef CLI_MEMORY_H
#define CLI_MEMORY_H

#include "pprofdelta.h"

/* May be used from several threads at once. */
extern const pprofdelta_allocator cli_memory;

#endif

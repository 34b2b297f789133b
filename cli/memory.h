/* Memory for a run, and the context that takes it.
 *
 * A run takes its memory once and writes to it once, so the kernel's work on new pages is a fifth
 * of a run. Many pages that are asked for in one call cost the kernel two thirds of what they cost
 * one by one. (Huge pages cost less if the system has free ones. If it has to make room for them
 * first, as on a host that has been up for a while, a large run took half as long again.)
 *
 * If the limit is lower than the default, no page is asked for before it is used, and freed memory
 * goes back to the system at once. */
#ifndef CLI_MEMORY_H
#define CLI_MEMORY_H

#include "pprofdelta.h"

/* Makes a context. `first` is the file that it reads first, as on the command line: the error is
 * about that file if the limit is too low. Prints what is wrong; returns an exit code. */
int cli_context_new(const pprofdelta_options *options, const char *first, pprofdelta **out);

/* The allocator for a context with this limit, or NULL for the library's own. It may be used from
 * several threads at once. */
const pprofdelta_allocator *cli_memory_within(uint64_t limit);

/* Asks the kernel for the pages of a new block that is about to be filled. Does nothing if the
 * block is small. */
void cli_memory_make_ready(void *block, size_t len);

#endif

/* pprofdelta_heap_dump, with comments that name frames. */
#ifndef PD_HEAP_TOP_SITES_H
#define PD_HEAP_TOP_SITES_H

#include "pprofdelta_heap.h"

#include <stdbool.h>

/* Returns false if the number has no name here. Otherwise sets name, filename and line, as long as the tracker lives. Called by
 * any thread, without allocation or lock. */
typedef bool pd_frame_namer(uint64_t number, pprofdelta_frame *out);

/* name may be NULL. */
int pd_heap_dump(const pprofdelta_heap *heap, int fd, size_t n, pd_frame_namer *name);

#endif

/* The largest sites, when memory has run out or has passed the threshold: a text file that pprof
 * reads (heap.PID.SEQUENCE.top.txt), or, where profiles go to a command, text on stderr. Nothing
 * here allocates. Once for each window at most. */
#ifndef PD_AGENT_LARGEST_SITES_H
#define PD_AGENT_LARGEST_SITES_H

#include "pprofdelta_heap.h"

#include <stddef.h>

/* An allocation of this size failed. */
void pd_largest_sites_out_of_memory(pprofdelta_heap *heap, size_t size);

void pd_largest_sites_threshold(void);

/* A window was written: the next trouble may be told. */
void pd_largest_sites_allow(void);

#endif

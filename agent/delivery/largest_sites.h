/* Reports the sites with most memory in use when an allocation failed or the threshold was
 * passed. The report is a text file that pprof reads (heap.PID.SEQUENCE.top.txt). If profiles go
 * to a command, it is written to stderr instead. Nothing here allocates. There is at most one
 * report of a failed allocation in each window. */
#ifndef PD_AGENT_LARGEST_SITES_H
#define PD_AGENT_LARGEST_SITES_H

#include <stddef.h>

/* Reports after an allocation of this size failed. */
void pd_largest_sites_out_of_memory(size_t size);

/* Reports after the threshold was passed. */
void pd_largest_sites_threshold(void);

/* Allows another report of a failed allocation. Call when a window was delivered. */
void pd_largest_sites_allow(void);

#endif

/* How many pages of an address range are resident, from /proc/self/pagemap. */
#ifndef PD_AGENT_RESIDENCY_H
#define PD_AGENT_RESIDENCY_H

#include <stdint.h>

/* Call before and after pd_residency_count. Only the thread that delivers a profile may call
 * these. */
void pd_residency_begin(void);
void pd_residency_end(void);

/* Counts the pages. If the file cannot be read, every page counts as resident. */
uint64_t pd_residency_count(uintptr_t begin, uintptr_t end);

#endif

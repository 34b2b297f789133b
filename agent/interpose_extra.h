/* What jemalloc and tcmalloc offer beyond malloc and its kin. */
#ifndef PD_AGENT_INTERPOSE_EXTRA_H
#define PD_AGENT_INTERPOSE_EXTRA_H

/* Puts the agent before the functions that this program's allocator has. To be called once, before
 * the first sample. */
void pd_extra_begin(void);

#endif

/* The functions of jemalloc and tcmalloc that are not part of the malloc family. */
#ifndef PD_AGENT_INTERPOSE_EXTRA_H
#define PD_AGENT_INTERPOSE_EXTRA_H

/* Replaces those functions that this program's allocator has. Call once, before the first
 * sample. */
void pd_extra_begin(void);

#endif

/* Follows the mappings of the program: see interpose_maps.c. */
#ifndef PD_AGENT_INTERPOSE_MAPS_H
#define PD_AGENT_INTERPOSE_MAPS_H

#include <stdbool.h>

/* Looks up the C library's functions. Call before the real allocator is called. */
void pd_interpose_maps_find(void);

/* Sets whether calls are followed from now on. They are followed from the start, since an allocator
 * maps memory before any constructor has run. */
void pd_interpose_maps_follow(bool is_followed);

#endif

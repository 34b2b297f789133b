/* The names of functions, from the symbol tables of the files that are mapped.
 *
 * A profile with build ids can be named in full wherever the files are, with lines and inlined
 * calls. Names from the symbol tables are for the other times: when the files are gone, or whoever
 * reads the profile has no tool for them. They are mangled, as they stand in the table; pprof
 * demangles them, and looks for better ones since the mappings do not claim that they have all.
 *
 * Each address is looked up once: its file's table is read, sorted and kept until the profile is
 * done; what was found is remembered. Only one thread at a time may be here, the one that
 * writes. */
#ifndef PD_AGENT_FUNCTION_NAMES_H
#define PD_AGENT_FUNCTION_NAMES_H

#include "pprofdelta_heap.h"

#include <stdbool.h>

/* Reserves address space for names, none of which is resident before a profile has names. Without
 * it, or where memory is short, profiles have fewer names or none. */
void pd_function_names_begin(void);

/* From now on, are names left out? */
void pd_function_names_omit(bool is_omitted);

/* A pprofdelta_heap_symbolizer. */
size_t pd_function_names_find(void *cookie, uint64_t address, pprofdelta_heap_frame *frames,
                              size_t cap);

/* The profile is done: lets go of the files. */
void pd_function_names_close(void);

/* Code was unloaded: what is remembered may not hold. From any thread. */
void pd_function_names_forget(void);

/* In the child of a fork: what another thread was doing will not be finished. */
void pd_function_names_abandon(void);

#endif

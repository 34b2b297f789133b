/* The names of functions, from the symbol tables of the files that are mapped.
 *
 * A reader with the files of the program needs no names in the profile: by build ids and
 * addresses it finds names, lines and inlined calls. The names in the profile are for readers
 * without the files or without a tool for them. They are mangled, as in the symbol table. pprof
 * demangles them, and still looks for lines, since the mappings of the profile do not claim to
 * have all symbols.
 *
 * Each address is looked up once. The table of its file is read, sorted and kept until the
 * profile is done. The name is cached. Only the thread that delivers a profile may call these
 * functions, except where noted. */
#ifndef PD_AGENT_FUNCTION_NAMES_H
#define PD_AGENT_FUNCTION_NAMES_H

#include "pprofdelta_heap.h"

#include <stdbool.h>

/* Reserves address space for the cache. None of it is resident before a profile has names. If
 * that fails, profiles have no names. */
void pd_function_names_begin(void);

/* Sets whether names are left out from now on. */
void pd_function_names_omit(bool is_omitted);

/* A pprofdelta_symbolizer. */
void pd_function_names_find(void *cookie, uint64_t address, pprofdelta_symbol *out);

/* Releases the tables of the files. Call when a profile is done. */
void pd_function_names_close(void);

/* Empties the cache before the next profile. Call after code was unloaded, from any thread. */
void pd_function_names_forget(void);

/* Call in the child of a fork: drops the cache, which another thread may have been changing. */
void pd_function_names_abandon(void);

#endif

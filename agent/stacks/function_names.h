/* The names of functions, from the symbol tables of the files that are mapped.
 *
 * `pprofdelta symbolize` and `show` find better names, lines and inlined calls by build ids and
 * addresses, where the files are. The names in the profile are for all other readers. They are
 * mangled, as in the symbol table; pprof demangles them.
 *
 * A mapping with names claims to have functions, and nothing more. `go tool pprof` would otherwise
 * search for lines itself. It knows the functions of Go programs only, so it replaces each name of a
 * C or C++ program by an empty one, which it shows as the file in brackets.
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

/* Call before a profile, and before its mappings are read. One without this has no names. */
void pd_function_names_open(void);

/* A pprofdelta_symbolizer. Finds nothing more in a profile during which code was unloaded: other code may be
 * where that was. */
void pd_function_names_find(void *cookie, uint64_t address, pprofdelta_symbol *out);

/* Releases the tables of the files. Call when a profile is done. */
void pd_function_names_close(void);

/* Ends the names of this profile, and empties the cache before the next one. Call after code was unloaded, from any
 * thread, and in the child of a fork: another thread of the parent may have been changing the cache. */
void pd_function_names_forget(void);

#endif

/* Replaces functions that a program may have or lack.
 *
 * The agent exports malloc and its family, so the loader finds the agent's functions first. It
 * must not export functions that only some allocators have (mallocx, tc_free). Programs look for
 * such names, by a weak reference or by dlsym, to find out which allocator they run with, and
 * then call them. So the agent does not export these. If a library has them, the agent replaces
 * them when it is loaded:
 *
 *     the library's symbol table in memory   later lookups find the agent's functions: dlsym, calls
 *                                            that are bound at first use, libraries that are loaded
 *                                            later
 *     the tables of all other objects        slots that already hold the function's address under
 *                                            its name
 *
 * The library itself continues to call its own functions. Only a library that was loaded with the
 * program counts, since everything must be in place before the first sample. Functions that are
 * defined in the program itself are not replaced, since the program calls them without the
 * loader. */
#ifndef PD_AGENT_REBIND_H
#define PD_AGENT_REBIND_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pd_rebound {
    const char *name;
    void *ours;
    void *real; /* the address of a function pointer, which is set to the library's function */
} pd_rebound;

typedef enum pd_rebind_outcome {
    PD_REBIND_NONE = 0, /* no library has the first function, or the program itself has it */
    PD_REBIND_DONE,     /* all functions that the library has were replaced */
    PD_REBIND_REFUSED   /* the system refused a change; some calls may bypass the agent */
} pd_rebind_outcome;

/* Call once for each table of functions, in the agent's constructor. */
pd_rebind_outcome pd_rebind(const pd_rebound *functions, size_t len);

/* ---- slots ----------------------------------------------------------------------------------
 * After a late start, the functions that the agent exports stand in no search of the loader. They replace those that
 * the loader has put into the slots of all objects, the agent's among them: what preloading the agent would have done.
 * The search and the symbol tables stay as they are, so that all of it can be undone.
 *
 *     slots with the function's name     the procedure linkage table, the global offset table, words of data
 *     slots that the loader has not filled yet
 *     objects that were loaded later     when this is called again
 *
 * A slot that somebody else has set is left alone. */

/* Replaces the functions in all slots, or puts the program's own back where the agent's are. Returns false if the
 * system refused a change. */
bool pd_slots_replace(bool is_undone);

/* Does the program itself define malloc? Its own calls of it have no slot. */
bool pd_program_has_malloc(void);

/* ---- interpose extra ------------------------------------------------------------------------
 * The functions of jemalloc and tcmalloc that are not part of the malloc family. */

/* Replaces those functions that this program's allocator has. Call once, before the first
 * sample. */
void pd_extra_begin(void);

/* ---- interpose python -----------------------------------------------------------------------
 * The allocator of CPython. */

/* Looks for an interpreter, and stands before the functions by which it allocates objects: at once if it has not started
 * yet, else when it calls, with its lock. */
void pd_python_begin(void);

/* The end of a late start: asks the interpreter to call, and takes them away again. */
void pd_python_leave(void);

/* Has the interpreter written its allocators anew (PYTHONMALLOC, -X dev, a second start)? Then the agent asks it to
 * call when that is safe, and stands there again. */
void pd_python_tend(void);

#endif

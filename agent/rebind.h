/* Standing before functions that a program may or may not have.
 *
 * The agent exports malloc and its kin, so the loader finds the agent's before any other. It must not
 * export what only some allocators have (mallocx, tc_free): programs ask for such names, by a weak
 * reference or by dlsym, to find out which allocator they run with, and then call what they found. So
 * the agent exports none of these. Where a library has them, the agent puts its own functions in
 * their place when it is loaded:
 *
 *     the library's symbol table in memory   what the loader looks up from now on leads to the agent:
 *                                            dlsym, calls that are bound at first use, libraries that
 *                                            are loaded later
 *     the tables of all other objects        what was bound already leads to the agent, too: the slots
 *                                            that hold the function's address under its name
 *
 * The library itself goes on to call its own. Only a library that was loaded with the program counts,
 * since all must be in place before the first sample. A function of the program itself is left alone:
 * the program calls it without asking the loader. */
#ifndef PD_AGENT_REBIND_H
#define PD_AGENT_REBIND_H

#include <stddef.h>

typedef struct pd_rebound {
    const char *name;
    void *ours;
    void *real; /* a function pointer's place, which gets the library's function if there is one */
} pd_rebound;

typedef enum pd_rebind_outcome {
    PD_REBIND_NONE = 0, /* no library has the first function of the table, or the program has it */
    PD_REBIND_DONE,     /* all functions that the library has are the agent's */
    PD_REBIND_REFUSED   /* the system does not let the tables be changed; some calls may go past */
} pd_rebind_outcome;

/* To be called once a table, in the agent's constructor. */
pd_rebind_outcome pd_rebind(const pd_rebound *functions, size_t len);

#endif

/* Finds the next definition of a function behind the agent's own, usually the C library's. */
#ifndef PD_AGENT_NEXT_H
#define PD_AGENT_NEXT_H

#include <dlfcn.h>
#include <string.h>

/* Sets *function, a pointer to a function, to the next definition. Leaves it if there is none.
 * The address is copied as bytes, since ISO C does not convert a pointer to an object to one to a
 * function. */
static inline void pd_find_next(void *function, const char *name)
{
    void *address = dlsym(RTLD_NEXT, name);
    if (address)
        memcpy(function, &address, sizeof address);
}

#endif

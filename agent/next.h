/* The definition of a function behind the agent's own: the C library's, mostly. */
#ifndef PD_AGENT_NEXT_H
#define PD_AGENT_NEXT_H

#include <dlfcn.h>
#include <string.h>

/* Sets *function, a pointer to a function, unless there is no other definition. It is copied as bytes,
 * since ISO C cannot make the address of a function out of that of an object. */
static inline void pd_find_next(void *function, const char *name)
{
    void *address = dlsym(RTLD_NEXT, name);
    if (address)
        memcpy(function, &address, sizeof address);
}

#endif

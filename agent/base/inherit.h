/* The environment of a program that this process starts.
 *
 * A program inherits LD_PRELOAD even if the agent cannot be loaded into it. The loader of another
 * C library would end such a program, and other loaders would write an error to stderr. So the
 * agent's entry is removed from LD_PRELOAD for such a program; other entries stay. It is also
 * removed for a program that is linked statically. The programs that this one starts are not
 * recorded.
 *
 * All of this may run between vfork and exec. So nothing is allocated, and the copy of the
 * environment is on the caller's stack:
 *
 *     size_t size = pd_inherit_size(program, envp);
 *     if (size)
 *         envp = pd_inherit_copy(envp, __builtin_alloca(size));
 */
#ifndef PD_AGENT_INHERIT_H
#define PD_AGENT_INHERIT_H

#include <stdbool.h>
#include <stddef.h>

/* Finds out the name of the agent's file. Call once, before the others. */
void pd_inherit_begin(void);

/* Does the environment lack the agent, so that it is not loaded? */
bool pd_inherit_is_lost(char *const envp[]);

/* Returns the size of a copy of the environment without the agent, or 0 if the program can be
 * given envp itself. envp may be NULL. */
size_t pd_inherit_size(const char *program, char *const envp[]);

/* Writes the copy to `memory`, which has that size, and returns it. */
char **pd_inherit_copy(char *const envp[], void *memory);

#endif

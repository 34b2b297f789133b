/* The environment of a program that this process starts.
 *
 * LD_PRELOAD goes on from program to program, also to those that cannot take the agent: the loader
 * of another C library would end such a program, another loader would complain on its stderr. For
 * these the agent's entry is left out of LD_PRELOAD; other entries stay. A program that is linked
 * statically gets none either, since whatever it starts is out of the agent's sight.
 *
 * All of this may run between vfork and exec: nothing is allocated, and the copy of the environment
 * lies in memory of the caller's stack:
 *
 *     size_t room = pd_inherit_room(program, envp);
 *     if (room)
 *         envp = pd_inherit_copy(envp, __builtin_alloca(room));
 */
#ifndef PD_AGENT_INHERIT_H
#define PD_AGENT_INHERIT_H

#include <stddef.h>

/* Finds out what the agent's entry looks like. Call it once, before the others. */
void pd_inherit_begin(void);

/* Returns how many bytes an environment without the agent takes, or 0 where the program can be given
 * envp as it is. envp may be NULL. */
size_t pd_inherit_room(const char *program, char *const envp[]);

/* Fills the room with that environment and returns it. */
char **pd_inherit_copy(char *const envp[], void *room);

#endif

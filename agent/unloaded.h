/* Where code was unloaded: the same addresses may mean other code by now.
 *
 * Stacks are known by their addresses. When a plugin is unloaded and another is loaded in its
 * place, two stacks of equal addresses are of different functions. So the places from which
 * something was unloaded are kept, with the number of times, and a stack that goes through one of
 * them is told apart by that number. There are none in most programs. */
#ifndef PD_AGENT_UNLOADED_H
#define PD_AGENT_UNLOADED_H

#include <stddef.h>
#include <stdint.h>

/* To be called before and after dlclose: what was there and is not any more was unloaded. */
void pd_unloaded_look(void);

/* In the child of a fork, whose other threads are gone. */
void pd_unloaded_forget_lock(void);

/* A number that tells this stack from those of other code at its addresses; 0 for most. */
uint64_t pd_unloaded_number(const uint64_t *stack, size_t depth);

#endif

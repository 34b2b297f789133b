/* Address ranges from which code was unloaded.
 *
 * A stack is identified by its addresses. If a plugin is unloaded and another one is loaded at
 * the same addresses, two equal stacks are of different functions. So the ranges from which code
 * was unloaded are kept, with the number of times. A stack that passes through such a range is
 * distinguished by a number that is made of these counts. Most programs have no such range. */
#ifndef PD_AGENT_UNLOADED_H
#define PD_AGENT_UNLOADED_H

#include <stddef.h>
#include <stdint.h>

/* Call before and after dlclose. Notes which objects have gone since the last call. */
void pd_unloaded_update(void);

/* Returns a number that distinguishes this stack from stacks of other code at the same addresses.
 * It is 0 for most stacks. */
uint64_t pd_unloaded_number(const uint64_t *stack, size_t depth);

#endif

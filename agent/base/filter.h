/* What a filter of seccomp(2) does with the agent. */
#ifndef PD_AGENT_FILTER_H
#define PD_AGENT_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>

/* Returns NULL, or the name of a call of the agent for which the filter may kill the process: openat
 * for example, or "what it does not name". Also if the filter has instructions that this function does not know.
 * has_command: a command takes the profiles. Takes 32 KiB of the stack. */
const char *pd_filter_forbids(const struct sock_filter *rules, unsigned len, bool has_command);

#endif

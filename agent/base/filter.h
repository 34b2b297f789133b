/* What a filter of seccomp(2) does by default. */
#ifndef PD_AGENT_FILTER_H
#define PD_AGENT_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>

/* Returns whether the filter may kill a process that makes a system call that it does not name. Also if it
 * has instructions that this function does not know. */
bool pd_filter_kills(const struct sock_filter *rules, unsigned len);

#endif

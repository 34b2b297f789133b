/* Follows fork: the child is a process of its own, with the live heap of its parent and no window. */
#ifndef PD_AGENT_FORKED_H
#define PD_AGENT_FORKED_H

/* Call once, in the agent's constructor. */
void pd_fork_begin(void);

#endif

/* How the process ends, becomes another program, or changes what can only be changed with one thread. */
#ifndef PD_AGENT_END_H
#define PD_AGENT_END_H

#include <stdbool.h>
#include <sys/types.h>

/* Delivers the last window before the process ends, once. Does nothing in a process that the
 * agent's state does not describe (the child of a vfork). Waits for the agent's thread for a
 * limited time. */
void pd_agent_end(void);

/* Before exec: delivers a window. A delivery that another thread starts after it, and that exec cuts off, leaves
 * nothing; if exec fails, the process goes on as it was. */
void pd_agent_before_exec(void);

/* End the agent's thread before a system call for which the process must have one thread, and
 * start it again. Resume if pause returned true. */
bool pd_agent_pause(void);
void pd_agent_resume(void);

/* The same before a call that gives the process another root directory or other mounts (user is 0). Keeps what
 * will be out of reach: the folder of the profiles, and the names of mapped files. And before a call by which a process
 * of root becomes this user for good: if the directory is root's, its files go to a folder of that user in there. */
bool pd_agent_before_move(uid_t user);

#endif

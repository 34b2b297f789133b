/* How the agent starts in a process, follows it through fork and exec, and ends. */
#ifndef PD_AGENT_LIFECYCLE_H
#define PD_AGENT_LIFECYCLE_H

#include <stdbool.h>

/* Of functions that run in the child of every fork. The linker puts them together, and each page of code
 * that is run in a child is a page fault. */
#define PD_IN_CHILD __attribute__((cold))

/* Returns whether the agent's constructor has not run yet. */
bool pd_agent_is_coming(void);

/* Returns whether the malloc that the program calls is the agent's. */
bool pd_agent_is_first(void);

/* Delivers the last window before the process ends, once. Does nothing in a process that the
 * agent's state does not describe (the child of a vfork). Waits for the agent's thread for a
 * limited time. */
void pd_agent_end(void);

/* Before exec: delivers a window and keeps other threads from starting a delivery, which exec
 * would cut off. Returns whether pd_agent_exec_failed must release that. */
bool pd_agent_before_exec(void);
void pd_agent_exec_failed(bool was_kept);

/* End the agent's thread before a system call for which the process must have one thread, and
 * start it again. Resume if pause returned true. */
bool pd_agent_pause(void);
void pd_agent_resume(void);

/* The same before a call that gives the process another root directory or other mounts. Keeps what will
 * be out of reach: the folder of the profiles, and the names of mapped files. failed: the call did. */
bool pd_agent_before_move(void);
void pd_agent_move_failed(void);

#endif

/* How the agent comes into a process, follows it through fork and exec, and takes its leave. */
#ifndef PD_AGENT_LIFECYCLE_H
#define PD_AGENT_LIFECYCLE_H

#include <stdbool.h>

/* Has it not begun yet? Until its constructor has run, nothing is known. */
bool pd_agent_is_coming(void);

/* Is the malloc that the program calls the agent's? */
bool pd_agent_is_first(void);

/* The process is about to end: writes the last window, if this is the process that the agent speaks
 * of, and nobody has done so. It waits for the agent's thread, but not for long. */
void pd_agent_end(void);

/* The process is about to become another program: sends off what there is, and keeps anybody else
 * from beginning what would be cut off. Then, if it failed: gives way again. */
bool pd_agent_before_exec(void);
void pd_agent_exec_failed(bool was_kept);

/* Before and after a system call that wants the process to have one thread: the agent's is not
 * there meanwhile. pause says whether resume is to be called. */
bool pd_agent_pause(void);
void pd_agent_resume(void);

#endif

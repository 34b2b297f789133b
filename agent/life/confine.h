/* A filter of seccomp(2) that kills for a call of the agent (base/filter.h), or strict mode: after the program has
 * installed it, a system call of the agent may end the program.
 *
 *     before    the agent's thread ends; a window is delivered; spare pages for the tracker
 *     after     samples are taken as before, in memory that is there. No system call: no thread, no
 *               window, no message. What is in the file (delivery/live.h) is the end
 *
 * A filter that returns errors, or kills only for other calls, changes nothing. The agent is not loaded into
 * programs that the process executes behind the filter. */
#ifndef PD_AGENT_CONFINE_H
#define PD_AGENT_CONFINE_H

#include <stdbool.h>

/* Call before the program installs such a filter. forbidden: for what it kills. Returns whether
 * pd_agent_confine_failed must be called if that fails. */
bool pd_agent_before_confine(const char *forbidden);
void pd_agent_confine_failed(void);

#endif

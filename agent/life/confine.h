/* A filter of seccomp(2) that kills by default: after the program has installed it, any system call of
 * the agent may end the program.
 *
 *     before    the agent's thread ends; a window is delivered; spare pages for the tracker
 *     after     samples are taken as before, in memory that is there. No system call: no thread, no
 *               window, no message. What is in the file (delivery/live.h) is the end
 *
 * A filter that returns an error by default, or allows the call, changes nothing. */
#ifndef PD_AGENT_CONFINE_H
#define PD_AGENT_CONFINE_H

#include <stdbool.h>

/* Call before the program installs such a filter. Returns whether pd_agent_confine_failed must be called
 * if that fails. */
bool pd_agent_before_confine(void);
void pd_agent_confine_failed(void);

#endif

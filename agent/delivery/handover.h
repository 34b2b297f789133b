/* Hands a profile to a shell command. The command gets the profile on its standard input, and its
 * exit status says whether it was delivered.
 *
 * The command must not be a child of the program: the program may wait for any of its children,
 * and must not get a SIGCHLD for a process that it did not start. So the agent starts a helper
 * process that shares the memory of the program and sends no signal when it ends. The helper
 * starts the command and waits for it:
 *
 *     agent's thread --clone, no signal--> helper --vfork, exec--> sh -c COMMAND
 *
 * The command has the environment with which the program began, without LD_PRELOAD and the
 * agent's variables. Its standard output and error are /dev/null. No other descriptor of the
 * program is open in it. */
#ifndef PD_AGENT_HANDOVER_H
#define PD_AGENT_HANDOVER_H

#include "agent/base/text.h"

/* Copies the environment for the commands. Call once at the start, since the program may change
 * its environment later. */
void pd_handover_begin(void);

/* Runs the command and waits for it. Kills it after so many seconds. Returns whether it took the profile;
 * otherwise adds the reason. Only one thread may call this at a time. */
bool pd_hand_over(const char *command, const void *data, size_t len, unsigned seconds,
                  pd_fixed_text *why);

#endif

/* The life of the process: how it ends, becomes another program, or changes what can only be changed with one thread;
 * filters, signals and forks. worker.h has the agent's thread. */
#ifndef PD_AGENT_LIFE_H
#define PD_AGENT_LIFE_H

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

/* ---- confine --------------------------------------------------------------------------------
 * A filter of seccomp(2) that kills for a call of the agent (base/filter.h), or strict mode: after the program has
 * installed it, a system call of the agent may end the program.
 *
 *     before    the agent's thread ends; a window is delivered; spare pages for the tracker
 *     after     samples are taken as before, in memory that is there. No system call: no thread, no
 *               window, no message. What is in the file (delivery/live.h) is the end
 *
 * A filter that returns errors, or kills only for other calls, changes nothing. The agent is not loaded into
 * programs that the process executes behind the filter. */

/* Call before the program installs such a filter. forbidden: for what it kills. Returns whether
 * pd_agent_confine_failed must be called if that fails. */
bool pd_agent_before_confine(const char *forbidden);
void pd_agent_confine_failed(void);

/* ---- signals --------------------------------------------------------------------------------
 * Signals that end the process: the last window is delivered first.
 *
 * If the action of such a signal is the default one, the agent installs its own handler. The
 * handler delivers the last window, restores the default action and sends the signal again. So
 * the parent process sees that this signal ended the process, and there is a core file where
 * there would be one.
 *
 *     handled       HUP INT QUIT ABRT USR1 USR2 PIPE ALRM TERM XCPU XFSZ VTALRM PROF
 *     not handled   SEGV BUS FPE ILL TRAP SYS: the state of the process is not reliable after these
 *                   real-time signals: no program is ended by these on purpose
 *                   any signal that the program ignores or handles itself
 *
 * The program does not see the handler: sigaction, signal and related functions report the
 * default action instead of the agent's handler, and install that handler where the program sets
 * the default. exec resets handlers by itself. Process 1 of a container has no default actions,
 * so the agent installs nothing there.
 *
 * If the signal comes while its thread runs the agent's code and may hold its locks, that code
 * continues first (pd_self_leave). A second signal ends the process at once if it comes a second
 * or more after the first, since the first may wait for a command that takes the profile. */

/* Installs the handlers. ask: the signal that asks for a profile, or 0. */
void pd_signals_begin(int ask);

/* Restores the default actions where the handlers stand for them. */
void pd_signals_end(void);

/* ---- forked ---------------------------------------------------------------------------------
 * Follows fork: the child is a process of its own, with the live heap of its parent and no window. */

/* Call once, in the agent's constructor. */
void pd_fork_begin(void);

#endif

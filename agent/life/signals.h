/* Signals that end the process: the last window is delivered first.
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
#ifndef PD_AGENT_SIGNALS_H
#define PD_AGENT_SIGNALS_H

/* Installs the handlers. ask: the signal that asks for a profile, or 0. */
void pd_signals_begin(int ask);

/* Restores the default actions where the handlers stand for them. */
void pd_signals_end(void);

#endif

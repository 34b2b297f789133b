/* Signals that would end the process: the last window is written first.
 *
 * Where the action of such a signal is the default one, the agent has a handler in its place. The
 * handler writes the last window, restores the default action and sends the signal again: who waits
 * for the process sees that this signal ended it, and there is a core where there would be one.
 *
 *     taken       HUP INT QUIT ABRT USR1 USR2 PIPE ALRM TERM XCPU XFSZ VTALRM PROF
 *     not taken   SEGV BUS FPE ILL TRAP SYS: nothing can be relied on after these
 *                 real-time signals: they end a program by mistake alone
 *                 any signal that the program ignores or handles itself
 *
 * The program does not see it: sigaction, signal and their kin say "default" where it is the
 * agent's handler, and install that handler where the program asks for the default. exec resets
 * handlers by itself. Process 1 of a container has no default actions, and is left alone.
 *
 * A signal may come while its thread is at work in the agent and holds its locks: then that work is
 * done first (pd_self_leave). A second signal ends the process at once if it comes a second or more
 * after the first: the first may wait for a command that takes the profile. */
#ifndef PD_AGENT_SIGNALS_H
#define PD_AGENT_SIGNALS_H

/* Installs the handlers. ask: the signal that asks for a profile, or 0. */
void pd_signals_begin(int ask);

/* In the child of a fork: signals that its parent had received do not concern it. */
void pd_signals_forget(void);

/* Sets the default action in this process, also for a signal that the agent handles. Safe in signal
 * handlers and between vfork and exec. */
void pd_signals_reset(int number);

/* Ends the process by this signal, which the calling thread may have blocked. Returns if that does
 * not work. */
void pd_signals_die(int number);

#endif

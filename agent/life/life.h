/* The life of the process: how it ends, becomes another program, or changes what can only be changed with one thread;
 * filters, signals and forks; and the agent's thread. */
#ifndef PD_AGENT_LIFE_H
#define PD_AGENT_LIFE_H

#include "pprofdelta_heap.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Delivers the last window before the process ends, once. Does nothing in a process that the
 * agent's state does not describe (the child of a vfork). Waits for the agent's thread for a
 * limited time. */
void pd_agent_end(void);

/* Leave delivers the last window of a process that goes on. It is recorded no more. Before, no slot of the program leads
 * to the agent any more. Again begins a new series with the tracker, which forgets what was allocated. Call both in a
 * thread of the agent's that is marked as inside. */
void pd_agent_leave(void);
bool pd_agent_again(pprofdelta_heap *heap);

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
 *               window, no message. What is in the file (delivery/live.c) is the end
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

/* Installs the handlers, and one for the signal that asks for a profile. */
void pd_signals_begin(void);

/* Restores the default actions where the handlers stand for them. */
void pd_signals_end(void);

/* ---- forked ---------------------------------------------------------------------------------
 * Follows fork: the child is a process of its own, with the live heap of its parent and no window. */

/* Call once, in the agent's constructor. */
void pd_fork_begin(void);

/* ---- worker ---------------------------------------------------------------------------------
 * The agent's thread: it delivers a window every interval and on request.
 *
 * The first sample starts it, so a program that allocates little stays single-threaded. Most processes are short: so
 * it waits for a time or for a request before it does anything, and a process that ends meanwhile does
 * not wait for it. All
 * signals are blocked in it. On Linux 5.9 and later it has its own table of descriptors, which is
 * empty except for the file that it is writing: what it opens does not change the program's
 * descriptors, and the program cannot close its descriptors.
 *
 * The agent's thread must not keep the process alive. A process outlives its main thread (the
 * thread group leader) until its last thread ends, and the C library calls exit(0) in that one:
 *
 *     the main thread ends by pthread_exit or is cancelled    exit(0) follows its last thread
 *     it ends by the system call, or seccomp kills it         the kernel ends the process; its
 *                                                             status is that of the main thread
 *
 * In the first case a destructor of the main thread's data runs. It stops the agent's thread. If
 * no other thread is left, the main thread is the last one, as without the agent. Otherwise the
 * destructor starts the agent's thread again, now with the program's descriptors. When that
 * thread finds that no other thread is left, it calls exit(0), for which it needs them. In the
 * second case no code of the program runs. The agent's thread checks once a second whether the
 * main thread has ended. When no other thread is left, it delivers the last window and ends by
 * the system call, too. */

/* Requests to the thread, as bits. */
typedef enum pd_request {
    PD_REQUEST_WINDOW = 1u << 0, /* deliver a window now */
    PD_REQUEST_TOP = 1u << 1,    /* report the largest sites: the threshold was passed */
    PD_REQUEST_STOP = 1u << 2,   /* end: the process ends */
    PD_REQUEST_RETIRE = 1u << 3, /* end, but the process goes on */
    PD_REQUEST_GROWN = 1u << 4   /* the tracker has tables that are not in the file yet */
} pd_request;

/* Call after the n-th sample (counting from 0). Starts the thread if that was not done, and
 * compares the bytes in use with the threshold from time to time. */
void pd_worker_sampled(uint64_t n);

/* Sends a request. Safe in signal handlers. */
void pd_worker_ask(pd_request request);

/* Reports the largest sites if that was requested and the thread has not done it. */
void pd_worker_report(void);

/* Before the process ends: ends the thread for good and waits for it, for so many milliseconds at
 * most. Returns whether the thread cannot write any more. */
bool pd_worker_stop(unsigned milliseconds);

/* Ends the thread, if there is one, and waits as above until it has left the process. The next
 * sample or pd_worker_start starts another one; the latter waits until that has its table of descriptors,
 * for a second at most: the program may close all descriptors next. Returns whether there is no thread now. */
bool pd_worker_retire(unsigned milliseconds);
bool pd_worker_is_running(void);
void pd_worker_start(void);

/* In a late start's thread, while there is no other one of the agent's: ends the process if only that thread is left
 * of it. */
void pd_worker_check_company(void);

/* Call once, in the main thread, before anything is sampled. */
void pd_worker_begin(void);

/* Call in the child of a fork, where the calling thread becomes the main thread. */
void pd_worker_watch_main(void);

#endif

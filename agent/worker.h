/* The agent's thread: it wakes every interval, or when asked, and sends a window on its way.
 *
 * It is started by the first sample, not by the first instruction: a program that allocates little
 * stays the single-threaded one that it was. All signals are blocked in it, and where the kernel
 * can (Linux 5.9) it has a table of descriptors of its own, empty but for the file it is writing:
 * what it opens is never in the program's way, and what the program closes never becomes the
 * agent's.
 *
 * The agent's thread must not keep the process alive. A process outlives its main thread (the
 * thread group leader) until its last thread ends, and the C library calls exit(0) in that one:
 *
 *     the main thread ends by pthread_exit or is cancelled    exit(0) follows its last thread
 *     it ends by the system call, or seccomp kills it         the kernel ends the process; its
 *                                                             status is that of the main thread
 *
 * A destructor of the main thread's data runs in the first case. It stops the agent's thread. If no
 * other thread is left, that is all: the main thread is the last one, as without the agent.
 * Otherwise the destructor starts the agent's thread anew, now with the program's descriptors. When
 * that thread finds itself alone, it calls exit(0), for which it needs them.
 * No code of the program runs in the second case. The agent's thread looks once a second whether
 * the main thread has gone. When it finds itself alone, it writes the last window and ends by the
 * system call too. */
#ifndef PD_AGENT_WORKER_H
#define PD_AGENT_WORKER_H

#include <stdbool.h>
#include <stdint.h>

/* What may be asked of it. */
typedef enum pd_request {
    PD_REQUEST_WINDOW = 1u << 0, /* a window now */
    PD_REQUEST_TOP = 1u << 1,    /* the threshold was passed: the largest sites */
    PD_REQUEST_STOP = 1u << 2,
    PD_REQUEST_RETIRE = 1u << 3 /* to end, but the process goes on */
} pd_request;

/* The agent took its n-th sample (counting from 0): starts the thread, if that was not done, and
 * looks at the threshold from time to time. */
void pd_worker_sampled(uint64_t n);

/* Safe in signal handlers. */
void pd_worker_ask(pd_request request);

/* For the end of the process: ends the thread for good and waits for it, but not longer than so
 * many milliseconds. True: none is left that might write. */
bool pd_worker_stop(unsigned milliseconds);

/* Ends the thread, if there is one, and waits as above until the process does not have it any more.
 * The next sample starts another one, or pd_worker_start does. True: there is none now. */
bool pd_worker_retire(unsigned milliseconds);
bool pd_worker_is_running(void);
void pd_worker_start(void);

/* Call once, in the main thread, before anything is sampled. */
void pd_worker_begin(void);

/* In the child of a fork: there is none, and the calling thread is the main thread. */
void pd_worker_forget(void);

#endif

/* The agent's thread: it delivers a window every interval and on request.
 *
 * The first sample starts it, so a program that allocates little stays single-threaded. Most processes are short: so
 * it waits for a tenth of a second or for a request before it does anything, and a process that ends meanwhile does
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
#ifndef PD_AGENT_WORKER_H
#define PD_AGENT_WORKER_H

#include <stdbool.h>
#include <stdint.h>

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

/* Before the process ends: ends the thread for good and waits for it, for so many milliseconds at
 * most. Returns whether the thread cannot write any more. */
bool pd_worker_stop(unsigned milliseconds);

/* Ends the thread, if there is one, and waits as above until it has left the process. The next
 * sample or pd_worker_start starts another one. Returns whether there is no thread now. */
bool pd_worker_retire(unsigned milliseconds);
bool pd_worker_is_running(void);
void pd_worker_start(void);

/* Waits until a thread that was started has its table of descriptors, for a second at most. */
void pd_worker_await(void);

/* Call once, in the main thread, before anything is sampled. */
void pd_worker_begin(void);

/* Call in the child of a fork, where the calling thread becomes the main thread. */
void pd_worker_watch_main(void);

#endif

/* The agent's thread: it wakes every interval, or when asked, and sends a window on its way.
 *
 * It is started by the first sample, not by the first instruction: a program that allocates little
 * stays the single-threaded one that it was. All signals are blocked in it, and where the kernel
 * can (Linux 5.9) it has a table of descriptors of its own, empty but for the file it is writing:
 * what it opens is never in the program's way, and what the program closes never becomes the
 * agent's. */
#ifndef PD_AGENT_THREAD_H
#define PD_AGENT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* What may be asked of it. */
typedef enum pd_request {
    PD_REQUEST_WINDOW = 1u << 0, /* a window now */
    PD_REQUEST_TOP = 1u << 1,    /* the threshold was passed: the largest sites */
    PD_REQUEST_STOP = 1u << 2
} pd_request;

/* The agent took its n-th sample (counting from 0): starts the thread, if that was not done, and
 * looks at the threshold from time to time. */
void pd_thread_sampled(uint64_t n);

/* Safe in signal handlers. */
void pd_thread_ask(pd_request request);

/* Ends the thread and waits for it, but not longer than so many milliseconds. True: none is left
 * that might write. */
bool pd_thread_stop(unsigned milliseconds);

/* Some system calls want the process to have one thread. Ends the agent's and waits until the kernel
 * has forgotten it. True: there was one, and it is to be resumed. False: there was none, or it is busy
 * for longer than that and goes on. */
bool pd_thread_pause(unsigned milliseconds);
void pd_thread_resume(void);

/* In the child of a fork: there is none. */
void pd_thread_forget(void);

#endif

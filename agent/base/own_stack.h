/* Stacks of the agent's own, for work that needs more than a small stack of the program has.
 *
 * To write a profile takes 24 KiB, and to sample an allocation up to 8 KiB. A program may do either, run
 * another program or run out of memory on an alternate signal stack of 8 KiB, in a coroutine, or in a thread
 * whose stack has 2 KiB, which musl allows. */
#ifndef PD_AGENT_OWN_STACK_H
#define PD_AGENT_OWN_STACK_H

/* Makes the first one. Call once, while the program has memory. */
void pd_own_stack_begin(void);

/* Calls the function: on the stack of the thread if 64 KiB are known to be free there, otherwise on one of
 * the agent's. There are as many as threads have used at one time. Without memory for one more, or if the
 * machine is not one of those that are known here, the function is called on the thread's stack as well. */
void pd_own_stack_call(void (*function)(void *cookie), void *cookie);

/* The same for a function that takes microseconds. No signal handler runs meanwhile on a stack of the agent's:
 * the kernel would take the alternate stack that the thread has left for free, and the collector of a
 * language would not find what is on the thread's stack. */
void pd_own_stack_call_briefly(void (*function)(void *cookie), void *cookie);

#endif

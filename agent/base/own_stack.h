/* A stack of the agent's own, for work that needs more than a small stack of the program has.
 *
 * To write a profile takes 24 KiB. A program may end, run another program or run out of memory on an
 * alternate signal stack of 8 KiB or in a thread with a stack of 16 KiB. */
#ifndef PD_AGENT_OWN_STACK_H
#define PD_AGENT_OWN_STACK_H

/* Calls the function: on the stack of the thread if 64 KiB are known to be free there, otherwise on
 * the agent's. If another thread uses the agent's stack, or if the machine is not one of those that are
 * known here, the function is called on the thread's stack as well. */
void pd_own_stack_call(void (*function)(void *cookie), void *cookie);

/* Call in the child of a fork. */
void pd_own_stack_forget(void);

#endif

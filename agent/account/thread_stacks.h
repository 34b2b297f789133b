/* Where the stacks of the threads are.
 *
 * No file of /proc shows this. But each thread registers a list with the kernel (set_robust_list)
 * whose head lies in the C library's record of the thread, and that record is at the upper end of
 * the thread's stack. So the area that holds the head is the thread's stack. The system call that
 * asks for it is not made under seccomp, since a filter may end the process for a call that it does
 * not expect. */
#ifndef PD_AGENT_THREAD_STACKS_H
#define PD_AGENT_THREAD_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the threads except the main one. Returns false if that was not possible. Only the thread
 * that delivers a profile may call this. */
bool pd_thread_stacks_find(void);

/* Returns where a stack ends whose thread's record is the first one in [begin, end), or 0 if there
 * is none. */
uintptr_t pd_thread_stacks_end_in(uintptr_t begin, uintptr_t end);

#endif

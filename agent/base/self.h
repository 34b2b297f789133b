/* What the agent keeps for each thread. It is thread-local storage that exists before the thread
 * runs: access needs no call and no allocation, and nothing has to be freed when the thread
 * ends. */
#ifndef PD_AGENT_SELF_H
#define PD_AGENT_SELF_H

#include "pprofdelta_heap.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pd_self {
    pprofdelta_sampler sampler;
    volatile bool is_inside; /* the thread runs the agent's code: its allocations are not recorded,
                                nor are those of a signal handler that interrupts it */
    volatile bool
        is_called;       /* a signal that ends the process came while is_inside; see signals.h */
    bool is_forking;     /* the thread is in fork and holds the tracker's locks */
    bool stack_is_known; /* the two members below will not change any more */
    uintptr_t stack_begin, stack_end; /* both 0: not known */
} pd_self;                            /* all zeros: the thread has not allocated yet */

extern __thread pd_self pd_this_thread __attribute__((tls_model("initial-exec")));

/* Marks the thread as running the agent's code. Returns false if it is marked already. */
static inline bool pd_self_enter(void)
{
    if (pd_this_thread.is_inside)
        return false;
    pd_this_thread.is_inside = true;
    return true;
}

/* Ends the process by the signal that came while is_inside (signals.c). */
void pd_self_end(void);

static inline void pd_self_leave(void)
{
    pd_this_thread.is_inside = false;
    if (__builtin_expect(pd_this_thread.is_called, false))
        pd_self_end();
}

#endif

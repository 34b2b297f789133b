/* What the agent keeps for each thread, in storage that is there from the thread's first breath:
 * reading it takes no call and no allocation, and its end needs no care. */
#ifndef PD_AGENT_SELF_H
#define PD_AGENT_SELF_H

#include "pprofdelta_heap.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pd_self {
    pprofdelta_sampler sampler;
    volatile bool is_inside; /* the agent is at work in this thread: what it allocates is its own,
                                and a signal handler that interrupts it is not recorded */
    volatile bool is_called; /* a signal that ends the process came meanwhile: signals.h */
    bool is_forking;         /* ... and holds the tracker's locks until the fork is done */
    bool stack_is_known;     /* as far as it will ever be */
    uintptr_t stack_begin, stack_end; /* both 0: not known */
} pd_self;                            /* all zeros is a thread that was not seen yet */

extern __thread pd_self pd_this_thread __attribute__((tls_model("initial-exec")));

/* Is the agent at work in this thread already? If not, it is from now on. */
static inline bool pd_self_enter(void)
{
    if (pd_this_thread.is_inside)
        return false;
    pd_this_thread.is_inside = true;
    return true;
}

/* signals.c: the signal that came meanwhile ends the process now. */
void pd_self_end(void);

static inline void pd_self_leave(void)
{
    pd_this_thread.is_inside = false;
    if (__builtin_expect(pd_this_thread.is_called, false))
        pd_self_end();
}

#endif

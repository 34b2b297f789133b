/* What the agent keeps for each thread, and how it protects a thread of the program while it works there.
 *
 * This is thread-local storage that exists before the thread runs: access needs no call and no allocation,
 * and nothing has to be freed when the thread ends. */
#ifndef PD_AGENT_SELF_H
#define PD_AGENT_SELF_H

#include "pprofdelta_heap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

typedef struct pd_self {
    pprofdelta_sampler sampler;
    volatile bool is_inside; /* the thread runs the agent's code: its allocations are not recorded,
                                nor are those of a signal handler that interrupts it */
    volatile int ended_by; /* the signal that came while is_inside and ends the process; 0: none */
    bool is_forking;       /* the thread is in fork and holds the tracker's locks */
    unsigned forks;        /* ... so many times: signal handlers may fork meanwhile */
    bool stack_is_known;   /* the two members below will not change any more */
    uintptr_t stack_begin, stack_end; /* both 0: not known */
} pd_self;                            /* all zeros: the thread has not allocated yet */

extern __thread pd_self pd_this_thread __attribute__((tls_model("initial-exec")));

/* The agent makes no system call any more: a filter would end the process (life/confine.h). */
extern atomic_bool pd_is_confined;

/* Marks the thread as running the agent's code. Returns false if it is marked already. */
static inline bool pd_self_enter(void)
{
    if (pd_this_thread.is_inside)
        return false;
    pd_this_thread.is_inside = true;
    return true;
}

/* Ends the process by the signal that came while is_inside. */
void pd_self_end(void);

static inline void pd_self_leave(void)
{
    pd_this_thread.is_inside = false;
    if (__builtin_expect(pd_this_thread.ended_by != 0, false))
        pd_self_end();
}

/* ---- quiet -----------------------------------------------------------------------------------
 * Protects the thread while the agent writes in it. A reader of stderr that has gone away (SIGPIPE) or a
 * limit on file sizes (SIGXFSZ) must not send a signal to the program. The thread must not be cancelled
 * either, since malloc is not a cancellation point. errno is kept. */

typedef struct pd_quiet {
    sigset_t held;   /* the two signals, without those that were pending before */
    sigset_t before; /* the thread's signal mask */
    int cancel;      /* the thread's cancellation state */
    int error;       /* errno */
} pd_quiet;

static inline void pd_quiet_begin(pd_quiet *quiet)
{
    sigset_t both, pending;
    quiet->error = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &quiet->cancel);
    sigemptyset(&both);
    sigaddset(&both, SIGPIPE);
    sigaddset(&both, SIGXFSZ);
    quiet->held = both;
    if (sigpending(&pending) == 0) {
        if (sigismember(&pending, SIGPIPE) == 1)
            sigdelset(&quiet->held, SIGPIPE);
        if (sigismember(&pending, SIGXFSZ) == 1)
            sigdelset(&quiet->held, SIGXFSZ);
    }
    pthread_sigmask(SIG_BLOCK, &both, &quiet->before);
}

/* Removes signals that came meanwhile, and restores the state of the thread. */
static inline void pd_quiet_end(const pd_quiet *quiet)
{
    const struct timespec at_once = {0, 0};
    while (sigtimedwait(&quiet->held, NULL, &at_once) > 0)
        continue;
    pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
    pthread_setcancelstate(quiet->cancel, NULL);
    errno = quiet->error;
}

#endif

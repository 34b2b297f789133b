/* Protects a thread of the program while the agent writes in it. A reader of stderr that has gone
 * away (SIGPIPE) or a limit on file sizes (SIGXFSZ) must not send a signal to the program. The
 * thread must not be cancelled either, since malloc is not a cancellation point. */
#ifndef PD_AGENT_QUIET_H
#define PD_AGENT_QUIET_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

typedef struct pd_quiet {
    sigset_t held;   /* the two signals, without those that were pending before */
    sigset_t before; /* the thread's signal mask */
    int cancel;      /* the thread's cancellation state */
} pd_quiet;

static inline void pd_quiet_begin(pd_quiet *quiet)
{
    sigset_t both, pending;
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
}

#endif

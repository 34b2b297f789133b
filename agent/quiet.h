/* Writing in a thread of the program's own must not bring it a signal: a reader of stderr that went
 * away (SIGPIPE) or a limit on the size of files (SIGXFSZ) is the agent's trouble alone. Nor must the
 * thread end here if somebody has cancelled it, since malloc is no place where a thread does. */
#ifndef PD_AGENT_QUIET_H
#define PD_AGENT_QUIET_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

typedef struct pd_quiet {
    sigset_t held;   /* the two signals, but for those that were pending already */
    sigset_t before; /* the thread's mask */
    int cancel;      /* whether it may be cancelled */
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

/* Takes away what came meanwhile. */
static inline void pd_quiet_end(const pd_quiet *quiet)
{
    const struct timespec at_once = {0, 0};
    while (sigtimedwait(&quiet->held, NULL, &at_once) > 0)
        continue;
    pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
    pthread_setcancelstate(quiet->cancel, NULL);
}

#endif

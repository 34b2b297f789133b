/* Signals that end the process: see life.h. */
#include "agent/life/life.h"

#include "agent/base/agent.h"
#include "agent/base/real.h"

#include <unistd.h>

static const int handled[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGABRT, SIGUSR1,   SIGUSR2, SIGPIPE,
                              SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF};

static atomic_bool is_begun;             /* the handlers stand for the default actions */
static PD_OF_PROCESS _Atomic int ending; /* the signal that is ending the process; 0: none */
static _Atomic uint64_t since;           /* when it came */

static void on_fatal(int number);

/* A second signal is let in while the first is handled. */
static struct sigaction action_of(pd_signal_handler *function)
{
    struct sigaction action = {.sa_handler = function,
                               .sa_flags = SA_RESTART | (function == on_fatal ? SA_NODEFER : 0)};
    sigemptyset(&action.sa_mask);
    return action;
}

/* ---- the handlers ---------------------------------------------------------------------------- */

static void on_fatal(int number)
{
    const uint64_t patience = PD_NANOS_PER_SECOND;
    PD_KEEP_ERRNO;
    int none = 0;
    if (getpid() == 1) /* of a container, which has no default actions */
        return;
    if (getpid() != atomic_load(&pd_the_agent.pid)) { // NOLINT(bugprone-branch-clone)
        pd_signal_die(number);                        /* between vfork and exec */
    } else if (atomic_compare_exchange_strong(&ending, &none, number)) {
        atomic_store(&since, pd_nanos_of(CLOCK_MONOTONIC));
        pd_this_thread.ended_by = number;
        if (!pd_this_thread.is_inside)
            pd_self_end();
    } else if (pd_nanos_of(CLOCK_MONOTONIC) - atomic_load(&since) >= patience) {
        pd_signal_die(number);
    }
}

static void on_ask(int number)
{
    if (getpid() == atomic_load(&pd_the_agent.pid))
        pd_worker_ask(PD_REQUEST_WINDOW);
    else
        pd_signal_die(number); /* in a child that is not recorded */
}

/* ---- which signals --------------------------------------------------------------------------- */

/* Returns the handler that replaces the signal's default action, or NULL. */
static pd_signal_handler *replacement_of(int number)
{
    if (!atomic_load(&is_begun) || atomic_load(&pd_is_confined) || atomic_load(&ending))
        return NULL;
    if (number == (int)pd_given.signal)
        return on_ask;
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        if (handled[i] == number)
            return on_fatal;
    return NULL;
}

static bool is_ours(pd_signal_handler *function)
{
    return function == on_fatal || function == on_ask;
}

static void replace_default(int number)
{
    struct sigaction now;
    pd_signal_handler *ours = replacement_of(number);
    if (!ours || pd_next()->sigaction(number, NULL, &now) || now.sa_handler != SIG_DFL)
        return;
    now = action_of(ours);
    pd_next()->sigaction(number, &now, NULL);
}

void pd_signals_begin(void)
{
    if (getpid() == 1)
        return;
    atomic_store(&is_begun, true);
    for (int number = 1; number < NSIG; number++)
        replace_default(number);
}

void pd_signals_end(void)
{
    struct sigaction now;
    for (int number = 1; number < NSIG; number++)
        if (!pd_next()->sigaction(number, NULL, &now) && is_ours(now.sa_handler))
            pd_signal_reset(number);
}

/* ---- the names ------------------------------------------------------------------------------- */

PD_PUBLIC int sigaction(int sig, const struct sigaction *restrict act,
                        struct sigaction *restrict oact)
{
    pd_signal_handler *ours = act && act->sa_handler == SIG_DFL ? replacement_of(sig) : NULL;
    struct sigaction before, instead;
    if (ours) {
        instead = action_of(ours);
        act = &instead;
    }
    int result = pd_next()->sigaction(sig, act, &before);
    if (result || !oact)
        return result;
    if (is_ours(before.sa_handler))
        before = (struct sigaction){.sa_handler = SIG_DFL};
    *oact = before;
    return 0;
}

/* Sets a handler by a function of an older interface. These differ in the flags that they set. */
static pd_signal_handler *set_handler(pd_signal_handler *(*function)(int, pd_signal_handler *),
                                      int number, pd_signal_handler *wanted)
{
    if (!function) {
        errno = ENOSYS;
        return SIG_ERR;
    }
    pd_signal_handler *before = function(number, wanted);
    if (before != SIG_ERR && wanted == SIG_DFL)
        replace_default(number);
    return is_ours(before) ? SIG_DFL : before;
}

PD_PUBLIC pd_signal_handler *signal(int sig, pd_signal_handler *handler)
{
    return set_handler(pd_next()->signal, sig, handler);
}

/* What signal is in a program that is compiled for the standard of C alone. Other old names are left to the C
 * library: a default action that is set by them ends the process without its last window, which is recovered. */
PD_PUBLIC pd_signal_handler *__sysv_signal(int, pd_signal_handler *) // NOLINT
    __attribute__((alias("sysv_signal")));

PD_PUBLIC pd_signal_handler *sysv_signal(int sig, pd_signal_handler *handler)
{
    return set_handler(pd_next()->__sysv_signal, sig, handler);
}

/* Signals that end the process: see signals.h. */
#include "agent/life/signals.h"

#include "agent/base/agent.h"
#include "agent/life/lifecycle.h"
#include "agent/base/next.h"
#include "agent/base/self.h"
#include "agent/life/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

typedef void signal_handler(int);

static const int handled[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGABRT, SIGUSR1,   SIGUSR2, SIGPIPE,
                              SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF};

static int ask_number;        /* 0: none */
static atomic_bool is_begun;  /* the handlers stand for the default actions */
static _Atomic int ending;    /* the signal that is ending the process; 0: none */
static _Atomic int64_t since; /* when it came */

/* ---- the C library's functions --------------------------------------------------------------- */

static struct {
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    signal_handler *(*signal)(int, signal_handler *);
    signal_handler *(*bsd_signal)(int, signal_handler *);
    signal_handler *(*sysv_signal)(int, signal_handler *);
    signal_handler *(*sigset)(int, signal_handler *);
} next;

/* Looks up the functions at the first call, which may come before the agent's constructor. The
 * constructor calls this, too, since a signal handler and the child of a vfork cannot look up
 * anything. */
static void find_all(void)
{
    if (next.sigaction)
        return;
    int kept = errno;
    pd_find_next(&next.signal, "signal");
    pd_find_next(&next.bsd_signal, "bsd_signal");
    pd_find_next(&next.sysv_signal, "__sysv_signal");
    pd_find_next(&next.sigset, "sigset");
    pd_find_next(&next.sigaction, "sigaction");
    errno = kept;
}

static void on_fatal(int number);

/* A second signal is let in while the first is handled. */
static struct sigaction action_of(signal_handler *function)
{
    struct sigaction action = {.sa_handler = function,
                               .sa_flags = SA_RESTART | (function == on_fatal ? SA_NODEFER : 0)};
    sigemptyset(&action.sa_mask);
    return action;
}

/* ---- the handlers ---------------------------------------------------------------------------- */

static int64_t now_nanos(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void pd_signals_reset(int number)
{
    const struct sigaction plainly = {.sa_handler = SIG_DFL};
    next.sigaction(number, &plainly, NULL);
}

static void send_to_self(int number)
{
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
}

void pd_signals_die(int number)
{
    pd_signals_reset(number);
    send_to_self(number);
}

void pd_self_end(void)
{
    pd_this_thread.is_called = false;
    pd_agent_end();
    pd_signals_die(atomic_load(&ending));
}

static void on_fatal(int number)
{
    const int64_t patience = 1000000000;
    int kept = errno, none = 0;
    if (getpid() == 1) /* of a container, which has no default actions */
        return;
    if (getpid() != atomic_load(&pd_the_agent.pid)) { // NOLINT(bugprone-branch-clone)
        pd_signals_die(number);                       /* between vfork and exec */
    } else if (atomic_compare_exchange_strong(&ending, &none, number)) {
        atomic_store(&since, now_nanos());
        if (pd_this_thread.is_inside)
            pd_this_thread.is_called = true;
        else
            pd_self_end();
    } else if (now_nanos() - atomic_load(&since) >= patience) {
        pd_signals_die(number);
    }
    errno = kept;
}

static void on_ask(int number)
{
    (void)number;
    pd_worker_ask(PD_REQUEST_WINDOW);
}

/* ---- which signals --------------------------------------------------------------------------- */

/* Returns the handler that replaces the signal's default action, or NULL. */
static signal_handler *replacement_of(int number)
{
    if (!atomic_load(&is_begun) || atomic_load(&ending))
        return NULL;
    if (ask_number && number == ask_number)
        return on_ask;
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        if (handled[i] == number)
            return on_fatal;
    return NULL;
}

static bool is_ours(signal_handler *function)
{
    return function == on_fatal || function == on_ask;
}

static void replace_default(int number)
{
    struct sigaction now;
    signal_handler *ours = replacement_of(number);
    if (!ours || next.sigaction(number, NULL, &now) || now.sa_handler != SIG_DFL)
        return;
    now = action_of(ours);
    next.sigaction(number, &now, NULL);
}

void pd_signals_begin(int ask)
{
    find_all();
    if (getpid() == 1)
        return;
    ask_number = ask;
    atomic_store(&is_begun, true);
    replace_default(ask);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        replace_default(handled[i]);
}

PD_IN_CHILD void pd_signals_forget(void)
{
    pd_this_thread.is_called = false;
    atomic_store(&ending, 0);
}

/* ---- the names ------------------------------------------------------------------------------- */

PUBLIC int sigaction(int sig, const struct sigaction *restrict act, struct sigaction *restrict oact)
{
    find_all();
    signal_handler *ours = act && act->sa_handler == SIG_DFL ? replacement_of(sig) : NULL;
    struct sigaction before, instead;
    if (ours) {
        instead = action_of(ours);
        act = &instead;
    }
    int result = next.sigaction(sig, act, &before);
    if (result || !oact)
        return result;
    if (is_ours(before.sa_handler))
        before = (struct sigaction){.sa_handler = SIG_DFL};
    *oact = before;
    return 0;
}

/* Sets a handler by a function of an older interface. These differ in the flags that they set. */
static signal_handler *set(signal_handler *(*function)(int, signal_handler *), int number,
                           signal_handler *wanted)
{
    if (!function) {
        errno = ENOSYS;
        return SIG_ERR;
    }
    signal_handler *before = function(number, wanted);
    if (before != SIG_ERR && wanted == SIG_DFL)
        replace_default(number);
    return is_ours(before) ? SIG_DFL : before;
}

PUBLIC signal_handler *signal(int sig, signal_handler *handler)
{
    find_all();
    return set(next.signal, sig, handler);
}

PUBLIC signal_handler *ssignal(int sig, signal_handler *handler)
{
    return signal(sig, handler);
}

PUBLIC signal_handler *bsd_signal(int sig, signal_handler *function);
PUBLIC signal_handler *bsd_signal(int sig, signal_handler *function)
{
    find_all();
    return set(next.bsd_signal, sig, function);
}

PUBLIC signal_handler *__sysv_signal(int sig, signal_handler *function); // NOLINT
PUBLIC signal_handler *__sysv_signal(int sig, signal_handler *function)  // NOLINT
{
    find_all();
    return set(next.sysv_signal, sig, function);
}

PUBLIC signal_handler *sysv_signal(int sig, signal_handler *handler)
{
    return __sysv_signal(sig, handler);
}

PUBLIC signal_handler *sigset(int sig, signal_handler *disp)
{
    find_all();
    return set(next.sigset, sig, disp);
}

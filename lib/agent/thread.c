/* The agent's thread: see thread.h. */
#include "agent/thread.h"

#include "agent/agent.h"
#include "agent/loader.h"
#include "agent/say.h"
#include "agent/self.h"
#include "agent/top.h"
#include "agent/window.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef enum life { NONE, RUNNING, STOPPED, FAILED } life;

static atomic_uint requests;
static _Atomic uint32_t state = NONE;
static _Atomic pid_t kernel_id; /* of the thread that is or was running */

static const uint64_t nanos_per_second = 1000000000;

/* Waits until *word is not `value` any more, or somebody wakes it, or the time is over. */
static void futex_wait(const void *word, uint32_t value, uint64_t nanos)
{
    const struct timespec timeout = {.tv_sec = (time_t)(nanos / nanos_per_second),
                                     .tv_nsec = (long)(nanos % nanos_per_second)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &timeout, NULL, 0);
}

static void futex_wake(const void *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static uint64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * nanos_per_second + (uint64_t)now.tv_nsec;
}

void pd_thread_ask(pd_request request)
{
    int kept = errno;
    atomic_fetch_or(&requests, (unsigned)request);
    futex_wake(&requests);
    errno = kept;
}

/* What was asked for, or nothing when the deadline has come. */
static unsigned await_request(uint64_t deadline)
{
    for (;;) {
        unsigned asked = atomic_exchange(&requests, 0);
        uint64_t now = clock_now();
        if (asked || now >= deadline)
            return asked;
        futex_wait(&requests, 0, deadline - now);
    }
}

static void export_if_free(void)
{
    if (pd_window_export(0))
        pd_window_release();
}

static void *run(void *unused)
{
    enum { OWN_TABLE = 1 << 1 }; /* CLOSE_RANGE_UNSHARE, which older headers lack */
    const uint64_t interval = pd_the_agent.settings.interval_nanos;
    pd_this_thread.is_inside = true;
    atomic_store(&kernel_id, (pid_t)syscall(SYS_gettid));
    pprofdelta_sampler_init(&pd_this_thread.sampler, 0, 0);
    prctl(PR_SET_NAME, "pprofdelta", 0, 0, 0);
    if (syscall(SYS_close_range, 0U, ~0U, OWN_TABLE) == 0)
        pd_say_from_elsewhere();
    pd_loader_ask();
    for (uint64_t deadline = clock_now() + interval;;) {
        unsigned asked = await_request(deadline);
        if (asked & PD_REQUEST_STOP)
            break;
        if (asked & PD_REQUEST_TOP)
            pd_top_threshold();
        if (!asked || asked & PD_REQUEST_WINDOW)
            export_if_free();
        for (uint64_t now = clock_now(); deadline <= now;)
            deadline += interval * ((now - deadline) / interval + 1);
    }
    atomic_store(&state, STOPPED);
    futex_wake(&state);
    return unused;
}

static int create(void)
{
    enum { STACK_LEN = 256 << 10 };
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_setstacksize(&attributes, STACK_LEN);
    error = pthread_create(&thread, &attributes, run, NULL);
    if (error == EINVAL) { /* much of it is taken by a program's thread-local storage */
        pthread_attr_destroy(&attributes);
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        error = pthread_create(&thread, &attributes, run, NULL);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static void start(void)
{
    uint32_t none = NONE;
    /* Between vfork and exec the child runs in its parent's memory: not the time for a thread. */
    if (getpid() != atomic_load(&pd_the_agent.pid) ||
        !atomic_compare_exchange_strong(&state, &none, RUNNING))
        return;
    pd_loader_expect(true);
    int error = create();
    if (!error)
        return;
    pd_loader_expect(false);
    atomic_store(&state, FAILED);
    pd_text text = {.len = 0};
    pd_text_add(&text, "no thread could be started, so only one profile is written, at the end: ");
    pd_text_add_error(&text, error);
    pd_say(PD_TOPIC_THREAD, &text);
}

/* Above the threshold once: said once, until it was a tenth below. */
static void look_at_threshold(void)
{
    static atomic_bool is_above;
    pprofdelta_heap_stats stats;
    uint64_t threshold = pd_the_agent.settings.threshold;
    pprofdelta_heap_get_stats(atomic_load(&pd_the_agent.heap), &stats);
    uint64_t in_use = stats.inuse_bytes > 0 ? (uint64_t)stats.inuse_bytes : 0;
    if (in_use < threshold - threshold / 10)
        atomic_store(&is_above, false);
    else if (in_use >= threshold && !atomic_exchange(&is_above, true))
        pd_thread_ask(PD_REQUEST_TOP);
}

void pd_thread_sampled(uint64_t n)
{
    enum { BETWEEN_LOOKS = 8 };
    if (atomic_load_explicit(&state, memory_order_relaxed) == NONE)
        start();
    if (pd_the_agent.settings.threshold && n % BETWEEN_LOOKS == 0)
        look_at_threshold();
}

bool pd_thread_stop(unsigned milliseconds)
{
    /* As long as it waits for the loader, it writes nothing. */
    if (atomic_load(&state) != RUNNING || !pd_loader_answers(PD_LOADER_PATIENCE))
        return true;
    pd_thread_ask(PD_REQUEST_STOP);
    uint64_t deadline = clock_now() + milliseconds * (nanos_per_second / 1000);
    while (atomic_load(&state) == RUNNING) {
        uint64_t now = clock_now();
        if (now >= deadline)
            return false;
        futex_wait(&state, RUNNING, deadline - now);
    }
    return true;
}

/* A thread that has said its last word is there for a moment more. */
static void await_kernel(uint64_t deadline)
{
    const struct timespec pause = {.tv_nsec = 100000};
    while (syscall(SYS_tgkill, getpid(), atomic_load(&kernel_id), 0) == 0 && clock_now() < deadline)
        nanosleep(&pause, NULL);
}

bool pd_thread_pause(unsigned milliseconds)
{
    uint64_t deadline = clock_now() + milliseconds * (nanos_per_second / 1000);
    if (atomic_load(&state) != RUNNING)
        return false;
    pd_thread_stop(milliseconds);
    if (atomic_load(&state) != STOPPED) {
        atomic_fetch_and(&requests, ~(unsigned)PD_REQUEST_STOP);
        return false;
    }
    await_kernel(deadline);
    return true;
}

void pd_thread_resume(void)
{
    uint32_t stopped = STOPPED;
    if (atomic_compare_exchange_strong(&state, &stopped, NONE))
        start();
}

void pd_thread_forget(void)
{
    atomic_store(&requests, 0);
    atomic_store(&state, NONE);
}

/* The state of the agent, which is loaded into a program and records its heap; what it keeps for each thread, and how it
 * works in a thread of the program. README.md has the map.
 *
 * A process has one agent. malloc has no parameter for the state, so the state is global; the
 * library itself has no global state. */
#ifndef PD_AGENT_AGENT_H
#define PD_AGENT_AGENT_H

#include "agent/base/settings.h"
#include "agent/base/text.h"
#include "pprofdelta_heap.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

typedef struct pd_agent {
    pd_settings settings;
    _Atomic pid_t pid;            /* the process that this state describes */
    _Atomic uint64_t samples;     /* taken since the process began */
    _Atomic uint64_t next_number; /* the sequence number of the next file */
    void (*end)(void);     /* delivers the last window before the process ends: life/life.h */
    atomic_bool has_begun; /* the constructor has run */
} pd_agent;

extern pd_agent pd_the_agent;

/* The windows of a process with fewer samples have no names of functions: short processes are many. */
enum { PD_SAMPLES_FEW = 4 };

/* Read by the fast path of free, written by the tracker. */
extern pprofdelta_heap_filter pd_filter;

/* Of functions that run in the child of every fork. The linker puts them together, and each page of code
 * that is run in a child is a page fault. */
#define PD_IN_CHILD __attribute__((cold))

/* Of variables that are zero when a process begins, also in the child of a fork: life/forked.c clears them there. They
 * lie together, since each page that is written in a child is copied. */
#define PD_OF_PROCESS __attribute__((section("pd_of_process")))

/* Of functions that the program calls in place of those of its libraries. */
#define PD_PUBLIC __attribute__((visibility("default")))

/* Returns the tracker, or NULL if this process is not recorded, or not yet. The tracker's tables are shared with a
 * file, and belong to one process. So where the tracker is stands in a page that the kernel empties in each child
 * with a memory of its own, however it was made; only the handler of fork sets it again. The child of a vfork
 * allocates in the memory of its parent, and so for its parent. */
pprofdelta_heap *pd_agent_heap(void);

/* Sets the tracker of this process. Returns false without memory. */
bool pd_agent_set_heap(pprofdelta_heap *heap);

/* Returns whether this process is recorded and the agent may make system calls: not if it is confined. Nor
 * is the child of a vfork. */
bool pd_agent_is_recording(void);

/* Nanoseconds since 1970. */
int64_t pd_now(void);

/* Nanoseconds of another clock. */
uint64_t pd_nanos_of(clockid_t clock);

/* ---- threads ---------------------------------------------------------------------------------
 * What a thread has is thread-local storage that exists before the thread runs: access needs no call and no
 * allocation, and nothing has to be freed when the thread ends. */

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

/* The agent makes no system call any more: a filter would end the process (life/life.h). */
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

/* Does the agent's work in a thread of the program: on a stack with room (pd_own_stack_call), quietly, and marked. Returns
 * false, and does nothing, if the thread is marked already. Keeps errno. */
bool pd_work(void (*function)(void *cookie), void *cookie);

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
    static const int signals[] = {SIGPIPE, SIGXFSZ};
    sigset_t both, pending;
    quiet->error = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &quiet->cancel);
    sigemptyset(&both);
    sigemptyset(&pending);
    sigemptyset(&quiet->held);
    sigpending(&pending);
    for (int i = 0; i < 2; i++) {
        sigaddset(&both, signals[i]);
        if (!sigismember(&pending, signals[i]))
            sigaddset(&quiet->held, signals[i]);
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

/* ---- own stack ------------------------------------------------------------------------------
 * Stacks of the agent's own, for work that needs more than a small stack of the program has.
 *
 * To write a profile takes 24 KiB, and to sample an allocation up to 8 KiB. A program may do either, run
 * another program or run out of memory on an alternate signal stack of 8 KiB, in a coroutine, or in a thread
 * whose stack has 2 KiB, which musl allows. */

/* Makes the first one. Call once, while the program has memory. */
void pd_own_stack_begin(void);

/* Calls the function: on the stack of the thread if 64 KiB are known to be free there, otherwise on one of
 * the agent's. There are as many as threads have used at one time. Without memory for one more, or if the
 * machine is not one of those that are known here, the function is called on the thread's stack as well. */
void pd_own_stack_call(void (*function)(void *cookie), void *cookie);

/* The same for a function that takes microseconds. No signal handler runs meanwhile on a stack of the agent's:
 * the kernel would take the alternate stack that the thread has left for free, and the collector of a
 * language would not find what is on the thread's stack. */
void pd_own_stack_call_briefly(void (*function)(void *cookie), void *cookie);

#endif

/* The state of the agent, which is loaded into a program and records its heap; what it keeps for each
 * thread, how it works in a thread of the program, and its messages. README.md has the map.
 *
 * A process has one agent. malloc has no parameter for the state, so the state is global; the
 * library itself has no global state. */
#ifndef PD_AGENT_AGENT_H
#define PD_AGENT_AGENT_H

#include "agent/base/attach.h"
#include "agent/base/settings.h"
#include "agent/base/text.h"
#include "pprofdelta_heap.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

typedef struct pd_agent {
    _Atomic pid_t pid;            /* the process that this state describes */
    _Atomic uint64_t samples;     /* taken since the process began */
    _Atomic uint64_t next_number; /* the sequence number of the next file */
    _Atomic uint64_t files;       /* with profiles that were written */
    atomic_bool has_deleted;      /* ... and some of them deleted: --keep */
    int64_t begun_nanos;          /* when the process began */
    void (*tend)(void);           /* each second, in the agent's thread; NULL: nothing */
    void (*end)(void);     /* delivers the last window before the process ends: life/life.h */
    bool (*begin)(void);   /* begins to track, or says why not */
    atomic_bool has_begun; /* the constructor has run, or a late start was made */
    bool is_late;          /* the agent was loaded into a program that ran already */
    bool has_filter;       /* seccomp(2): it may kill for calls that filter.c does not name */
} pd_agent;

extern pd_agent pd_the_agent;
extern pd_settings pd_given; /* written by the constructor */

/* The windows of a process with fewer samples have no names of functions. */
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

/* Returns whether this process is the one that `pprofdelta record` became. */
bool pd_agent_is_command(void);

/* Short processes are many, as those of a build, and what the agent does for each must be a small part of its life. A
 * process that COMMAND started is young for a second. While it is young, the agent's thread does nothing that was not
 * requested, and if it ends, its window has no account and no names of functions. */
#define PD_YOUNG_NANOS PD_NANOS_PER_SECOND
bool pd_agent_is_young(void);

/* Nanoseconds since 1970. */
int64_t pd_now(void);

/* Nanoseconds of another clock. */
uint64_t pd_nanos_of(clockid_t clock);

/* ---- threads ---------------------------------------------------------------------------------
 * What a thread has is thread-local storage that exists before the thread runs: access needs no call and no
 * allocation, and nothing has to be freed when the thread ends. */

typedef struct pd_self {
    pprofdelta_sampler sampler;
    bool maps_arena;          /* what is mapped is an arena of Python */
    pprofdelta_weight object; /* of the sample that the next call of malloc is; bytes 0: of none */
    volatile bool is_inside;  /* the thread runs the agent's code: its allocations are not recorded,
                                nor are those of a signal handler that interrupts it */
    volatile int ended_by; /* the signal that came while is_inside and ends the process; 0: none */
    bool
        has_own_descriptors; /* a table without the program's stderr: messages go to that of the process */
    bool is_forking;         /* the thread is in fork and holds the tracker's locks */
    unsigned forks;          /* ... so many times: signal handlers may fork meanwhile */
    bool stack_is_known;              /* the two members below will not change any more */
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

/* Does the agent's work in a thread of the program: on a stack with room (pd_own_stack_call), quietly, and
 * marked. Returns false, and does nothing, if the thread is marked already. Keeps errno. */
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

/* ---- notice ---------------------------------------------------------------------------------
 * Messages of the agent on stderr.
 *
 * The agent runs in other people's programs. stdio allocates, takes locks and belongs to the
 * program. So a message is put together in a buffer on the stack and written by one write. Each
 * kind of message is written once in a process, and only while descriptor 2 is still the file
 * that it was at the start: if a program closes stderr and opens a database, no message goes into
 * the database. The messages at the end are also written if the program has closed stderr: to the
 * same file, opened once more. */

/* Notes which file descriptor 2 is. Call at the start. */
void pd_notice_begin(void);

/* Notes its path, by which a message at the end finds it if it is closed until then. */
void pd_notice_keep_path(void);

/* The kinds of messages, as bits. */
typedef enum pd_notice {
    PD_NOTICE_ASIDE = 1u << 0,   /* nothing is recorded in this process */
    PD_NOTICE_OUTPUT = 1u << 1,  /* a profile could not be delivered */
    PD_NOTICE_MEMORY = 1u << 2,  /* an allocation failed */
    PD_NOTICE_THREAD = 1u << 3,  /* the agent's thread could not be started */
    PD_NOTICE_LIMIT = 1u << 4,   /* the threshold was passed */
    PD_NOTICE_LAST = 1u << 5,    /* the last profile could not be delivered */
    PD_NOTICE_WAITING = 1u << 6, /* the end of the program waits for the command */
    PD_NOTICE_EXTRA = 1u << 7,   /* functions of an allocator could not be replaced */
    PD_NOTICE_RUNTIME = 1u << 8, /* what is seen of a program in another language */
    PD_NOTICE_END = 1u << 9,     /* where the profiles are */
    PD_NOTICE_NEXT = 1u << 10,   /* what to do with them */
    PD_NOTICE_LIVE = 1u << 11,   /* the last window would not outlive the process */
    PD_NOTICE_MISSING = 1u << 12 /* samples or profiles are missing */
} pd_notice;

/* Writes "pprofdelta: TEXT" to stderr unless there was a message of this kind. Keeps errno. */
__attribute__((format(printf, 2, 3))) void pd_notice_print(pd_notice topic, const char *format,
                                                           ...);

/* Says why nothing is recorded: the one behind the other. */
void pd_notice_refuse(const char *why, const char *what);

/* The same as pd_notice_print, and returns a descriptor to which more may be written, or -1. The caller gives it to
 * pd_notice_close. */
int pd_notice_open(pd_notice topic, const pd_fixed_text *text);
void pd_notice_close(int fd);

/* Messages go to the command, which attached to this process (attach.h); NULL: to stderr. Each is written again. */
void pd_notice_begin_attached(pd_attach *to);

/* ---- await ----------------------------------------------------------------------------------
 * Waiting for another thread without a lock and with a time limit; and whether the loader can be called
 * (dl_iterate_phdr) without waiting forever.
 *
 * The loader holds a lock while it is called. fork copies that lock. If another thread was
 * loading something at that time, the lock of the child stays taken, and any call waits forever.
 * The program itself may never call the loader in the child. So in a child the agent's own thread
 * calls it first. Until that call has returned, the agent does without what it needs the loader
 * for. */

/* Waits until *word differs from `value`, until it is woken, or for so many nanoseconds. */
void pd_await_futex(const void *word, uint32_t value, uint64_t nanos);
void pd_await_wake(const void *word);

/* Waits until *word differs from `value`, for so many milliseconds at most. Returns whether it
 * differs. */
bool pd_await_change(const _Atomic int *word, int value, unsigned milliseconds);

/* Sets the word, and wakes the threads that wait for that. */
void pd_await_set(_Atomic int *word, int value);

/* Announces a thread that will call pd_loader_try, or that this thread could not be started. */
void pd_loader_expect(bool is_expected);

/* Calls the loader if the state is not known: at the start, and in the child of a fork. May wait forever. */
void pd_loader_try(void);

enum { PD_LOADER_PATIENCE = 300 }; /* milliseconds; a call takes well under one, or forever */

/* Returns whether the loader can be called. If a thread is in pd_loader_try, waits for it for so
 * many milliseconds at most. */
bool pd_loader_answers(unsigned milliseconds);

#endif

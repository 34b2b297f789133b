/* The agent's thread: see worker.h. */
#include "agent/life/worker.h"

#include "agent/base/agent.h"
#include "agent/base/await.h"
#include "agent/base/notice.h"
#include "agent/base/own_stack.h"
#include "agent/base/real.h"
#include "agent/base/region.h"
#include "agent/base/reserve.h"
#include "agent/base/self.h"
#include "agent/delivery/delivery.h"
#include "agent/delivery/largest_sites.h"
#include "agent/delivery/live.h"
#include "agent/delivery/spool.h"
#include "agent/delivery/summary.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* WAITING: the thread has done nothing yet, and who ends the process does not wait for it. */
typedef enum life { NONE, WAITING, RUNNING, STOPPED, FAILED } life;

static atomic_uint requests;
static _Atomic int state = NONE;
static pthread_t thread; /* valid from RUNNING on, as is its tid */
static _Atomic pid_t thread_tid;
static _Atomic int is_coming; /* it was started and has no table of descriptors yet */
static sigset_t all_signals,
    signals_before;             /* the latter: the mask of the thread that started it */
static bool is_urgent;          /* the thread must not wait before it works */
static atomic_bool has_no_main; /* the main thread ends or has ended; its destructors ran */
static pthread_key_t key_of_main;
static bool has_key;

static uint64_t clock_now(void)
{
    return pd_nanos_of(CLOCK_MONOTONIC);
}

void pd_worker_ask(pd_request request)
{
    int kept = errno;
    atomic_fetch_or(&requests, (unsigned)request);
    pd_await_wake(&requests);
    errno = kept;
}

/* Waits for requests. Returns them, or 0 at the deadline. */
static unsigned await_request(uint64_t deadline)
{
    for (;;) {
        unsigned requested = atomic_exchange(&requests, 0);
        uint64_t now = clock_now();
        if (requested || now >= deadline)
            return requested;
        pd_await_futex(&requests, 0, deadline - now);
    }
}

static void export_if_free(pd_occasion why)
{
    if (pd_delivery_send(why))
        pd_delivery_release();
}

/* ---- the threads of the process -------------------------------------------------------------- */

enum { THREADS_UNKNOWN = 0 };

/* Returns the number of threads, including the main thread even if it has ended. Opens no
 * descriptor: the number of links of this directory is the number of threads plus 2. The count is
 * exact, since a thread that is about to create another one is counted itself. */
static uint64_t count_threads(void)
{
    struct stat status;
    if (stat("/proc/self/task", &status) || status.st_nlink <= 2)
        return THREADS_UNKNOWN;
    return (uint64_t)status.st_nlink - 2;
}

/* The main thread in /proc/PID/stat. */
typedef struct main_status {
    char state;    /* 0: not known */
    int exit_code; /* as waitpid returns it */
} main_status;

static main_status read_status_of_main(void)
{
    char text[1024];
    main_status status = {.state = '\0'};
    if (!pd_read_text("/proc/self/stat", text, sizeof text))
        return status;
    const char *end_of_name = strrchr(text, ')'), *last = strrchr(text, ' ');
    if (!end_of_name || end_of_name[1] != ' ')
        return status;
    status.state = end_of_name[2];
    status.exit_code = (int)pd_number_at(last + 1);
    return status;
}

/* The exe link of a main thread that has ended cannot be read. This is checked first, since it
 * needs no descriptor. */
static bool has_main_ended(main_status *status)
{
    char byte;
    if (readlink("/proc/self/exe", &byte, 1) >= 0 || errno != ENOENT)
        return false;
    *status = read_status_of_main();
    return status->state == 'Z' || status->state == 'X';
}

typedef enum company { WITH_MAIN, WITHOUT_MAIN, ALONE } company;

/* Returns which other threads there are. Only the agent's thread calls this. */
static company find_company(main_status *status)
{
    enum { MAIN_AND_AGENT = 2 };
    if (!has_main_ended(status))
        return WITH_MAIN;
    return count_threads() == MAIN_AND_AGENT ? ALONE : WITHOUT_MAIN;
}

/* Waits until a joined thread is not counted any more. */
static void await_release(pid_t tid)
{
    enum { TRIES = 1000 };
    const struct timespec pause = {.tv_nsec = 100000};
    for (int i = 0; i < TRIES && syscall(SYS_tgkill, getpid(), tid, 0) == 0; i++)
        nanosleep(&pause, NULL);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Ends the agent's thread by the system call. The C library counts its threads and calls exit(0) in
 * the last one that returns, which must not be the agent's while the process is ending. */
static _Noreturn void end_thread(void)
{
    for (;;)
        syscall(SYS_exit, 0);
}

/* Ends the process as it would end without the agent's thread, which is the last one. */
static _Noreturn void end_process(bool has_table, int exit_code)
{
    pd_await_set(&state, STOPPED);
    pd_this_thread.is_inside = false;
    if (atomic_load(&has_no_main) && !has_table) {
        pprofdelta_sampler_init(&pd_this_thread.sampler, pd_the_agent.settings.rate, 0);
        pthread_sigmask(SIG_SETMASK, &signals_before, NULL);
        exit(0);
    }
    pd_the_agent.end();
    if (WIFSIGNALED(exit_code))
        pd_signal_die(WTERMSIG(exit_code));
    for (;;)
        syscall(SYS_exit, WEXITSTATUS(exit_code));
}

/* Returns how long to wait before the next check of the other threads. */
static uint64_t next_pause(company now, uint64_t pause)
{
    const uint64_t longest = PD_NANOS_PER_SECOND / 16;
    if (now == WITH_MAIN && !atomic_load(&has_no_main))
        return PD_NANOS_PER_SECOND;
    return pause * 2 < longest ? pause * 2 : longest;
}

/* Ends the process if no other thread is left. A thread that outlived the main thread has ended
 * with status 0, which Linux 5.17 and later use as the status of the process. */
static company check_company(company before, bool has_table)
{
    main_status status = {.state = '\0'};
    company now = find_company(&status);
    if (now == ALONE)
        end_process(has_table, before == WITHOUT_MAIN ? 0 : status.exit_code);
    return now;
}

/* The process may be killed at any time. The loader is asked before anything is locked. */
static void prepare_for_death(void)
{
    static uint64_t noted;
    uint64_t loads = pd_loader_loads();
    if (!pd_delivery_hold(0))
        return;
    if (loads != noted)
        pprofdelta_heap_note_mappings(pd_agent_heap());
    noted = loads;
    pd_live_beat();
    pd_summary_tell();
    pd_delivery_release();
}

/* Returns whether threads have waited for memory for so long since the last call, a second ago. */
static bool is_pressed(void)
{
    const uint64_t enough = 150000;
    static uint64_t last = UINT64_MAX;
    uint64_t before = last;
    last = pd_memory_pressure_read(pd_the_agent.settings.pressure_file);
    return last > before && last - before >= enough;
}

/* Works until a request to end, and returns that. */
static unsigned work(bool has_table)
{
    const uint64_t interval = pd_the_agent.settings.interval_nanos;
    uint64_t pause = atomic_load(&has_no_main) ? PD_NANOS_PER_SECOND / 1000 : PD_NANOS_PER_SECOND;
    uint64_t deadline = clock_now() + interval, next_check = clock_now() + pause;
    company last = WITH_MAIN;
    bool was_pressed = false; /* since the last window on time */
    for (;;) {
        unsigned requested = await_request(deadline < next_check ? deadline : next_check);
        if (requested & PD_REQUEST_TOP) /* also of a program that ends at once */
            pd_largest_sites_threshold();
        if (requested & (PD_REQUEST_STOP | PD_REQUEST_RETIRE)) {
            check_company(last, has_table);
            return requested;
        }
        if (requested & PD_REQUEST_GROWN)
            prepare_for_death();
        if (requested & PD_REQUEST_WINDOW)
            export_if_free(PD_DELIVER_ASKED);
        else if (clock_now() >= deadline)
            export_if_free(PD_DELIVER_ON_TIME);
        uint64_t now = clock_now();
        if (now >= deadline) {
            deadline += interval * ((now - deadline) / interval + 1);
            was_pressed = false;
        }
        if (now < next_check)
            continue;
        prepare_for_death();
        if (is_pressed() && !was_pressed) {
            was_pressed = true;
            export_if_free(PD_DELIVER_ON_TIME);
        }
        last = check_company(last, has_table);
        pause = next_pause(last, pause);
        next_check = clock_now() + pause;
    }
}

/* Most processes are short, and end before the thread has anything to do. Returns false if this one has. */
static bool begin_work(void)
{
    const uint64_t delay = PD_NANOS_PER_SECOND / 10;
    int waiting = WAITING;
    if (!is_urgent)
        atomic_fetch_or(&requests, await_request(clock_now() + delay));
    pd_loader_expect(true);
    if (atomic_compare_exchange_strong(&state, &waiting, RUNNING))
        return true;
    pd_loader_expect(false);
    return false;
}

static void *run(void *unused)
{
    pd_this_thread.is_inside = true;
    atomic_store(&thread_tid, (pid_t)syscall(SYS_gettid));
    pprofdelta_sampler_init(&pd_this_thread.sampler, 0, 0);
    prctl(PR_SET_NAME, "pprofdelta", 0, 0, 0);
    if (!begin_work())
        return unused;
    bool has_table = !atomic_load(&has_no_main) && pd_spool_own_table();
    if (has_table)
        pd_notice_use_own_descriptors();
    pd_await_set(&is_coming, 0);
    pd_loader_try();
    prepare_for_death();
    unsigned requested = work(has_table);
    pd_await_set(&state, STOPPED);
    if (requested & PD_REQUEST_STOP)
        end_thread();
    return unused;
}

/* The thread has a stack of the default size if it may have to run the program's exit handlers. Otherwise its stack
 * is memory of the agent, which mlockall does not lock. */
static int create(void)
{
    enum { STACK_LEN = 256 << 10 };
    static void *stack;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    pthread_sigmask(SIG_SETMASK, &all_signals, &signals_before);
    if (!atomic_load(&has_no_main) && (stack || (stack = pd_reserve_map(STACK_LEN))))
        pthread_attr_setstack(&attributes, stack, STACK_LEN);
    error = pthread_create(&thread, &attributes, run, NULL);
    if (error == EINVAL) /* the program's thread-local storage needs a larger stack */
        error = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &signals_before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static void notify_not_started(int error)
{
    pd_notice_print(PD_NOTICE_THREAD,
                    "the agent's thread could not be started, so only one profile is written, "
                    "at the end: %s",
                    pd_words_of_error(error));
}

static void start(void *urgent)
{
    int none = NONE;
    /* No thread in the child of a vfork, which runs in the memory of its parent. */
    if (getpid() != atomic_load(&pd_the_agent.pid) ||
        !atomic_compare_exchange_strong(&state, &none, WAITING))
        return;
    is_urgent = urgent != NULL;
    atomic_store(&is_coming, is_urgent);
    int error = create();
    if (!error)
        return;
    atomic_store(&is_coming, 0);
    atomic_store(&state, FAILED);
    notify_not_started(error);
}

void pd_worker_start(void)
{
    pd_own_stack_call(start, &is_urgent);
}

/* Requests a report when the threshold is passed, and again only after a tenth less was in use. */
static __attribute__((noinline)) void check_threshold(void)
{
    static atomic_bool is_above;
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    uint64_t threshold = pd_the_agent.settings.threshold;
    pprofdelta_heap *heap = pd_agent_heap();
    if (!heap || pprofdelta_heap_describe(heap, &stats))
        return;
    uint64_t in_use = stats.inuse_bytes > 0 ? (uint64_t)stats.inuse_bytes : 0;
    if (in_use < threshold - threshold / 10)
        atomic_store(&is_above, false);
    else if (in_use >= threshold && !atomic_exchange(&is_above, true))
        pd_worker_ask(PD_REQUEST_TOP);
}

void pd_worker_sampled(uint64_t n)
{
    enum { SAMPLES_PER_CHECK = 8 };
    if (atomic_load_explicit(&pd_is_confined, memory_order_relaxed))
        return;
    if (atomic_load_explicit(&state, memory_order_relaxed) == NONE)
        pd_own_stack_call(start, NULL);
    if (pd_region_has_grown())
        pd_worker_ask(PD_REQUEST_GROWN);
    if (pd_the_agent.settings.threshold && n % SAMPLES_PER_CHECK == 0)
        check_threshold();
}

void pd_worker_await(void)
{
    enum { PATIENCE = 1000 };
    pd_await_change(&is_coming, 1, PATIENCE);
}

static bool end(pd_request request, unsigned milliseconds)
{
    pd_worker_ask(request);
    return pd_await_change(&state, RUNNING, milliseconds);
}

/* Returns whether the thread will never have anything to do. */
static bool end_before_work(void)
{
    int waiting = WAITING;
    return atomic_compare_exchange_strong(&state, &waiting, STOPPED);
}

bool pd_worker_stop(unsigned milliseconds)
{
    /* While the thread waits for the loader, it writes nothing. */
    if (end_before_work() || atomic_load(&state) != RUNNING ||
        !pd_loader_answers(PD_LOADER_PATIENCE))
        return true;
    return end(PD_REQUEST_STOP, milliseconds);
}

bool pd_worker_is_running(void)
{
    int now = atomic_load(&state);
    return now == WAITING || now == RUNNING;
}

bool pd_worker_retire(unsigned milliseconds)
{
    if (!pd_worker_is_running())
        return true;
    if (end_before_work())
        pd_worker_ask(PD_REQUEST_RETIRE);
    else if (!pd_loader_answers(PD_LOADER_PATIENCE))
        return false;
    else if (!end(PD_REQUEST_RETIRE, milliseconds)) {
        atomic_fetch_and(&requests, ~(unsigned)PD_REQUEST_RETIRE);
        return false;
    }
    pthread_join(thread, NULL);
    await_release(atomic_load(&thread_tid));
    atomic_store(&requests, 0);
    atomic_store(&state, NONE);
    return true;
}

/* Runs when the main thread ends and the process does not. Waits for a delivery, as at the end of
 * the process. */
static void on_end_of_main(void *unused)
{
    enum { PATIENCE = 10000, MAIN = 1 };
    (void)unused;
    atomic_store(&has_no_main, true);
    if (!pd_worker_is_running() || !pd_agent_heap() || !pd_self_enter())
        return;
    if (pd_worker_retire(PATIENCE) && count_threads() != MAIN)
        pd_worker_start();
    pd_self_leave();
}

/* Any value except NULL makes the destructor run. */
static void watch_main(void)
{
    if (has_key)
        pthread_setspecific(key_of_main, &key_of_main);
}

void pd_worker_begin(void)
{
    sigfillset(&all_signals);
    has_key = pthread_key_create(&key_of_main, on_end_of_main) == 0;
    watch_main();
}

PD_IN_CHILD void pd_worker_forget(void)
{
    atomic_store(&requests, 0);
    atomic_store(&state, NONE);
    atomic_store(&is_coming, 0);
    atomic_store(&has_no_main, false);
    watch_main();
}

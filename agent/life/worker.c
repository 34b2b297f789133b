/* The agent's thread: see life.h. */
#include "agent/life/life.h"

#include "agent/base/agent.h"
#include "agent/base/real.h"
#include "agent/base/region.h"
#include "agent/base/reserve.h"
#include "agent/delivery/delivery.h"
#include "process/maps.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* STARTING: some thread makes it, and nobody can join it yet. WAITING: it has done nothing yet, and who ends the process
 * does not wait for it. */
typedef enum life { NONE, STARTING, WAITING, RUNNING, STOPPED, FAILED } life;

static PD_OF_PROCESS atomic_uint requests;
static PD_OF_PROCESS _Atomic int state; /* NONE */
static pthread_t thread;                /* valid from WAITING on; its tid from RUNNING on */
static _Atomic pid_t thread_tid;
static PD_OF_PROCESS _Atomic int is_coming; /* it was started and has no table of descriptors yet */
static sigset_t signals_before;             /* the mask of the thread that started it */
static PD_OF_PROCESS atomic_bool
    has_no_main; /* the main thread ends or has ended; its destructors ran */
static pthread_key_t key_of_main;
static bool has_key;

static uint64_t clock_now(void)
{
    return pd_nanos_of(CLOCK_MONOTONIC);
}

void pd_worker_ask(pd_request request)
{
    PD_KEEP_ERRNO;
    atomic_fetch_or(&requests, (unsigned)request);
    pd_await_wake(&requests);
}

void pd_worker_report(void)
{
    if (!(atomic_load(&requests) & PD_REQUEST_TOP))
        return;
    bool holds =
        pd_delivery_hold(pd_delivery_max_millis()); /* exec waits while another thread reports */
    if (atomic_fetch_and(&requests, ~(unsigned)PD_REQUEST_TOP) & PD_REQUEST_TOP)
        pd_largest_sites_threshold();
    if (holds)
        pd_delivery_release();
}

/* Waits until there is a request, or the deadline. Whoever ends the process meanwhile finds it as well. */
static void await_request(uint64_t deadline)
{
    for (uint64_t now; !atomic_load(&requests) && (now = clock_now()) < deadline;)
        pd_await_futex(&requests, 0, deadline - now);
}

static void export_if_free(pd_occasion why)
{
    if (pd_delivery_send(why))
        pd_delivery_release();
}

/* ---- the threads of the process -------------------------------------------------------------- */

/* Returns the number of threads, including the main thread even if it has ended; 0: not known. Opens no
 * descriptor: the number of links of this directory is the number of threads plus 2. The count is
 * exact, since a thread that is about to create another one is counted itself. */
static uint64_t count_threads(void)
{
    struct stat status;
    bool is_known = stat("/proc/self/task", &status) == 0 && status.st_nlink > 2;
    return is_known ? (uint64_t)status.st_nlink - 2 : 0;
}

/* The exe link of a main thread that has ended cannot be read. This is checked first, since it
 * needs no descriptor. */
static bool has_main_ended(pd_stat *status)
{
    char byte, text[1024];
    if (readlink("/proc/self/exe", &byte, 1) >= 0 || errno != ENOENT ||
        !pd_read_text("/proc/self/stat", text, sizeof text))
        return false;
    *status = pd_stat_read(text);
    return status->state && pd_stat_has_ended(status);
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
static _Noreturn void end_thread(int status)
{
    for (;;)
        syscall(SYS_exit, status);
}

/* Ends the process as it would end without the agent's thread, which is the last one. */
static _Noreturn void end_process(int exit_code)
{
    pd_await_set(&state, STOPPED);
    pd_this_thread.is_inside = false;
    if (pd_the_agent.is_late) /* the main thread has ended by pthread_exit, most probably */
        exit(0);
    if (atomic_load(&has_no_main) && !pd_this_thread.has_own_descriptors) {
        pprofdelta_sampler_init(&pd_this_thread.sampler, pd_given.rate, 0);
        pthread_sigmask(SIG_SETMASK, &signals_before, NULL);
        exit(0);
    }
    pd_the_agent.end();
    if (WIFSIGNALED(exit_code))
        pd_signal_die(WTERMSIG(exit_code));
    end_thread(WEXITSTATUS(exit_code));
}

/* Returns how long to wait before the next check of the other threads. */
static uint64_t next_pause(bool has_main, uint64_t pause)
{
    const uint64_t longest = PD_NANOS_PER_SECOND / 16;
    if (has_main && !atomic_load(&has_no_main))
        return PD_NANOS_PER_SECOND;
    return pause * 2 < longest ? pause * 2 : longest;
}

/* How many threads there are when the program has no other than the main one, which has ended. */
static uint64_t fewest_threads(void)
{
    return (uint64_t)1 + pd_worker_is_running() + pd_the_agent.is_late;
}

/* Returns whether the main thread is there. Ends the process if no other thread is left. A thread that
 * outlived the main thread has ended with status 0, which Linux 5.17 and later use as the status of the
 * process. */
static bool check_company(bool had_main)
{
    pd_stat status;
    if (!has_main_ended(&status))
        return true;
    if (count_threads() == fewest_threads())
        end_process(had_main ? status.exit_code : 0);
    return false;
}

void pd_worker_check_company(void)
{
    if (!pd_worker_is_running())
        check_company(true);
}

/* The process may be killed at any time. The loader is asked before anything is locked. */
static void prepare_for_death(void)
{
    static uint64_t noted;
    uint64_t loads = pd_maps_loads();
    if (!pd_delivery_hold(0))
        return;
    if (loads != noted)
        pprofdelta_heap_note_mappings(pd_agent_heap());
    noted = loads;
    pd_live_beat();
    pd_summary_tell();
    pd_delivery_release();
    if (pd_the_agent.tend)
        pd_the_agent.tend();
}

/* Returns whether threads have waited for memory for so long since the last call, a second ago. */
static bool is_pressed(void)
{
    const uint64_t enough = 150000;
    static uint64_t last = UINT64_MAX;
    uint64_t before = last;
    last = pd_memory_pressure_read(pd_given.pressure_file);
    return last > before && last - before >= enough;
}

/* Works until a request to end, and returns that. begun: when the thread began to wait. */
static unsigned work_until_end(uint64_t begun)
{
    const uint64_t interval = pd_given.interval_nanos;
    uint64_t pause = atomic_load(&has_no_main) ? PD_NANOS_PER_SECOND / 1000 : PD_NANOS_PER_SECOND;
    uint64_t deadline = begun + interval, next_check = begun + pause;
    bool has_main = true, was_pressed = false; /* the latter: since the last window on time */
    for (;;) {
        await_request(deadline < next_check ? deadline : next_check);
        pd_worker_report();
        unsigned requested = atomic_fetch_and(&requests, PD_REQUEST_TOP);
        if (requested & (PD_REQUEST_STOP | PD_REQUEST_RETIRE)) {
            check_company(has_main);
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
        has_main = check_company(has_main);
        pause = next_pause(has_main, pause);
        next_check = clock_now() + pause;
    }
}

/* Waits until the other thread has made it, for a second at most. Returns whether it still has not. */
static bool is_still_starting(void)
{
    enum { PATIENCE = 1000 };
    return !pd_await_change(&state, STARTING, PATIENCE);
}

/* Most processes are short, and end before the thread has anything to do. Returns false if this one has. What would be
 * lost if it is killed meanwhile is bounded by the time, and by the number of samples (pd_worker_sampled). */
static bool begin_work(uint64_t begun)
{
    const uint64_t interval = pd_given.interval_nanos,
                   most = pd_agent_is_command() ? PD_NANOS_PER_SECOND / 10 : PD_YOUNG_NANOS;
    int waiting = WAITING;
    while (is_still_starting())
        continue;
    await_request(begun + (interval < most ? interval : most));
    pd_loader_expect(true);
    if (atomic_compare_exchange_strong(&state, &waiting, RUNNING))
        return true;
    pd_loader_expect(false);
    return false;
}

static void *run_thread(void *unused)
{
    const uint64_t begun = clock_now();
    pd_this_thread.is_inside = true;
    atomic_store(&thread_tid, (pid_t)syscall(SYS_gettid));
    pprofdelta_sampler_init(&pd_this_thread.sampler, 0, 0);
    prctl(PR_SET_NAME, "pprofdelta", 0, 0, 0);
    if (!begin_work(begun))
        return unused;
    pd_this_thread.has_own_descriptors = !atomic_load(&has_no_main) && pd_spool_own_table();
    pd_await_set(&is_coming, 0);
    pd_loader_try();
    prepare_for_death();
    unsigned requested = work_until_end(begun);
    pd_await_set(&state, STOPPED);
    if (requested & PD_REQUEST_STOP)
        end_thread(0);
    return unused;
}

/* The thread has a stack of the default size if it may have to run the program's exit handlers. Otherwise its stack
 * is memory of the agent, which mlockall does not lock. */
static int create_thread(void)
{
    enum { STACK_LEN = 256 << 10 };
    static void *stack;
    sigset_t all;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &signals_before);
    if (!atomic_load(&has_no_main) && (stack || (stack = pd_reserve_map(STACK_LEN))))
        pthread_attr_setstack(&attributes, stack, STACK_LEN);
    error = pthread_create(&thread, &attributes, run_thread, NULL);
    if (error == EINVAL) /* the program's thread-local storage needs a larger stack */
        error = pthread_create(&thread, NULL, run_thread, NULL);
    if (!error)
        pd_await_set(&state, WAITING); /* before a handler may end the process */
    pthread_sigmask(SIG_SETMASK, &signals_before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static void start_thread(void *unused)
{
    int none = NONE;
    (void)unused;
    /* No thread in the child of a vfork, which runs in the memory of its parent. */
    if (getpid() != atomic_load(&pd_the_agent.pid) ||
        !atomic_compare_exchange_strong(&state, &none, STARTING))
        return;
    atomic_store(&is_coming, 1);
    int error = create_thread();
    if (!error)
        return;
    atomic_store(&is_coming, 0);
    pd_await_set(&state, FAILED);
    pd_notice_print(PD_NOTICE_THREAD,
                    "the agent's thread could not be started, so only one profile is written, "
                    "at the end: %s",
                    pd_words_of_error(error));
}

void pd_worker_start(void)
{
    enum { PATIENCE = 1000 };
    pd_worker_ask(PD_REQUEST_GROWN); /* the thread need not wait for anything else */
    pd_own_stack_call(start_thread, NULL);
    pd_await_change(&is_coming, 1, PATIENCE);
}

/* Requests a report when the threshold is passed, and again only after a tenth less was in use. */
static __attribute__((noinline)) void check_threshold(void)
{
    static atomic_bool is_above;
    pprofdelta_heap_stats stats = {.size = sizeof stats};
    uint64_t threshold = pd_given.threshold;
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
    enum { SAMPLES_PER_CHECK = 8, SAMPLES_MANY = 1000 };
    if (atomic_load_explicit(&pd_is_confined, memory_order_relaxed))
        return;
    if (atomic_load_explicit(&state, memory_order_relaxed) == NONE)
        pd_own_stack_call(start_thread, NULL);
    if (n == SAMPLES_MANY || pd_region_has_grown())
        pd_worker_ask(PD_REQUEST_GROWN);
    if (pd_given.threshold && n % SAMPLES_PER_CHECK == 0)
        check_threshold();
}

static bool request_end(pd_request request, unsigned milliseconds)
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
    if (is_still_starting() || end_before_work() || atomic_load(&state) != RUNNING ||
        !pd_loader_answers(PD_LOADER_PATIENCE))
        return true;
    return request_end(PD_REQUEST_STOP, milliseconds);
}

bool pd_worker_is_running(void)
{
    int now = atomic_load(&state);
    return now == STARTING || now == WAITING || now == RUNNING;
}

bool pd_worker_retire(unsigned milliseconds)
{
    if (!pd_worker_is_running())
        return true;
    if (is_still_starting())
        return false;
    if (end_before_work())
        pd_worker_ask(PD_REQUEST_RETIRE);
    else if (!pd_loader_answers(PD_LOADER_PATIENCE))
        return false;
    else if (!request_end(PD_REQUEST_RETIRE, milliseconds)) {
        atomic_fetch_and(&requests, ~(unsigned)PD_REQUEST_RETIRE);
        return false;
    }
    pthread_join(thread, NULL);
    await_release(atomic_load(&thread_tid));
    atomic_fetch_and(&requests, PD_REQUEST_TOP);
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
void pd_worker_watch_main(void)
{
    if (has_key)
        pthread_setspecific(key_of_main, &key_of_main);
}

void pd_worker_begin(void)
{
    has_key = pthread_key_create(&key_of_main, on_end_of_main) == 0;
    pd_worker_watch_main();
}

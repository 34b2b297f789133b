/* How the agent starts, follows the process and ends: see lifecycle.h. */
#include "agent/life/lifecycle.h"

#include "agent/account/account.h"
#include "agent/base/agent.h"
#include "agent/base/await.h"
#include "agent/stacks/callers.h"
#include "agent/delivery/delivery.h"
#include "agent/stacks/function_names.h"
#include "agent/delivery/handover.h"
#include "agent/interposed/interpose_extra.h"
#include "agent/interposed/interpose_maps.h"
#include "agent/delivery/keep.h"
#include "agent/delivery/largest_sites.h"
#include "agent/base/loader.h"
#include "agent/account/mappings.h"
#include "agent/base/notice.h"
#include "agent/base/own_stack.h"
#include "agent/base/program.h"
#include "agent/base/quiet.h"
#include "agent/account/real.h"
#include "agent/base/reserve.h"
#include "agent/base/self.h"
#include "agent/life/signals.h"
#include "agent/delivery/spool.h"
#include "agent/delivery/summary.h"
#include "agent/stacks/unloaded.h"
#include "agent/life/worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

pd_agent pd_the_agent;
pprofdelta_heap_filter pd_filter;
__thread pd_self pd_this_thread __attribute__((tls_model("initial-exec")));

/* This thread has delivered a window before an exec and keeps others from delivering. */
static __thread bool is_keeping __attribute__((tls_model("initial-exec")));

static atomic_bool has_come;

enum { ALIVE, ENDING, ENDED };
static _Atomic int stage = ALIVE;

bool pd_agent_is_coming(void)
{
    return !atomic_load_explicit(&has_come, memory_order_acquire);
}

int64_t pd_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* This thread holds the tracker's locks during fork. So the handlers of other libraries, which
 * may allocate, must not enter the tracker: the thread is marked as inside. If a signal handler
 * forks while it interrupts the agent's code, the locks cannot be taken, and that child is not
 * recorded. */
static int64_t fork_nanos; /* when a fork began */

static void before_fork(void)
{
    pprofdelta_heap *heap = atomic_load(&pd_the_agent.heap);
    pd_this_thread.is_forking = heap && pd_self_enter();
    if (!pd_this_thread.is_forking)
        return;
    pprofdelta_heap_fork_prepare(heap);
    pd_mappings_fork_prepare();
    fork_nanos = pd_now();
    pd_account_fork_prepare();
}

static void after_fork_in_parent(void)
{
    if (!pd_this_thread.is_forking)
        return;
    pd_mappings_fork_done();
    pprofdelta_heap_fork_parent(atomic_load(&pd_the_agent.heap));
    pd_this_thread.is_forking = false;
    pd_self_leave();
}

/* Each page that is touched here is a page fault, and most children run another program at once. So
 * the sampler is left to the first allocation, and the time is taken by the parent. */
static void after_fork_in_child(void)
{
    pprofdelta_heap *heap = atomic_load(&pd_the_agent.heap);
    if (!pd_this_thread.is_forking) {
        atomic_store(&pd_the_agent.heap, NULL);
        pd_interpose_maps_follow(false);
        pd_mappings_forget();
        return;
    }
    pd_mappings_fork_done();
    pprofdelta_heap_fork_child(heap, PPROFDELTA_HEAP_KEEP, 0, fork_nanos);
    atomic_store(&pd_the_agent.pid, getpid());
    atomic_store(&pd_the_agent.samples, 0);
    atomic_store(&pd_the_agent.next_number, 1);
    pd_worker_forget();
    pd_signals_forget();
    pd_loader_forget();
    atomic_store(&stage, ALIVE);
    pd_delivery_forget();
    pd_account_fork_child();
    pd_unloaded_forget_lock();
    pd_function_names_abandon();
    pd_reserve_forget();
    pd_walk_forget();
    pd_own_stack_forget();
    pd_largest_sites_allow();
    pd_this_thread.sampler = (pprofdelta_sampler){.interval = 0};
    pd_this_thread.is_forking = false;
    pd_self_leave();
}

/* ---- the end --------------------------------------------------------------------------------- */

static void notify_waiting(void)
{
    pd_fixed_text text = {.len = 0};
    pd_fixed_text_add(&text, "the program has ended; waiting up to ");
    pd_fixed_text_add_number(&text, pd_the_agent.settings.timeout);
    pd_fixed_text_add(&text, " s for the command that takes its profiles");
    pd_notice_send(PD_NOTICE_WAITING, &text);
}

/* Ends the agent's thread. Waits for its delivery for as long as that may take. */
static bool stop_thread(void)
{
    enum { UNNOTICED_MILLIS = 1000 };
    if (pd_the_agent.settings.command) {
        if (pd_worker_stop(UNNOTICED_MILLIS))
            return true;
        notify_waiting();
    }
    return pd_worker_stop(pd_delivery_max_millis());
}

static void notify_lost(void)
{
    pd_fixed_text text = {.len = 0};
    pd_fixed_text_add(&text, "the last profile is lost: the one before is still being delivered");
    pd_notice_send(PD_NOTICE_LAST, &text);
}

/* A second thread that ends the process waits for the first, which may deliver two windows. */
static void end_once(void *unused)
{
    (void)unused;
    int is_alive = ALIVE;
    if (!atomic_compare_exchange_strong(&stage, &is_alive, ENDING)) {
        pd_await_change(&stage, ENDING, 2 * pd_delivery_max_millis() + 1000);
        return;
    }
    if (is_keeping) { /* a signal ends the process between the delivery and the exec */
        is_keeping = false;
        pd_delivery_release();
    }
    if (stop_thread() && pd_delivery_send_last())
        pd_delivery_release();
    else
        notify_lost();
    pd_summary_end();
    pd_keep_end();
    atomic_store(&stage, ENDED);
}

void pd_agent_end(void)
{
    /* The child of a vfork, or of a fork that the C library does not know about, writes nothing.
     * Any other process ends here only if it took a sample, or if `pprofdelta record` became it, which
     * then says that there is no profile. */
    pid_t pid = getpid();
    if (!atomic_load(&pd_the_agent.heap) || pid != atomic_load(&pd_the_agent.pid) ||
        (!atomic_load(&pd_the_agent.samples) && pid != pd_the_agent.settings.command_pid) ||
        !pd_self_enter())
        return;
    int kept = errno;
    pd_quiet quiet;
    pd_quiet_begin(&quiet);
    pd_own_stack_call(end_once, NULL);
    pd_quiet_end(&quiet);
    errno = kept;
    pd_self_leave();
}

static void deliver_before_exec(void *unused)
{
    (void)unused;
    is_keeping = pd_delivery_send_last();
    if (!is_keeping)
        notify_lost();
}

bool pd_agent_before_exec(void)
{
    int kept = errno;
    if (!atomic_load(&pd_the_agent.heap) || getpid() != atomic_load(&pd_the_agent.pid) ||
        !atomic_load(&pd_the_agent.samples) || !pd_self_enter())
        return false;
    pd_quiet quiet;
    pd_quiet_begin(&quiet);
    pd_loader_answers(PD_LOADER_PATIENCE);
    pd_own_stack_call(deliver_before_exec, NULL);
    bool is_kept = is_keeping;
    pd_quiet_end(&quiet);
    errno = kept;
    pd_self_leave();
    return is_kept;
}

void pd_agent_exec_failed(bool was_kept)
{
    is_keeping = false;
    if (was_kept)
        pd_delivery_release();
}

/* ---- one thread alone ------------------------------------------------------------------------ */

bool pd_agent_pause(void)
{
    int kept = errno;
    if (!atomic_load(&pd_the_agent.heap) || getpid() != atomic_load(&pd_the_agent.pid) ||
        atomic_load(&stage) != ALIVE || !pd_self_enter())
        return false;
    bool is_paused = pd_worker_is_running() && pd_worker_retire(pd_delivery_max_millis());
    pd_self_leave();
    errno = kept;
    return is_paused;
}

void pd_agent_resume(void)
{
    int kept = errno;
    if (!pd_self_enter())
        return;
    pd_worker_start();
    pd_worker_await(); /* the program may close all descriptors next */
    pd_self_leave();
    errno = kept;
}

bool pd_agent_before_move(void)
{
    int kept = errno;
    pprofdelta_heap *heap = atomic_load(&pd_the_agent.heap);
    bool is_paused = pd_agent_pause();
    if (heap && getpid() == atomic_load(&pd_the_agent.pid) && pd_self_enter()) {
        pprofdelta_heap_note_mappings(heap);
        pd_spool_hold(pd_the_agent.settings.dir);
        pd_self_leave();
    }
    errno = kept;
    return is_paused;
}

void pd_agent_move_failed(void)
{
    int kept = errno;
    if (getpid() == atomic_load(&pd_the_agent.pid))
        pd_spool_release();
    errno = kept;
}

__attribute__((destructor)) static void at_exit(void)
{
    pd_agent_end();
}

/* ---- the beginning --------------------------------------------------------------------------- */

static void give_up(const char *why, const char *what)
{
    pd_fixed_text text = {.len = 0};
    pd_fixed_text_add(&text, "nothing is recorded in this process: ");
    pd_fixed_text_add(&text, why);
    pd_fixed_text_add(&text, what);
    pd_notice_send(PD_NOTICE_ASIDE, &text);
}

/* Calls malloc, since the agent's ticks. The address of malloc is no proof: an executable may
 * have an address of its own for a function of a library. */
bool pd_agent_is_first(void)
{
    void *(*volatile allocate)(size_t) = NULL;
    void (*volatile release)(void *) = NULL;
    void *malloc_symbol = dlsym(RTLD_DEFAULT, "malloc"), *free_symbol = dlsym(RTLD_DEFAULT, "free");
    if (!malloc_symbol || !free_symbol)
        return false;
    memcpy((void *)&allocate, &malloc_symbol, sizeof malloc_symbol);
    memcpy((void *)&release, &free_symbol, sizeof free_symbol);
    int64_t before = pd_this_thread.sampler.left;
    release(allocate(1));
    return pd_this_thread.sampler.left != before;
}

/* The compressor allocates once, when the first profile is written. malloc cannot be called there
 * if that is in a signal handler. So the agent's own copy of the compressor gets pages. */
#ifdef PD_HAVE_DEFLATE_ALLOCATOR
static void *map_block(size_t size)
{
    const size_t header = 64; /* keeps the block aligned */
    size_t whole = size + header;
    char *pages = pd_reserve_map(whole);
    if (!pages)
        return NULL;
    memcpy(pages, &whole, sizeof whole);
    return pages + header;
}

static void unmap_block(void *ptr)
{
    const size_t header = 64;
    size_t whole;
    if (!ptr)
        return;
    memcpy(&whole, (char *)ptr - header, sizeof whole);
    pd_reserve_unmap((char *)ptr - header, whole);
}

static void set_compressor_memory(void)
{
    libdeflate_set_memory_allocator(map_block, unmap_block);
}
#else
static void set_compressor_memory(void)
{
}
#endif

static void *map_pages(void *cookie, size_t size)
{
    (void)cookie;
    return pd_reserve_map(size);
}

static void unmap_pages(void *cookie, void *ptr, size_t size)
{
    (void)cookie;
    pd_reserve_unmap(ptr, size);
}

static void begin_tracking(void)
{
    static const pprofdelta_heap_pages pages = {map_pages, unmap_pages, NULL};
    pd_reserve_begin();
    pd_function_names_begin();
    set_compressor_memory();
    pprofdelta_error err;
    pprofdelta_heap *heap = NULL;
    pprofdelta_heap_options options = PPROFDELTA_HEAP_OPTIONS_INIT;
    options.period = pd_the_agent.settings.rate;
    options.format = pd_the_agent.settings.format;
    options.resource = pd_the_agent.settings.resource;
    options.resource_len = pd_the_agent.settings.resource_len;
    options.started_nanos = pd_now();
    options.filter = &pd_filter;
    options.pages = &pages;
    options.flags = PPROFDELTA_HEAP_NAMES_ONLY;
    options.symbolize = pd_function_names_find;
    if (pd_the_agent.settings.account) {
        options.gauge = PD_ACCOUNT_TYPE;
        options.gauge_unit = PD_ACCOUNT_UNIT;
    }
    if (pprofdelta_heap_new(&options, &heap, &err) != PPROFDELTA_OK) {
        give_up(err.text, "");
        return;
    }
    pd_unwind_begin();
    pd_walk_give(pd_walk_take()); /* there is one when the program has no more memory */
    pd_account_begin();
    if (pd_the_agent.settings.command)
        pd_handover_begin();
    atomic_store(&pd_the_agent.pid, getpid());
    atomic_store(&pd_the_agent.next_number, 1);
    pd_worker_begin();
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    at_quick_exit(pd_agent_end);
    pd_extra_begin();
    atomic_store_explicit(&pd_the_agent.heap, heap, memory_order_release);
    pd_signals_begin(pd_the_agent.settings.signal);
}

__attribute__((constructor)) static void begin(void)
{
    int kept = errno;
    pd_real_find();
    pd_notice_begin();
    pd_program_begin();
    const char *wrong = pd_settings_read(&pd_the_agent.settings);
    if (getauxval(AT_SECURE))
        give_up("it runs with other rights than its user (setuid, setgid or capabilities)", "");
    else if (wrong)
        give_up("the value of this variable is invalid: ", wrong);
    else if (!pd_agent_is_first())
        give_up("the program has its own malloc, which the agent cannot replace", "");
    else
        begin_tracking();
    bool is_recorded = atomic_load(&pd_the_agent.heap) != NULL;
    if (is_recorded)
        pd_summary_begin();
    pd_interpose_maps_follow(is_recorded && pd_the_agent.settings.account);
    atomic_store_explicit(&has_come, true, memory_order_release);
    errno = kept;
}

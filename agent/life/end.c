/* How the process ends, becomes another program, moves, or installs a filter that kills: see life.h. */
#include "agent/life/life.h"

#include "agent/account/account.h"
#include "agent/base/agent.h"
#include "agent/base/region.h"
#include "agent/delivery/delivery.h"

#include <unistd.h>

enum { ALIVE, ENDING, ENDED };
static PD_OF_PROCESS _Atomic int stage; /* ALIVE */

/* Ends the agent's thread. Waits for its delivery for as long as that may take. */
static bool stop_thread(void)
{
    enum { UNNOTICED_MILLIS = 1000 };
    if (pd_given.command) {
        if (pd_worker_stop(UNNOTICED_MILLIS))
            return true;
        pd_notice_print(PD_NOTICE_WAITING,
                        "the program has ended; waiting up to %ju s for the command that takes its "
                        "profiles",
                        (uintmax_t)pd_given.timeout);
    }
    return pd_worker_stop(pd_delivery_max_millis());
}

static void notify_lost(void)
{
    pd_notice_print(PD_NOTICE_LAST, "the last profile was not delivered%s: the one before still is",
                    pd_live_fate());
}

/* What was not delivered can be recovered from the file. */
static void deliver_last(void *unused)
{
    (void)unused;
    if (pd_given.probes)
        return;
    pd_worker_report();
    if (!pd_delivery_send(PD_DELIVER_LAST)) {
        notify_lost();
        return;
    }
    if (pd_delivery_has_all())
        pd_live_end(false);
    pd_summary_tell();
    pd_delivery_release();
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
    if (stop_thread())
        deliver_last(NULL);
    else
        notify_lost();
    if (!pd_given.probes)
        pd_summary_end();
    pd_keep_end();
    pd_await_set(&stage, ENDED);
}

/* The thread may hold a lock of the tracker, and never gives it back. */
static void notify_interrupted(void)
{
    if (atomic_load(&stage) == ALIVE)
        pd_notice_print(PD_NOTICE_LAST,
                        "the last profile was not delivered%s: a signal handler that interrupted "
                        "the agent ended the program",
                        pd_live_has_all() ? "; pprofdelta recover can make it" : " and is lost");
}

void pd_agent_end(void)
{
    /* A process without a sample writes nothing. But if `pprofdelta record` became it, it says so. */
    if (!pd_agent_is_recording() || (!atomic_load(&pd_the_agent.samples) && !pd_agent_is_command()))
        return;
    if (!pd_work(end_once, NULL))
        notify_interrupted();
}

void pd_agent_before_exec(void)
{
    PD_KEEP_ERRNO;
    if (!pd_agent_is_recording() || !atomic_load(&pd_the_agent.samples))
        return;
    pd_loader_answers(PD_LOADER_PATIENCE);
    pd_work(deliver_last, NULL);
}

/* ---- a process that goes on ------------------------------------------------------------------ */

/* Another thread may have begun to sample before, and started the agent's thread again. */
void pd_agent_leave(void)
{
    pprofdelta_heap *heap = pd_agent_heap();
    bool is_alone = pd_worker_retire(pd_delivery_max_millis());
    if (is_alone)
        deliver_last(NULL);
    else
        notify_lost();
    pd_keep_end();
    pd_agent_set_heap(NULL);
    pd_worker_retire(pd_delivery_max_millis());
    pd_live_leave(heap);
}

bool pd_agent_again(pprofdelta_heap *heap)
{
    pprofdelta_heap_fork(heap, PPROFDELTA_FORK_PREPARE, 0);
    pprofdelta_heap_fork(heap, PPROFDELTA_FORK_ANEW, pd_now());
    pprofdelta_heap_fork(heap, PPROFDELTA_FORK_PARENT, 0);
    pd_mappings_forget();
    atomic_store(&pd_the_agent.samples, 0);
    atomic_store(&pd_the_agent.files, 0);
    pd_the_agent.begun_nanos = pd_now();
    return pd_agent_set_heap(heap);
}

/* ---- one thread alone ------------------------------------------------------------------------ */

static void pause_thread(void *is_paused)
{
    *(bool *)is_paused = pd_worker_is_running() && pd_worker_retire(pd_delivery_max_millis());
}

bool pd_agent_pause(void)
{
    bool is_paused = false;
    if (pd_agent_is_recording() && atomic_load(&stage) == ALIVE)
        pd_work(pause_thread, &is_paused);
    return is_paused;
}

void pd_agent_resume(void)
{
    PD_KEEP_ERRNO;
    if (!pd_self_enter())
        return;
    pd_worker_start();
    pd_self_leave();
}

/* A process of root that becomes a user: the folder of that user. */
typedef struct move {
    uid_t user;
    int fd; /* -1: none */
} move;

static void prepare_move(void *cookie)
{
    move *m = cookie;
    pprofdelta_heap_note_mappings(pd_agent_heap());
    if (m->fd < 0 || !pd_delivery_hold(0)) {
        pd_spool_hold();
        return;
    }
    pd_live_end(true); /* another file is made in the folder */
    pd_spool_use_folder(m->fd, m->user);
    m->fd = -1;
    pd_delivery_release();
}

bool pd_agent_before_move(uid_t user)
{
    PD_KEEP_ERRNO;
    bool is_paused = pd_agent_pause();
    /* The child of a vfork is not recorded, but the program that it executes is. */
    move m = {user, user && pd_agent_heap() ? pd_spool_open_folder(user) : -1};
    if (pd_agent_is_recording())
        pd_work(prepare_move, &m);
    pd_close(m.fd);
    return is_paused;
}

/* ---- a filter that kills ---------------------------------------------------------------------- */

/* The window that is due, and all that the last one will need. */
static void prepare_last(void *forbidden)
{
    if (pd_worker_retire(pd_delivery_max_millis()) && pd_delivery_send(PD_DELIVER_LAST)) {
        pprofdelta_heap_note_mappings(pd_agent_heap());
        pd_live_beat();
        pd_region_spare();
        pd_delivery_release();
    }
    pd_notice_print(PD_NOTICE_LIVE,
                    "behind the seccomp filter of this process, which forbids %s, no profile is "
                    "written: the last one is not delivered%s",
                    (const char *)forbidden, pd_live_fate());
    pd_signals_end();
}

/* The agent of a program that a process without a tracker executes there is left out, too. */
bool pd_agent_before_confine(const char *forbidden)
{
    if (!pd_agent_heap())
        return !atomic_exchange(&pd_is_confined, true);
    if (!pd_agent_is_recording() || !pd_work(prepare_last, (void *)forbidden))
        return false;
    atomic_store(&pd_is_confined, true);
    return true;
}

void pd_agent_confine_failed(void)
{
    PD_KEEP_ERRNO;
    atomic_store(&pd_is_confined, false);
    if (pd_agent_is_recording())
        pd_signals_begin();
}

/* How the process ends, becomes another program, or moves: see end.h. */
#include "agent/life/end.h"

#include "agent/base/agent.h"
#include "agent/base/await.h"
#include "agent/base/notice.h"
#include "agent/base/own_stack.h"
#include "agent/base/self.h"
#include "agent/delivery/delivery.h"
#include "agent/delivery/keep.h"
#include "agent/delivery/live.h"
#include "agent/delivery/spool.h"
#include "agent/delivery/summary.h"
#include "agent/life/worker.h"

#include <unistd.h>

enum { ALIVE, ENDING, ENDED };
static _Atomic int stage = ALIVE;

PD_IN_CHILD void pd_end_forget(void)
{
    atomic_store(&stage, ALIVE);
}

/* Ends the agent's thread. Waits for its delivery for as long as that may take. */
static bool stop_thread(void)
{
    enum { UNNOTICED_MILLIS = 1000 };
    if (pd_the_agent.settings.command) {
        if (pd_worker_stop(UNNOTICED_MILLIS))
            return true;
        pd_notice_print(PD_NOTICE_WAITING,
                        "the program has ended; waiting up to %ju s for the command that takes its "
                        "profiles",
                        (uintmax_t)pd_the_agent.settings.timeout);
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
    if (!pd_delivery_send(PD_DELIVER_LAST)) {
        notify_lost();
        return;
    }
    if (pd_delivery_has_all())
        pd_live_end();
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
    if (!pd_agent_is_recording() || (!atomic_load(&pd_the_agent.samples) &&
                                     getpid() != (pid_t)pd_the_agent.settings.command_pid))
        return;
    if (!pd_self_enter()) {
        notify_interrupted();
        return;
    }
    pd_quiet quiet;
    pd_quiet_begin(&quiet);
    pd_own_stack_call(end_once, NULL);
    pd_quiet_end(&quiet);
    pd_self_leave();
}

void pd_agent_before_exec(void)
{
    if (!pd_agent_is_recording() || !atomic_load(&pd_the_agent.samples) || !pd_self_enter())
        return;
    pd_quiet quiet;
    pd_quiet_begin(&quiet);
    pd_loader_answers(PD_LOADER_PATIENCE);
    pd_own_stack_call(deliver_last, NULL);
    pd_quiet_end(&quiet);
    pd_self_leave();
}

/* ---- one thread alone ------------------------------------------------------------------------ */

bool pd_agent_pause(void)
{
    int kept = errno;
    if (!pd_agent_is_recording() || atomic_load(&stage) != ALIVE || !pd_self_enter())
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

bool pd_agent_before_move(uid_t user)
{
    int kept = errno;
    bool is_paused = pd_agent_pause();
    /* The child of a vfork is not recorded, but the program that it executes is. */
    int fd = user && pd_agent_heap() ? pd_spool_open_folder(user) : -1;
    if (pd_agent_is_recording() && pd_self_enter()) {
        pprofdelta_heap_note_mappings(pd_agent_heap());
        if (fd >= 0 && pd_delivery_hold(0)) {
            pd_live_end();
            pd_live_forget(true); /* another file is made in the folder */
            pd_spool_use_folder(fd, user);
            pd_delivery_release();
        } else {
            pd_spool_hold();
        }
        pd_self_leave();
    } else if (fd >= 0) {
        close(fd);
    }
    errno = kept;
    return is_paused;
}

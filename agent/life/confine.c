/* A filter that kills: see confine.h. */
#include "agent/life/confine.h"

#include "agent/base/agent.h"
#include "agent/base/notice.h"
#include "agent/base/own_stack.h"
#include "agent/base/region.h"
#include "agent/base/self.h"
#include "agent/delivery/delivery.h"
#include "agent/delivery/live.h"
#include "agent/life/signals.h"
#include "agent/life/worker.h"

/* The window that is due, and all that the last one will need. */
static void prepare(void *unused)
{
    (void)unused;
    if (!pd_worker_retire(pd_delivery_max_millis()) || !pd_delivery_send(PD_DELIVER_LAST))
        return;
    pprofdelta_heap_note_mappings(pd_agent_heap());
    pd_live_beat();
    pd_region_spare();
    pd_delivery_release();
}

/* The agent of a program that a process without a tracker executes there is left out, too. */
bool pd_agent_before_confine(const char *forbidden)
{
    if (!pd_agent_heap())
        return !atomic_exchange(&pd_is_confined, true);
    if (!pd_agent_is_recording() || !pd_self_enter())
        return false;
    pd_quiet quiet;
    pd_quiet_begin(&quiet);
    pd_own_stack_call(prepare, NULL);
    pd_notice_print(PD_NOTICE_LIVE,
                    "behind the seccomp filter of this process, which forbids %s, no profile is "
                    "written: the last one is not delivered%s",
                    forbidden, pd_live_fate());
    pd_signals_end();
    pd_quiet_end(&quiet);
    atomic_store(&pd_is_confined, true);
    pd_self_leave();
    return true;
}

void pd_agent_confine_failed(void)
{
    int kept = errno;
    atomic_store(&pd_is_confined, false);
    if (pd_agent_is_recording())
        pd_signals_begin((int)pd_the_agent.settings.signal);
    errno = kept;
}

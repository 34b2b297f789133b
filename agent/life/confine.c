/* A filter that kills: see life.h. */
#include "agent/life/life.h"

#include "agent/base/agent.h"
#include "agent/base/region.h"
#include "agent/delivery/delivery.h"

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

/* The state of the agent: see agent.h. */
#include "agent/base/agent.h"

#include "agent/base/real.h"
#include "agent/base/self.h"

#include <unistd.h>

pd_agent pd_the_agent;
pprofdelta_heap_filter pd_filter;
atomic_bool pd_is_confined;
__thread pd_self pd_this_thread __attribute__((tls_model("initial-exec")));

bool pd_agent_is_recording(void)
{
    return pd_agent_heap() && !atomic_load(&pd_is_confined) &&
           getpid() == atomic_load(&pd_the_agent.pid);
}

uint64_t pd_nanos_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * PD_NANOS_PER_SECOND + (uint64_t)now.tv_nsec;
}

int64_t pd_now(void)
{
    return (int64_t)pd_nanos_of(CLOCK_REALTIME);
}

void pd_self_end(void)
{
    int signal = pd_this_thread.ended_by;
    pd_this_thread.ended_by = 0;
    pd_the_agent.end();
    pd_signal_die(signal);
}

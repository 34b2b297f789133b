#include "thread.h"

#include <sched.h>
#include <signal.h>

bool cli_thread_pays(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1;
}

bool cli_thread_start(pthread_t *thread, void *(*work)(void *), void *cookie)
{
    sigset_t all, before; /* signals are for the first thread, which knows when they may come */
    if (!cli_thread_pays())
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_made = pthread_create(thread, NULL, work, cookie) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_made;
}

/* Preloaded, starts a thread that does nothing: what a C library's malloc costs once a process is
 * not single-threaded any more, as it is beside any profiler that has a thread. */
#include <pthread.h>
#include <unistd.h>

static void *idle(void *unused)
{
    for (;;)
        pause();
    return unused;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    if (!pthread_create(&thread, NULL, idle, NULL))
        pthread_detach(thread);
}

/* Waiting for another thread: see await.h. */
#include "agent/base/await.h"

#include <stdint.h>
#include <time.h>

static int64_t milliseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool pd_await_change(const _Atomic int *word, int value, unsigned milliseconds)
{
    const struct timespec pause = {.tv_nsec = 100000};
    if (atomic_load(word) != value || !milliseconds)
        return atomic_load(word) != value;
    int64_t end = milliseconds_now() + milliseconds;
    while (atomic_load(word) == value && milliseconds_now() < end)
        nanosleep(&pause, NULL);
    return atomic_load(word) != value;
}

/* May the loader be asked: see loader.h. */
#include "agent/loader.h"

#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { ANSWERS, NOT_KNOWN, ASKED };

static _Atomic int state = ANSWERS;

void pd_loader_forget(void)
{
    atomic_store(&state, NOT_KNOWN);
}

void pd_loader_expect(bool is_expected)
{
    int from = is_expected ? NOT_KNOWN : ASKED;
    atomic_compare_exchange_strong(&state, &from, is_expected ? ASKED : NOT_KNOWN);
}

static int look_at_nothing(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)info, (void)size, (void)cookie;
    return 1;
}

void pd_loader_ask(void)
{
    if (atomic_load(&state) == ANSWERS)
        return;
    dl_iterate_phdr(look_at_nothing, NULL);
    atomic_store(&state, ANSWERS);
}

static int64_t milliseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool pd_loader_answers(unsigned milliseconds)
{
    const struct timespec pause = {.tv_nsec = 100000};
    int64_t end = milliseconds ? milliseconds_now() + milliseconds : 0;
    while (milliseconds && atomic_load(&state) == ASKED && milliseconds_now() < end)
        nanosleep(&pause, NULL);
    return atomic_load(&state) == ANSWERS;
}

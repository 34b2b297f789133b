/* Waiting for another thread, and for the loader: see await.h. */
#include "agent/base/await.h"

#include "agent/base/agent.h"

#include <link.h>
#include <stddef.h>
#include <time.h>

bool pd_await_change(const _Atomic int *word, int value, unsigned milliseconds)
{
    const struct timespec pause = {.tv_nsec = 100000};
    uint64_t end =
        milliseconds ? pd_nanos_of(CLOCK_MONOTONIC) + milliseconds * UINT64_C(1000000) : 0;
    while (atomic_load(word) == value && end && pd_nanos_of(CLOCK_MONOTONIC) < end)
        nanosleep(&pause, NULL);
    return atomic_load(word) != value;
}

enum { ANSWERS, NOT_KNOWN, TRIED };

static _Atomic int loader = ANSWERS;

PD_IN_CHILD void pd_loader_forget(void)
{
    atomic_store(&loader, NOT_KNOWN);
}

void pd_loader_expect(bool is_expected)
{
    int from = is_expected ? NOT_KNOWN : TRIED;
    atomic_compare_exchange_strong(&loader, &from, is_expected ? TRIED : NOT_KNOWN);
}

static int stop_at_first(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)info, (void)size, (void)cookie;
    return 1;
}

void pd_loader_try(void)
{
    if (atomic_load(&loader) == ANSWERS)
        return;
    dl_iterate_phdr(stop_at_first, NULL);
    atomic_store(&loader, ANSWERS);
}

static int take_loads(struct dl_phdr_info *info, size_t size, void *loads)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *(uint64_t *)loads = (uint64_t)info->dlpi_adds + (uint64_t)info->dlpi_subs;
    return 1; /* the same for all objects */
}

uint64_t pd_loader_loads(void)
{
    uint64_t loads = 1;
    dl_iterate_phdr(take_loads, &loads);
    return loads;
}

bool pd_loader_answers(unsigned milliseconds)
{
    pd_await_change(&loader, TRIED, milliseconds);
    return atomic_load(&loader) == ANSWERS;
}

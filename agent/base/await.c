/* Waiting for another thread, and for the loader: see agent.h. */
#include "agent/base/agent.h"

#include <link.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void pd_await_futex(const void *word, uint32_t value, uint64_t nanos)
{
    const struct timespec timeout = {.tv_sec = (time_t)(nanos / PD_NANOS_PER_SECOND),
                                     .tv_nsec = (long)(nanos % PD_NANOS_PER_SECOND)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &timeout, NULL, 0);
}

void pd_await_wake(const void *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

bool pd_await_change(const _Atomic int *word, int value, unsigned milliseconds)
{
    uint64_t now = milliseconds ? pd_nanos_of(CLOCK_MONOTONIC) : 0;
    uint64_t end = now + milliseconds * UINT64_C(1000000);
    for (; atomic_load(word) == value && now < end; now = pd_nanos_of(CLOCK_MONOTONIC))
        pd_await_futex(word, (uint32_t)value, end - now);
    return atomic_load(word) != value;
}

void pd_await_set(_Atomic int *word, int value)
{
    atomic_store(word, value);
    pd_await_wake(word);
}

enum { NOT_KNOWN, ANSWERS, TRIED };

static PD_OF_PROCESS _Atomic int loader; /* NOT_KNOWN */

void pd_loader_expect(bool is_expected)
{
    int from = is_expected ? NOT_KNOWN : TRIED;
    if (atomic_compare_exchange_strong(&loader, &from, is_expected ? TRIED : NOT_KNOWN))
        pd_await_wake(&loader);
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
    pd_await_set(&loader, ANSWERS);
}

bool pd_loader_answers(unsigned milliseconds)
{
    pd_await_change(&loader, TRIED, milliseconds);
    return atomic_load(&loader) == ANSWERS;
}

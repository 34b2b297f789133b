#include "base/lock.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static void sleep_while(const uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL);
}

static void wake_one(const uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}
#else
static void sleep_while(const uint32_t *word, uint32_t value)
{
    (void)word, (void)value;
    sched_yield();
}

static void wake_one(const uint32_t *word)
{
    (void)word;
}
#endif

enum { SPINS = 100, REST = 32, REST_FOR_SLEEPERS = 2000 };

static inline void breathe(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

void pd_lock_wait(pd_lock *lock)
{
    for (int i = 0; i < SPINS; i++) {
        if (!__atomic_load_n(&lock->state, __ATOMIC_RELAXED) && pd_lock_try(lock))
            return;
        breathe();
    }
    int kept = errno;
    while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE))
        sleep_while(&lock->state, 2);
    errno = kept;
}

void pd_lock_wake(pd_lock *lock)
{
    int kept = errno;
    wake_one(&lock->state);
    errno = kept;
}

void pd_lock_rest(pd_lock *lock)
{
    bool has_sleepers = __atomic_load_n(&lock->state, __ATOMIC_RELAXED) == 2;
    pd_lock_give(lock);
    int most = has_sleepers ? REST_FOR_SLEEPERS : REST;
    for (int i = 0; i < most && !__atomic_load_n(&lock->state, __ATOMIC_RELAXED); i++)
        breathe();
    pd_lock_take(lock);
}

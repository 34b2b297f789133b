#include "base/lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS = 100, REST = 32, REST_FOR_SLEEPERS = 2000 };

static inline void pause_spin(void)
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
        pause_spin();
    }
    int kept = errno;
    while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, 2, NULL);
    errno = kept;
}

void pd_lock_wake(pd_lock *lock)
{
    int kept = errno;
    syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1);
    errno = kept;
}

void pd_lock_rest(pd_lock *lock)
{
    bool has_sleepers = __atomic_load_n(&lock->state, __ATOMIC_RELAXED) == 2;
    pd_lock_give(lock);
    int most = has_sleepers ? REST_FOR_SLEEPERS : REST;
    for (int i = 0; i < most && !__atomic_load_n(&lock->state, __ATOMIC_RELAXED); i++)
        pause_spin();
    pd_lock_take(lock);
}

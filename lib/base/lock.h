/* A lock of four bytes that can be used inside an allocator.
 *
 * It never allocates, keeps errno, is free when it is all zeros, and can be reset in the child of a
 * fork. Most locks are held for less than a microsecond, so waiting begins with a short spin. After
 * that the thread waits in the kernel (futex). It has no owner. A thread that may have interrupted the holder, and so must not wait, calls pd_lock_try.
 *
 *     0 free    1 held    2 held, and threads may wait in the kernel */
#ifndef PD_BASE_LOCK_H
#define PD_BASE_LOCK_H

#include "pprofdelta_common.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pd_lock {
    uint32_t state;
} pd_lock;

/* lock.c: the rare ways. */
void pd_lock_wait(pd_lock *lock);
void pd_lock_wake(pd_lock *lock);

/* Gives the lock to threads that wait for it, and takes it again. For long work in small steps,
 * which would otherwise take the lock again before a waiting thread is awake. */
void pd_lock_rest(pd_lock *lock);

static inline bool pd_lock_try(pd_lock *lock)
{
    uint32_t is_free = 0;
    return __atomic_compare_exchange_n(&lock->state, &is_free, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static inline void pd_lock_take(pd_lock *lock)
{
    if (__builtin_expect(!pd_lock_try(lock), 0))
        pd_lock_wait(lock);
}

static inline void pd_lock_give(pd_lock *lock)
{
    if (__builtin_expect(__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELEASE) == 2, 0))
        pd_lock_wake(lock);
}

/* In the child of a fork: frees the lock, which any thread of the parent may have held. */
static inline void pd_lock_reset(pd_lock *lock)
{
    __atomic_store_n(&lock->state, 0, __ATOMIC_RELEASE);
}

#endif

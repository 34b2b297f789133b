/* The smallest lock there is: a flag that is taken or not.
 *
 * Whoever may be interrupted while holding it, by a sampler that comes back to the same builder on the
 * same thread, must never wait for it; such callers only ever try. It has no owner and no waiters, so
 * that a child of fork can let it go whoever held it. */
#ifndef PD_RECORD_GATE_H
#define PD_RECORD_GATE_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

typedef struct pd_gate {
    atomic_bool is_taken;
} pd_gate;

static inline bool pd_gate_try(pd_gate *gate)
{
    return !atomic_load_explicit(&gate->is_taken, memory_order_relaxed) &&
           !atomic_exchange_explicit(&gate->is_taken, true, memory_order_acquire);
}

/* Waits, at first by giving way and then asleep, for whoever has it may have a lower priority. */
static inline void pd_gate_enter(pd_gate *gate)
{
    const struct timespec moment = {0, 100000};
    for (unsigned turn = 0; !pd_gate_try(gate); turn++) {
        if (turn < 64)
            sched_yield();
        else
            nanosleep(&moment, NULL);
    }
}

static inline void pd_gate_leave(pd_gate *gate)
{
    atomic_store_explicit(&gate->is_taken, false, memory_order_release);
}

#endif

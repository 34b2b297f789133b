/* A small, fair lock: tickets are served in order, one at a time.
 *
 * A sampler may interrupt a thread that holds a gate and come back to the same builder on that
 * thread. So samplers must never wait: they only try, and take a ticket only if it is served at
 * once. Windows and forks wait. They are served in order and before all that try: otherwise many
 * that try could keep them waiting forever. A gate has no owner, so the child of a fork can open a
 * gate that another thread closed. */
#ifndef PD_BUILDER_GATE_H
#define PD_BUILDER_GATE_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

typedef struct pd_gate {
    atomic_uint next;   /* ticket */
    atomic_uint served; /* equal to next where nobody is in */
} pd_gate;

static inline bool pd_gate_try(pd_gate *gate)
{
    unsigned served = atomic_load_explicit(&gate->served, memory_order_acquire), ticket = served;
    return atomic_load_explicit(&gate->next, memory_order_relaxed) == served &&
           atomic_compare_exchange_strong_explicit(&gate->next, &ticket, served + 1,
                                                   memory_order_acquire, memory_order_relaxed);
}

/* Waits. It first yields and then sleeps, since the holder may have a lower priority. */
static inline void pd_gate_enter(pd_gate *gate)
{
    const struct timespec moment = {0, 100000};
    unsigned ticket = atomic_fetch_add_explicit(&gate->next, 1, memory_order_relaxed);
    for (unsigned turn = 0; atomic_load_explicit(&gate->served, memory_order_acquire) != ticket;
         turn++) {
        if (turn < 64)
            sched_yield();
        else
            nanosleep(&moment, NULL);
    }
}

static inline void pd_gate_leave(pd_gate *gate)
{
    unsigned served = atomic_load_explicit(&gate->served, memory_order_relaxed);
    atomic_store_explicit(&gate->served, served + 1, memory_order_release);
}

/* In the child of a fork: opens the gate. No other thread exists. */
static inline void pd_gate_reset(pd_gate *gate)
{
    atomic_store(&gate->served, atomic_load(&gate->next));
}

#endif

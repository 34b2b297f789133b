/* The smallest lock that is fair: tickets are taken in order, and one is served at a time.
 *
 * Whoever may be interrupted while holding it, by a sampler that comes back to the same builder on
 * the same thread, must never wait for it: such callers only ever try, and get a ticket only where
 * it is served at once. The few that wait (an export, a fork) are let in one after the other and
 * before anybody who tries, or a crowd that tries would keep them out for good. It has no owner, so
 * that a child of fork can let it go whoever held it. */
#ifndef PD_RECORD_GATE_H
#define PD_RECORD_GATE_H

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

/* Waits, at first by giving way and then asleep, for whoever has it may have a lower priority. */
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

/* In the child of a fork, where nobody has it and nobody waits any more. */
static inline void pd_gate_reset(pd_gate *gate)
{
    atomic_store(&gate->served, atomic_load(&gate->next));
}

#endif

/* The agent's one state, and the order of its life.
 *
 *     allocations   interpose.c, interpose_cxx.c, interpose_extra.c: the names that the program
 *                   calls
 *                   sample.c: the seldom way, where an allocation is looked at
 *     exports       window.c: a batch on its way; thread.c: when
 *     life          life.c: begin, fork, exec and the end
 *
 * There is one agent in a process, and its state must be found by malloc without being handed to
 * it: it is the one part of this tree that has global state. */
#ifndef PD_AGENT_AGENT_H
#define PD_AGENT_AGENT_H

#include "agent/settings.h"
#include "pprofdelta_heap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct pd_agent {
    _Atomic(pprofdelta_heap *) heap; /* NULL: the agent is not there, or has stepped aside */
    pd_settings settings;
    _Atomic pid_t pid;            /* the process that this state speaks of */
    _Atomic uint64_t samples;     /* since the process began */
    _Atomic uint64_t next_number; /* of the next file */
} pd_agent;

extern pd_agent pd_the_agent;

/* For the fast path of free; the tracker writes it. */
extern pprofdelta_heap_filter pd_filter;

/* Nanoseconds since 1970. */
int64_t pd_now(void);

#endif

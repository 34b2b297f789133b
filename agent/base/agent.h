/* The state of the agent, which is loaded into a program and records its heap.
 *
 *     allocations   interpose.c, interpose_cxx.c, interpose_extra.c: the functions that the program
 *                   calls instead of the allocator's
 *                   slow_path.c: what they do for an allocation that is sampled
 *     profiles      worker.c: the thread that decides when; delivery.c: writes a profile to a file
 *                   or hands it to a command; keep.c: deletes the oldest files
 *     account       account.c: what the process is made of, at the end of each window; mappings.c and
 *                   interpose_maps.c: what the program maps, by stack; smaps.c, residency.c,
 *                   malloc_areas.c, thread_stacks.c, allocator_counters.c: what the kernel,
 *                   the C library and the allocator show
 *     life          lifecycle.c: start, fork, exec and end; signals.c, intercept.c, raw_exit.c:
 *                   detect these; own_stack.c: a stack for what needs much of it
 *     start         launch.c: which programs can be recorded; settings.c: what was asked for;
 *                   program.c, runtime.c: which program this is
 *     messages      notice.c: one at a time; summary.c: those at the start and at the end
 *
 * A process has one agent. malloc has no parameter for the state, so the state is global; the
 * library itself has no global state. */
#ifndef PD_AGENT_AGENT_H
#define PD_AGENT_AGENT_H

#include "agent/base/settings.h"
#include "pprofdelta_heap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct pd_agent {
    _Atomic(pprofdelta_heap *) heap; /* NULL: nothing is recorded, or not yet */
    pd_settings settings;
    _Atomic pid_t pid;            /* the process that this state describes */
    _Atomic uint64_t samples;     /* taken since the process began */
    _Atomic uint64_t next_number; /* the sequence number of the next file */
} pd_agent;

extern pd_agent pd_the_agent;

/* Read by the fast path of free, written by the tracker. */
extern pprofdelta_heap_filter pd_filter;

/* Nanoseconds since 1970. */
int64_t pd_now(void);

#endif

/* The state of the agent, which is loaded into a program and records its heap. README.md has the map.
 *
 * A process has one agent. malloc has no parameter for the state, so the state is global; the
 * library itself has no global state. */
#ifndef PD_AGENT_AGENT_H
#define PD_AGENT_AGENT_H

#include "agent/base/settings.h"
#include "pprofdelta_heap.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct pd_agent {
    pd_settings settings;
    _Atomic pid_t pid;            /* the process that this state describes */
    _Atomic uint64_t samples;     /* taken since the process began */
    _Atomic uint64_t next_number; /* the sequence number of the next file */
    void (*end)(void);            /* delivers the last window before the process ends: life/end.h */
    atomic_bool has_begun;        /* the constructor has run */
    bool has_filter; /* seccomp(2): it may kill for calls that filter.c does not name */
} pd_agent;

extern pd_agent pd_the_agent;

/* The windows of a process with fewer samples have no names of functions: short processes are many. */
enum { PD_SAMPLES_FEW = 4 };

/* Read by the fast path of free, written by the tracker. */
extern pprofdelta_heap_filter pd_filter;

/* Of functions that run in the child of every fork. The linker puts them together, and each page of code
 * that is run in a child is a page fault. */
#define PD_IN_CHILD __attribute__((cold))

/* Of functions that the program calls in place of those of its libraries. */
#define PD_PUBLIC __attribute__((visibility("default")))

/* Returns the tracker, or NULL if this process is not recorded, or not yet. The tracker's tables are shared with a
 * file, and belong to one process. So where the tracker is stands in a page that the kernel empties in each child
 * with a memory of its own, however it was made; only the handler of fork sets it again. The child of a vfork
 * allocates in the memory of its parent, and so for its parent. */
pprofdelta_heap *pd_agent_heap(void);

/* Sets the tracker of this process. Returns false without memory. */
bool pd_agent_set_heap(pprofdelta_heap *heap);

/* Returns whether this process is recorded and the agent may make system calls: not if it is confined. Nor
 * is the child of a vfork. */
bool pd_agent_is_recording(void);

/* Nanoseconds since 1970. */
int64_t pd_now(void);

/* Nanoseconds of another clock. */
uint64_t pd_nanos_of(clockid_t clock);

#endif

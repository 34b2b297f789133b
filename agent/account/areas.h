/* What the kernel shows of this process in /proc: its areas, their resident pages, the stacks of its
 * threads, and the memory of glibc's malloc; and what other allocators say of their
 * own. Everything is read in pieces into fixed buffers, so nothing
 * is allocated. Only the thread that delivers a profile may call these functions. */
#ifndef PD_AGENT_AREAS_H
#define PD_AGENT_AREAS_H

#include "agent/base/text.h"
#include "base/bytes.h"

/* ---- areas: /proc/self/smaps ----------------------------------------------------------------- */

typedef struct pd_smaps_area {
    uint64_t begin, end;
    uint64_t resident; /* bytes */
    uint64_t copied;   /* of a file: bytes that this process has changed in a private mapping */
    uint64_t inode;
    bool is_rest;  /* a lower part was given before; resident is what its pages show, at most */
    pd_bytes name; /* without the mark of a deleted file; empty: anonymous */
} pd_smaps_area;

typedef void pd_smaps_taker(void *cookie, const pd_smaps_area *area);

/* Calls the function for each area, in the order of addresses. None overlaps another, although areas
 * change while they are read. Returns 0 or an errno value; then
 * some areas may have been given already. */
int pd_smaps_read(pd_smaps_taker *take, void *cookie);

/* A reader of the text, in pieces of any size. */
typedef struct pd_smaps_text {
    pd_smaps_area area;
    bool has_area;
    uint64_t end; /* of the areas that were given */
    char name[4096];
    pd_smaps_taker *take;
    void *cookie;
} pd_smaps_text;

/* Takes one line without its end. */
void pd_smaps_line(void *text, pd_bytes line);

/* Gives the last area. */
void pd_smaps_end(pd_smaps_text *text);

/* ---- resident pages: /proc/self/pagemap ------------------------------------------------------ */

/* Call before and after pd_residency_count and pd_malloc_area_at. begin returns false if memory cannot be
 * read, as the latter must. */
bool pd_memory_begin(void);
void pd_memory_end(void);

/* Counts the pages. If the file cannot be read, every page counts as resident. */
uint64_t pd_residency_count(uintptr_t begin, uintptr_t end);

/* ---- the stacks of threads -------------------------------------------------------------------
 * No file of /proc shows where they are. But each thread registers a list with the kernel
 * (set_robust_list) whose head lies in the C library's record of the thread, and that record is at the
 * upper end of the thread's stack. So the area that holds the head is the thread's stack. The system call
 * that asks for it is not made under seccomp, since a filter may end the process for a call that it does
 * not expect. */

/* Finds the threads except the main one. Returns false if that was not possible. */
bool pd_thread_stacks_find(void);

/* Returns where a stack ends whose thread's record is the first one in [begin, end), or 0 if there
 * is none. */
uintptr_t pd_thread_stacks_end_in(uintptr_t begin, uintptr_t end);

/* ---- the memory of glibc's malloc ------------------------------------------------------------
 * glibc maps memory for its malloc by calls that nobody else sees. What it mapped is recognised by
 * what it writes there:
 *
 *     an arena       begins at a multiple of 64 MiB with a record: arena, previous, size, mapped
 *     a large block  begins at a page with its size and the flag that it was mapped alone
 *
 * The memory is read through /proc/self/mem, since another thread may unmap it. This needs none of
 * malloc's locks and does not walk its lists, as mallinfo2 does, which stops the program's
 * allocations meanwhile and cannot be called in a signal handler. */

/* Whether areas can be recognised in this process: it runs with glibc, in 64 bits. */
bool pd_malloc_areas_are_known(void);

/* Returns where the area of malloc ends that begins at `at`, a page within anonymous memory that
 * ends at `end`. Returns 0 if none begins there. Once too many pages were tried in vain, returns 0
 * for all. */
uintptr_t pd_malloc_area_at(uintptr_t at, uintptr_t end);

/* ---- the counters of jemalloc and tcmalloc ---------------------------------------------------
 *
 *     jemalloc   stats.allocated, active, metadata, resident, mapped
 *     tcmalloc   generic.current_allocated_bytes, heap_size; pageheap_free_bytes, unmapped_bytes
 *
 * These numbers are exact where the account has an estimate. They are only asked for in the agent's
 * thread, since the allocator takes its locks, and only in a process that is no child of a fork, in
 * which another thread may have left a lock taken. */

/* Finds the functions. Call once, in the agent's constructor. */
void pd_counters_begin(void);

/* Adds " allocator=NAME" and the counters, or nothing if they are not known. */
void pd_counters_add(pd_fixed_text *text);

#endif

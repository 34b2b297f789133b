/* What the process is made of, at the end of each window.
 *
 * Every resident byte of the process (RSS) belongs to one part. The parts are samples of the type
 * rss_space/bytes, whose sum is RSS. The leaf of each stack is the part:
 *
 *     [live heap]                       what the program allocated and has not freed, as estimated
 *     [allocator slack]                 resident memory of the allocator beyond that
 *     [Python arena slack]              that of Python's arenas
 *     [anonymous mappings] <- stack     mapped by mmap, mremap, brk and sbrk, by stack
 *     [file mappings, private dirty] <- file, [file mappings, clean or shared] <- file
 *     [thread stacks]
 *     [heap agent]                      memory of this agent, without its file
 *     [left over] <- name               everything else
 *
 * The same samples have the type mapped_space/bytes: the size of the mappings in which the pages are, except
 * for the heap and the agent.
 *
 * All resident bytes come from one reading of /proc/self/smaps, so that the sum is exact. What an
 * area is comes from its name, from the table of mappings, from the C library's records
 * (areas.c) and from the segments of loaded files. If an area has several
 * owners, /proc/self/pagemap shows which pages are resident.
 *
 * The estimate of the live heap counts allocations, resident or not. If it is more than what is
 * resident of the heap, [live heap] is what is resident, and there is no slack. The comment in the
 * profile has both numbers.
 *
 * Reading smaps takes the kernel time in proportion to the resident memory. Accounts take at most
 * 1% of one processor in the long run. A window without one has a comment that says so. The last
 * window always has an account, but not that of a process that lived for less than
 * 100 times as long as an account takes (100 ms where none was made before), or is young (PD_YOUNG_NANOS). */
#ifndef PD_AGENT_ACCOUNT_H
#define PD_AGENT_ACCOUNT_H

#include "pprofdelta_heap.h"
#include "agent/base/text.h"
#include "base/bytes.h"

/* Adds the account to the batch under way. Call pd_account_done when that is committed or
 * abandoned. Only the thread that delivers a profile may call these. */
void pd_account_add(pprofdelta_heap *heap, bool is_last);
void pd_account_done(void);

/* ---- mappings -------------------------------------------------------------------------------
 * The anonymous mappings that the program made, each with the stack of the call.
 *
 *     ranges   [begin, end) -> slot     sorted by address; they do not overlap
 *     slots    a stack, and how many ranges have it
 *
 * interposed/interpose_maps.c reports each mmap, munmap, mremap, brk and sbrk of the program and of its
 * allocator. Mappings that come from within the C library (its own malloc, the stacks of threads,
 * the loader) are not reported; account.c finds out what they are.
 *
 * Both tables have a fixed size and take no allocation. Only the pages that are used become memory.
 * A range that has no room is not kept, and is counted. A stack that has no room becomes
 * PD_SLOT_NO_STACK. All functions keep errno and hold a lock for the time of a search in each table, and of
 * the removal of what lies in the range. They may be called before any constructor has run. The caller must
 * have entered the agent (agent.h), so that no signal handler of the same thread calls them. */

/* Slots that are no stacks. */
enum {
    PD_SLOT_NONE = 0,
    PD_SLOT_NO_STACK,
    PD_SLOT_ALLOCATOR,
    PD_SLOT_AGENT,
    PD_SLOT_ARENAS, /* of Python */
    PD_SLOT_FIRST
};

enum { PD_SLOTS_MAX = 4096, PD_RANGES_MAX = 16384, PD_SLOT_DEPTH = 64 };

typedef struct pd_range {
    uintptr_t begin, end;
    uint32_t slot;
} pd_range;

typedef struct pd_slot_stack {
    const uint64_t *stack; /* the leaf first; valid until pd_mappings_unpin */
    size_t depth;
    uint64_t code; /* see pd_unloaded_number */
} pd_slot_stack;

/* Adds a range, in place of what it covers. stack: of the call, for slots from PD_SLOT_FIRST on.
 * Otherwise give depth 0 and the number of the slot. */
void pd_mappings_add(uintptr_t begin, size_t len, const uint64_t *stack, size_t depth,
                     uint64_t code);
void pd_mappings_add_slot(uintptr_t begin, size_t len, uint32_t number);

/* Removes what lies in the range. */
void pd_mappings_remove(uintptr_t begin, size_t len);

/* Removes all but what the agent mapped. */
void pd_mappings_forget(void);

/* For mremap: removes the range that begins there, and returns its slot, or PD_SLOT_NONE. If the call
 * fails, give it back by pd_mappings_add_slot. Then call pd_mappings_unpin; the slot stays valid until
 * then. */
uint32_t pd_mappings_take(uintptr_t begin, size_t len);

/* Returns a number that is another one whenever a range was added or removed since. */
uint64_t pd_mappings_changes(void);

/* Returns the first range that ends after the address, or one of zeros. */
pd_range pd_mappings_next(uintptr_t address);

/* Copies the ranges to out[PD_RANGES_MAX] and returns how many there are. *lost: the number of
 * ranges for which there was no room. Slots stay valid until pd_mappings_unpin. Only one thread may
 * do this at a time. */
size_t pd_mappings_pin(pd_range *out, uint64_t *lost);
pd_slot_stack pd_mappings_stack(uint32_t number);
void pd_mappings_unpin(void);

/* Around fork. LOST: another thread of the parent may have been changing the table, so it is used no more. */
void pd_mappings_fork(pprofdelta_fork step);

/* ---- areas ----------------------------------------------------------------------------------
 * What the kernel shows of this process in /proc: its areas, their resident pages, the stacks of its
 * threads, and the memory of glibc's malloc; and what other allocators say of their
 * own. Everything is read in pieces into fixed buffers, so nothing
 * is allocated. Only the thread that delivers a profile may call these functions. */

/* The bytes of the blocks that are in use in neighbouring arenas of Python, each of that size; 0: not known. Call it before
 * pd_memory_end. */
extern _Atomic size_t pd_arena_size;
uint64_t pd_arenas_in_use(uintptr_t begin, uintptr_t end);

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
void pd_smaps_line(void *smaps, pd_bytes line);

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

/* Pages for the agent's own work, with a reserve for when the kernel has no more.
 *
 * A program may use up its memory (RLIMIT_AS, RLIMIT_DATA, overcommit), and its last profile
 * shows where that memory went. So memory to write that profile is reserved at the start:
 * PD_RESERVE_LEN of address space, of which nothing is resident until it is used. A profile of
 * 10,000 distinct stacks of 30 frames fits, without names of functions.
 *
 * Blocks are whole pages, allocated by first fit. Their memory goes back to the kernel when they
 * are released. Only the thread that writes a profile may take reserved pages, since the tracking
 * of allocations would use them up. */
#ifndef PD_AGENT_RESERVE_H
#define PD_AGENT_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Address space that is given out in runs of whole pages of 4 KiB, by first fit. */
typedef struct pd_area {
    char *base;     /* NULL: there is none */
    size_t pages;   /* its size */
    size_t used;    /* pages, from the first one to the last that was ever taken */
    bool *is_taken; /* for each page */
} pd_area;

/* Returns a run of pages, or NULL. Their contents are what they were. */
char *pd_area_take(pd_area *area, size_t size);
void pd_area_give(pd_area *area, void *ptr, size_t size);
bool pd_area_has(const pd_area *area, const void *ptr);

#define PD_RESERVE_LEN ((size_t)4 << 20)

/* Maps len bytes, whole pages, as mmap does at any address. is_noted: by the functions that the agent
 * replaces, so that the addresses are known as the agent's. mlockall(2) of the program does not lock them.
 * Returns NULL without memory. */
void *pd_map_unlocked(size_t len, int access, int flags, int fd, uint64_t off, bool is_noted);

/* Call before the program locks what it will map (MCL_FUTURE). */
void pd_map_future_is_locked(void);

/* Reserves the address space. Call once, before the others. */
void pd_reserve_begin(void);

/* Sets whether the calling thread may take reserved pages. */
void pd_reserve_allow(bool is_allowed);

/* Returns at least size bytes of zeros, from the kernel or else from the reserve, or NULL. */
void *pd_reserve_map(size_t size);

/* Releases pages of that size. ptr may be NULL. */
void pd_reserve_unmap(void *ptr, size_t size);

#endif

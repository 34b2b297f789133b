/* The large blocks of an account, packed into huge pages, where the system has them. A page fault for every
 * 4 KiB costs a large profile more than reading its samples.
 *
 *     address space that is reserved:   [ blocks, in units of 32 KiB ...... | free | not used yet ]
 *                                       a huge page | a huge page | ...
 *
 * Blocks of a known size are placed at the first room, and pages are added for them. Arrays that grow have malloc's
 * memory, of which untouched pages cost nothing; while they are small, they also fill the room that is left between
 * the blocks. A huge page that is free is given back. */
#ifndef PD_BASE_ARENA_H
#define PD_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

/* Sanitizers, with which PD_NO_ARENA is defined, find what is wrong with a block of malloc, and nothing here. */
#if defined(__linux__) && UINTPTR_MAX > UINT32_MAX && !defined(PD_NO_ARENA)
#define PD_HAS_ARENA 1
#else
#define PD_HAS_ARENA 0
#endif

enum { PD_ARENA_UNIT = 32 << 10, PD_ARENA_PAGE = 64 * PD_ARENA_UNIT, PD_ARENA_PAGES = 128 };

/* Zero it to begin. */
typedef struct pd_arena {
    uint8_t *map, *at;              /* what is reserved, and its first huge page */
    size_t pages;                   /* from `at` on, that are used or have been */
    uint64_t taken[PD_ARENA_PAGES]; /* a bit for each unit */
} pd_arena;

typedef enum pd_use {
    PD_USE_SPARE,  /* may never be filled */
    PD_USE_GROWS,  /* is filled later, or partly */
    PD_USE_FILLED, /* is worth pages of its own */
} pd_use;

/* As realloc. held: the size of the block `old`; use: of the new one. */
void *pd_arena_resize(pd_arena *arena, void *old, size_t held, size_t size, pd_use use);

void pd_arena_release(pd_arena *arena, void *ptr, size_t held);

/* All blocks are released. */
void pd_arena_end(pd_arena *arena);

#endif

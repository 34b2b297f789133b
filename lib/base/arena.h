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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sanitizers find what is wrong with a block of malloc, and nothing here. */
#if defined(__has_feature)
#define PD_ARENA_HAS_FEATURE(feature) __has_feature(feature)
#else
#define PD_ARENA_HAS_FEATURE(feature) 0
#endif
#if defined(__linux__) && UINTPTR_MAX > UINT32_MAX && !defined(__SANITIZE_ADDRESS__) &&            \
    !PD_ARENA_HAS_FEATURE(address_sanitizer) && !PD_ARENA_HAS_FEATURE(memory_sanitizer)
#define PD_HAS_ARENA 1
#else
#define PD_HAS_ARENA 0
#endif

enum {
    PD_ARENA_UNIT = 32 << 10,
    PD_ARENA_PAGE = 64 * PD_ARENA_UNIT, /* a huge page */
    PD_ARENA_PAGES = 128
};

/* Zero it to begin. */
typedef struct pd_arena {
    uint8_t *at;                    /* NULL: nothing is reserved */
    size_t pages;                   /* from `at` on, that are used or have been */
    uint64_t taken[PD_ARENA_PAGES]; /* a bit for each unit */
} pd_arena;

typedef enum pd_use {
    PD_USE_SPARE,  /* may never be filled */
    PD_USE_GROWS,  /* some of it is filled later, or never */
    PD_USE_FILLED, /* is worth pages of its own */
} pd_use;

/* As realloc. held: the size of the block `old`; use: of the new one. */
void *pd_arena_resize(pd_arena *arena, void *old, size_t held, size_t size, pd_use use);

void pd_arena_release(pd_arena *arena, void *ptr, size_t held);

/* All blocks are released. */
void pd_arena_end(pd_arena *arena);

#endif

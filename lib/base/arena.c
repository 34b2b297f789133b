#include "base/arena.h"

#if PD_HAS_ARENA

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { UNITS = PD_ARENA_PAGE / PD_ARENA_UNIT }; /* of a page */
#define SPAN ((size_t)PD_ARENA_PAGES * PD_ARENA_PAGE)

static size_t units_of(size_t size)
{
    return (size + PD_ARENA_UNIT - 1) / PD_ARENA_UNIT;
}

static bool is_inside(const pd_arena *arena, const void *ptr)
{
    return arena->at && (uintptr_t)ptr - (uintptr_t)arena->at < SPAN;
}

/* Reserves the address space, a page more than is used. */
static bool begin(pd_arena *arena)
{
    const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (arena->at)
        return true;
    uint8_t *map = mmap(NULL, SPAN + PD_ARENA_PAGE, PROT_NONE, how, -1, 0);
    if (map == MAP_FAILED)
        return false;
    arena->map = map;
    arena->at = map + -(uintptr_t)map % PD_ARENA_PAGE;
    madvise(arena->at, SPAN, MADV_HUGEPAGE);
    return true;
}

void pd_arena_end(pd_arena *arena)
{
    if (arena->map)
        munmap(arena->map, SPAN + PD_ARENA_PAGE);
    *arena = (pd_arena){0};
}

/* Returns the first of so many free units, or SIZE_MAX. Free pages are used only if pages may be added. */
static size_t find_room(const pd_arena *arena, size_t units, bool may_add)
{
    size_t unit = 0, run = 0, end = (may_add ? PD_ARENA_PAGES : arena->pages) * UNITS;
    for (; unit < end && run < units; unit++) {
        uint64_t taken = arena->taken[unit / UNITS];
        bool is_free = (may_add || taken) && !(taken >> unit % UNITS & 1);
        run = is_free ? run + 1 : 0;
    }
    return run == units ? unit - units : SIZE_MAX;
}

/* NULL: there is no room. */
static void *place(pd_arena *arena, size_t size, bool may_add)
{
    size_t first = find_room(arena, units_of(size), may_add);
    if (first == SIZE_MAX)
        return NULL;
    size_t end = first + units_of(size), pages = (end + UNITS - 1) / UNITS;
    if (pages > arena->pages) {
        if (mprotect(arena->at, pages * PD_ARENA_PAGE, PROT_READ | PROT_WRITE))
            return NULL;
        arena->pages = pages;
    }
    for (size_t unit = first; unit < end; unit++)
        arena->taken[unit / UNITS] |= UINT64_C(1) << unit % UNITS;
    return arena->at + first * PD_ARENA_UNIT;
}

/* Frees what a block has behind this size, and gives back the pages that are free then. */
static void give_back(pd_arena *arena, const uint8_t *block, size_t size, size_t held)
{
    size_t first = (size_t)(block - arena->at) / PD_ARENA_UNIT;
    for (size_t unit = first + units_of(size); unit < first + units_of(held); unit++) {
        size_t page = unit / UNITS;
        arena->taken[page] &= ~(UINT64_C(1) << unit % UNITS);
        if (!arena->taken[page])
            madvise(arena->at + page * PD_ARENA_PAGE, PD_ARENA_PAGE, MADV_DONTNEED);
    }
}

void *pd_arena_resize(pd_arena *arena, void *old, size_t held, size_t size, pd_use use)
{
    bool was_inside = is_inside(arena, old), may_add = use == PD_USE_FILLED && begin(arena);
    if (was_inside && size <= held && size >= held / 2) { /* less would keep its page */
        give_back(arena, old, size, held);
        return old;
    }
    bool may_fill = use != PD_USE_SPARE && size < PD_ARENA_PAGE;
    bool is_placed = size >= PD_ARENA_UNIT && (may_add || may_fill);
    void *block = is_placed ? place(arena, size, may_add) : NULL;
    if (!block && !was_inside)
        return realloc(old, size);
    if (!block)
        block = malloc(size);
    if (!block || !old)
        return block;
    memcpy(block, old, held < size ? held : size);
    pd_arena_release(arena, old, held);
    return block;
}

void pd_arena_release(pd_arena *arena, void *ptr, size_t held)
{
    if (is_inside(arena, ptr))
        give_back(arena, ptr, 0, held);
    else
        free(ptr);
}
#endif

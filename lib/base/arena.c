#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#if PD_HAS_ARENA
#include <sys/mman.h>

enum { UNITS_OF_PAGE = PD_ARENA_PAGE / PD_ARENA_UNIT };
#define SPAN ((size_t)PD_ARENA_PAGES * PD_ARENA_PAGE)

static size_t units_of(size_t size)
{
    return (size + PD_ARENA_UNIT - 1) / PD_ARENA_UNIT;
}

static bool is_inside(const pd_arena *arena, const void *ptr)
{
    return arena->at && (uintptr_t)ptr - (uintptr_t)arena->at < SPAN;
}

static size_t first_unit(const pd_arena *arena, const void *block)
{
    return (size_t)((const uint8_t *)block - arena->at) / PD_ARENA_UNIT;
}

static bool is_taken(const pd_arena *arena, size_t unit)
{
    return arena->taken[unit / UNITS_OF_PAGE] >> unit % UNITS_OF_PAGE & 1;
}

static bool is_free(const pd_arena *arena, size_t from, size_t to)
{
    while (from < to && !is_taken(arena, from))
        from++;
    return from == to;
}

/* How far blocks may be placed. */
static size_t end_of(const pd_arena *arena, bool may_add)
{
    return may_add ? SPAN / PD_ARENA_UNIT : arena->pages * UNITS_OF_PAGE;
}

/* Returns the first of so many free units, or `end`. Free pages are used only if pages may be added. */
static size_t find_room(const pd_arena *arena, size_t units, bool may_add)
{
    size_t run = 0, end = end_of(arena, may_add);
    for (size_t unit = 0; unit < end; unit++) {
        bool is_usable = may_add || arena->taken[unit / UNITS_OF_PAGE];
        run = is_usable && !is_taken(arena, unit) ? run + 1 : 0;
        if (run == units)
            return unit + 1 - units;
    }
    return end;
}

static bool reserve(pd_arena *arena)
{
    if (arena->at)
        return true;
    uint8_t *got = mmap(NULL, SPAN + PD_ARENA_PAGE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED)
        return false;
    size_t before = -(uintptr_t)got % PD_ARENA_PAGE;
    if (before)
        munmap(got, before);
    munmap(got + before + SPAN, PD_ARENA_PAGE - before);
    arena->at = got + before;
    madvise(arena->at, SPAN, MADV_HUGEPAGE);
    return true;
}

/* Adds pages up to this unit, where they are missing. */
static bool reach(pd_arena *arena, size_t end)
{
    size_t pages = (end + UNITS_OF_PAGE - 1) / UNITS_OF_PAGE;
    if (pages <= arena->pages)
        return true;
    if (mprotect(arena->at, pages * PD_ARENA_PAGE, PROT_READ | PROT_WRITE))
        return false;
    arena->pages = pages;
    return true;
}

static void take(pd_arena *arena, size_t from, size_t to)
{
    for (; from < to; from++)
        arena->taken[from / UNITS_OF_PAGE] |= UINT64_C(1) << from % UNITS_OF_PAGE;
}

/* Frees units, and gives back the pages that are free then. */
static void give_back(pd_arena *arena, size_t from, size_t to)
{
    for (; from < to; from++) {
        size_t page = from / UNITS_OF_PAGE;
        arena->taken[page] &= ~(UINT64_C(1) << from % UNITS_OF_PAGE);
        if (!arena->taken[page])
            madvise(arena->at + page * PD_ARENA_PAGE, PD_ARENA_PAGE, MADV_DONTNEED);
    }
}

/* NULL: there is no room. */
static void *place(pd_arena *arena, size_t size, bool may_add)
{
    if (may_add && !reserve(arena))
        return NULL;
    size_t first = find_room(arena, units_of(size), may_add);
    if (first == end_of(arena, may_add) || !reach(arena, first + units_of(size)))
        return NULL;
    take(arena, first, first + units_of(size));
    return arena->at + first * PD_ARENA_UNIT;
}

/* Gives a block another size at its place, if it can. */
static bool resize_here(pd_arena *arena, const void *block, size_t held, size_t size, bool may_add)
{
    size_t first = first_unit(arena, block);
    size_t from = first + units_of(held), to = first + units_of(size);
    if (to > from &&
        (to > end_of(arena, may_add) || !is_free(arena, from, to) || !reach(arena, to)))
        return false;
    take(arena, from, to);
    give_back(arena, to, from);
    return true;
}

void *pd_arena_resize(pd_arena *arena, void *old, size_t held, size_t size, pd_use use)
{
    bool was_inside = is_inside(arena, old);
    bool may_add = use == PD_USE_FILLED;
    bool may_place =
        size >= PD_ARENA_UNIT && (may_add || (use == PD_USE_GROWS && size < PD_ARENA_PAGE));
    bool may_stay = was_inside && size >= held / 2; /* a rest would keep its page */
    if (may_stay && resize_here(arena, old, held, size, may_add))
        return old;
    void *block = may_place ? place(arena, size, may_add) : NULL;
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
    if (!is_inside(arena, ptr)) {
        free(ptr);
        return;
    }
    size_t first = first_unit(arena, ptr);
    give_back(arena, first, first + units_of(held));
}

void pd_arena_end(pd_arena *arena)
{
    if (arena->at)
        munmap(arena->at, SPAN);
    *arena = (pd_arena){0};
}

#else

void *pd_arena_resize(pd_arena *arena, void *old, size_t held, size_t size, pd_use use)
{
    (void)arena, (void)held, (void)use;
    return realloc(old, size);
}

void pd_arena_release(pd_arena *arena, void *ptr, size_t held)
{
    (void)arena, (void)held;
    free(ptr);
}

void pd_arena_end(pd_arena *arena)
{
    (void)arena;
}
#endif

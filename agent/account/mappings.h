/* The anonymous mappings that the program made, each with the stack of the call.
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
 * have entered the agent (self.h), so that no signal handler of the same thread calls them. */
#ifndef PD_AGENT_MAPPINGS_H
#define PD_AGENT_MAPPINGS_H

#include "pprofdelta_common.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Slots that are no stacks. */
enum { PD_SLOT_NONE = 0, PD_SLOT_NO_STACK, PD_SLOT_ALLOCATOR, PD_SLOT_AGENT, PD_SLOT_FIRST };

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

#endif

/* The anonymous mappings of the program: see mappings.h. */
#include "agent/account/mappings.h"

#include "base/lock.h"

#include <string.h>

typedef struct slot {
    uint64_t code;
    size_t depth;
    uint64_t stack[PD_SLOT_DEPTH];
} slot;

static pd_lock lock;
static pd_range ranges[PD_RANGES_MAX];
static size_t ranges_len;
static uint64_t ranges_lost, changes;
static slot slots[PD_SLOTS_MAX];
static uint64_t hashes[PD_SLOTS_MAX]; /* of the stacks; 0: the slot is free */
static uint32_t slots_made = PD_SLOT_FIRST;
static unsigned pins;  /* users of slots: slots without ranges stay */
static uint64_t swept; /* the changes at the last sweep */

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Returns a number that is not 0. */
static uint64_t hash_of(const uint64_t *stack, size_t depth, uint64_t code)
{
    uint64_t hash = code + depth;
    for (size_t i = 0; i < depth; i++) {
        hash = (hash ^ stack[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash | 1;
}

/* Frees the slots that no range has. Not often: if all are in use, it frees none. */
static void sweep(void)
{
    static bool is_used[PD_SLOTS_MAX];
    if (pins || changes - swept < PD_SLOTS_MAX / 4)
        return;
    swept = changes;
    memset(is_used, 0, sizeof is_used);
    for (size_t i = 0; i < ranges_len; i++)
        is_used[ranges[i].slot] = true;
    for (uint32_t i = PD_SLOT_FIRST; i < slots_made; i++)
        hashes[i] = is_used[i] ? hashes[i] : 0;
}

/* Returns the slot of the stack: the one that has it, or else a free one. */
static uint32_t slot_of(const uint64_t *stack, size_t depth, uint64_t code)
{
    depth = depth < PD_SLOT_DEPTH ? depth : PD_SLOT_DEPTH;
    uint64_t hash = hash_of(stack, depth, code);
    uint32_t number = PD_SLOT_NO_STACK;
    if (!depth)
        return number;
    if (slots_made == PD_SLOTS_MAX)
        sweep();
    for (uint32_t i = PD_SLOT_FIRST; i < slots_made; i++) {
        const slot *s = &slots[i];
        if (!hashes[i])
            number = i;
        else if (hashes[i] == hash && s->depth == depth && s->code == code &&
                 memcmp(s->stack, stack, depth * sizeof *stack) == 0)
            return i;
    }
    if (number == PD_SLOT_NO_STACK && slots_made < PD_SLOTS_MAX)
        number = slots_made++;
    if (number != PD_SLOT_NO_STACK) {
        slots[number] = (slot){.code = code, .depth = depth};
        memcpy(slots[number].stack, stack, depth * sizeof *stack);
        hashes[number] = hash;
    }
    return number;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Returns the index of the first range that ends after the address. */
static size_t find(uintptr_t address)
{
    size_t low = 0, high = ranges_len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Replaces `gone` ranges at an index by the `len` given ones. */
static void splice(size_t at, size_t gone, const pd_range *given, size_t len)
{
    if (len && ranges_len - gone + len > PD_RANGES_MAX) {
        ranges_lost++;
        len--;
    }
    memmove(ranges + at + len, ranges + at + gone, (ranges_len - at - gone) * sizeof *ranges);
    if (len)
        memcpy(ranges + at, given, len * sizeof *ranges);
    ranges_len = ranges_len - gone + len;
    changes++;
}

/* Removes what lies in [begin, end). Returns the slot of the first range there. */
static uint32_t cut(uintptr_t begin, uintptr_t end)
{
    size_t at = find(begin), behind = at, rest_len = 0;
    uint32_t first = PD_SLOT_NONE;
    pd_range rest[2];
    for (; behind < ranges_len && ranges[behind].begin < end; behind++) {
        const pd_range *r = &ranges[behind];
        first = first ? first : r->slot;
        if (r->begin < begin)
            rest[rest_len++] = (pd_range){r->begin, begin, r->slot};
        if (r->end > end)
            rest[rest_len++] = (pd_range){end, r->end, r->slot};
    }
    if (behind > at)
        splice(at, behind - at, rest, rest_len);
    return first;
}

/* Adds a range where none is. Ranges of one stack that touch become one. */
static void insert(uintptr_t begin, uintptr_t end, uint32_t number)
{
    size_t at = find(begin), gone = 0;
    pd_range range = {begin, end, number};
    if (at < ranges_len && ranges[at].begin == end && ranges[at].slot == number) {
        range.end = ranges[at].end;
        gone++;
    }
    if (at && ranges[at - 1].end == begin && ranges[at - 1].slot == number) {
        range.begin = ranges[--at].begin;
        gone++;
    }
    splice(at, gone, &range, 1);
}

static void replace(uintptr_t begin, size_t len, uint32_t number)
{
    if (!len || begin + len < begin)
        return;
    cut(begin, begin + len);
    insert(begin, begin + len, number);
}

/* ---- the calls ------------------------------------------------------------------------------- */

void pd_mappings_add(uintptr_t begin, size_t len, const uint64_t *stack, size_t depth,
                     uint64_t code)
{
    pd_lock_take(&lock);
    replace(begin, len, slot_of(stack, depth, code));
    pd_lock_give(&lock);
}

void pd_mappings_add_slot(uintptr_t begin, size_t len, uint32_t number)
{
    pd_lock_take(&lock);
    replace(begin, len, number);
    pd_lock_give(&lock);
}

uint32_t pd_mappings_take(uintptr_t begin, size_t len)
{
    pd_lock_take(&lock);
    uint32_t number = len && begin + len > begin ? cut(begin, begin + len) : PD_SLOT_NONE;
    pins++;
    pd_lock_give(&lock);
    return number;
}

void pd_mappings_remove(uintptr_t begin, size_t len)
{
    pd_mappings_take(begin, len);
    pd_mappings_unpin();
}

uint64_t pd_mappings_changes(void)
{
    pd_lock_take(&lock);
    uint64_t number = changes;
    pd_lock_give(&lock);
    return number;
}

size_t pd_mappings_pin(pd_range *out, uint64_t *lost)
{
    pd_lock_take(&lock);
    size_t len = ranges_len;
    memcpy(out, ranges, len * sizeof *ranges);
    *lost = ranges_lost;
    pins++;
    pd_lock_give(&lock);
    return len;
}

pd_slot_stack pd_mappings_stack(uint32_t number)
{
    if (number < PD_SLOT_FIRST)
        return (pd_slot_stack){.depth = 0};
    const slot *s = &slots[number];
    return (pd_slot_stack){s->stack, s->depth, s->code};
}

void pd_mappings_unpin(void)
{
    pd_lock_take(&lock);
    pins--;
    pd_lock_give(&lock);
}

void pd_mappings_fork_prepare(void)
{
    pd_lock_take(&lock);
}

void pd_mappings_fork_done(bool is_child)
{
    if (is_child) /* those of other threads */
        pins = 0;
    pd_lock_give(&lock);
}

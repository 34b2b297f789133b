/* The anonymous mappings of the program: see mappings.h. */
#include "agent/account/mappings.h"

#include "heap/lock.h"

#include <stdatomic.h>
#include <string.h>

typedef struct slot {
    uint64_t hash, code;
    uint32_t refs;  /* ranges that have it */
    uint32_t depth; /* 0: not in use */
    uint32_t next;  /* in its chain, or in the list of free slots */
    uint64_t stack[PD_SLOT_DEPTH];
} slot;

static pd_lock lock;
static pd_range ranges[PD_RANGES_MAX];
static size_t ranges_len;
static uint64_t ranges_lost, changes;
static slot slots[PD_SLOTS_MAX];
static uint32_t slots_made = PD_SLOT_FIRST, first_free;
static uint32_t chains[PD_SLOTS_MAX];
static bool is_pinned; /* slots without ranges stay */
static atomic_bool is_ignored;

void pd_mappings_follow(bool is_followed)
{
    atomic_store(&is_ignored, !is_followed);
}

bool pd_mappings_are_followed(void)
{
    return !atomic_load_explicit(&is_ignored, memory_order_relaxed);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static uint64_t hash_of(const uint64_t *stack, size_t depth, uint64_t code)
{
    uint64_t hash = code + depth;
    for (size_t i = 0; i < depth; i++) {
        hash = (hash ^ stack[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

static void release(uint32_t number)
{
    slot *s = &slots[number];
    uint32_t *link = &chains[s->hash % PD_SLOTS_MAX];
    while (*link != number)
        link = &slots[*link].next;
    *link = s->next;
    s->depth = 0;
    s->next = first_free;
    first_free = number;
}

static void hold(uint32_t number)
{
    if (number >= PD_SLOT_FIRST)
        slots[number].refs++;
}

static void drop(uint32_t number)
{
    if (number >= PD_SLOT_FIRST && --slots[number].refs == 0 && !is_pinned)
        release(number);
}

static uint32_t make_slot(const uint64_t *stack, size_t depth, uint64_t code, uint64_t hash)
{
    uint32_t number = first_free;
    if (number)
        first_free = slots[number].next;
    else if (slots_made < PD_SLOTS_MAX)
        number = slots_made++;
    else
        return PD_SLOT_NO_STACK;
    slot *s = &slots[number];
    s->hash = hash;
    s->code = code;
    s->refs = 0;
    s->depth = (uint32_t)depth;
    memcpy(s->stack, stack, depth * sizeof *stack);
    s->next = chains[hash % PD_SLOTS_MAX];
    chains[hash % PD_SLOTS_MAX] = number;
    return number;
}

/* Returns the slot of the stack, without a hold on it. */
static uint32_t slot_of(const uint64_t *stack, size_t depth, uint64_t code)
{
    depth = depth < PD_SLOT_DEPTH ? depth : PD_SLOT_DEPTH;
    if (!depth)
        return PD_SLOT_NO_STACK;
    uint64_t hash = hash_of(stack, depth, code);
    for (uint32_t i = chains[hash % PD_SLOTS_MAX]; i; i = slots[i].next)
        if (slots[i].hash == hash && slots[i].depth == depth && slots[i].code == code &&
            memcmp(slots[i].stack, stack, depth * sizeof *stack) == 0)
            return i;
    return make_slot(stack, depth, code, hash);
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

/* Replaces `gone` ranges at an index by the `len` given ones. Their slots are held already. */
static void splice(size_t at, size_t gone, const pd_range *given, size_t len)
{
    if (len && ranges_len - gone + len > PD_RANGES_MAX) {
        ranges_lost++;
        drop(given[--len].slot);
    }
    memmove(ranges + at + len, ranges + at + gone, (ranges_len - at - gone) * sizeof *ranges);
    if (len)
        memcpy(ranges + at, given, len * sizeof *ranges);
    ranges_len = ranges_len - gone + len;
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
    for (size_t i = 0; i < rest_len; i++)
        hold(rest[i].slot);
    hold(first); /* for the caller */
    for (size_t i = at; i < behind; i++)
        drop(ranges[i].slot);
    if (behind > at) {
        splice(at, behind - at, rest, rest_len);
        changes++;
    }
    return first;
}

/* Adds a range where none is. Ranges of one stack that touch become one. */
static void insert(uintptr_t begin, uintptr_t end, uint32_t number)
{
    size_t at = find(begin), gone = 0;
    pd_range range = {begin, end, number};
    hold(number);
    if (at < ranges_len && ranges[at].begin == end && ranges[at].slot == number) {
        range.end = ranges[at].end;
        gone++;
    }
    if (at && ranges[at - 1].end == begin && ranges[at - 1].slot == number) {
        range.begin = ranges[--at].begin;
        gone++;
    }
    for (size_t i = 0; i < gone; i++)
        drop(number); /* the new range has a hold of its own */
    splice(at, gone, &range, 1);
    changes++;
}

static void replace(uintptr_t begin, size_t len, uint32_t number)
{
    if (!len || begin + len < begin)
        return;
    drop(cut(begin, begin + len));
    insert(begin, begin + len, number);
}

/* ---- the calls ------------------------------------------------------------------------------- */

void pd_mappings_add(uintptr_t begin, size_t len, const uint64_t *stack, size_t depth,
                     uint64_t code)
{
    pd_lock_take(&lock);
    uint32_t number = slot_of(stack, depth, code);
    hold(number); /* cut may drop the last range that has it */
    replace(begin, len, number);
    drop(number);
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
    if (!len || begin + len < begin)
        return PD_SLOT_NONE;
    pd_lock_take(&lock);
    uint32_t number = cut(begin, begin + len);
    pd_lock_give(&lock);
    return number;
}

void pd_mappings_drop(uint32_t number)
{
    pd_lock_take(&lock);
    drop(number);
    pd_lock_give(&lock);
}

void pd_mappings_remove(uintptr_t begin, size_t len)
{
    pd_mappings_drop(pd_mappings_take(begin, len));
}

void pd_mappings_give_back(uintptr_t begin, size_t len, uint32_t number)
{
    pd_lock_take(&lock);
    replace(begin, len, number);
    drop(number);
    pd_lock_give(&lock);
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
    is_pinned = true;
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
    is_pinned = false;
    for (uint32_t i = PD_SLOT_FIRST; i < slots_made; i++)
        if (slots[i].depth && !slots[i].refs)
            release(i);
    pd_lock_give(&lock);
}

void pd_mappings_fork_prepare(void)
{
    pd_lock_take(&lock);
}

void pd_mappings_fork_done(void)
{
    pd_lock_give(&lock);
}

void pd_mappings_forget(void)
{
    pd_lock_reset(&lock);
    pd_mappings_follow(false);
}

/* The anonymous mappings of the program: see account.h. */
#include "agent/account/account.h"

#include "base/lock.h"

typedef struct slot {
    uint64_t code;
    size_t depth;
    uint64_t stack[PD_SLOT_DEPTH];
} slot;

/* The ranges are a tree, sorted by address. A node has those before it on its left, and a higher rank than both
 * children. Ranks are as good as random, so the tree is balanced, and all work under the lock is a few steps down. */
typedef struct node {
    pd_range range;
    uint16_t left, right; /* 0: none. Of a node that is not in use, left is the next one */
} node;

static pd_lock lock;
static bool is_lost; /* see pd_mappings_fork */
static node nodes[PD_RANGES_MAX + 1];
static uint16_t root, unused, nodes_made;
static uint64_t ranges_lost, changes;
static slot slots[PD_SLOTS_MAX];
static uint64_t hashes[PD_SLOTS_MAX]; /* of the stacks; 0: never used */
static uint16_t users[PD_SLOTS_MAX];  /* ranges that have the slot */
static uint32_t slots_made = PD_SLOT_FIRST;
static unsigned pins; /* users of slots: slots without ranges stay */

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

/* Returns the slot of the stack: the one that has it, or else a free one. */
static uint32_t slot_of(const uint64_t *stack, size_t depth, uint64_t code)
{
    depth = depth < PD_SLOT_DEPTH ? depth : PD_SLOT_DEPTH;
    uint64_t hash = hash_of(stack, depth, code);
    uint32_t number = PD_SLOT_NO_STACK;
    if (!depth)
        return number;
    for (uint32_t i = PD_SLOT_FIRST; i < slots_made; i++) {
        const slot *s = &slots[i];
        if (hashes[i] == hash && s->depth == depth && s->code == code &&
            memcmp(s->stack, stack, depth * sizeof *stack) == 0)
            return i;
        if (!users[i] && !pins)
            number = i;
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

/* By the address: the order in which nodes are used again must not show in it. */
static uint64_t rank_of(uint16_t number)
{
    uint64_t mixed = nodes[number].range.begin * UINT64_C(0x9e3779b97f4a7c15);
    return (mixed ^ mixed >> 32) * UINT64_C(0xc2b2ae3d27d4eb4f) >> 32;
}

/* Returns the first node whose range ends after the address, or 0. */
static uint16_t find_range(uintptr_t address)
{
    uint16_t found = 0;
    for (uint16_t at = root; at;) {
        bool is_before = nodes[at].range.end <= address;
        found = is_before ? found : at;
        at = is_before ? nodes[at].right : nodes[at].left;
    }
    return found;
}

/* Takes a tree apart: ranges that end at the address or before it, and the others. */
static void split_tree(uint16_t tree, uintptr_t address, uint16_t *before, uint16_t *behind)
{
    while (tree) {
        node *n = &nodes[tree];
        uint16_t **side = n->range.end <= address ? &before : &behind;
        **side = tree;
        *side = side == &before ? &n->right : &n->left;
        tree = **side;
    }
    *before = *behind = 0;
}

/* Makes one tree of two, the first of which has the lower addresses. */
static void join_trees(uint16_t *tree, uint16_t before, uint16_t behind)
{
    while (before && behind) {
        bool is_before = rank_of(before) > rank_of(behind);
        *tree = is_before ? before : behind;
        tree = is_before ? &nodes[before].right : &nodes[behind].left;
        *(is_before ? &before : &behind) = *tree;
    }
    *tree = before ? before : behind;
}

/* Adds a range where none is. */
static void add_range(uintptr_t begin, uintptr_t end, uint32_t number)
{
    uint16_t before, behind, made = unused;
    if (!made && nodes_made == PD_RANGES_MAX) {
        ranges_lost++;
        return;
    }
    unused = made ? nodes[made].left : 0;
    made = made ? made : ++nodes_made;
    nodes[made] = (node){.range = {begin, end, number}};
    users[number]++;
    split_tree(root, begin, &before, &behind);
    join_trees(&before, before, made);
    join_trees(&root, before, behind);
}

/* Removes the ranges in [begin, end), where none lies across an end. Returns the slot of the first. */
static uint32_t drop_ranges(uintptr_t begin, uintptr_t end)
{
    uint16_t before, inside, behind, first = find_range(begin);
    uint32_t number =
        first && nodes[first].range.end <= end ? nodes[first].range.slot : PD_SLOT_NONE;
    split_tree(root, begin, &before, &behind);
    split_tree(behind, end, &inside, &behind);
    join_trees(&root, before, behind);
    changes += inside != 0;
    while (inside) {
        uint16_t gone = inside;
        join_trees(&inside, nodes[gone].left, nodes[gone].right);
        users[nodes[gone].range.slot]--;
        nodes[gone].left = unused;
        unused = gone;
    }
    return number;
}

/* Makes two ranges of the one that lies across the address. */
static void divide_range(uintptr_t address)
{
    pd_range *r = &nodes[find_range(address)].range;
    if (r->begin >= address || r->end <= address)
        return;
    const uintptr_t end = r->end;
    r->end = address;
    add_range(address, end, r->slot);
}

/* Removes what lies in [begin, end). Returns the slot of the first range there. */
static uint32_t cut_ranges(uintptr_t begin, uintptr_t end)
{
    divide_range(begin);
    divide_range(end);
    return drop_ranges(begin, end);
}

/* Adds a range where none is. Ranges of one stack that touch become one. */
static void insert_range(uintptr_t begin, uintptr_t end, uint32_t number)
{
    const pd_range *next = &nodes[find_range(begin)].range;
    if (next->begin == end && next->slot == number) {
        uintptr_t from = end;
        end = next->end;
        drop_ranges(from, end);
    }
    pd_range *last = &nodes[find_range(begin - 1)].range;
    changes++;
    if (last->end == begin && last->slot == number)
        last->end = end;
    else
        add_range(begin, end, number);
}

static void replace_range(uintptr_t begin, size_t len, uint32_t number)
{
    if (!len || begin + len < begin)
        return;
    cut_ranges(begin, begin + len);
    insert_range(begin, begin + len, number);
}

/* ---- the calls ------------------------------------------------------------------------------- */

/* Takes the lock. Returns false, without it, if the table must not be used. */
static bool enter_table(void)
{
    pd_lock_take(&lock);
    if (is_lost)
        pd_lock_give(&lock);
    return !is_lost;
}

void pd_mappings_add(uintptr_t begin, size_t len, const uint64_t *stack, size_t depth,
                     uint64_t code)
{
    if (!enter_table())
        return;
    replace_range(begin, len, slot_of(stack, depth, code));
    pd_lock_give(&lock);
}

void pd_mappings_add_slot(uintptr_t begin, size_t len, uint32_t number)
{
    if (!enter_table())
        return;
    replace_range(begin, len, number);
    pd_lock_give(&lock);
}

uint32_t pd_mappings_take(uintptr_t begin, size_t len)
{
    if (!enter_table())
        return PD_SLOT_NONE;
    uint32_t number = len && begin + len > begin ? cut_ranges(begin, begin + len) : PD_SLOT_NONE;
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

pd_range pd_mappings_next(uintptr_t address)
{
    pd_range next = {0, 0, PD_SLOT_NONE};
    if (!enter_table())
        return next;
    next = nodes[find_range(address)].range;
    pd_lock_give(&lock);
    return next;
}

/* A few ranges at a time. What changes meanwhile may be there or not. */
size_t pd_mappings_pin(pd_range *out, uint64_t *lost)
{
    enum { AT_ONCE = 64 };
    size_t len = 0;
    uintptr_t end = 0; /* of the last one */
    *lost = 0;
    if (!enter_table())
        return 0;
    pins++;
    for (uint16_t at; len < PD_RANGES_MAX && (at = find_range(end)); len++) {
        out[len] = nodes[at].range;
        out[len].begin = out[len].begin > end ? out[len].begin : end;
        end = out[len].end;
        if (len % AT_ONCE == AT_ONCE - 1)
            pd_lock_rest(&lock);
        if (is_lost)
            break;
    }
    *lost = ranges_lost;
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

void pd_mappings_fork(pprofdelta_fork step)
{
    if (step == PPROFDELTA_FORK_PREPARE) {
        pd_lock_take(&lock);
        return;
    }
    is_lost |= step == PPROFDELTA_FORK_LOST;
    if (step != PPROFDELTA_FORK_PARENT) /* those of other threads */
        pins = 0;
    pd_lock_give(&lock);
}

void pd_mappings_forget(void)
{
    for (pd_range r = pd_mappings_next(0); r.end; r = pd_mappings_next(r.end))
        if (r.slot != PD_SLOT_AGENT)
            pd_mappings_remove(r.begin, r.end - r.begin);
}

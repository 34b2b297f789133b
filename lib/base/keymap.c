#include "base/keymap.h"

#include <string.h>

static size_t next_slot(const pd_keymap *map, size_t slot)
{
    return slot + 1 == map->slots_cap ? 0 : slot + 1;
}

/* The key's bits in a slot: those above the number. */
static uint32_t key_mark(const pd_keymap *map, pd_key key)
{
    return (uint32_t)key.hi & ~map->low;
}

static uint32_t number_in(const pd_keymap *map, uint32_t slot)
{
    return (slot & map->low) - 1; /* PD_KEYMAP_NONE for a free slot */
}

static bool slot_holds(const pd_keymap *map, uint32_t slot, pd_key key)
{
    return ((slot ^ (uint32_t)key.hi) & ~map->low) == 0 &&
           pd_key_equal(map->keys[number_in(map, slot)], key);
}

/* The slot that holds the key, or the free slot at which it belongs. */
static size_t probe_slot(const pd_keymap *map, pd_key key)
{
    size_t slot = pd_keymap_home(map, key);
    while (map->slots[slot] && !slot_holds(map, map->slots[slot], key))
        slot = next_slot(map, slot);
    return slot;
}

size_t pd_keymap_reindex(pd_keymap *map, size_t len, size_t most)
{
    enum { AHEAD = 16 };
    if (!map->slots_cap)
        return map->len = len;
    memset(map->slots, 0, map->slots_cap * sizeof *map->slots);
    for (map->len = 0; map->len < len; map->len++) {
        pd_key key = map->keys[map->len];
        size_t slot = pd_keymap_home(map, key), passed = 0;
        if (map->len + AHEAD < len)
            pd_keymap_prefetch(map, map->keys[map->len + AHEAD]);
        while (map->slots[slot] && passed < most && !slot_holds(map, map->slots[slot], key)) {
            slot = next_slot(map, slot);
            passed++;
        }
        if (map->slots[slot])
            break;
        map->slots[slot] = key_mark(map, key) | ((uint32_t)map->len + 1);
    }
    return map->len;
}

static size_t slots_for(const pd_keymap *map, size_t keys)
{
    return map->is_tight ? keys + keys / 4 + 2 : keys * 2;
}

static void set_low(pd_keymap *map)
{
    size_t slots = 1;
    while (slots < map->slots_cap)
        slots *= 2;
    map->low = (uint32_t)(slots - 1);
}

pprofdelta_status pd_keymap_reserve(pd_keymap *map, pd_mem *mem, size_t need, pprofdelta_error *err)
{
    bool is_folded = map->cap && !map->slots_cap;
    if (need <= map->cap && !is_folded)
        return PPROFDELTA_OK;
    if (need < map->cap)
        need = map->cap;
    if (need > PD_KEYMAP_MAX)
        return PD_FAIL(err, PPROFDELTA_E_LIMIT, PPROFDELTA_STAGE_MEMORY, NULL,
                       "more than %u distinct elements", PD_KEYMAP_MAX);
    size_t slots_need = slots_for(map, need);
    /* Slots first: cap counts the keys, and slots must have room for all of them. */
    if (slots_need > map->slots_cap) {
        PD_TRY(PD_RESERVE(mem, map->slots, slots_need, err));
        map->slots_cap = slots_need;
        set_low(map);
        pd_keymap_reindex(map, map->len, SIZE_MAX);
    }
    PD_TRY(PD_RESERVE(mem, map->keys, need, err));
    map->cap = need;
    return PPROFDELTA_OK;
}

/* Keys first: the slots are then sized by cap. */
void pd_keymap_trim(pd_keymap *map, pd_mem *mem, size_t room)
{
    PD_TRIM(mem, map->keys, room);
    map->cap = PD_CAP(map->keys);
    size_t before = map->slots_cap, need = map->cap ? slots_for(map, map->cap) : 0;
    PD_TRIM(mem, map->slots, need);
    map->slots_cap = PD_CAP(map->slots);
    if (map->slots_cap < before) {
        set_low(map);
        pd_keymap_reindex(map, map->len, SIZE_MAX);
    }
}

uint32_t pd_keymap_find(const pd_keymap *map, pd_key key)
{
    if (!map->len)
        return PD_KEYMAP_NONE;
    return number_in(map, map->slots[probe_slot(map, key)]);
}

uint32_t pd_keymap_add(pd_keymap *map, pd_key key)
{
    size_t slot = probe_slot(map, key);
    if (!map->slots[slot]) {
        map->keys[map->len++] = key;
        map->slots[slot] = key_mark(map, key) | (uint32_t)map->len;
    }
    return number_in(map, map->slots[slot]);
}

void pd_keymap_truncate(pd_keymap *map, size_t len)
{
    if (map->len == len)
        return;
    if (map->len - len > map->slots_cap / 8) {
        pd_keymap_reindex(map, len, SIZE_MAX);
        return;
    }
    /* Newest first. A key went into the first free slot of its run while all older keys had theirs.
     * Freeing slots in the opposite order leaves no hole in a run. */
    while (map->len > len) {
        size_t slot = probe_slot(map, map->keys[map->len - 1]);
        map->slots[slot] = 0;
        map->len--;
    }
}

void pd_keymap_fold(pd_keymap *map, pd_mem *mem)
{
    pd_mem_release(mem, &map->slots);
    map->slots_cap = 0;
}

/* A set of keys, numbered 0, 1, 2 ... in the order in which they were added.
 *
 *     keys    [ k0 | k1 | k2 | k3 | ... ]            dense, 16 bytes each, by number
 *     slots   [ .  | 3  | .  | 1  | 4 | . | 2 | . ]  open addressing: number + 1, 0 is free
 *
 * A slot has 32 bits. The bits above those that the numbers need hold bits of the key, so that most
 * slots of other keys are passed over without loading the key, which would be a cache miss in a
 * large set.
 *
 * The owner keeps what belongs to a key in its own arrays, indexed by number: counters in the
 * ledger, output ids in the writer. The dense array makes three operations cheap: checking a guess
 * ("the key after the last one") is one compare without a probe, taking back the newest keys is a
 * truncation, and dropping keys is a pass over an array.
 *
 * A set is tight where memory counts more than time: five slots to four keys instead of at least
 * two to one, and no room beyond what is reserved. */
#ifndef PD_BASE_KEYMAP_H
#define PD_BASE_KEYMAP_H

#include "base/key.h"
#include "base/mem.h"

#define PD_KEYMAP_NONE UINT32_MAX
#define PD_KEYMAP_MAX  (UINT32_MAX / 2) /* keys: they fill half of the largest table */

typedef struct pd_keymap {
    pd_key *keys;
    uint32_t *slots;
    size_t len, cap;
    size_t slots_cap; /* 0, or at least 2 * cap; if is_tight, at least 5/4 * cap */
    uint32_t low;     /* mask of the bits of a slot that hold the number */
    bool is_tight;    /* set by the owner before any room is reserved */
} pd_keymap;          /* zero it to begin */

/* Makes room for `need` keys in total. pd_keymap_add cannot fail up to that number. */
pprofdelta_status pd_keymap_reserve(pd_keymap *map, pd_mem *mem, size_t need,
                                    pprofdelta_error *err);

/* Returns the number of the key, or PD_KEYMAP_NONE. */
uint32_t pd_keymap_find(const pd_keymap *map, pd_key key);

/* Returns the number of the key. A new key is added and its number is the old len. There must be
 * room: see pd_keymap_room. */
uint32_t pd_keymap_add(pd_keymap *map, pd_key key);

/* The slot at which probing for the key begins. */
static inline size_t pd_keymap_home(const pd_keymap *map, pd_key key)
{
    return (size_t)((uint64_t)(uint32_t)key.lo * map->slots_cap >> 32);
}

/* Loads the key's slot into the cache, for a pd_keymap_add a little later. */
static inline void pd_keymap_prefetch(const pd_keymap *map, pd_key key)
{
    if (map->slots_cap)
        pd_prefetch(&map->slots[pd_keymap_home(map, key)]);
}

/* Returns whether the key has the number `guess`, by one compare. */
static inline bool pd_keymap_is_at(const pd_keymap *map, uint32_t guess, pd_key key)
{
    return guess < map->len && pd_key_equal(map->keys[guess], key);
}

/* Makes room for this key, if it is not in the set. */
static inline pprofdelta_status pd_keymap_room(pd_keymap *map, pd_mem *mem, pd_key key,
                                               pprofdelta_error *err)
{
    if (__builtin_expect(map->len < map->cap, 1) || pd_keymap_find(map, key) != PD_KEYMAP_NONE)
        return PPROFDELTA_OK;
    return pd_keymap_reserve(map, mem, pd_mem_roomy(mem, map->len), err);
}

/* Shrinks a tight set to `room` keys, at least len. */
void pd_keymap_trim(pd_keymap *map, pd_mem *mem, size_t room);

/* Removes the newest keys, down to `len` keys. */
void pd_keymap_truncate(pd_keymap *map, size_t len);

/* Rebuilds the slots, after the owner put `len` keys in place. Stops at a key that equals an earlier
 * one, or that has more than `most` keys in its way. Returns the new len. Random keys never have
 * PD_KEYMAP_PASSED_MAX others in their way; an attacker can choose keys that have. */
enum { PD_KEYMAP_PASSED_MAX = 4096 };
size_t pd_keymap_reindex(pd_keymap *map, size_t len, size_t most);

/* Releases the slots. Until the next pd_keymap_reserve, of any size, keys can only be removed, not
 * found or added. */
void pd_keymap_fold(pd_keymap *map, pd_mem *mem);

static inline void pd_keymap_clear(pd_keymap *map)
{
    pd_keymap_truncate(map, 0);
}

#endif

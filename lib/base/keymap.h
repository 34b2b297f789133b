/* A set of keys that numbers them 0, 1, 2 ... in the order they came.
 *
 *     keys    [ k0 | k1 | k2 | k3 | ... ]            dense, 16 bytes each, in order of arrival
 *     slots   [ .  | 3  | .  | 1  | 4 | . | 2 | . ]  open addressing: number + 1, 0 is free
 *
 * The bits of a slot that no number needs hold bits of the key, so that a slot of another key is
 * passed over without a look at that key, which in a large set is a wait for memory.
 *
 * What belongs to a key lies in arrays of the owner, beside it by number: counters in the ledger,
 * output ids in the writer. Dense keys make three things cheap that matter here. A guess ("the one
 * after the last") costs one compare and no probe. Taking back the newest keys is a truncation.
 * And dropping some is a pass over an array.
 *
 * Where memory counts more than time, a set is tight: five slots to four keys instead of two to one
 * at least, and no more room than it is told to have. */
#ifndef PD_BASE_KEYMAP_H
#define PD_BASE_KEYMAP_H

#include "base/key.h"
#include "base/mem.h"

#define PD_KEYMAP_NONE UINT32_MAX
#define PD_KEYMAP_MAX  (UINT32_MAX / 2) /* keys: as many as fill the largest table half */

typedef struct pd_keymap {
    pd_key *keys;
    uint32_t *slots;
    size_t len, cap;
    size_t slots_cap; /* 0 or a power of two, at least twice len; any number if it is tight */
    uint32_t low;     /* the bits of a slot that hold the number */
    bool is_tight;    /* the owner's choice, before there is any room */
} pd_keymap;          /* zero it to begin */

/* Makes room for `need` keys in all, so that adding up to there cannot fail. */
pprofdelta_status pd_keymap_reserve(pd_keymap *map, pd_mem *mem, size_t need,
                                    pprofdelta_error *err);

/* The number of the key, or PD_KEYMAP_NONE. */
uint32_t pd_keymap_find(const pd_keymap *map, pd_key key);

/* The number of the key, which is added where it is new (then the number is the old len). There
 * must be room for it: see pd_keymap_room. */
uint32_t pd_keymap_add(pd_keymap *map, pd_key key);

/* The slot where a key would like to be. */
static inline size_t pd_keymap_home(const pd_keymap *map, pd_key key)
{
    if (__builtin_expect(map->is_tight, 0))
        return (size_t)((uint64_t)(uint32_t)key.lo * map->slots_cap >> 32);
    return (size_t)key.lo & map->low;
}

/* Appends a key that is not in the slots yet: pd_keymap_index is to follow, in order. There must be
 * room. */
static inline void pd_keymap_push(pd_keymap *map, pd_key key)
{
    map->keys[map->len++] = key;
    __builtin_prefetch(&map->slots[pd_keymap_home(map, key)], 1);
}

/* Puts the key with this number into the slots and returns the number; or where the same key is
 * there already, that one's. */
uint32_t pd_keymap_index(pd_keymap *map, uint32_t number);

/* The same for keys that somebody may have chosen so that all want the same slot: PD_KEYMAP_NONE
 * where more than PD_KEYMAP_CROWD others stand in the way. So many hashes never meet. */
enum { PD_KEYMAP_CROWD = 4096 };
uint32_t pd_keymap_index_chosen(pd_keymap *map, uint32_t number);

/* Is the key's number this one? A right guess costs a compare and no probe. */
static inline bool pd_keymap_is_at(const pd_keymap *map, uint32_t guess, pd_key key)
{
    return guess < map->len && pd_key_equal(map->keys[guess], key);
}

/* Room for this key, if it is not there already. */
static inline pprofdelta_status pd_keymap_room(pd_keymap *map, pd_mem *mem, pd_key key,
                                               pprofdelta_error *err)
{
    if (__builtin_expect(map->len < map->cap, 1) || pd_keymap_find(map, key) != PD_KEYMAP_NONE)
        return PPROFDELTA_OK;
    return pd_keymap_reserve(map, mem, pd_mem_roomy(mem, map->len), err);
}

/* Gives back the room of a tight set beyond `room` keys, which are no fewer than it has. */
void pd_keymap_trim(pd_keymap *map, pd_mem *mem, size_t room);

/* Takes back the newest keys down to `len` of them. */
void pd_keymap_truncate(pd_keymap *map, size_t len);

/* Makes the slots fit again after the owner moved or dropped keys in place and set len. */
void pd_keymap_reindex(pd_keymap *map);

/* Gives the slots back until pd_keymap_reserve is asked for room, of whatever size: up to there
 * nothing can be found or added, only taken back or dropped. */
void pd_keymap_fold(pd_keymap *map, pd_mem *mem);

static inline void pd_keymap_clear(pd_keymap *map)
{
    pd_keymap_truncate(map, 0);
}

void pd_keymap_release(pd_keymap *map, pd_mem *mem);

#endif

/* Maps the ids of a table (mappings, functions, locations) to indices in order of appearance.
 *
 * An id is any number except 0. Nearly all producers use 1, 2, 3, ...; then id - 1 is the index and
 * nothing is stored. The ids after the end of that sequence are in a hashed set. */
#ifndef PD_PROFILE_IDMAP_H
#define PD_PROFILE_IDMAP_H

#include "base/keymap.h"

#define PD_IDMAP_NONE UINT32_MAX

typedef struct pd_idmap {
    size_t sequential; /* the first ids, which are 1, 2, 3 ... */
    pd_keymap others;  /* {hash, id} of the ids after these */
    /* Seed of that hash: the address of the map. The writer of a profile cannot know it, so it
     * cannot choose ids with equal hashes. No output depends on it. */
    uint64_t seed;
} pd_idmap; /* zero it to begin */

void pd_idmap_clear(pd_idmap *map);

/* Gives the id the next index. Sets *is_new to false if the id is 0 or that of an earlier element: the
 * map cannot be used then. */
pprofdelta_status pd_idmap_add(pd_idmap *map, pd_mem *mem, uint64_t id, bool *is_new,
                               pprofdelta_error *err);

uint32_t pd_idmap_find_other(const pd_idmap *map, uint64_t id);

/* Returns the index, or PD_IDMAP_NONE. */
static inline uint32_t pd_idmap_find(const pd_idmap *map, uint64_t id)
{
    if (__builtin_expect(id - 1 < map->sequential, 1))
        return (uint32_t)(id - 1);
    return pd_idmap_find_other(map, id);
}

void pd_idmap_release(pd_idmap *map, pd_mem *mem);

#endif

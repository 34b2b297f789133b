/* Maps the ids of a table (mappings, functions, locations) to indices in order of appearance.
 *
 * An id is any number except 0. Nearly all producers use 1, 2, 3, ...; then id - 1 is the index and
 * nothing is stored. The ids after the end of that sequence go into a dense array if they are not
 * much larger than their number, and into a hashed set otherwise. */
#ifndef PD_PROFILE_IDMAP_H
#define PD_PROFILE_IDMAP_H

#include "base/keymap.h"

#define PD_IDMAP_NONE UINT32_MAX

typedef struct pd_idmap {
    size_t sequential; /* the first ids, which are 1, 2, 3 ... */
    size_t len;        /* ids added */
    uint64_t *others;  /* the ids after the sequential ones */
    uint64_t largest;  /* of others */
    size_t others_cap;
    uint32_t *dense; /* after sealing: index + 1 by id; used if dense_len > 0 */
    size_t dense_len, dense_cap;
    pd_keymap sparse; /* after sealing: {hash, id} -> position in others; used if dense_len is 0 */
    /* Seed of that hash: the address of the map. The writer of a profile cannot know it, so it
     * cannot choose ids with equal hashes. No output depends on it. */
    uint64_t seed;
} pd_idmap; /* zero it to begin */

void pd_idmap_clear(pd_idmap *map);
pprofdelta_status pd_idmap_add(pd_idmap *map, pd_mem *mem, uint64_t id, pprofdelta_error *err);

/* Prepares for pd_idmap_find. Sets *bad to the index of an element whose id is 0 or that of an
 * earlier element, or to PD_IDMAP_NONE. The map cannot be used in the first case. */
pprofdelta_status pd_idmap_seal(pd_idmap *map, pd_mem *mem, uint32_t *bad, pprofdelta_error *err);

/* Returns the id of the element `index`. */
static inline uint64_t pd_idmap_id(const pd_idmap *map, uint32_t index)
{
    return index < map->sequential ? (uint64_t)index + 1 : map->others[index - map->sequential];
}

uint32_t pd_idmap_find_other(const pd_idmap *map, uint64_t id);

/* Returns the index, or PD_IDMAP_NONE. */
static inline uint32_t pd_idmap_find(const pd_idmap *map, uint64_t id)
{
    if (__builtin_expect(id - 1 < map->sequential, 1))
        return (uint32_t)(id - 1);
    return pd_idmap_find_other(map, id);
}

/* Releases the unused room of a sealed map. */
void pd_idmap_trim(pd_idmap *map, pd_mem *mem);

void pd_idmap_release(pd_idmap *map, pd_mem *mem);

#endif

/* From the ids of a table (mappings, functions, locations) to indices in order of appearance.
 *
 * An id is any number but 0. Nearly every producer counts 1, 2, 3, ..., and then id - 1 is the
 * index and nothing is stored. Where the sequence breaks, the ids from there on go into a dense
 * array if they are not much larger than their number, and into a hashed set if they are. */
#ifndef PD_PROFILE_IDMAP_H
#define PD_PROFILE_IDMAP_H

#include "base/keymap.h"

#define PD_IDMAP_NONE UINT32_MAX

typedef struct pd_idmap {
    size_t sequential; /* the first so many ids are 1, 2, 3 ... */
    size_t len;        /* ids added */
    uint64_t *others;  /* the ids behind the sequential ones */
    uint64_t largest;  /* of others */
    size_t others_cap;
    uint32_t *dense; /* after sealing: index + 1 by id; used where dense_len > 0 */
    size_t dense_len, dense_cap;
    pd_keymap sparse; /* after sealing: {hash, id} -> position in others; where dense_len == 0 */
    uint64_t seed;    /* of that hash. Whoever wrote the profile cannot know it (it is where the
                         map happened to lie), so ids cannot be chosen to fall into one slot.
                         Nothing that is written depends on it. */
} pd_idmap;           /* zero it to begin */

void pd_idmap_clear(pd_idmap *map);
pprofdelta_status pd_idmap_add(pd_idmap *map, pd_mem *mem, uint64_t id, pprofdelta_error *err);

/* Makes the ids findable. *bad is the index of an element whose id is 0 or an earlier one's, or
 * PD_IDMAP_NONE; the map is of no use in the first case. */
pprofdelta_status pd_idmap_seal(pd_idmap *map, pd_mem *mem, uint32_t *bad, pprofdelta_error *err);

/* The id that was added as number `index`. */
static inline uint64_t pd_idmap_id(const pd_idmap *map, uint32_t index)
{
    return index < map->sequential ? (uint64_t)index + 1 : map->others[index - map->sequential];
}

uint32_t pd_idmap_find_other(const pd_idmap *map, uint64_t id);

/* The index, or PD_IDMAP_NONE. */
static inline uint32_t pd_idmap_find(const pd_idmap *map, uint64_t id)
{
    if (__builtin_expect(id - 1 < map->sequential, 1))
        return (uint32_t)(id - 1);
    return pd_idmap_find_other(map, id);
}

/* Gives back what a sealed map has room for and does not hold. */
void pd_idmap_trim(pd_idmap *map, pd_mem *mem);

void pd_idmap_release(pd_idmap *map, pd_mem *mem);

#endif

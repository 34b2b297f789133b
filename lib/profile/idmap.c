#include "profile/idmap.h"

static pd_key spread(const pd_idmap *map, uint64_t id)
{
    return (pd_key){XXH3_64bits_withSeed(&id, sizeof id, map->seed), id};
}

void pd_idmap_clear(pd_idmap *map)
{
    map->sequential = 0;
    pd_keymap_clear(&map->others);
}

pprofdelta_status pd_idmap_add(pd_idmap *map, pd_mem *mem, uint64_t id, bool *is_new,
                               pprofdelta_error *err)
{
    size_t len = map->sequential + map->others.len;
    if (len == PD_KEYMAP_MAX)
        return pd_fail(err, PPROFDELTA_E_LIMIT, "profile", NULL, PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "a table of more than %u elements", PD_KEYMAP_MAX);
    if (!map->others.len)
        map->seed = (uintptr_t)map;
    *is_new = id && pd_idmap_find(map, id) == PD_IDMAP_NONE;
    if (id == len + 1 && len == map->sequential) {
        map->sequential++;
        return PPROFDELTA_OK;
    }
    pprofdelta_status status = pd_keymap_room(&map->others, mem, spread(map, id), err);
    if (!status)
        pd_keymap_add(&map->others, spread(map, id));
    return status;
}

uint32_t pd_idmap_find_other(const pd_idmap *map, uint64_t id)
{
    uint32_t position = pd_keymap_find(&map->others, spread(map, id));
    return position == PD_KEYMAP_NONE ? PD_IDMAP_NONE : (uint32_t)map->sequential + position;
}

void pd_idmap_release(pd_idmap *map, pd_mem *mem)
{
    pd_keymap_release(&map->others, mem);
    *map = (pd_idmap){0};
}

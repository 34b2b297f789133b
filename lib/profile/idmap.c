#include "profile/idmap.h"

#include <string.h>

static pd_key spread(const pd_idmap *map, uint64_t id)
{
    return (pd_key){XXH3_64bits_withSeed(&id, sizeof id, map->seed), id};
}

void pd_idmap_clear(pd_idmap *map)
{
    map->sequential = map->len = map->dense_len = 0;
    map->largest = 0;
    pd_keymap_clear(&map->sparse);
}

pprofdelta_status pd_idmap_add(pd_idmap *map, pd_mem *mem, uint64_t id, pprofdelta_error *err)
{
    if (map->len == PD_KEYMAP_MAX)
        return pd_fail(err, PPROFDELTA_E_LIMIT, "profile", NULL, PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "a table of more than %u elements", PD_KEYMAP_MAX);
    if (map->len == map->sequential && id == map->len + 1) {
        map->sequential = ++map->len;
        return PPROFDELTA_OK;
    }
    size_t position = map->len - map->sequential;
    pprofdelta_status status =
        pd_mem_grow(mem, &map->others, &map->others_cap, position + 1, sizeof *map->others, err);
    if (status)
        return status;
    map->others[position] = id;
    if (id > map->largest)
        map->largest = id;
    map->len++;
    return PPROFDELTA_OK;
}

static pprofdelta_status seal_dense(pd_idmap *map, pd_mem *mem, uint32_t *bad,
                                    pprofdelta_error *err)
{
    size_t len = (size_t)map->largest + 1;
    pprofdelta_status status =
        pd_mem_reserve(mem, &map->dense, &map->dense_cap, len, sizeof *map->dense, err);
    if (status)
        return status;
    map->dense_len = len;
    memset(map->dense, 0, len * sizeof *map->dense);
    for (size_t index = map->sequential; index < map->len; index++) {
        uint64_t id = map->others[index - map->sequential];
        if (!id || map->dense[id] || id - 1 < map->sequential) {
            *bad = (uint32_t)index;
            return PPROFDELTA_OK;
        }
        map->dense[id] = (uint32_t)index + 1;
    }
    return PPROFDELTA_OK;
}

static pprofdelta_status seal_sparse(pd_idmap *map, pd_mem *mem, uint32_t *bad,
                                     pprofdelta_error *err)
{
    size_t len = map->len - map->sequential;
    map->seed = (uintptr_t)map;
    pprofdelta_status status = pd_keymap_reserve(&map->sparse, mem, len, err);
    if (status)
        return status;
    for (size_t position = 0; position < len; position++) {
        uint64_t id = map->others[position];
        if (!id || id - 1 < map->sequential ||
            pd_keymap_add(&map->sparse, spread(map, id)) != position) {
            *bad = (uint32_t)(map->sequential + position);
            return PPROFDELTA_OK;
        }
    }
    return PPROFDELTA_OK;
}

pprofdelta_status pd_idmap_seal(pd_idmap *map, pd_mem *mem, uint32_t *bad, pprofdelta_error *err)
{
    *bad = PD_IDMAP_NONE;
    if (map->len == map->sequential)
        return PPROFDELTA_OK;
    if (map->largest / 4 <= map->len + 256)
        return seal_dense(map, mem, bad, err);
    return seal_sparse(map, mem, bad, err);
}

uint32_t pd_idmap_find_other(const pd_idmap *map, uint64_t id)
{
    if (map->dense_len)
        return id < map->dense_len ? map->dense[id] - 1 : PD_IDMAP_NONE;
    uint32_t position = pd_keymap_find(&map->sparse, spread(map, id));
    return position == PD_KEYMAP_NONE ? PD_IDMAP_NONE : (uint32_t)map->sequential + position;
}

void pd_idmap_trim(pd_idmap *map, pd_mem *mem)
{
    pd_mem_trim(mem, &map->others, &map->others_cap, map->len - map->sequential,
                sizeof *map->others);
}

void pd_idmap_release(pd_idmap *map, pd_mem *mem)
{
    pd_mem_release(mem, &map->others, &map->others_cap, sizeof *map->others);
    pd_mem_release(mem, &map->dense, &map->dense_cap, sizeof *map->dense);
    pd_keymap_release(&map->sparse, mem);
    *map = (pd_idmap){0};
}

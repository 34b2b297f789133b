#include "places/places.h"

#include <link.h>
#include <stddef.h>

static int take_loads(struct dl_phdr_info *info, size_t size, void *out)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *(uint64_t *)out = (uint64_t)info->dlpi_adds + (uint64_t)info->dlpi_subs;
    return 1; /* the same for all objects: one is enough */
}

/* The number of objects that the loader has loaded and unloaded; 0 if it does not report it. This
 * takes a lock of the loader. After a fork another thread of the parent may have held that lock,
 * and nobody gives it back in the child: do not call it there. */
static uint64_t loads_by_now(void)
{
    uint64_t loads = 0;
    dl_iterate_phdr(take_loads, &loads);
    return loads;
}

/* Opens a span of the mapping, if none is open. There is room for one more of each. */
static void note_presence(pd_places *p, uint32_t map)
{
    if (map < p->last_len && !p->spans[p->last[map]].gone)
        return;
    p->last[map] = (uint32_t)p->spans_len;
    p->spans[p->spans_len++] = (pd_place_span){map, p->era, 0};
}

static pprofdelta_status note_spans(pd_places *p, pd_mem *mem, pprofdelta_error *err)
{
    size_t len = p->maps.len;
    pprofdelta_status status =
        pd_mem_grow(mem, &p->spans, &p->spans_cap, p->spans_len + len, sizeof *p->spans, err);
    if (!status)
        status = pd_mem_grow(mem, &p->last, &p->last_cap, len, sizeof *p->last, err);
    if (status)
        return status;
    p->era++;
    for (uint32_t map = 0; map < len; map++) {
        if (map >= p->last_len || p->maps.maps[map].is_there)
            note_presence(p, map);
        if (!p->maps.maps[map].is_there && !p->spans[p->last[map]].gone)
            p->spans[p->last[map]].gone = p->era;
    }
    p->last_len = len;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_places_read(pd_places *p, pd_mem *mem, bool again, pprofdelta_error *err)
{
    uint64_t loads = again || p->is_forked ? p->loads : loads_by_now();
    if (p->is_whole && p->loads == loads && !again && !p->is_forked)
        return PPROFDELTA_OK;
    p->is_whole = false;
    pprofdelta_status status = pd_maps_read(&p->maps, mem, true, err);
    if (!status)
        status = note_spans(p, mem, err);
    p->is_whole = !status;
    p->loads = loads;
    return status;
}

static bool was_there(const pd_place_span *span, uint32_t era)
{
    return span->born <= era && (!span->gone || era < span->gone);
}

uint32_t pd_places_find(const pd_places *p, uint64_t address, uint32_t era)
{
    uint32_t now = pd_maps_find(&p->maps, address);
    if (now != PD_MAP_NONE && pd_places_born(p, now) <= era)
        return now;
    for (size_t i = 0; i < p->spans_len; i++) {
        const pd_map *map = &p->maps.maps[p->spans[i].map];
        if (map->start <= address && address < map->limit && was_there(&p->spans[i], era))
            return p->spans[i].map;
    }
    return now;
}

void pd_places_release(pd_places *p, pd_mem *mem)
{
    pd_maps_release(&p->maps, mem);
    pd_mem_release(mem, &p->spans, &p->spans_cap, sizeof *p->spans);
    pd_mem_release(mem, &p->last, &p->last_cap, sizeof *p->last);
    *p = (pd_places){0};
}

/* The mapping of an address of a site: the one that was there when the site was first written.
 *
 * When code is unloaded, its sites stay, and other code may be loaded at the same addresses. So
 * mappings are never removed. Each has spans of eras in which it was there; an era is one reading
 * of /proc/self/maps. Eras count from 1. */
#ifndef PD_PLACES_PLACES_H
#define PD_PLACES_PLACES_H

#include "process/maps.h"

typedef struct pd_place_span {
    uint32_t map;        /* the mapping's number */
    uint32_t born, gone; /* gone 0: it is there */
} pd_place_span;

typedef struct pd_places {
    pd_maps maps;
    pd_place_span *spans; /* oldest first; a mapping that came back has several */
    uint32_t *last;       /* the last span of each mapping */
    size_t spans_len, spans_cap, last_len, last_cap;
    uint32_t era;
    uint64_t loads; /* loads_by_now() at the last reading */
    bool is_whole;  /* the last reading succeeded */
    bool is_forked; /* the child of a fork: loads_by_now() may not be called */
} pd_places;        /* zero it to begin */

/* The era since which the mapping has been there. It is there now. */
static inline uint32_t pd_places_born(const pd_places *places, uint32_t map)
{
    return places->spans[places->last[map]].born;
}

/* Reads the mappings if they were never read, if the loader has loaded or unloaded something since,
 * or if `again`. May wait for a dlopen that is under way. */
pprofdelta_status pd_places_read(pd_places *places, pd_mem *mem, bool again, pprofdelta_error *err);

/* The mapping of an address in a site that was first written in `era`, or PD_MAP_NONE. */
uint32_t pd_places_find(const pd_places *places, uint64_t address, uint32_t era);

void pd_places_release(pd_places *places, pd_mem *mem);

#endif

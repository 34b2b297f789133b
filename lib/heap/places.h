/* Which mapping an address of a site belongs to: the one that was there when the site was first
 * written.
 *
 * Code that is unloaded leaves sites behind, and something else may come to stand at its addresses.
 * So mappings are never forgotten; each has the spans of eras in which it was seen, where an era is
 * one reading of /proc/self/maps. Eras count from 1. */
#ifndef PD_HEAP_PLACES_H
#define PD_HEAP_PLACES_H

#include "process/maps.h"

typedef struct pd_place_span {
    uint32_t map;        /* the mapping's number */
    uint32_t born, gone; /* gone 0: it is there */
} pd_place_span;

typedef struct pd_places {
    pd_maps maps;
    pd_place_span *spans; /* in order of birth: several for what came back */
    uint32_t *last;       /* by the mapping's number: its last span */
    size_t spans_len, spans_cap, last_len, last_cap;
    uint32_t era;
    uint64_t loads; /* what the loader had done when it was read */
    bool is_whole;  /* the last reading succeeded */
    bool is_forked; /* this is the child of a fork: the loader is not to be asked */
} pd_places;        /* zero it to begin */

/* The era since which the mapping has been there, if it is. */
static inline uint32_t pd_places_born(const pd_places *places, uint32_t map)
{
    return places->spans[places->last[map]].born;
}

/* Reads, if it was never read, or the loader has done something since, or if `again`. May wait for a
 * dlopen that is going on. */
pprofdelta_status pd_places_read(pd_places *places, pd_mem *mem, bool again, pprofdelta_error *err);

/* The mapping of an address in a site first written in `era`, or PD_MAP_NONE. */
uint32_t pd_places_find(const pd_places *places, uint64_t address, uint32_t era);

void pd_places_release(pd_places *places, pd_mem *mem);

#endif

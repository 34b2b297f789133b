/* A site: one stack with labels, and what was allocated from it.
 *
 * This is where deltas are made. Events are never listed; each is added, once and for all, to the
 * sums of its site, for each of the four types of the profile:
 *
 *     base         what has arrived: all that was acknowledged, added up
 *     changed[w]   the changes since, in two windows: one gathers events, the other is being sent
 *
 *     an allocation adds its weight to changed[gathering], and notes the site as changed there;
 *     its end takes the same weight from the in-use types: one window later it is a tombstone that
 *         negates what was sent, in the same window it leaves nothing, and where the batch between
 *         them was given back, merging two windows is an addition;
 *     begin            swaps the windows                       (constant time, under the lock)
 *     a delta is       changed[sending] of the changed sites
 *     a full one is    base + changed[sending] of all
 *     acknowledge      base += changed[sending]                (without the lock: nobody looks)
 *     give back        changed[gathering] += changed[sending]  (under the lock, a few at a time)
 *
 * A site with nothing in use is kept for its counters, until room runs out: then it is forgotten
 * and its counters go to the site with no stack, so that totals stand. */
#ifndef PD_HEAP_SITE_H
#define PD_HEAP_SITE_H

#include "heap/chains.h"
#include "heap/shared.h"
#include "heap/trace.h"

enum { PD_ALLOC_OBJECTS, PD_ALLOC_BYTES, PD_INUSE_OBJECTS, PD_INUSE_BYTES, PD_HEAP_TYPES };

/* The site with no stack and no labels, which is always there. */
enum { PD_SITE_EMPTY = 1 };

#define PD_SITE_LAST UINT32_MAX /* behind the last changed one; 0 means not changed */

typedef struct pd_heap_sums {
    int64_t at[PD_HEAP_TYPES];
} pd_heap_sums;

typedef struct pd_site {
    pd_link link;
    uint32_t next_changed[2];
    pd_key key;
    pd_trace *trace;       /* NULL: not in use */
    uint32_t holders;      /* live and deferred allocations that refer to it */
    uint32_t era;          /* of the mappings, when it was first written; 0: not yet */
    pd_shared_sum live[2]; /* objects and bytes in use now, for those who do not take the lock */
    pd_heap_sums base, changed[2];
} pd_site;

typedef struct pd_sites {
    pd_pool pool;
    pd_chains chains;
    pd_traces traces;
    uint32_t max_depth;
    uint32_t changed[2]; /* the first changed site of each window, or PD_SITE_LAST */
    uint64_t changed_len[2];
    unsigned gathering; /* which window events go to; the other is being sent, or empty */
} pd_sites;

static inline pd_site *pd_site_at(const pd_sites *sites, uint32_t number)
{
    return pd_pool_at(&sites->pool, number);
}

/* False: no pages. max is the number of sites besides the empty one. */
bool pd_sites_init(pd_sites *sites, pd_pages *pages, uint32_t max, uint32_t max_depth);
void pd_sites_fini(pd_sites *sites);

/* What the event's site is known by; needs no lock. */
pd_key pd_site_key(const pd_sites *sites, const pprofdelta_heap_event *event);

/* The number of the event's site, made if it is new, or 0: *full tells whether for the cap or for
 * want of pages. */
uint32_t pd_site_for(pd_sites *sites, const pprofdelta_heap_event *event, pd_key key, bool *full);

/* The site's sums in the gathering window, where it now counts as changed. */
pd_heap_sums *pd_site_changed(pd_sites *sites, uint32_t number);

/* An allocation begins, or ends, at the site, in the gathering window. */
void pd_site_begins(pd_sites *sites, uint32_t number, const pprofdelta_weight *weight);
void pd_site_ends(pd_sites *sites, uint32_t number, const pprofdelta_weight *weight);

/* Puts the site, without anything in use or changed, away; its counters go to the empty one. */
void pd_site_forget(pd_sites *sites, uint32_t number);

/* The window that is being sent. */
static inline unsigned pd_sites_sending(const pd_sites *sites)
{
    return sites->gathering ^ 1;
}

/* Sums wrap as unsigned numbers do: no weight can make it undefined. */
static inline void pd_heap_add(int64_t *to, int64_t value)
{
    *to = (int64_t)((uint64_t)*to + (uint64_t)value);
}

static inline void pd_heap_sums_add(pd_heap_sums *to, const pd_heap_sums *more)
{
    for (int i = 0; i < PD_HEAP_TYPES; i++)
        pd_heap_add(&to->at[i], more->at[i]);
}

#endif

/* A site: a stack with labels, and what was allocated there.
 *
 * Deltas are made here. Events are not stored: each is added to the sums of its site, for each of
 * the types of the profile that events change:
 *
 *     base         the sum of everything that was committed
 *     changed[w]   the changes since then, in two windows: one gathers events, one is being sent
 *
 *     an allocation    adds its weight to changed[gathering] and marks the site as changed there
 *     its end          subtracts the same weight from the in-use types of changed[gathering]: in
 *                      the same window nothing is left, in a later one it undoes what was sent
 *     begin            swaps the windows                       (constant time, under the lock)
 *     a delta is       changed[sending] of the changed sites
 *     a full batch is  base + changed[sending] of all sites
 *     commit           base += changed[sending]                (without the lock)
 *     abandon          swaps the windows again, and then
 *                      changed[gathering] += changed[sending]  (under the lock, a few at a time)
 *
 * The peak of the tracker is when most bytes were in use. Peaks are numbered; a new one changes the
 * number and no site. A site's share of a peak is what it had in use then, so the share is copied
 * when the site changes for the first time after the peak:
 *
 *     peak.number     the latest peak when the site changed last
 *     peak.share      its share of that peak; of later peaks it is what the site has in use
 *     peak.held       its share of the peak of the batch under way, where a later peak came
 *
 * A process may be killed at any instruction, and its tables are read then (recover.c), which may have been damaged
 * since. So sums change their place by pd_move, and each site has a check word:
 *
 *     check = seal(number, key) + a linear sum of base + changed[0] + changed[1]
 *
 * A move within the site leaves it as it is, and an event adds to it. Only the site that `writing` names may have
 * another one.
 *
 * A site with nothing in use is kept for its counters until there is no room. Then it is removed,
 * and its counters are added to the site without a stack, so that totals stay correct. */
#ifndef PD_HEAP_SITE_H
#define PD_HEAP_SITE_H

#include "heap/pools.h"
#include "heap/trace.h"

enum {
    PD_ALLOC_OBJECTS,
    PD_ALLOC_BYTES,
    PD_INUSE_OBJECTS,
    PD_INUSE_BYTES,
    PD_PEAK_OBJECTS,
    PD_PEAK_BYTES,
    PD_HEAP_TYPES,
    PD_FREED_OBJECTS = PD_HEAP_TYPES, /* with ages only */
    PD_FREED_BYTES,
    PD_HEAP_MOST_TYPES = PD_FREED_BYTES + 3 /* with two gauges */
};

/* The sums of a site: the types before the peak, and what ended with age 0. */
enum { PD_YOUNG_OBJECTS = PD_PEAK_OBJECTS, PD_YOUNG_BYTES, PD_HEAP_SUMS };

/* The site without a stack and labels. It always exists. */
enum { PD_SITE_EMPTY = 1 };

#define PD_SITE_LAST UINT32_MAX /* the end of the list; 0: the site is not in the list */

typedef struct pd_heap_sums {
    int64_t at[PD_HEAP_SUMS];
} pd_heap_sums;

typedef struct pd_site_peak {
    uint64_t number, held_number; /* 0: none */
    pprofdelta_weight share, held;
    pprofdelta_weight sent; /* the share in the last batch that was committed */
} pd_site_peak;

typedef struct pd_site {
    pd_link link;
    uint32_t next_changed[2];
    pd_key key;
    pd_trace *trace;  /* NULL: not in use */
    uint32_t holders; /* the number of live and deferred allocations of this site */
    uint32_t era;     /* sealed: in which era of the mappings it was first written; 0: not yet */
    uint32_t ended;   /* the first of its cells: see below */
    uint64_t check;   /* before the sums: a page that was lost takes both, or shows */
    pd_shared_sum live[2]; /* objects and bytes in use, for readers without the lock */
    pd_heap_sums base, changed[2];
    pd_site_peak peak;
} pd_site;

/* The move of sums that is under way: to = result, from = 0. Doing it again changes nothing. */
typedef struct pd_moving {
    uint32_t len; /* 0: none is under way */
    int64_t *to, *from;
    int64_t result[PD_HEAP_SUMS];
} pd_moving;

typedef struct pd_sites {
    pd_pool pool;
    pd_chains chains;
    pd_traces traces;
    uint32_t max_depth;
    uint32_t changed[2]; /* the first changed site of each window; PD_SITE_LAST: none */
    uint64_t changed_len[2];
    unsigned gathering; /* the window that gathers events; the other one is being sent or empty */
    uint64_t peak;      /* the number of the latest peak, from 1 */
    uint64_t held_peak; /* that of the batch under way; 0: there is none */
    pd_moving moving;
    uint32_t writing; /* the site that an event changes now, perhaps with the empty one; 0: none */
    uint64_t peak_seal; /* of the number of the peak and what was in use then */
    uint32_t ended_len; /* cells in use */
    pd_pool ended;      /* what ended by age; no chunks: ages are not wanted */
    uint32_t window;    /* the number of the window that gathers events, from 1 */
    uint64_t dropped_ages;
} pd_sites;

static inline pd_site *pd_site_at(const pd_sites *sites, uint32_t number)
{
    return pd_pool_at(&sites->pool, number);
}

/* Returns false without pages. max is the number of sites without the empty one; max_ended is that of
 * cells, 0: without ages. */
bool pd_sites_init(pd_sites *sites, pd_pages *pages, uint32_t max, uint32_t max_depth,
                   uint32_t max_ended);
void pd_sites_fini(pd_sites *sites);

/* The identity of the event's site; that of an event without its arrays is 0. Needs no lock. */
pd_key pd_site_key(const pd_sites *sites, const pprofdelta_heap_event *event);

/* The number of the event's site, which is made if it is new. Returns 0 if there is no room: the pool is
 * full, or there are no pages. */
uint32_t pd_site_for(pd_sites *sites, const pprofdelta_heap_event *event, pd_key key);

/* The sums of the site in the gathering window. Marks the site as changed. */
pd_heap_sums *pd_site_changed(pd_sites *sites, uint32_t number);

/* Counts the begin or the end of an allocation, in the gathering window. born: the window of its begin. */
void pd_site_begins(pd_sites *sites, uint32_t number, const pprofdelta_weight *weight);
void pd_site_ends(pd_sites *sites, uint32_t number, const pprofdelta_weight *weight, uint32_t born);

/* Sets peak.held to the share of held_peak. It stays as it is until the batch ends. */
void pd_site_hold(const pd_sites *sites, pd_site *site);

/* Adds `len` sums of 64 bits to others in the tables, and clears them. No other thread moves sums, or writes
 * either of the two. */
void pd_move(pd_sites *sites, void *from, void *to, uint32_t len);

/* Removes a site with nothing in use and no changes. Its counters, and its share of the peak, are
 * added to the empty site. No batch is under way. */
void pd_site_forget(pd_sites *sites, uint32_t number);

/* The window that is being sent. */
static inline unsigned pd_sites_sending(const pd_sites *sites)
{
    return sites->gathering ^ 1;
}

/* What is written before this is in memory before what is written after it, if the process is killed
 * between the two. */
#define PD_WRITTEN_FIRST() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* From here on the sums of this site are being written; 0: of none. */
static inline void pd_sites_write(pd_sites *sites, uint32_t number)
{
    PD_WRITTEN_FIRST();
    sites->writing = number;
    PD_WRITTEN_FIRST();
}

/* ---- what shows damage ------------------------------------------------------------------------- */

/* Of words that do not change together with others. Not 0 for pages of zeros. */
static inline uint64_t pd_seal(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t k = UINT64_C(0x9e3779b97f4a7c15);
    return (((a * k + b) * k + c) * k) ^ UINT64_C(0x7065616b73656174);
}

/* The check word of sums is linear, so that those of parts add up. Every factor is odd, so that each bit counts.
 * first: the type of sums[0]. */
static inline uint64_t pd_check_of(const int64_t *sums, uint32_t first, uint32_t len)
{
    static const uint64_t factors[PD_HEAP_SUMS] = {
        UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f), UINT64_C(0x165667b19e3779f9),
        UINT64_C(0x27d4eb2f165667c5), UINT64_C(0xff51afd7ed558ccd), UINT64_C(0xc4ceb9fe1a85ec53)};
    uint64_t check = 0;
    for (uint32_t i = 0; i < len; i++)
        check += (uint64_t)sums[i] * factors[first + i];
    return check;
}

static inline uint64_t pd_check_of_ended(const pprofdelta_weight *weight)
{
    return pd_check_of(&weight->objects, PD_YOUNG_OBJECTS, 2);
}

/* What the check word of a site is if no event is under way. */
uint64_t pd_site_check(const pd_site *site, uint32_t number);

/* The era, with a check in the last 8 bits. */
static inline uint32_t pd_era_sealed(uint32_t era)
{
    return era << 8 | ((era ^ era >> 8 ^ era >> 16 ^ 0x5a) & 0xff);
}

/* 0: it was not written yet. */
static inline uint32_t pd_site_era(const pd_site *site)
{
    return site->era >> 8;
}

/* Wraps like unsigned numbers, so no weight makes it undefined. */
static inline void pd_heap_add(int64_t *to, int64_t value)
{
    *to = (int64_t)((uint64_t)*to + (uint64_t)value);
}

static inline void pd_weight_add(pprofdelta_weight *to, const pprofdelta_weight *more)
{
    pd_heap_add(&to->objects, more->objects);
    pd_heap_add(&to->bytes, more->bytes);
}

static inline void pd_heap_sums_add(pd_heap_sums *to, const pd_heap_sums *more)
{
    for (int i = 0; i < PD_HEAP_SUMS; i++)
        pd_heap_add(&to->at[i], more->at[i]);
}

/* ---- ages ------------------------------------------------------------------------------------ */

/* What ended, by age: for each site and age a cell, with sums like those of the site.
 *
 *     site -> cell, age 1 -> cell, age 2 -> cell, age 16       by age; age 0 is in the site's own sums
 *
 * An age is the number of windows from the begin to the end of an allocation. While a batch is under
 * way it is not known whether the events that come belong to the next window or to that batch, which may
 * be abandoned. They count for the next window. If the batch is abandoned, their ages are too high by 1.
 * So a cell must show whether one less has another rounded age:
 *
 *     age         .. 15 | 16 | 17 18 ... 23 | 24 | 25 ... 31 | 32
 *     cell        .. 15 | 16 | 17           | 24 | 25        | 32
 *     written as  .. 15 | 16   16           | 24   24        | 32
 *
 * Cells have a limit of their own. What ended and has no cell is counted as dropped, and has no age in any
 * profile. Only the lists of cells of a forgotten site get shorter. So export steps read them without the
 * lock. */
typedef struct pd_ended {
    pd_link link;   /* the next cell of the site; hash: the age, as drawn above */
    uint32_t site;  /* its number; 0: not in use */
    uint64_t check; /* like that of a site, with the seal of its number, site and age */
    pprofdelta_weight base, changed[2];
} pd_ended;

static inline bool pd_has_ages(const pd_sites *sites)
{
    return sites->ended.chunks != NULL;
}

/* The site's cell of this age, as drawn above, which is made if there is none. NULL: no room. Takes time for each
 * younger cell of the site. */
pd_ended *pd_ages_cell(pd_sites *sites, uint32_t owner, uint32_t age);

/* What its check word is if no event is under way. */
uint64_t pd_ages_check(const pd_ended *cell, uint32_t number);

/* Is this cell of the pool in use, with an age that a cell may have, and are its sums what was counted? Those of the
 * site that is being written may differ. */
bool pd_ages_is_whole(const pd_ended *cell, uint32_t number, bool is_being_written);

/* Counts what ended with this age in the gathering window. The site is marked as changed. */
void pd_ages_add(pd_sites *sites, uint32_t number, uint32_t age, const pprofdelta_weight *weight);

/* The window that was sent is added to the bases. */
void pd_ages_end_window(pd_sites *sites, pd_site *site);

/* ... to the gathering window, with ages that are less by 1. */
void pd_ages_merge(pd_sites *sites, uint32_t number);

/* The site is forgotten: its bases are added to those of the empty site. */
void pd_ages_move_to_empty(pd_sites *sites, pd_site *site);

/* Sets everything to 0. */
void pd_ages_clear(const pd_sites *sites, pd_site *site);

typedef void pd_ages_visitor(void *cookie, pd_site *site, uint32_t age,
                             const pprofdelta_weight *weight);

/* Calls the visitor for each rounded age from 1, the lowest first, of which something ended in the window that is
 * being sent; is_full: since the tracker began. */
void pd_ages_visit(const pd_sites *sites, pd_site *site, bool is_full, pd_ages_visitor *visitor,
                   void *cookie);

#endif

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
#ifndef PD_HEAP_AGES_H
#define PD_HEAP_AGES_H

#include "heap/site.h"

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
void pd_ages_settle(pd_sites *sites, pd_site *site);

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

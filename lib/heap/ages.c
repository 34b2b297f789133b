#include "heap/site.h"

static pd_ended *cell_at(const pd_sites *sites, uint32_t number)
{
    return number ? pd_pool_at(&sites->ended, number) : NULL;
}

static pd_ended *first_of(const pd_sites *sites, const pd_site *site)
{
    return cell_at(sites, __atomic_load_n(&site->ended, __ATOMIC_ACQUIRE));
}

static pd_ended *next_of(const pd_sites *sites, const pd_ended *cell)
{
    return cell_at(sites, __atomic_load_n(&cell->link.next, __ATOMIC_ACQUIRE));
}

/* Exact up to 15, then rounded down to two significant bits: 16, 24, 32, 48, 64, ... */
static uint32_t rounded_age(uint32_t windows)
{
    int bits = windows < 16 ? 0 : 30 - __builtin_clz(windows);
    return windows >> bits << bits;
}

static uint32_t cell_age(uint32_t age)
{
    uint32_t rounded = rounded_age(age);
    return rounded + (age > rounded);
}

uint64_t pd_ages_check(const pd_ended *cell, uint32_t number)
{
    return pd_seal(number, cell->site, cell->link.hash) + pd_check_of_ended(&cell->base) +
           pd_check_of_ended(&cell->changed[0]) + pd_check_of_ended(&cell->changed[1]);
}

bool pd_ages_is_whole(const pd_ended *cell, uint32_t number, bool is_being_written)
{
    return cell->site && cell->link.hash && cell_age(cell->link.hash) == cell->link.hash &&
           (is_being_written || cell->check == pd_ages_check(cell, number));
}

pd_ended *pd_ages_cell(pd_sites *sites, uint32_t owner, uint32_t age)
{
    uint32_t *at = &pd_site_at(sites, owner)->ended;
    pd_ended *cell;
    while ((cell = cell_at(sites, *at)) && cell->link.hash < age)
        at = &cell->link.next;
    if (cell && cell->link.hash == age)
        return cell;
    uint32_t number = pd_pool_take(&sites->ended);
    if (!number)
        return NULL;
    /* Its sums are zero, as those of a new site. */
    cell = cell_at(sites, number);
    cell->link = (pd_link){*at, age};
    cell->check = pd_seal(number, owner, age);
    PD_WRITTEN_FIRST();
    cell->site = owner;
    PD_WRITTEN_FIRST();
    sites->ended_len++;
    __atomic_store_n(at, number, __ATOMIC_RELEASE);
    return cell;
}

/* The objects and bytes that ended with this age (not rounded) in the gathering window, and their check word. NULL: no
 * room. */
static int64_t *sums_of(pd_sites *sites, uint32_t number, uint32_t age, uint64_t **check)
{
    pd_site *site = pd_site_at(sites, number);
    pd_ended *cell = age ? pd_ages_cell(sites, number, cell_age(age)) : NULL;
    *check = cell ? &cell->check : &site->check;
    if (!age)
        return &site->changed[sites->gathering].at[PD_YOUNG_OBJECTS];
    return cell ? &cell->changed[sites->gathering].objects : NULL;
}

void pd_ages_add(pd_sites *sites, uint32_t number, uint32_t age, const pprofdelta_weight *weight)
{
    uint64_t *check;
    int64_t *sums = sums_of(sites, number, age, &check);
    if (!sums) {
        sites->dropped_ages++;
        return;
    }
    pd_heap_add(&sums[0], weight->objects);
    pd_heap_add(&sums[1], weight->bytes);
    *check += pd_check_of_ended(weight);
}

static bool is_zero(const pprofdelta_weight *weight)
{
    return !weight->objects && !weight->bytes;
}

void pd_ages_end_window(pd_sites *sites, pd_site *site)
{
    unsigned sending = pd_sites_sending(sites);
    for (pd_ended *cell = first_of(sites, site); cell; cell = next_of(sites, cell))
        if (!is_zero(&cell->changed[sending]))
            pd_move(sites, &cell->changed[sending], &cell->base, 2);
}

void pd_ages_merge(pd_sites *sites, uint32_t number)
{
    unsigned sending = pd_sites_sending(sites);
    pd_site *site = pd_site_at(sites, number);
    pd_sites_write(sites, number);
    for (pd_ended *cell = first_of(sites, site); cell; cell = next_of(sites, cell)) {
        if (is_zero(&cell->changed[sending]))
            continue;
        uint64_t *check, moved = pd_check_of_ended(&cell->changed[sending]);
        int64_t *sums = sums_of(sites, number, cell->link.hash - 1, &check);
        cell->check -= moved;
        if (sums) {
            *check += moved;
            pd_move(sites, &cell->changed[sending], sums, 2);
        } else {
            cell->changed[sending] = (pprofdelta_weight){0, 0};
            sites->dropped_ages++;
        }
    }
    pd_sites_write(sites, 0);
}

void pd_ages_move_to_empty(pd_sites *sites, pd_site *site)
{
    while (site->ended) {
        uint32_t number = site->ended;
        pd_ended *cell = cell_at(sites, number);
        pprofdelta_weight base = cell->base;
        site->ended = cell->link.next;
        sites->ended_len--;
        PD_WRITTEN_FIRST();
        cell->site = 0;
        cell->base = (pprofdelta_weight){0, 0};
        uint32_t age = cell->link.hash;
        pd_pool_give(&sites->ended, number);
        /* There is room: that of the cell that was given back. If the process is killed here, the weight is
         * lost: the site has none in use, and its ages are of no more use. */
        cell = pd_ages_cell(sites, PD_SITE_EMPTY, age);
        pd_weight_add(&cell->base, &base);
        cell->check += pd_check_of_ended(&base);
    }
}

void pd_ages_clear(const pd_sites *sites, pd_site *site)
{
    uint32_t number = site->ended;
    for (pd_ended *cell; (cell = cell_at(sites, number)); number = cell->link.next) {
        cell->base = cell->changed[0] = cell->changed[1] = (pprofdelta_weight){0, 0};
        cell->check = pd_ages_check(cell, number);
    }
}

void pd_ages_visit(const pd_sites *sites, pd_site *site, bool is_full, pd_ages_visitor *visitor,
                   void *cookie)
{
    unsigned sending = pd_sites_sending(sites);
    const pd_ended *cell = first_of(sites, site);
    while (cell) {
        uint32_t age = rounded_age(cell->link.hash);
        pprofdelta_weight sum = {0, 0};
        for (; cell && rounded_age(cell->link.hash) == age; cell = next_of(sites, cell)) {
            pd_weight_add(&sum, &cell->changed[sending]);
            if (is_full)
                pd_weight_add(&sum, &cell->base);
        }
        if (!is_zero(&sum))
            visitor(cookie, site, age, &sum);
    }
}

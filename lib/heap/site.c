#include "heap/site.h"

bool pd_sites_init(pd_sites *sites, pd_pages *pages, uint32_t max, uint32_t max_depth,
                   uint32_t max_ended)
{
    *sites = (pd_sites){.traces = {.pages = pages},
                        .max_depth = max_depth,
                        .changed = {PD_SITE_LAST, PD_SITE_LAST},
                        .peak = 1,
                        .window = 1};
    if (!pd_pool_init(&sites->pool, pages, sizeof(pd_site), max + 1) ||
        (max_ended && !pd_pool_init(&sites->ended, pages, sizeof(pd_ended), max_ended)) ||
        !pd_chains_init(&sites->chains, &sites->pool))
        return false;
    pprofdelta_heap_event nothing = {0};
    return pd_site_for(sites, &nothing, pd_site_key(sites, &nothing)) == PD_SITE_EMPTY;
}

void pd_sites_fini(pd_sites *sites)
{
    pd_traces_fini(&sites->traces);
    pd_pool_fini(&sites->ended);
    pd_chains_fini(&sites->chains);
    pd_pool_fini(&sites->pool);
}

static size_t kept_depth(const pd_sites *sites, const pprofdelta_heap_event *event)
{
    return event->depth < sites->max_depth ? event->depth : sites->max_depth;
}

pd_key pd_site_key(const pd_sites *sites, const pprofdelta_heap_event *event)
{
    return pd_trace_has_arrays(event) ? pd_trace_key(event, kept_depth(sites, event))
                                      : (pd_key){0, 0};
}

static uint32_t find_site(const pd_sites *sites, pd_key key)
{
    uint32_t number = *pd_chains_head(&sites->chains, (uint32_t)key.lo);
    while (number) {
        const pd_site *site = pd_site_at(sites, number);
        if (pd_key_equal(site->key, key))
            return number;
        number = site->link.next;
    }
    return 0;
}

uint64_t pd_site_check(const pd_site *site, uint32_t number)
{
    uint64_t check = pd_seal(number, site->key.lo, site->key.hi);
    check += pd_check_of(site->base.at, 0, PD_HEAP_SUMS);
    for (int window = 0; window < 2; window++)
        check += pd_check_of(site->changed[window].at, 0, PD_HEAP_SUMS);
    return check;
}

uint32_t pd_site_for(pd_sites *sites, const pprofdelta_heap_event *event, pd_key key)
{
    uint32_t number = find_site(sites, key);
    if (number)
        return number;
    number = pd_pool_take(&sites->pool);
    if (!number)
        return 0;
    pd_trace *trace = pd_trace_copy(&sites->traces, event, kept_depth(sites, event));
    if (!trace) {
        pd_pool_give(&sites->pool, number);
        return 0;
    }
    /* The sums are zero, in new pages and in sites that were removed. They are not written here: an
     * export step may read them. */
    pd_site *site = pd_site_at(sites, number);
    site->key = key;
    site->era = 0;
    site->check = pd_seal(number, key.lo, key.hi);
    PD_WRITTEN_FIRST();
    __atomic_store_n(&site->trace, trace, __ATOMIC_RELEASE);
    pd_chains_add(&sites->chains, number, (uint32_t)key.lo);
    return number;
}

pd_heap_sums *pd_site_changed(pd_sites *sites, uint32_t number)
{
    pd_site *site = pd_site_at(sites, number);
    unsigned window = sites->gathering;
    if (!site->next_changed[window]) {
        site->next_changed[window] = sites->changed[window];
        sites->changed[window] = number;
        sites->changed_len[window]++;
    }
    return &site->changed[window];
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a builtin writes it */
static void add_live(pd_shared_sum *live, int64_t more)
{
    __atomic_store_n(live, (int64_t)((uint64_t)*live + (uint64_t)more), __ATOMIC_RELAXED);
}

static pprofdelta_weight live_of(const pd_site *site)
{
    return (pprofdelta_weight){site->live[0], site->live[1]};
}

void pd_site_hold(const pd_sites *sites, pd_site *site)
{
    pd_site_peak *p = &site->peak;
    if (p->held_number == sites->held_peak)
        return;
    p->held = p->number == sites->held_peak ? p->share : live_of(site);
    p->held_number = sites->held_peak;
}

/* Before the site changes. */
static void keep_share(const pd_sites *sites, pd_site *site)
{
    pd_site_peak *p = &site->peak;
    if (p->number == sites->peak)
        return;
    if (sites->held_peak && p->number <= sites->held_peak)
        pd_site_hold(sites, site);
    p->share = live_of(site);
    PD_WRITTEN_FIRST();
    p->number = sites->peak;
    PD_WRITTEN_FIRST();
}

/* Adds the sums of an event. */
static void add_sums(pd_sites *sites, uint32_t number, const pd_heap_sums *more)
{
    pd_site *site = pd_site_at(sites, number);
    pd_heap_sums *sums = pd_site_changed(sites, number);
    keep_share(sites, site);
    pd_heap_sums_add(sums, more);
    add_live(&site->live[0], more->at[PD_INUSE_OBJECTS]);
    add_live(&site->live[1], more->at[PD_INUSE_BYTES]);
    site->check += pd_check_of(more->at, 0, PD_HEAP_SUMS);
}

void pd_site_begins(pd_sites *sites, uint32_t number, const pprofdelta_weight *weight)
{
    add_sums(sites, number,
             &(pd_heap_sums){{weight->objects, weight->bytes, weight->objects, weight->bytes}});
}

void pd_site_ends(pd_sites *sites, uint32_t number, const pprofdelta_weight *weight, uint32_t born)
{
    add_sums(sites, number,
             &(pd_heap_sums){{[PD_INUSE_OBJECTS] = (int64_t) - (uint64_t)weight->objects,
                              [PD_INUSE_BYTES] = (int64_t) - (uint64_t)weight->bytes}});
    if (pd_has_ages(sites))
        pd_ages_add(sites, number, born < sites->window ? sites->window - born : 0, weight);
}

void pd_move(pd_sites *sites, void *from_sums, void *to_sums, uint32_t len)
{
    int64_t *from = from_sums, *to = to_sums;
    pd_moving *m = &sites->moving;
    *m = (pd_moving){0, to, from, {0}};
    for (uint32_t i = 0; i < len; i++) {
        m->result[i] = to[i];
        pd_heap_add(&m->result[i], from[i]);
    }
    PD_WRITTEN_FIRST();
    m->len = len;
    PD_WRITTEN_FIRST();
    for (uint32_t i = 0; i < len; i++) {
        to[i] = m->result[i];
        from[i] = 0;
    }
    PD_WRITTEN_FIRST();
    m->len = 0;
    PD_WRITTEN_FIRST();
}

void pd_site_forget(pd_sites *sites, uint32_t number)
{
    pd_site *site = pd_site_at(sites, number);
    pd_site *empty = pd_site_at(sites, PD_SITE_EMPTY);
    pd_sites_write(sites, number);
    empty->check += pd_check_of(site->base.at, 0, PD_HEAP_SUMS);
    pd_move(sites, &site->base, &empty->base, PD_HEAP_SUMS);
    pd_ages_move_to_empty(sites, site);
    keep_share(sites, site);
    keep_share(sites, empty);
    pd_weight_add(&empty->peak.share, &site->peak.share);
    pd_weight_add(&empty->peak.sent, &site->peak.sent);
    empty->peak.held_number = 0;
    site->peak = (pd_site_peak){0};
    pd_chains_remove(&sites->chains, number);
    pd_trace *trace = site->trace;
    __atomic_store_n(&site->trace, NULL, __ATOMIC_RELEASE);
    pd_trace_give(&sites->traces, trace);
    pd_pool_give(&sites->pool, number);
    pd_sites_write(sites, 0);
}

#include "ledger/reset.h"

#include "base/sum.h"

/* Compares the rows with the ledger's counters. */
static pd_reset_signs compare_counters(const pd_row_set *w)
{
    const pd_ledger *ledger = w->ledger;
    pd_reset_signs signs = {.restart = PPROFDELTA_RESTART_NONE};
    size_t living = 0;
    for (size_t row = 0; row < w->len; row++) {
        size_t entry = w->entry[row];
        bool is_known = entry < ledger->committed;
        const int64_t *base = pd_ledger_base(ledger, entry), *values = pd_row_set_values(w, row);
        signs.has_increase |= !is_known;
        for (size_t i = 0; i < ledger->counters && is_known; i++) {
            signs.has_decrease |= values[i] < base[i];
            signs.has_increase |= values[i] > base[i];
        }
    }
    for (size_t entry = 0; entry < ledger->committed; entry++)
        living += w->trace[entry] && pd_ledger_is_living(ledger, entry);
    signs.has_loss = signs.has_decrease || living != ledger->living;
    return signs;
}

/* What the last window had of a counter in an entry. */
static int64_t mass_of(const pd_ledger *ledger, size_t entry, size_t counter)
{
    int64_t mass = pd_ledger_base(ledger, entry)[counter];
    return pd_ledger_is_living(ledger, entry) && mass > 0 ? mass : 0;
}

/* Returns whether a counter lost at least half of its mass: by entries of the last window that
 * vanished, and by counters that decreased. */
static bool lost_half(const pd_row_set *w, size_t counter)
{
    pprofdelta_sum before = {0, 0}, lost = {0, 0};
    for (size_t entry = 0; entry < w->ledger->committed; entry++) {
        int64_t mass = mass_of(w->ledger, entry, counter);
        const int64_t *values = pd_row_set_counters(w, entry);
        int64_t value = values ? values[counter] : 0;
        pd_sum_add(&before, mass);
        if (mass && value < mass)
            pd_sum_add_unsigned(&lost, (uint64_t)mass - (uint64_t)value);
    }
    return (before.lo | (uint64_t)before.hi) && pd_sum_at_least(pd_sum_plus(lost, lost), before);
}

static bool any_lost_half(const pd_row_set *w)
{
    for (size_t i = 0; i < w->ledger->counters; i++)
        if (lost_half(w, i))
            return true;
    return false;
}

void pd_reset_watch_begin(pd_reset_watch *watch, const pd_ledger *ledger)
{
    for (size_t i = 0; i < ledger->counters; i++) {
        pprofdelta_sum mass = {0, 0};
        for (size_t entry = 0; entry < ledger->committed; entry++)
            pd_sum_add(&mass, mass_of(ledger, entry, i));
        watch->to_find[i] = mass.hi ? PD_RESET_NEVER : mass.lo / 2 + (mass.lo != 0);
    }
}

bool pd_reset_watch_add(pd_reset_watch *watch, const pd_ledger *ledger, size_t entry,
                        const int64_t *values)
{
    uint64_t left = 0;
    for (size_t i = 0; i < ledger->counters; i++) {
        int64_t mass = mass_of(ledger, entry, i), found = values[i] < mass ? values[i] : mass;
        uint64_t *to_find = &watch->to_find[i];
        if (found > 0 && *to_find != PD_RESET_NEVER)
            *to_find -= (uint64_t)found < *to_find ? (uint64_t)found : *to_find;
        left |= *to_find;
    }
    return left != 0;
}

static bool has_started_since(const pd_reset_facts *facts)
{
    int64_t unless_known = INT64_MAX - 1, prev = facts->prev_time_nanos;
    return facts->started_nanos && facts->started_nanos > (prev ? prev : unless_known);
}

/* Decides by the counters in w->ledger->base. */
static pd_reset_signs decide_by_base(const pd_row_set *w, const pd_reset_facts *facts)
{
    pd_reset_signs signs = compare_counters(w);
    if (facts->on_reset == PPROFDELTA_ON_RESET_CLAMP ||
        facts->on_reset == PPROFDELTA_ON_RESET_NEGATIVE)
        return signs;
    if (has_started_since(facts))
        signs.restart = PPROFDELTA_RESTART_STARTED;
    else if (facts->is_other_heap)
        signs.restart = PPROFDELTA_RESTART_LIVE;
    else if (signs.has_loss && !facts->has_other_keys && any_lost_half(w))
        signs.restart = facts->other_build ? PPROFDELTA_RESTART_BUILD_ID : PPROFDELTA_RESTART_MASS;
    else if (facts->on_reset == PPROFDELTA_ON_RESET_RESTART && signs.has_decrease)
        signs.restart = PPROFDELTA_RESTART_ANY;
    return signs;
}

pd_reset_signs pd_reset_decide(const pd_row_set *w, const pd_reset_facts *facts)
{
    if (!w->ledger->window)
        return (pd_reset_signs){.restart = PPROFDELTA_RESTART_NONE};
    pd_ledger_exchange(w->ledger);
    pd_reset_signs signs = decide_by_base(w, facts);
    pd_ledger_exchange(w->ledger);
    return signs;
}

bool pd_reset_has_growth(const pd_row_set *w)
{
    return compare_counters(w).has_increase;
}

static uint64_t duration_of(const pd_span *span)
{
    return span->duration_nanos > 0 ? (uint64_t)span->duration_nanos : 0;
}

/* from is not after to. */
static uint64_t time_distance(int64_t from, int64_t to)
{
    return (uint64_t)to - (uint64_t)from;
}

/* Returns whether part is the whole, up to the error of a clock. */
static bool is_most_of(uint64_t part, uint64_t whole)
{
    return part >= whole - whole / 4;
}

/* Returns whether cur's process started after prev's time and cur covers its life. */
static bool counts_since_start(const pd_span *prev, const pd_span *cur, int64_t started_nanos)
{
    return started_nanos && started_nanos > prev->time_nanos && started_nanos <= cur->time_nanos &&
           is_most_of(duration_of(cur), time_distance(started_nanos, cur->time_nanos));
}

pd_span_kind pd_span_decide(const pd_span *prev, const pd_span *cur, int64_t started_nanos)
{
    uint64_t covered = duration_of(cur), before = prev ? duration_of(prev) : 0;
    pd_span_kind unless_told = !covered == !before ? PD_SPAN_CUMULATIVE : PD_SPAN_UNCLEAR;
    if (!prev || !covered || !prev->time_nanos || !cur->time_nanos)
        return unless_told;
    uint64_t apart = time_distance(prev->time_nanos, cur->time_nanos);
    if (covered <= apart)
        return counts_since_start(prev, cur, started_nanos) ? PD_SPAN_CUMULATIVE : PD_SPAN_WINDOW;
    if (!is_most_of(covered - apart, before))
        return PD_SPAN_WINDOW;
    return is_most_of(before, covered - apart) ? PD_SPAN_CUMULATIVE : PD_SPAN_UNCLEAR;
}

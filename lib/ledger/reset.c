#include "ledger/reset.h"

#include "base/sum.h"

/* Returns whether a known sample has a counter below the ledger's. */
static bool has_decrease(const pd_window *w)
{
    const pd_ledger *ledger = w->ledger;
    bool any = false;
    for (size_t row = 0; row < w->len; row++) {
        if (w->entry[row] >= ledger->committed)
            continue;
        const int64_t *base = pd_ledger_base(ledger, w->entry[row]);
        const int64_t *values = pd_window_values(w, row);
        for (size_t i = 0; i < ledger->counters; i++)
            any |= values[i] < base[i];
    }
    return any;
}

/* Returns whether a sample is new, or has a counter above the ledger's. */
static bool has_increase(const pd_window *w)
{
    const pd_ledger *ledger = w->ledger;
    bool any = false;
    for (size_t row = 0; row < w->len && !any; row++) {
        const int64_t *base = pd_ledger_base(ledger, w->entry[row]);
        const int64_t *values = pd_window_values(w, row);
        any = w->entry[row] >= ledger->committed;
        for (size_t i = 0; i < ledger->counters && !any; i++)
            any = values[i] > base[i];
    }
    return any;
}

/* Returns whether the window has all entries of the last one. */
static bool has_all_living(const pd_window *w)
{
    const pd_ledger *ledger = w->ledger;
    size_t living = 0;
    for (size_t entry = 0; entry < ledger->committed; entry++)
        living += (w->trace[entry] != 0) & (ledger->seen[entry] == ledger->window);
    return living == ledger->living;
}

/* The value of a counter in the last window; 0 if the entry was not in it. */
static uint64_t mass_of(const pd_ledger *ledger, size_t entry, size_t counter)
{
    int64_t base = pd_ledger_base(ledger, entry)[counter];
    return pd_ledger_is_living(ledger, entry) && base > 0 ? (uint64_t)base : 0;
}

/* The mass that is lost: by vanished samples, if there are any, and by counters that decreased. */
static pprofdelta_sum mass_lost(const pd_window *w, size_t counter, bool any_vanished)
{
    const pd_ledger *ledger = w->ledger;
    pd_long_sum sum = {0, 0};
    for (size_t entry = 0; any_vanished && entry < ledger->committed; entry++)
        if (w->trace[entry] == 0)
            pd_long_sum_add(&sum, mass_of(ledger, entry, counter));
    for (size_t row = 0; row < w->len; row++) {
        uint32_t entry = w->entry[row];
        int64_t value = pd_window_values(w, row)[counter];
        uint64_t mass = entry < ledger->committed ? mass_of(ledger, entry, counter) : 0;
        if (mass && value < (int64_t)mass)
            pd_long_sum_add(&sum, mass - (uint64_t)value);
    }
    return pd_long_sum_get(sum);
}

/* Returns whether at least half of the last window's mass is lost. If little is lost, this ends
 * after a few entries. */
static bool is_half(const pd_ledger *ledger, size_t counter, pprofdelta_sum lost)
{
    enum { AT_ONCE = 256 };
    pprofdelta_sum twice = pd_sum_plus(lost, lost);
    pd_long_sum before = {0, 0};
    for (size_t entry = 0; entry < ledger->committed;) {
        size_t end = ledger->committed - entry > AT_ONCE ? entry + AT_ONCE : ledger->committed;
        for (; entry < end; entry++)
            pd_long_sum_add(&before, mass_of(ledger, entry, counter));
        if (!pd_sum_at_least(twice, pd_long_sum_get(before)))
            return false;
    }
    return (before.low | before.high) != 0;
}

/* Returns whether a counter lost at least half of its mass. */
static bool lost_half(const pd_window *w, bool any_vanished)
{
    for (size_t i = 0; i < w->ledger->counters; i++)
        if (is_half(w->ledger, i, mass_lost(w, i, any_vanished)))
            return true;
    return false;
}

/* Decides by the counters in w->ledger->base. */
static pd_verdict judge(const pd_window *w, const pd_reset_facts *facts)
{
    pd_verdict verdict = {.has_decrease = has_decrease(w), .has_increase = has_increase(w)};
    bool any_vanished = !has_all_living(w);
    verdict.has_loss = verdict.has_decrease || any_vanished;
    if (facts->on_reset == PPROFDELTA_ON_RESET_CLAMP ||
        facts->on_reset == PPROFDELTA_ON_RESET_NEGATIVE)
        return verdict;
    if (facts->started_nanos && facts->prev_time_nanos &&
        facts->started_nanos > facts->prev_time_nanos)
        verdict.restart = PPROFDELTA_RESTART_STARTED;
    else if (facts->is_other_heap)
        verdict.restart = PPROFDELTA_RESTART_LIVE;
    else if (facts->other_build && facts->main_moved)
        verdict.restart = PPROFDELTA_RESTART_BUILD_ID;
    else if ((any_vanished || verdict.has_decrease) && lost_half(w, any_vanished))
        verdict.restart =
            facts->other_build ? PPROFDELTA_RESTART_BUILD_ID : PPROFDELTA_RESTART_MASS;
    else if (facts->on_reset == PPROFDELTA_ON_RESET_RESTART && verdict.has_decrease)
        verdict.restart = PPROFDELTA_RESTART_ANY;
    return verdict;
}

pd_verdict pd_reset_judge(const pd_window *w, const pd_reset_facts *facts)
{
    if (!w->ledger->window)
        return (pd_verdict){.restart = PPROFDELTA_RESTART_NONE};
    pd_ledger_exchange(w->ledger);
    pd_verdict verdict = judge(w, facts);
    pd_ledger_exchange(w->ledger);
    return verdict;
}

static uint64_t duration_of(const pd_span *span)
{
    return span->duration_nanos > 0 ? (uint64_t)span->duration_nanos : 0;
}

/* from is not after to. */
static uint64_t distance(int64_t from, int64_t to)
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
           is_most_of(duration_of(cur), distance(started_nanos, cur->time_nanos));
}

pd_span_kind pd_span_judge(const pd_span *prev, const pd_span *cur, int64_t started_nanos)
{
    uint64_t covered = duration_of(cur), before = prev ? duration_of(prev) : 0;
    pd_span_kind unless_told = !covered == !before ? PD_SPAN_CUMULATIVE : PD_SPAN_UNCLEAR;
    if (!prev || !covered || !prev->time_nanos || !cur->time_nanos)
        return unless_told;
    uint64_t apart = distance(prev->time_nanos, cur->time_nanos);
    if (covered <= apart)
        return counts_since_start(prev, cur, started_nanos) ? PD_SPAN_CUMULATIVE : PD_SPAN_WINDOW;
    if (!is_most_of(covered - apart, before))
        return PD_SPAN_WINDOW;
    return is_most_of(before, covered - apart) ? PD_SPAN_CUMULATIVE : PD_SPAN_UNCLEAR;
}

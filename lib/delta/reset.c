#include "delta/reset.h"

#include "base/sum.h"

/* For one counter over the whole window: what the last window had, and what of it is gone. */
typedef struct mass {
    pprofdelta_sum before, lost;
} mass;

static void weigh(mass *m, int64_t base, bool has_row, int64_t value)
{
    if (base <= 0)
        return;
    pd_sum_add(&m->before, base);
    if (!has_row)
        pd_sum_add(&m->lost, base);
    else if (value < base)
        pd_sum_add_unsigned(&m->lost, (uint64_t)base - (uint64_t)value);
}

/* What a look over the rows tells. In most windows it is all that is needed. */
typedef struct glance {
    bool has_decrease;
    size_t living; /* rows that the last window had too */
} glance;

static glance look_over(const pd_window *w)
{
    const pd_ledger *ledger = w->ledger;
    glance g = {false, 0};
    for (size_t row = 0; row < w->len; row++) {
        if (w->entry[row] >= ledger->committed)
            continue;
        g.living += ledger->seen[w->entry[row]] == ledger->window;
        const int64_t *base = pd_ledger_base(ledger, w->entry[row]);
        const int64_t *values = pd_window_values(w, row);
        for (size_t i = 0; i < ledger->counters; i++)
            g.has_decrease |= values[i] < base[i];
    }
    return g;
}

/* Has any counter lost at least half of what it had in the last window? */
static bool lost_half(const pd_window *w)
{
    const pd_ledger *ledger = w->ledger;
    mass masses[PPROFDELTA_MAX_TYPES] = {{{0, 0}, {0, 0}}};
    for (size_t entry = 0; entry < ledger->committed; entry++) {
        if (!pd_ledger_is_living(ledger, entry))
            continue;
        const int64_t *base = pd_ledger_base(ledger, entry);
        uint32_t row = pd_window_row_of(w, (uint32_t)entry);
        for (size_t i = 0; i < ledger->counters; i++)
            weigh(&masses[i], base[i], row != PD_ROW_NONE,
                  row != PD_ROW_NONE ? pd_window_values(w, row)[i] : 0);
    }
    for (size_t i = 0; i < ledger->counters; i++) {
        const mass *m = &masses[i];
        bool had_any = (m->before.lo | (uint64_t)m->before.hi) != 0;
        if (had_any && pd_sum_at_least(pd_sum_plus(m->lost, m->lost), m->before))
            return true;
    }
    return false;
}

pd_verdict pd_reset_judge(const pd_window *w, const pd_reset_facts *facts)
{
    pd_verdict verdict = {PPROFDELTA_RESTART_NONE, false};
    if (!w->ledger->window)
        return verdict;
    glance g = look_over(w);
    verdict.has_decrease = g.has_decrease;
    bool is_whole = !g.has_decrease && g.living == w->ledger->living; /* nothing is gone */
    if (facts->on_reset == PPROFDELTA_ON_RESET_CLAMP ||
        facts->on_reset == PPROFDELTA_ON_RESET_NEGATIVE)
        return verdict;
    if (facts->started_nanos && facts->prev_time_nanos &&
        facts->started_nanos > facts->prev_time_nanos)
        verdict.restart = PPROFDELTA_RESTART_STARTED;
    else if (facts->build_id_changed)
        verdict.restart = PPROFDELTA_RESTART_BUILD_ID;
    else if (!is_whole && lost_half(w))
        verdict.restart = PPROFDELTA_RESTART_MASS;
    else if (facts->on_reset == PPROFDELTA_ON_RESET_RESTART && verdict.has_decrease)
        verdict.restart = PPROFDELTA_RESTART_ANY;
    return verdict;
}

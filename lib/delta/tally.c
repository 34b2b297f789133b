#include "delta/tally.h"

/* A sum of signed values, each taken as unsigned at first: then 2^64 too large if it is negative. */
typedef struct base_sum {
    pd_long_sum sum;
    uint64_t negative;
} base_sum;

static void base_sum_add(base_sum *sum, uint64_t base)
{
    pd_long_sum_add(&sum->sum, base);
    sum->negative += base >> 63;
}

static pprofdelta_sum base_sum_get(const base_sum *sum)
{
    pprofdelta_sum total = pd_long_sum_get(sum->sum);
    total.hi = (int64_t)((uint64_t)total.hi - sum->negative);
    return total;
}

/* What the ledger held of a counter; and of that what the window does not have, and what it has
 * just like that, without a row. Samples that stand still are not read from the window (it does not
 * hold them): they are as the ledger has them. */
static void book_ledger(pd_tally *tally, const pd_window *w, size_t counter)
{
    const pd_ledger *ledger = w->ledger;
    base_sum all = {{0, 0}, 0}, vanished = all, still = all;
    for (size_t entry = 0; entry < ledger->committed; entry++) {
        uint64_t base = (uint64_t)pd_ledger_base(ledger, entry)[counter];
        uint32_t trace = w->trace[entry];
        base_sum_add(&all, base);
        base_sum_add(&vanished, trace == PD_TRACE_NONE ? base : 0);
        base_sum_add(&still, trace & PD_TRACE_STILL ? base : 0);
    }
    pd_type_sums *sums = &tally->types[counter];
    sums->prev = base_sum_get(&all);
    sums->vanished = base_sum_get(&vanished);
    sums->cur = base_sum_get(&still);
}

static void book_clamped(pd_tally *tally, const pd_window *w, size_t row)
{
    const int64_t *base = pd_ledger_base(w->ledger, w->entry[row]);
    const int64_t *values = pd_window_values(w, row);
    bool is_clamped = false;
    for (size_t i = 0; i < w->ledger->counters; i++) {
        if (values[i] >= base[i])
            continue;
        pd_sum_add_unsigned(&tally->types[i].clamped, (uint64_t)base[i] - (uint64_t)values[i]);
        is_clamped = true;
    }
    tally->clamped += is_clamped;
}

void pd_tally_begin(pd_tally *tally, const pd_window *w, pd_subtraction how)
{
    const pd_ledger *ledger = w->ledger;
    *tally = (pd_tally){.matched = w->still};
    bool has_prev = how == PD_SUBTRACT_CLAMP || how == PD_SUBTRACT_NEGATIVE;
    size_t known = has_prev ? ledger->committed : 0;
    for (size_t i = 0; i < ledger->counters && has_prev; i++) {
        book_ledger(tally, w, i);
        if (how == PD_SUBTRACT_NEGATIVE) /* the vanished leave through the output */
            tally->types[i].vanished = (pprofdelta_sum){0, 0};
    }
    for (size_t entry = 0; entry < known; entry++)
        tally->vanished += w->trace[entry] == PD_TRACE_NONE;
    for (size_t row = 0; row < w->len; row++) {
        const int64_t *values = pd_window_values(w, row);
        for (size_t i = 0; i < w->stride; i++)
            pd_sum_add(&tally->types[i].cur, values[i]);
        if (w->entry[row] >= known) {
            tally->fresh++;
            continue;
        }
        tally->matched++;
        if (how == PD_SUBTRACT_CLAMP)
            book_clamped(tally, w, row);
    }
    if (how == PD_SUBTRACT_ALL) /* as if prev had been the same */
        for (size_t i = 0; i < w->ledger->counters; i++)
            tally->types[i].prev = tally->types[i].cur;
}

void pd_tally_output(pd_tally *tally, const int64_t *row, size_t len)
{
    for (size_t i = 0; i < len; i++)
        pd_sum_add(&tally->types[i].delta, row[i]);
}

int pd_tally_check(const pd_tally *tally, size_t counters)
{
    for (size_t i = 0; i < counters; i++) {
        const pd_type_sums *s = &tally->types[i];
        pprofdelta_sum left = pd_sum_plus(s->prev, s->delta);
        pprofdelta_sum right = pd_sum_plus(pd_sum_plus(s->cur, s->clamped), s->vanished);
        if (left.lo != right.lo)
            return (int)i;
    }
    return -1;
}

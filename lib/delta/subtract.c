#include "delta/subtract.h"

void pd_subtract_begin(const pd_window *w, pd_subtraction how, pd_tally *tally)
{
    *tally = (pd_tally){0};
    const pd_ledger *ledger = w->ledger;
    if (how == PD_SUBTRACT_NOTHING || how == PD_SUBTRACT_ALL)
        return;
    for (size_t entry = 0; entry < ledger->committed; entry++) {
        const int64_t *base = pd_ledger_base(ledger, entry);
        bool has_vanished = pd_window_row_of(w, (uint32_t)entry) == PD_ROW_NONE;
        tally->vanished += has_vanished;
        for (size_t i = 0; i < ledger->counters; i++) {
            pd_sum_add(&tally->types[i].prev, base[i]);
            if (has_vanished)
                pd_sum_add(&tally->types[i].vanished, base[i]);
        }
    }
}

bool pd_subtract_row(const pd_window *w, size_t row, pd_subtraction how, pd_tally *tally,
                     int64_t *out)
{
    const int64_t *values = pd_window_values(w, row);
    uint32_t entry = w->entry[row];
    size_t counters = w->ledger->counters;
    bool is_known = entry < w->ledger->committed && how != PD_SUBTRACT_NOTHING;
    const int64_t *base = is_known ? pd_ledger_base(w->ledger, entry) : NULL;
    bool is_clamped = false;
    int64_t any = 0;
    for (size_t i = 0; i < counters; i++) {
        pd_type_sums *sums = &tally->types[i];
        int64_t difference = values[i];
        if (how == PD_SUBTRACT_ALL) {
            difference = 0;
            pd_sum_add(&sums->prev, values[i]);
        } else if (is_known) {
            difference = (int64_t)((uint64_t)values[i] - (uint64_t)base[i]);
            if (values[i] < base[i] && how == PD_SUBTRACT_CLAMP) {
                pd_sum_add_unsigned(&sums->clamped, (uint64_t)base[i] - (uint64_t)values[i]);
                is_clamped = true;
                difference = 0;
            }
        }
        pd_sum_add(&sums->cur, values[i]);
        pd_sum_add(&sums->delta, difference);
        out[i] = difference;
        any |= difference;
    }
    for (size_t i = counters; i < w->stride; i++) {
        pd_sum_add(&tally->types[i].cur, values[i]);
        pd_sum_add(&tally->types[i].delta, values[i]);
        out[i] = values[i];
        any |= values[i];
    }
    tally->matched += is_known;
    tally->fresh += !is_known;
    tally->clamped += is_clamped;
    return any != 0;
}

bool pd_subtract_vanished(const pd_window *w, uint32_t entry, pd_tally *tally, int64_t *out)
{
    const int64_t *base = pd_ledger_base(w->ledger, entry);
    int64_t any = 0;
    for (size_t i = 0; i < w->stride; i++)
        out[i] = 0;
    for (size_t i = 0; i < w->ledger->counters; i++) {
        out[i] = (int64_t)(0 - (uint64_t)base[i]);
        any |= out[i];
        /* It leaves through the delta, so it no longer counts as vanished. */
        pd_sum_add(&tally->types[i].delta, out[i]);
        tally->types[i].vanished =
            pd_sum_plus(tally->types[i].vanished, (pprofdelta_sum){(uint64_t)out[i], out[i] >> 63});
    }
    return any != 0;
}

int pd_tally_check(const pd_tally *tally, size_t counters)
{
    for (size_t i = 0; i < counters; i++) {
        const pd_type_sums *s = &tally->types[i];
        pprofdelta_sum left = pd_sum_plus(s->prev, s->delta);
        pprofdelta_sum right = pd_sum_plus(pd_sum_plus(s->cur, s->clamped), s->vanished);
        if (left.lo != right.lo) /* the law holds in 64 bits, as the subtraction does */
            return (int)i;
    }
    return -1;
}

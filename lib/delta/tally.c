#include "delta/tally.h"

/* What the ledger held, and of that what the window does not have. With PD_SUBTRACT_NEGATIVE the
 * vanished leave through the output instead. */
static void book_ledger(pd_tally *tally, const pd_window *w, pd_subtraction how)
{
    const pd_ledger *ledger = w->ledger;
    for (size_t entry = 0; entry < ledger->committed; entry++) {
        const int64_t *base = pd_ledger_base(ledger, entry);
        for (size_t i = 0; i < ledger->counters; i++)
            pd_sum_add(&tally->types[i].prev, base[i]);
        if (pd_window_row_of(w, (uint32_t)entry) != PD_ROW_NONE)
            continue;
        tally->vanished++;
        for (size_t i = 0; i < ledger->counters && how != PD_SUBTRACT_NEGATIVE; i++)
            pd_sum_add(&tally->types[i].vanished, base[i]);
    }
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
    *tally = (pd_tally){0};
    size_t known = 0;
    if (how == PD_SUBTRACT_CLAMP || how == PD_SUBTRACT_NEGATIVE) {
        book_ledger(tally, w, how);
        known = w->ledger->committed;
    }
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

#include "delta/subtract.h"

bool pd_subtract_row(const pd_window *w, size_t row, pd_subtraction how, int64_t *out)
{
    const int64_t *values = pd_window_values(w, row);
    size_t counters = w->ledger->counters, entry = w->entry[row];
    bool is_known = entry < w->ledger->committed && how != PD_SUBTRACT_NOTHING;
    const int64_t *base = pd_ledger_base(w->ledger, entry);
    int64_t any = 0;
    for (size_t i = 0; i < counters; i++) {
        int64_t difference = values[i];
        if (how == PD_SUBTRACT_ALL ||
            (is_known && how == PD_SUBTRACT_CLAMP && difference < base[i]))
            difference = 0;
        else if (is_known)
            difference = (int64_t)((uint64_t)difference - (uint64_t)base[i]);
        any |= out[i] = difference;
    }
    for (size_t i = counters; i < w->stride; i++)
        any |= out[i] = values[i];
    return any != 0;
}

bool pd_subtract_vanished(const pd_window *w, uint32_t entry, int64_t *out)
{
    const int64_t *base = pd_ledger_base(w->ledger, entry);
    int64_t any = 0;
    for (size_t i = 0; i < w->ledger->counters; i++)
        any |= out[i] = (int64_t)(0 - (uint64_t)base[i]);
    for (size_t i = w->ledger->counters; i < w->stride; i++)
        out[i] = 0;
    return any != 0;
}

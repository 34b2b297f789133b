#include "delta/window.h"

#include <string.h>

/* The ledger's room, and row_of with it. What row_of gains is cleared once, so that looking at it
 * is defined; what it says is still checked against the row each time. */
static pprofdelta_status reserve_entries(pd_window *w, pd_mem *mem, size_t need,
                                         pprofdelta_error *err)
{
    pprofdelta_status status = pd_ledger_reserve(w->ledger, mem, need, err);
    size_t before = w->row_of_cap;
    if (!status)
        status = pd_mem_reserve(mem, &w->row_of, &w->row_of_cap, w->ledger->keys.cap,
                                sizeof *w->row_of, err);
    if (!status && w->row_of_cap > before)
        memset(w->row_of + before, 0, (w->row_of_cap - before) * sizeof *w->row_of);
    return status;
}

pprofdelta_status pd_window_grow(pd_window *w, pd_mem *mem, pprofdelta_error *err)
{
    size_t len = w->ledger->keys.len;
    return reserve_entries(w, mem, len + len / 2 + 16, err);
}

pprofdelta_status pd_window_begin(pd_window *w, pd_mem *mem, pd_ledger *ledger, size_t stride,
                                  size_t rows, pprofdelta_error *err)
{
    w->ledger = ledger;
    w->stride = stride;
    w->len = 0;
    w->duplicates = 0;
    w->guess = 0;
    if (rows > PD_KEYMAP_MAX)
        return pd_fail(err, PPROFDELTA_E_LIMIT, "delta", "sample", PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "more than %u samples", PD_KEYMAP_MAX);
    size_t values;
    if (__builtin_mul_overflow(rows, stride, &values))
        values = SIZE_MAX;
    pprofdelta_status status =
        pd_mem_reserve(mem, &w->entry, &w->entry_cap, rows, sizeof *w->entry, err);
    if (!status)
        status = pd_mem_reserve(mem, &w->origin, &w->origin_cap, rows, sizeof *w->origin, err);
    if (!status)
        status = pd_mem_reserve(mem, &w->values, &w->values_cap, values, sizeof *w->values, err);
    if (!status) /* an empty ledger is about to get them all; another grows as it must */
        status = reserve_entries(w, mem, ledger->keys.len ? ledger->keys.len : rows, err);
    return status;
}

void pd_window_commit(pd_window *w, pd_commit how)
{
    pd_ledger *ledger = w->ledger;
    uint32_t number = ledger->window + 1;
    for (size_t row = 0; row < w->len; row++) {
        uint32_t entry = w->entry[row];
        int64_t *base = pd_ledger_base(ledger, entry);
        const int64_t *values = pd_window_values(w, row);
        bool replace = how == PD_COMMIT_REPLACE || entry >= ledger->committed;
        for (size_t i = 0; i < ledger->counters; i++)
            if (replace || values[i] > base[i])
                base[i] = values[i];
        ledger->seen[entry] = number;
    }
    pd_ledger_commit(ledger, number, w->len, how == PD_COMMIT_REPLACE);
    w->len = 0;
}

void pd_window_abandon(pd_window *w)
{
    if (w->ledger)
        pd_ledger_rollback(w->ledger);
    w->len = 0;
}

void pd_window_release(pd_window *w, pd_mem *mem)
{
    pd_mem_release(mem, &w->entry, &w->entry_cap, sizeof *w->entry);
    pd_mem_release(mem, &w->origin, &w->origin_cap, sizeof *w->origin);
    pd_mem_release(mem, &w->values, &w->values_cap, sizeof *w->values);
    pd_mem_release(mem, &w->row_of, &w->row_of_cap, sizeof *w->row_of);
    *w = (pd_window){0};
}

#include "ledger/window.h"

#include <string.h>

/* Makes room in the ledger and in the traces. New traces are PD_TRACE_NONE. */
static pprofdelta_status reserve_entries(pd_window *w, pd_mem *mem, size_t need,
                                         pprofdelta_error *err)
{
    pprofdelta_status status = pd_ledger_reserve(w->ledger, mem, need, err);
    size_t before = w->trace_cap;
    if (!status)
        status = pd_mem_reserve(mem, &w->trace, &w->trace_cap, w->ledger->keys.cap,
                                sizeof *w->trace, err);
    if (!status && w->trace_cap > before)
        memset(w->trace + before, PD_TRACE_NONE, (w->trace_cap - before) * sizeof *w->trace);
    return status;
}

static pprofdelta_status reserve_rows(pd_window *w, pd_mem *mem, size_t need, pprofdelta_error *err)
{
    if (need > PD_KEYMAP_MAX)
        return pd_fail(err, PPROFDELTA_E_LIMIT, "delta", "sample", PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "more than %u samples", PD_KEYMAP_MAX);
    size_t values;
    if (__builtin_mul_overflow(need, w->stride, &values))
        values = SIZE_MAX;
    pprofdelta_status status =
        pd_mem_reserve(mem, &w->entry, &w->entry_cap, need, sizeof *w->entry, err);
    if (!status)
        status = pd_mem_reserve(mem, &w->origin, &w->origin_cap, need, sizeof *w->origin, err);
    if (!status)
        status = pd_mem_reserve(mem, &w->values, &w->values_cap, values, sizeof *w->values, err);
    if (!status) {
        size_t for_values = w->stride ? w->values_cap / w->stride : SIZE_MAX;
        w->rows_cap = w->entry_cap < w->origin_cap ? w->entry_cap : w->origin_cap;
        w->rows_cap = w->rows_cap < for_values ? w->rows_cap : for_values;
    }
    return status;
}

/* The room to make when the room for `len` is used up. */
static size_t grown(const pd_window *w, size_t len)
{
    return len + len / (w->is_tight ? 64 : 2) + 16;
}

pprofdelta_status pd_window_grow(pd_window *w, pd_mem *mem, pprofdelta_error *err)
{
    size_t entries = w->ledger->keys.len, rows = w->len;
    pprofdelta_status status = PPROFDELTA_OK;
    if (entries == w->ledger->keys.cap)
        status = reserve_entries(w, mem, grown(w, entries), err);
    if (!status && rows == w->rows_cap)
        status = reserve_rows(w, mem, grown(w, rows), err);
    return status;
}

pprofdelta_status pd_window_begin(pd_window *w, pd_mem *mem, pd_ledger *ledger, size_t stride,
                                  size_t rows, pprofdelta_error *err)
{
    w->ledger = ledger;
    w->stride = stride;
    w->len = w->still = 0;
    w->duplicates = 0;
    w->guess = 0;
    w->late_len = 0;
    w->skips_still = w->is_tight = w->has_late = false;
    if (w->trace_cap)
        memset(w->trace, PD_TRACE_NONE, w->trace_cap * sizeof *w->trace);
    pprofdelta_status status = reserve_rows(w, mem, rows, err);
    if (!status) /* an empty ledger gets all samples; another one grows when it has to */
        status = reserve_entries(w, mem, ledger->keys.len ? ledger->keys.len : rows, err);
    return status;
}

/* A row is late if an earlier row has a later origin. Puts the late rows into w->late, if that is
 * not NULL, and returns their number. */
static size_t find_late(const pd_window *w, uint32_t *late)
{
    uint64_t reached = 0;
    size_t len = 0;
    for (size_t row = 0; row < w->len; row++) {
        if (w->origin[row] >= reached)
            reached = w->origin[row];
        else if (late)
            late[len++] = (uint32_t)row;
        else
            len++;
    }
    return len;
}

/* Sorts rows by origin (Shell's sort: it needs no memory). */
static void sort_rows(uint32_t *rows, size_t len, const uint64_t *origin)
{
    for (size_t gap = len / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (size_t i = gap; i < len; i++) {
            uint32_t row = rows[i];
            size_t at = i;
            for (; at >= gap && origin[rows[at - gap]] > origin[row]; at -= gap)
                rows[at] = rows[at - gap];
            rows[at] = row;
        }
}

pprofdelta_status pd_window_order(pd_window *w, pd_mem *mem, pprofdelta_error *err)
{
    w->late_len = 0;
    if (!w->has_late)
        return PPROFDELTA_OK;
    size_t len = find_late(w, NULL);
    pprofdelta_status status =
        pd_mem_reserve(mem, &w->late, &w->late_cap, len, sizeof *w->late, err);
    if (status)
        return status;
    w->late_len = find_late(w, w->late);
    sort_rows(w->late, len, w->origin);
    return PPROFDELTA_OK;
}

/* Makes a row for a still sample. There must be room. */
static void make_row(pd_window *w, uint32_t entry)
{
    uint32_t row = (uint32_t)w->len++;
    w->entry[row] = entry;
    w->origin[row] = w->trace[entry] & ~PD_TRACE_STILL;
    w->trace[entry] = row + 1;
    w->still--;
    w->has_late = true;
    int64_t *values = pd_window_values(w, row);
    memset(values, 0, w->stride * sizeof *values);
    memcpy(values, pd_ledger_base(w->ledger, entry), w->ledger->counters * sizeof *values);
}

pprofdelta_status pd_window_wake(pd_window *w, pd_mem *mem, pprofdelta_error *err)
{
    pprofdelta_status status = reserve_rows(w, mem, w->len + w->still, err);
    for (uint32_t entry = 0; w->still && !status; entry++)
        if (w->trace[entry] & PD_TRACE_STILL)
            make_row(w, entry);
    return status;
}

void pd_window_add_again(pd_window *w, uint32_t entry, const int64_t *values)
{
    int64_t any = 0;
    for (size_t i = 0; i < w->stride; i++)
        any |= values[i];
    w->duplicates++;
    if (!any)
        return;
    if (w->trace[entry] & PD_TRACE_STILL) /* not still any more */
        make_row(w, entry);
    int64_t *sum = pd_window_values(w, w->trace[entry] - 1);
    for (size_t i = 0; i < w->stride; i++)
        sum[i] = (int64_t)((uint64_t)sum[i] + (uint64_t)values[i]);
}

size_t pd_window_next(const pd_window *w, pd_window_walk *walk)
{
    while (walk->row < w->len && w->origin[walk->row] < walk->reached)
        walk->row++; /* it is late */
    bool has_row = walk->row < w->len;
    if (walk->late < w->late_len &&
        (!has_row || w->origin[w->late[walk->late]] < w->origin[walk->row]))
        return w->late[walk->late++];
    if (!has_row)
        return PD_ROW_NONE;
    walk->reached = w->origin[walk->row];
    return walk->row++;
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
    }
    for (size_t entry = 0; entry < ledger->keys.len; entry++)
        ledger->seen[entry] = w->trace[entry] ? number : ledger->seen[entry];
    pd_ledger_commit(ledger, number, w->len + w->still, how == PD_COMMIT_REPLACE);
    w->len = w->still = 0;
}

void pd_window_abandon(pd_window *w)
{
    if (w->ledger)
        pd_ledger_rollback(w->ledger);
    w->len = w->still = 0;
}

void pd_window_keep_origins(pd_window *w, pd_mem *mem, size_t rows)
{
    w->rows_cap = 0;
    pd_mem_release(mem, &w->entry, &w->entry_cap, sizeof *w->entry);
    pd_mem_release(mem, &w->values, &w->values_cap, sizeof *w->values);
    pd_mem_release(mem, &w->trace, &w->trace_cap, sizeof *w->trace);
    pd_mem_release(mem, &w->late, &w->late_cap, sizeof *w->late);
    pd_mem_trim(mem, &w->origin, &w->origin_cap, rows, sizeof *w->origin);
}

void pd_window_release(pd_window *w, pd_mem *mem)
{
    pd_mem_release(mem, &w->entry, &w->entry_cap, sizeof *w->entry);
    pd_mem_release(mem, &w->origin, &w->origin_cap, sizeof *w->origin);
    pd_mem_release(mem, &w->values, &w->values_cap, sizeof *w->values);
    pd_mem_release(mem, &w->trace, &w->trace_cap, sizeof *w->trace);
    pd_mem_release(mem, &w->late, &w->late_cap, sizeof *w->late);
    *w = (pd_window){0};
}

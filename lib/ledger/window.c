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
    memset(w->lifted, 0, sizeof w->lifted);
    w->lifted_len = 0;
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

pprofdelta_status pd_window_wake_tried(pd_window *w, pd_mem *mem, pprofdelta_error *err)
{
    const pd_tried *tried = &w->ledger->tried;
    pprofdelta_status status = PPROFDELTA_OK;
    for (size_t row = 0; row < tried->len && !status; row++) {
        if (pd_window_row_of(w, tried->entry[row]) != PD_ROW_STILL)
            continue;
        if (w->len == w->rows_cap)
            status = reserve_rows(w, mem, grown(w, w->len), err);
        if (!status)
            make_row(w, tried->entry[row]);
    }
    return status;
}

void pd_window_lift(pd_window *w)
{
    const pd_ledger *ledger = w->ledger;
    for (size_t nth = 0; nth < ledger->tried.len; nth++) {
        uint32_t row = pd_window_row_of(w, ledger->tried.entry[nth]);
        if (row == PD_ROW_NONE)
            continue;
        int64_t *values = pd_window_values(w, row);
        const int64_t *tried = pd_tried_values(ledger, nth);
        bool is_lifted = false;
        for (size_t i = 0; i < ledger->counters; i++) {
            if (values[i] >= tried[i])
                continue;
            pd_sum_add_unsigned(&w->lifted[i], (uint64_t)tried[i] - (uint64_t)values[i]);
            values[i] = tried[i];
            is_lifted = true;
        }
        w->lifted_len += is_lifted;
    }
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

/* Exchanges two rows. */
static void swap_rows(pd_window *w, size_t a, size_t b)
{
    int64_t *of_a = pd_window_values(w, a), *of_b = pd_window_values(w, b);
    uint32_t entry = w->entry[a];
    if (a == b)
        return;
    w->entry[a] = w->entry[b];
    w->entry[b] = entry;
    w->trace[entry] = (uint32_t)b + 1;
    for (size_t i = 0; i < w->stride; i++) {
        int64_t value = of_a[i];
        of_a[i] = of_b[i];
        of_b[i] = value;
    }
}

/* No counter of a row is below its base. */
static void keep_highest(pd_window *w)
{
    const pd_ledger *ledger = w->ledger;
    for (size_t row = 0; row < w->len; row++) {
        const int64_t *base = pd_ledger_base(ledger, w->entry[row]);
        int64_t *values = pd_window_values(w, row);
        for (size_t i = 0; i < ledger->counters && w->entry[row] < ledger->committed; i++)
            values[i] = values[i] < base[i] ? base[i] : values[i];
    }
}

/* Puts the rows in the order of their entries, and removes entries that have neither a base nor a
 * row: they were new in an earlier attempt. */
static void order_by_entry(pd_window *w)
{
    pd_ledger *ledger = w->ledger;
    size_t rows = 0, kept = 0;
    for (size_t entry = 0; entry < ledger->keys.len; entry++) {
        uint32_t row = pd_window_row_of(w, (uint32_t)entry);
        if (row == PD_ROW_NONE && entry >= ledger->committed)
            continue;
        if (row < w->len) {
            swap_rows(w, rows, row);
            w->entry[rows++] = (uint32_t)kept;
        }
        if (kept != entry) {
            ledger->keys.keys[kept] = ledger->keys.keys[entry];
            ledger->seen[kept] = ledger->seen[entry];
            if (ledger->side_len)
                memcpy(pd_ledger_side(ledger, kept), pd_ledger_side(ledger, entry),
                       ledger->side_len);
        }
        kept++;
    }
    if (kept != ledger->keys.len) {
        ledger->keys.len = kept;
        pd_keymap_reindex(&ledger->keys);
    }
}

/* Exchanges the rows of the window and those of the attempt. */
static void swap_tried(pd_window *w)
{
    pd_tried *tried = &w->ledger->tried,
             mine = {w->entry, w->values, w->len, w->stride, w->entry_cap, w->values_cap};
    w->entry = tried->entry;
    w->values = tried->values;
    w->entry_cap = tried->entry_cap;
    w->values_cap = tried->values_cap;
    w->rows_cap = 0; /* until room is reserved */
    *tried = mine;
}

void pd_window_settle(pd_window *w, pd_commit how)
{
    pd_ledger *ledger = w->ledger;
    if (how == PD_COMMIT_REPLACE)
        ledger->committed = 0;
    keep_highest(w);
    ledger->window++;
    for (size_t entry = 0; entry < ledger->keys.len; entry++)
        ledger->seen[entry] = w->trace[entry] ? ledger->window : ledger->seen[entry];
    order_by_entry(w);
    ledger->kept = ledger->keys.len;
    if (ledger->kept > ledger->committed)
        memset(pd_ledger_base(ledger, ledger->committed), 0,
               (ledger->kept - ledger->committed) * ledger->counters * sizeof *ledger->base);
    ledger->living = w->len + w->still;
    swap_tried(w);
    w->len = w->still = 0;
}

void pd_window_commit_settled(pd_window *w)
{
    pd_ledger *ledger = w->ledger;
    pd_ledger_commit(ledger);
    if (ledger->tried.entry_cap > w->entry_cap) /* for the next window */
        swap_tried(w);
    w->len = 0;
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

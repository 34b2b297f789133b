#include "ledger/row_set.h"

#include "base/order.h"

#include <string.h>

/* Makes room in the ledger and in the traces. New traces are 0. */
static pprofdelta_status reserve_entries(pd_row_set *w, pd_mem *mem, size_t need,
                                         pprofdelta_error *err)
{
    size_t before = PD_CAP(w->trace);
    PD_TRY(pd_ledger_reserve(w->ledger, mem, need, err));
    PD_TRY(PD_RESERVE(mem, w->trace, w->ledger->keys.cap, err));
    if (w->omits)
        PD_TRY(PD_RESERVE(mem, w->place, w->ledger->keys.cap, err));
    if (PD_CAP(w->trace) > before)
        memset(w->trace + before, 0, (PD_CAP(w->trace) - before) * sizeof *w->trace);
    return PPROFDELTA_OK;
}

static pprofdelta_status reserve_rows(pd_row_set *w, pd_mem *mem, size_t need,
                                      pprofdelta_error *err)
{
    if (need > PD_KEYMAP_MAX)
        return PD_FAIL(err, PPROFDELTA_E_LIMIT, PPROFDELTA_STAGE_DELTA, "sample",
                       "more than %u samples", PD_KEYMAP_MAX);
    PD_TRY(PD_RESERVE(mem, w->entry, need, err));
    PD_TRY(PD_RESERVE(mem, w->offset, need, err));
    PD_TRY(PD_RESERVE(mem, w->values, pd_mem_times(need, w->stride), err));
    size_t entries = PD_CAP(w->entry), offsets = PD_CAP(w->offset),
           values = w->stride ? PD_CAP(w->values) / w->stride : SIZE_MAX;
    w->rows_cap = entries < offsets ? entries : offsets;
    w->rows_cap = w->rows_cap < values ? w->rows_cap : values;
    return PPROFDELTA_OK;
}

/* The room to make when the room for `len` is used up. */
static size_t grown_room(const pd_row_set *w, size_t len)
{
    return len + len / (w->is_tight ? 64 : 2) + 16;
}

pprofdelta_status pd_row_set_grow(pd_row_set *w, pd_mem *mem, pprofdelta_error *err)
{
    size_t entries = w->ledger->keys.len, rows = w->len;
    if (entries == w->ledger->keys.cap)
        PD_TRY(reserve_entries(w, mem, grown_room(w, entries), err));
    if (rows == w->rows_cap)
        PD_TRY(reserve_rows(w, mem, grown_room(w, rows), err));
    return PPROFDELTA_OK;
}

pprofdelta_status pd_row_set_begin(pd_row_set *w, pd_mem *mem, pd_ledger *ledger, size_t stride,
                                   size_t rows, bool omits, pprofdelta_error *err)
{
    w->ledger = ledger;
    w->stride = stride;
    w->len = 0;
    w->duplicates = 0;
    w->guess = 0;
    w->omits = omits;
    w->is_tight = w->is_late = false;
    w->unchanged = 0;
    memset(w->raised, 0, sizeof w->raised);
    w->raised_len = 0;
    if (w->trace)
        memset(w->trace, 0, pd_mem_room(w->trace));
    PD_TRY(reserve_rows(w, mem, rows, err));
    /* An empty ledger gets all samples; another one grows when it has to. */
    return reserve_entries(w, mem, ledger->keys.len ? ledger->keys.len : rows, err);
}

void pd_row_set_raise(pd_row_set *w)
{
    const pd_ledger *ledger = w->ledger;
    for (size_t row = 0; row < w->len && ledger->is_open; row++) {
        int64_t *values = pd_row_set_values(w, row);
        const int64_t *tried = pd_ledger_tried(ledger, w->entry[row]);
        bool is_raised = false;
        for (size_t i = 0; i < ledger->counters && w->entry[row] < ledger->kept; i++) {
            if (values[i] >= tried[i])
                continue;
            pd_sum_add_unsigned(&w->raised[i], (uint64_t)tried[i] - (uint64_t)values[i]);
            values[i] = tried[i];
            is_raised = true;
        }
        w->raised_len += is_raised;
    }
}

/* There is room. */
static void add_late_row(pd_row_set *w, uint32_t entry)
{
    const int64_t *base = pd_ledger_base(w->ledger, entry);
    int64_t *late = pd_row_set_append(w, entry, w->place[entry]);
    for (size_t i = 0; i < w->stride; i++)
        late[i] = i < w->ledger->counters ? base[i] : 0;
    w->unchanged--;
    w->is_late = true;
}

pprofdelta_status pd_row_set_add_unchanged(pd_row_set *w, pd_mem *mem, pprofdelta_error *err)
{
    PD_TRY(reserve_rows(w, mem, w->len + w->unchanged, err));
    for (uint32_t entry = 0; w->unchanged; entry++)
        if (pd_row_set_find(w, entry) == PD_ROW_UNCHANGED)
            add_late_row(w, entry);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_row_set_add_again(pd_row_set *w, uint32_t entry, uint64_t offset,
                                       const int64_t *values, pprofdelta_error *err)
{
    if (pd_row_set_find(w, entry) == PD_ROW_UNCHANGED)
        add_late_row(w, entry);
    if (!pd_values_add(pd_row_set_values(w, pd_row_set_find(w, entry)), values, w->stride))
        return pd_no_fit(err, offset, PD_SUM_FITS_NOT);
    w->duplicates++;
    return PPROFDELTA_OK;
}

static bool is_behind(const void *cookie, uint32_t a, uint32_t b)
{
    const uint64_t *offset = cookie;
    return offset[a] > offset[b];
}

/* The rows whose offsets are below that of a row before them are few. They are sorted at the end of the
 * order, and merged with the others from there. */
pprofdelta_status pd_row_set_order(pd_row_set *w, pd_mem *mem, pprofdelta_error *err)
{
    PD_TRY(PD_RESERVE(mem, w->order, w->len, err));
    size_t late = w->len, len = 0;
    uint64_t highest = 0;
    for (size_t row = 0; row < w->len; row++)
        if (w->offset[row] < highest)
            w->order[--late] = (uint32_t)row;
        else
            highest = w->offset[row];
    pd_order(w->order + late, w->len - late, is_behind, w->offset);
    highest = 0;
    for (size_t row = 0; row < w->len; row++) {
        if (w->offset[row] < highest)
            continue;
        highest = w->offset[row];
        while (late < w->len && w->offset[w->order[late]] < highest)
            w->order[len++] = w->order[late++];
        w->order[len++] = (uint32_t)row;
    }
    return PPROFDELTA_OK;
}

/* Sets what the entry has in the attempt: no counter is below its base. */
static void try_entry(const pd_ledger *ledger, size_t entry, const int64_t *values)
{
    bool is_new = entry >= ledger->committed;
    int64_t *base = pd_ledger_base(ledger, entry), *tried = pd_ledger_tried(ledger, entry);
    for (size_t i = 0; i < ledger->counters; i++) {
        tried[i] = is_new || values[i] > base[i] ? values[i] : base[i];
        base[i] = is_new ? 0 : base[i];
    }
}

/* Entries that have neither a base nor a row are removed: they were new in an earlier attempt. */
void pd_row_set_attempt(pd_row_set *w, pd_commit how)
{
    pd_ledger *ledger = w->ledger;
    size_t kept = 0;
    if (how == PD_COMMIT_REPLACE) {
        ledger->committed = 0;
        ledger->has_old_keys = false;
    }
    for (size_t entry = 0; entry < ledger->keys.len; entry++) {
        const int64_t *values = pd_row_set_counters(w, entry);
        if (!values && entry >= ledger->committed)
            continue;
        pd_ledger_move(ledger, kept, entry);
        ledger->seen[kept] = values ? ledger->window + 1 : pd_ledger_seen(ledger, kept);
        try_entry(ledger, kept, values ? values : pd_ledger_base(ledger, kept));
        kept++;
    }
    if (kept != ledger->keys.len)
        pd_keymap_reindex(&ledger->keys, kept, SIZE_MAX);
    ledger->kept = kept;
    ledger->window++;
    ledger->living = w->len + w->unchanged;
    ledger->is_open = true;
    w->len = w->unchanged = 0;
}

void pd_row_set_abandon(pd_row_set *w)
{
    if (w->ledger)
        pd_keymap_truncate(&w->ledger->keys, w->ledger->kept);
    w->len = w->unchanged = 0;
}

void pd_row_set_keep_offsets(pd_row_set *w, pd_mem *mem, size_t rows)
{
    w->rows_cap = 0;
    pd_mem_release(mem, &w->entry);
    pd_mem_release(mem, &w->values);
    pd_mem_release(mem, &w->trace);
    pd_mem_release(mem, &w->place);
    pd_mem_release(mem, &w->order);
    PD_TRIM(mem, w->offset, rows);
}

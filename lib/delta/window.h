/* A window: one look at a target, on its way to becoming a delta.
 *
 * Whatever the door (parsed samples, raw records, live allocations), a window is filled by
 * pd_window_add with keys and values, judged (reset.h), subtracted row by row (subtract.h), and
 * then committed to its ledger or abandoned.
 *
 *     row i    entry[i]    which ledger entry it is
 *              origin[i]   where the door finds its stack again, whatever that means to the door
 *              values      [counters... | gauges...], equal samples added up
 *
 * Rows are in order of first appearance, which is the order of the output. row_of leads from an
 * entry to its row and is never cleared: it counts only where the row agrees (a sparse set). */
#ifndef PD_DELTA_WINDOW_H
#define PD_DELTA_WINDOW_H

#include "delta/ledger.h"

#define PD_ROW_NONE UINT32_MAX

typedef struct pd_window {
    pd_ledger *ledger;
    size_t stride; /* values in a row: ledger->counters and then the gauges */
    uint32_t *entry;
    uint64_t *origin;
    int64_t *values;
    uint32_t *row_of;
    size_t len, entry_cap, origin_cap, values_cap, row_of_cap;
    uint64_t duplicates; /* samples that were added to an earlier row */
    uint32_t guess;      /* the entry that the next sample probably is */
} pd_window;             /* zero it to begin */

/* Begins a window on a ledger that has nothing uncommitted, with room for `rows` rows. */
pprofdelta_status pd_window_begin(pd_window *window, pd_mem *mem, pd_ledger *ledger, size_t stride,
                                  size_t rows, pprofdelta_error *err);

static inline int64_t *pd_window_values(const pd_window *window, size_t row)
{
    return window->values + row * window->stride;
}

/* The row of an entry, or PD_ROW_NONE. */
static inline uint32_t pd_window_row_of(const pd_window *window, uint32_t entry)
{
    uint32_t row = window->row_of[entry];
    return row < window->len && window->entry[row] == entry ? row : PD_ROW_NONE;
}

/* Room in the ledger for one entry more. */
pprofdelta_status pd_window_grow(pd_window *window, pd_mem *mem, pprofdelta_error *err);

/* Adds a sample. There must be room for its row: no more samples than pd_window_begin was told. */
static inline pprofdelta_status pd_window_add(pd_window *w, pd_mem *mem, pd_key key,
                                              uint64_t origin, const int64_t *values,
                                              pprofdelta_error *err)
{
    pd_keymap *keys = &w->ledger->keys;
    uint32_t entry = w->guess;
    if (__builtin_expect(!pd_keymap_is_at(keys, entry, key), 0)) {
        if (keys->len == keys->cap && pd_keymap_find(keys, key) == PD_KEYMAP_NONE) {
            pprofdelta_status status = pd_window_grow(w, mem, err);
            if (status)
                return status;
        }
        entry = pd_keymap_add(keys, key);
    }
    w->guess = entry + 1;
    uint32_t row = pd_window_row_of(w, entry);
    if (__builtin_expect(row != PD_ROW_NONE, 0)) {
        int64_t *sum = pd_window_values(w, row);
        for (size_t i = 0; i < w->stride; i++)
            sum[i] = (int64_t)((uint64_t)sum[i] + (uint64_t)values[i]);
        w->duplicates++;
        return PPROFDELTA_OK;
    }
    row = (uint32_t)w->len++;
    w->entry[row] = entry;
    w->row_of[entry] = row;
    w->origin[row] = origin;
    int64_t *out = pd_window_values(w, row);
    for (size_t i = 0; i < w->stride; i++)
        out[i] = values[i];
    return PPROFDELTA_OK;
}

/* How a window is remembered. */
typedef enum pd_commit {
    PD_COMMIT_KEEP,   /* a counter keeps its highest value, a vanished sample its entry */
    PD_COMMIT_REPLACE /* the ledger becomes this window and nothing else */
} pd_commit;

/* Remembers the window in its ledger; the window is then empty. Cannot fail. */
void pd_window_commit(pd_window *window, pd_commit how);

/* Takes it back. */
void pd_window_abandon(pd_window *window);

void pd_window_release(pd_window *window, pd_mem *mem);

#endif

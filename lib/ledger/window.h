/* A window: the samples of cur, from which the delta is made.
 *
 * pd_window_add fills it with keys and values, whatever the door (parsed samples, records, live
 * allocations). Then it is checked for a restart (reset.h), subtracted row by row (subtract.h), and
 * settled in its ledger as an open attempt, or abandoned.
 *
 *     row i    entry[i]    its entry in the ledger
 *              origin[i]   where the door finds the sample's stack: an offset or an index
 *              values      [counters... | gauges...]; equal samples are added up
 *
 *     entry e  trace[e]    0, or the row of the entry + 1
 *
 * Rows are in order of first appearance, which is the order of the output: their origins rise. */
#ifndef PD_LEDGER_WINDOW_H
#define PD_LEDGER_WINDOW_H

#include "base/sum.h"
#include "ledger/ledger.h"

#define PD_ROW_NONE UINT32_MAX /* the entry is not in the window */

typedef struct pd_window {
    pd_ledger *ledger;
    size_t stride; /* values in a row: the ledger's counters, then the gauges */
    uint32_t *entry;
    uint64_t *origin;
    int64_t *values;
    uint32_t *trace;      /* one for each entry that the ledger has room for */
    size_t len, rows_cap; /* rows, and the room for rows */
    size_t entry_cap, origin_cap, values_cap, trace_cap;
    uint64_t duplicates; /* samples added to an earlier one */
    uint32_t guess;      /* the probable entry of the next sample */
    bool is_tight;       /* set by the door after pd_window_begin: grows in small steps */
    /* What pd_window_lift added, for each counter, and the number of rows that it changed. */
    pprofdelta_sum lifted[PPROFDELTA_MAX_TYPES];
    size_t lifted_len;
} pd_window; /* zero it to begin */

/* Begins a window on a ledger without uncommitted entries, with room for `rows` rows. Borrows the
 * ledger. */
pprofdelta_status pd_window_begin(pd_window *window, pd_mem *mem, pd_ledger *ledger, size_t stride,
                                  size_t rows, pprofdelta_error *err);

static inline int64_t *pd_window_values(const pd_window *window, size_t row)
{
    return window->values + row * window->stride;
}

/* Returns the row of an entry, or PD_ROW_NONE. */
static inline uint32_t pd_window_row_of(const pd_window *window, uint32_t entry)
{
    return window->trace[entry] - 1;
}

/* Makes room for one more entry in the ledger and one more row in the window. */
pprofdelta_status pd_window_grow(pd_window *window, pd_mem *mem, pprofdelta_error *err);

/* If an attempt is open and the window is no restart: gives each counter at least the value that it
 * had in the attempt, which may have arrived. */
void pd_window_lift(pd_window *window);

/* Adds a sample whose entry is in the window already. */
void pd_window_add_again(pd_window *window, uint32_t entry, const int64_t *values);

/* Adds a sample. */
static inline pprofdelta_status pd_window_add(pd_window *w, pd_mem *mem, pd_key key,
                                              uint64_t origin, const int64_t *values,
                                              pprofdelta_error *err)
{
    pd_keymap *keys = &w->ledger->keys;
    uint32_t entry = w->guess;
    if (__builtin_expect(w->len == w->rows_cap, 0)) {
        pprofdelta_status status = pd_window_grow(w, mem, err);
        if (status)
            return status;
    }
    if (__builtin_expect(!pd_keymap_is_at(keys, entry, key), 0)) {
        if (keys->len == keys->cap && pd_keymap_find(keys, key) == PD_KEYMAP_NONE) {
            pprofdelta_status status = pd_window_grow(w, mem, err);
            if (status)
                return status;
        }
        entry = pd_keymap_add(keys, key);
    }
    w->guess = entry + 1;
    if (__builtin_expect(w->trace[entry] != 0, 0)) {
        pd_window_add_again(w, entry, values);
        return PPROFDELTA_OK;
    }
    size_t row = w->len++;
    w->entry[row] = entry;
    w->trace[entry] = (uint32_t)row + 1;
    w->origin[row] = origin;
    int64_t *out = pd_window_values(w, row);
    for (size_t i = 0; i < w->stride; i++)
        out[i] = values[i];
    return PPROFDELTA_OK;
}

/* What a window is to its ledger. */
typedef enum pd_commit {
    PD_COMMIT_KEEP,   /* a counter keeps its highest value, a vanished sample keeps its entry */
    PD_COMMIT_REPLACE /* the ledger has this window only, in which every sample has a row */
} pd_commit;

/* Makes the window the open attempt of its ledger, in place of an earlier one. With
 * PD_COMMIT_REPLACE the bases are removed. The window is empty afterwards. Cannot fail. */
void pd_window_settle(pd_window *window, pd_commit how);

/* Commits what was settled. Cannot fail. */
void pd_window_commit_settled(pd_window *window);

/* Settles the window and commits it. */
static inline void pd_window_commit(pd_window *window, pd_commit how)
{
    pd_window_settle(window, how);
    pd_window_commit_settled(window);
}

/* Removes the window's new entries from the ledger. The window is empty afterwards. */
void pd_window_abandon(pd_window *window);

/* After a commit: keeps the origins of `rows` rows and releases the other arrays. */
void pd_window_keep_origins(pd_window *window, pd_mem *mem, size_t rows);

void pd_window_release(pd_window *window, pd_mem *mem);

#endif

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
 *     of entry e, trace[e]   what the window has of it: nothing, a row, or that it stands still
 *
 * Rows are in order of first appearance, which is the order of the output. Most samples of most
 * profiles have done nothing since the last window and hold nothing: no counter moved, every gauge
 * is zero. Nothing of them can come out, so where the door allows it (skips_still) they get no row,
 * only a mark that they were there: what a window costs from here on grows with what happened.
 *
 * A sample that stood still may come again in a second record and move. Its row is then made late,
 * behind rows with later origins. pd_window_order finds such rows, and pd_window_walk visits all rows
 * by origin. */
#ifndef PD_DELTA_WINDOW_H
#define PD_DELTA_WINDOW_H

#include "delta/ledger.h"

#define PD_ROW_NONE  UINT32_MAX       /* the window does not have the entry */
#define PD_ROW_STILL (UINT32_MAX - 1) /* it has it, just as the ledger does, without gauges */

/* What the window has of an entry: nothing; row n, as n + 1; or, standing still, where it came. */
#define PD_TRACE_NONE  UINT32_C(0)
#define PD_TRACE_STILL (UINT32_C(1) << 31)

typedef struct pd_window {
    pd_ledger *ledger;
    size_t stride; /* values in a row: ledger->counters and then the gauges */
    uint32_t *entry;
    uint64_t *origin;
    int64_t *values;
    uint32_t *trace;      /* PD_TRACE_*; as long as the ledger has room */
    size_t len, rows_cap; /* rows, and how many there is room for */
    size_t entry_cap, origin_cap, values_cap, trace_cap;
    size_t still;        /* entries that stand still */
    uint64_t duplicates; /* samples that were added to an earlier one */
    uint32_t guess;      /* the entry that the next sample probably is */
    bool skips_still;    /* the door's choice, set after pd_window_begin; its origins then rise */
    bool is_tight;       /* likewise: grows by little, for memory's sake */
    bool has_late;       /* a row may stand behind one with a later origin */
    uint32_t *late;      /* set by pd_window_order: those rows, by origin */
    size_t late_len, late_cap;
} pd_window; /* zero it to begin */

/* Begins a window on a ledger that has nothing uncommitted, with room for `rows` rows to begin
 * with. */
pprofdelta_status pd_window_begin(pd_window *window, pd_mem *mem, pd_ledger *ledger, size_t stride,
                                  size_t rows, pprofdelta_error *err);

static inline int64_t *pd_window_values(const pd_window *window, size_t row)
{
    return window->values + row * window->stride;
}

/* The row of an entry, PD_ROW_NONE or PD_ROW_STILL. */
static inline uint32_t pd_window_row_of(const pd_window *window, uint32_t entry)
{
    uint32_t trace = window->trace[entry];
    return trace & PD_TRACE_STILL ? PD_ROW_STILL : trace - 1;
}

/* Sorts the late rows. Call it when no more samples are added, before the first walk. Needs memory
 * only if there are late rows. */
pprofdelta_status pd_window_order(pd_window *window, pd_mem *mem, pprofdelta_error *err);

/* The rows by origin, after pd_window_order: begin with a zeroed walk, until PD_ROW_NONE. */
typedef struct pd_window_walk {
    size_t row, late; /* the next of either kind */
    uint64_t reached; /* the origin of the last row that was not late */
} pd_window_walk;

size_t pd_window_next(const pd_window *window, pd_window_walk *walk);

/* Room in the ledger for one entry more, and in the window for one row more. */
pprofdelta_status pd_window_grow(pd_window *window, pd_mem *mem, pprofdelta_error *err);

/* Gives a row to every entry that stands still, as if it had moved. These rows are late. */
pprofdelta_status pd_window_wake(pd_window *window, pd_mem *mem, pprofdelta_error *err);

/* A sample whose entry the window has already; there is room for a row. */
void pd_window_add_again(pd_window *window, uint32_t entry, const int64_t *values);

/* Does a sample with these values stand still? */
static inline bool pd_window_is_still(const pd_window *w, uint32_t entry, const int64_t *values)
{
    const int64_t *base = pd_ledger_base(w->ledger, entry);
    int64_t any = 0;
    for (size_t i = 0; i < w->ledger->counters; i++)
        any |= values[i] ^ base[i];
    for (size_t i = w->ledger->counters; i < w->stride; i++)
        any |= values[i];
    return any == 0;
}

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
    if (__builtin_expect(w->trace[entry] != PD_TRACE_NONE, 0)) {
        pd_window_add_again(w, entry, values);
        return PPROFDELTA_OK;
    }
    if (w->skips_still && entry < w->ledger->committed && origin < PD_TRACE_STILL &&
        pd_window_is_still(w, entry, values)) {
        w->trace[entry] = PD_TRACE_STILL | (uint32_t)origin;
        w->still++;
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

/* How a window is remembered. */
typedef enum pd_commit {
    PD_COMMIT_KEEP,   /* a counter keeps its highest value, a vanished sample its entry */
    PD_COMMIT_REPLACE /* the ledger becomes this window and nothing else */
} pd_commit;

/* Remembers the window in its ledger; the window is then empty. Cannot fail. */
void pd_window_commit(pd_window *window, pd_commit how);

/* Takes it back. */
void pd_window_abandon(pd_window *window);

/* Of a window that was committed, keeps the origins of its rows, and gives back the rest. */
void pd_window_keep_origins(pd_window *window, pd_mem *mem, size_t rows);

void pd_window_release(pd_window *window, pd_mem *mem);

#endif

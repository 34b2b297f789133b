/* A window: the samples of cur, from which the delta is made.
 *
 * pd_row_set_add fills it with keys and values, whatever the door (parsed samples, records, live
 * allocations). Then it is checked for a restart (reset.h), subtracted row by row (subtract.h), and
 * kept in its ledger as an open attempt, or abandoned.
 *
 *     row i    entry[i]    its entry in the ledger
 *              offset[i]   where the door finds the sample's stack: an offset or an index
 *              values      [counters... | gauges...]; equal samples are added up
 *
 *     entry e  trace[e]    0, the row of the entry + 1, or the mark of an unchanged sample
 *              place[e]    the offset of an unchanged sample
 *
 * Rows are in order of first appearance, which is the order of the output: their offsets rise.
 *
 * A sample is unchanged if its counters are those of the ledger and its gauges are 0. Most samples
 * of most profiles are, and none of them is in the output. A door can leave out their rows. If such a
 * sample comes again, its row is made late, and the rows are put in order when all are there. In a restart
 * all rows are needed: the door makes the others late, too, or fills the window again. */
#ifndef PD_LEDGER_ROW_SET_H
#define PD_LEDGER_ROW_SET_H

#include "base/sum.h"
#include "ledger/ledger.h"

#define PD_ROW_NONE      UINT32_MAX       /* the entry is not in the window */
#define PD_ROW_UNCHANGED (UINT32_MAX - 1) /* its sample has no row */

typedef struct pd_row_set {
    pd_ledger *ledger;
    size_t stride; /* values in a row: the ledger's counters, then the gauges */
    uint32_t *entry;
    uint64_t *offset;
    int64_t *values;
    uint32_t *trace;      /* one for each entry that the ledger has room for */
    uint64_t *place;      /* likewise, if omits */
    uint32_t *order;      /* if is_late, of pd_row_set_order: the rows by offset */
    size_t len, rows_cap; /* rows, and the room for rows */
    uint64_t duplicates;  /* samples added to an earlier one */
    uint32_t guess;       /* the probable entry of the next sample */
    bool is_tight;        /* set by the door after pd_row_set_begin: grows in small steps */
    bool omits;           /* unchanged samples get no rows */
    bool is_late;         /* a row was made for a sample that had come before */
    size_t unchanged;     /* entries with an unchanged sample */
    /* What pd_row_set_raise added, for each counter, and the number of rows that it changed. */
    pprofdelta_sum raised[PPROFDELTA_MAX_TYPES];
    size_t raised_len;
} pd_row_set; /* zero it to begin */

/* Begins a window on a ledger without uncommitted entries, with room for `rows` rows. Borrows the
 * ledger. omits: unchanged samples get no rows; for a ledger without an open attempt. */
pprofdelta_status pd_row_set_begin(pd_row_set *window, pd_mem *mem, pd_ledger *ledger,
                                   size_t stride, size_t rows, bool omits, pprofdelta_error *err);

static inline int64_t *pd_row_set_values(const pd_row_set *window, size_t row)
{
    return window->values + row * window->stride;
}

/* Returns the row of an entry, PD_ROW_NONE or PD_ROW_UNCHANGED. */
static inline uint32_t pd_row_set_find(const pd_row_set *window, size_t entry)
{
    return window->trace[entry] - 1;
}

/* If a row is late: finds the order of their offsets. The i-th row in it is that of pd_row_set_at. */
pprofdelta_status pd_row_set_order(pd_row_set *window, pd_mem *mem, pprofdelta_error *err);

static inline size_t pd_row_set_at(const pd_row_set *window, size_t i)
{
    return window->is_late ? window->order[i] : i;
}

/* Returns the counters of an entry in this window, or NULL. */
static inline const int64_t *pd_row_set_counters(const pd_row_set *window, size_t entry)
{
    uint32_t row = pd_row_set_find(window, entry);
    if (row == PD_ROW_UNCHANGED)
        return pd_ledger_base(window->ledger, entry);
    return row == PD_ROW_NONE ? NULL : pd_row_set_values(window, row);
}

static inline bool pd_row_set_is_unchanged(const pd_row_set *w, size_t entry, const int64_t *values)
{
    const int64_t *base = pd_ledger_base(w->ledger, entry);
    int64_t any = entry >= w->ledger->committed;
    for (size_t i = 0; i < w->ledger->counters; i++)
        any |= values[i] ^ base[i];
    for (size_t i = w->ledger->counters; i < w->stride; i++)
        any |= values[i];
    return any == 0;
}

/* Makes room for one more entry in the ledger and one more row in the window. */
pprofdelta_status pd_row_set_grow(pd_row_set *window, pd_mem *mem, pprofdelta_error *err);

/* Gives each unchanged sample a row. These rows are late. */
pprofdelta_status pd_row_set_add_unchanged(pd_row_set *window, pd_mem *mem, pprofdelta_error *err);

/* If an attempt is open and the window is no restart: gives each counter at least the value that it
 * had in the attempt, which may have arrived. */
void pd_row_set_raise(pd_row_set *window);

/* Makes a row, for which there is room. Its values are to be set. */
static inline int64_t *pd_row_set_append(pd_row_set *w, uint32_t entry, uint64_t offset)
{
    size_t row = w->len++;
    w->entry[row] = entry;
    w->trace[entry] = (uint32_t)row + 1;
    w->offset[row] = offset;
    return pd_row_set_values(w, row);
}

/* Adds a sample whose entry is in the window already, and makes its row if it was unchanged. E_LIMIT if a sum does not
 * fit in 64 bits. */
pprofdelta_status pd_row_set_add_again(pd_row_set *window, uint32_t entry, uint64_t offset,
                                       const int64_t *values, pprofdelta_error *err);

/* Loads the slot of a sample that is added after `before` others, unless its entry will be guessed. */
static inline void pd_row_set_prefetch(const pd_row_set *w, uint32_t before, pd_key key)
{
    if (!pd_keymap_is_at(&w->ledger->keys, w->guess + before, key))
        pd_keymap_prefetch(&w->ledger->keys, key);
}

/* Adds a sample. */
static inline pprofdelta_status pd_row_set_add(pd_row_set *w, pd_mem *mem, pd_key key,
                                               uint64_t offset, const int64_t *values,
                                               pprofdelta_error *err)
{
    pd_keymap *keys = &w->ledger->keys;
    uint32_t entry = w->guess;
    if (__builtin_expect(w->len == w->rows_cap, 0))
        PD_TRY(pd_row_set_grow(w, mem, err));
    if (__builtin_expect(!pd_keymap_is_at(keys, entry, key), 0)) {
        if (keys->len == keys->cap && pd_keymap_find(keys, key) == PD_KEYMAP_NONE)
            PD_TRY(pd_row_set_grow(w, mem, err));
        entry = pd_keymap_add(keys, key);
    }
    w->guess = entry + 1;
    if (__builtin_expect(w->trace[entry] != 0, 0))
        return pd_row_set_add_again(w, entry, offset, values, err);
    if (w->omits && pd_row_set_is_unchanged(w, entry, values)) {
        w->trace[entry] = PD_ROW_UNCHANGED + 1;
        w->place[entry] = offset;
        w->unchanged++;
        return PPROFDELTA_OK;
    }
    int64_t *row = pd_row_set_append(w, entry, offset);
    for (size_t i = 0; i < w->stride; i++)
        row[i] = values[i];
    return PPROFDELTA_OK;
}

/* What a window is to its ledger. */
typedef enum pd_commit {
    PD_COMMIT_KEEP,   /* a counter keeps its highest value, a vanished sample keeps its entry */
    PD_COMMIT_REPLACE /* the ledger has this window only, in which every sample has a row */
} pd_commit;

/* Makes the window the open attempt of its ledger, in place of an earlier one. With
 * PD_COMMIT_REPLACE the bases are removed. The window is empty afterwards. Cannot fail. */
void pd_row_set_attempt(pd_row_set *window, pd_commit how);

/* Removes the window's new entries from the ledger. The window is empty afterwards. */
void pd_row_set_abandon(pd_row_set *window);

/* After a commit: keeps the offsets of `rows` rows and releases the other arrays. 0: releases all. */
void pd_row_set_keep_offsets(pd_row_set *window, pd_mem *mem, size_t rows);

#endif

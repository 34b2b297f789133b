/* The ledger: the counters of each sample when it was last seen.
 *
 *     keys   [ k0 | k1 | k2 ... ]             the keys; pd_keymap numbers the entries
 *     base   [ c0 c1 | c0 c1 | c0 c1 ... ]    `counters` counters for each entry
 *     seen   [ w | w | w ... ]                the number of the last window that had the entry
 *     side   [ b.. | b.. | b.. ... ]          side_len bytes for each entry, used by the door
 *
 * The first `committed` entries are remembered. The entries after them are new in the current
 * window and are removed if it is abandoned. An entry that is not in a window stays with its last
 * counters, because a capped profile may have it again. When such entries outnumber the living
 * ones, those unseen for longest are dropped. */
#ifndef PD_LEDGER_LEDGER_H
#define PD_LEDGER_LEDGER_H

#include "base/keymap.h"

#include <string.h>

typedef struct pd_ledger {
    pd_keymap keys;
    int64_t *base;
    uint32_t *seen;
    uint8_t *side;
    size_t side_len; /* 0: no side */
    size_t base_cap, seen_cap,
        side_cap; /* in values, entries and bytes; at least keys.cap entries */
    size_t counters;
    size_t committed;
    size_t unindexed; /* the last entries, whose keys have no slot yet: see pd_ledger_put */
    size_t living;    /* entries in the last committed window */
    uint32_t window;  /* number of the last committed window; 0: nothing is remembered */
} pd_ledger;          /* zero it and set counters to begin */

/* Removes all entries and sets the number of counters of an entry. */
void pd_ledger_clear(pd_ledger *ledger, size_t counters);

/* Makes room for `need` entries in total. */
pprofdelta_status pd_ledger_reserve(pd_ledger *ledger, pd_mem *mem, size_t need,
                                    pprofdelta_error *err);

/* The room for `len` entries and a few new ones in the next window. */
static inline size_t pd_ledger_roomy(size_t len)
{
    return len + len / 32 + 16;
}

/* Shrinks the arrays to `room` entries, at least as many as there are. */
void pd_ledger_trim(pd_ledger *ledger, pd_mem *mem, size_t room);

/* Gives each entry a side of side_len zero bytes. There must be none so far. */
pprofdelta_status pd_ledger_widen(pd_ledger *ledger, pd_mem *mem, size_t side_len,
                                  pprofdelta_error *err);

static inline uint8_t *pd_ledger_side(const pd_ledger *ledger, size_t entry)
{
    return ledger->side + entry * ledger->side_len;
}

static inline int64_t *pd_ledger_base(const pd_ledger *ledger, size_t entry)
{
    return ledger->base + entry * ledger->counters;
}

/* While a ledger is filled, a key gets its slot PD_LEDGER_LAG keys later. The slot is prefetched
 * when the key is put, and is in the cache by then. */
enum { PD_LEDGER_LAG = 16 };

/* Gives the first entry without a slot its slot, or adds it to an earlier entry with the same key.
 */
void pd_ledger_index(pd_ledger *ledger);

/* Makes room for more entries. */
pprofdelta_status pd_ledger_grow(pd_ledger *ledger, pd_mem *mem, pprofdelta_error *err);

static inline void pd_ledger_copy(int64_t *to, const int64_t *from, size_t counters)
{
    if (__builtin_expect(counters == 2, 1)) /* as in heap and contention profiles */
        memcpy(to, from, 2 * sizeof *to);
    else
        memcpy(to, from, counters * sizeof *to);
}

/* Adds a sample to a ledger that is being filled. The counters of equal keys are added up.
 * pd_ledger_settle ends the filling. */
static inline pprofdelta_status pd_ledger_put(pd_ledger *ledger, pd_mem *mem, pd_key key,
                                              const int64_t *counters, pprofdelta_error *err)
{
    size_t len = ledger->keys.len;
    if (__builtin_expect(len == ledger->keys.cap, 0)) {
        pprofdelta_status status = pd_ledger_grow(ledger, mem, err);
        if (status)
            return status;
        len = ledger->keys.len;
    }
    pd_ledger_copy(pd_ledger_base(ledger, len), counters, ledger->counters);
    pd_keymap_push(&ledger->keys, key);
    if (ledger->unindexed++ == PD_LEDGER_LAG)
        pd_ledger_index(ledger);
    return PPROFDELTA_OK;
}

/* Makes the entries that were put the last committed window. */
void pd_ledger_settle(pd_ledger *ledger);

/* Returns whether the last committed window had the entry. */
static inline bool pd_ledger_is_living(const pd_ledger *ledger, size_t entry)
{
    return entry < ledger->committed && ledger->seen[entry] == ledger->window;
}

/* Removes the entries that are not committed. */
void pd_ledger_rollback(pd_ledger *ledger);

/* Makes `window` the last committed window. The caller has set base and seen of its `living`
 * entries. Drops all other entries if forget_unseen is set; else the longest unseen, while the
 * others outnumber the living. */
void pd_ledger_commit(pd_ledger *ledger, uint32_t window, size_t living, bool forget_unseen);

void pd_ledger_release(pd_ledger *ledger, pd_mem *mem);

#endif

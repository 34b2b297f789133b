/* The ledger: what each sample had counted when it was last seen.
 *
 *     keys   [ k0 | k1 | k2 ... ]             who: pd_keymap numbers them
 *     base   [ c0 c1 | c0 c1 | c0 c1 ... ]    its counters, `counters` to an entry
 *     seen   [ w | w | w ... ]                the number of the window that last had it
 *     side   [ b.. | b.. | b.. ... ]          what else the door keeps of it: side_len bytes
 *
 * The first `committed` entries are remembered; those behind them were met in the window that is
 * under way and are taken back when it is abandoned. An entry that a window does not have stays, at
 * its last counters, because a capped profile may bring it back; when those outnumber the living,
 * the ones unseen for longest go. */
#ifndef PD_DELTA_LEDGER_H
#define PD_DELTA_LEDGER_H

#include "base/keymap.h"

#include <string.h>

typedef struct pd_ledger {
    pd_keymap keys;
    int64_t *base;
    uint32_t *seen;
    uint8_t *side;
    size_t side_len;                     /* 0: nothing */
    size_t base_cap, seen_cap, side_cap; /* in values, entries and bytes; keys.cap rules */
    size_t counters;
    size_t committed;
    size_t unindexed; /* entries just put: keys that are not in their slots yet */
    size_t living;    /* entries that the last committed window had */
    uint32_t window;  /* number of the last committed window; 0: nothing is remembered */
} pd_ledger;          /* zero it and set counters to begin */

/* Forgets everything; from now on an entry has so many counters. */
void pd_ledger_clear(pd_ledger *ledger, size_t counters);

/* Makes room for `need` entries in all. */
pprofdelta_status pd_ledger_reserve(pd_ledger *ledger, pd_mem *mem, size_t need,
                                    pprofdelta_error *err);

/* Room for so many entries and for what the next look brings anew, so that nothing grows for a few. */
static inline size_t pd_ledger_roomy(size_t len)
{
    return len + len / 32 + 16;
}

/* Gives back what is beyond the room for so many entries, which are no fewer than there are. */
void pd_ledger_trim(pd_ledger *ledger, pd_mem *mem, size_t room);

/* From now on an entry has a side of so many bytes, zeros to begin with. It had none so far. */
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

/* While a ledger is being filled, a new entry's key goes into its slot when so many others have
 * come: by then the slot, which was asked for at once, has come from memory, too. */
enum { PD_LEDGER_LAG = 16 };

/* Indexes the first entry that is not yet, or adds it to an earlier equal one. */
void pd_ledger_index(pd_ledger *ledger);

/* Makes room for more of them. */
pprofdelta_status pd_ledger_grow(pd_ledger *ledger, pd_mem *mem, pprofdelta_error *err);

static inline void pd_ledger_copy(int64_t *to, const int64_t *from, size_t counters)
{
    if (__builtin_expect(counters == 2, 1)) /* as heap and contention profiles have */
        memcpy(to, from, 2 * sizeof *to);
    else
        memcpy(to, from, counters * sizeof *to);
}

/* Adds a sample to a ledger that is being filled: a base. Equal ones add up. */
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

/* What was put is the last committed window. */
void pd_ledger_settle(pd_ledger *ledger);

/* Was in the last committed window? */
static inline bool pd_ledger_is_living(const pd_ledger *ledger, size_t entry)
{
    return entry < ledger->committed && ledger->seen[entry] == ledger->window;
}

/* Takes back what is not committed. */
void pd_ledger_rollback(pd_ledger *ledger);

/* Makes `window` the last committed one, after the caller has set base and seen of the `living`
 * entries that it has. The others are dropped with forget_unseen, else only the longest unseen of
 * them, while they outnumber the living. */
void pd_ledger_commit(pd_ledger *ledger, uint32_t window, size_t living, bool forget_unseen);

void pd_ledger_release(pd_ledger *ledger, pd_mem *mem);

#endif

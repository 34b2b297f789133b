/* The ledger: the counters of each sample when they were last acknowledged, and, while an attempt is
 * open, what the attempt had.
 *
 *     keys   [ k0 | k1 | k2 ... ]             the keys; pd_keymap numbers the entries
 *     base   [ c0 c1 | c0 c1 | c0 c1 ... ]    `counters` counters for each entry
 *     tried  [ c0 c1 | c0 c1 | c0 c1 ... ]    those of the open attempt, if there is one
 *     seen   [ w | w | w ... ]                the number of the last window that had the entry
 *     side   [ b.. | b.. | b.. ... ]          side_len bytes for each entry, used by the door
 *
 *     entries   0 ... committed ... kept ... keys.len
 *               with a base | open    | new in the window that is being filled
 *
 * A window that was handed out is an open attempt until it is committed. It may have arrived, so
 * later attempts must have at least what it had, and a restart is found by it. Entries that
 * were new in it have no base yet (it is 0). An entry that was not in it has the counters of its base
 * in the attempt, too. `seen`, `window` and `living` are those of the profile that was seen last, in
 * an open attempt, too.
 *
 * An entry that is not in a window stays with its last counters, because a capped profile may have
 * it again. When such entries outnumber the living ones at a commit, those unseen for longest are
 * dropped. */
#ifndef PD_LEDGER_LEDGER_H
#define PD_LEDGER_LEDGER_H

#include "base/keymap.h"

#include <string.h>

typedef struct pd_ledger {
    pd_keymap keys;
    int64_t *base, *tried; /* with room for keys.cap entries, like the next two */
    uint32_t *seen;
    uint8_t *side;
    size_t side_len; /* 0: no side */
    size_t counters;
    size_t committed, kept;
    bool is_open; /* there is an open attempt */
    bool is_bare; /* keys and bases only: it has no windows */
    /* It is of a state of format 6, in which the keys of addresses in no file are without lines. */
    bool has_old_keys;
    size_t living;   /* entries in the last window */
    uint32_t window; /* number of the last window; 0: nothing is remembered */
} pd_ledger;         /* zero it and set counters to begin */

/* Removes all entries and sets the number of counters of an entry. */
void pd_ledger_clear(pd_ledger *ledger, size_t counters);

/* Makes room for `need` entries in total. */
pprofdelta_status pd_ledger_reserve(pd_ledger *ledger, pd_mem *mem, size_t need,
                                    pprofdelta_error *err);

/* Shrinks the arrays to `room` entries, at least as many as there are; 0 releases them. */
void pd_ledger_trim(pd_ledger *ledger, pd_mem *mem, size_t room);

/* Gives each entry a side of side_len zero bytes. There must be none so far. */
pprofdelta_status pd_ledger_widen(pd_ledger *ledger, pd_mem *mem, size_t side_len,
                                  pprofdelta_error *err);

static inline uint8_t *pd_ledger_side(const pd_ledger *ledger, size_t entry)
{
    return ledger->side + entry * ledger->side_len;
}

static inline int64_t *pd_ledger_tried(const pd_ledger *ledger, size_t entry)
{
    return ledger->tried + entry * ledger->counters;
}

static inline int64_t *pd_ledger_base(const pd_ledger *ledger, size_t entry)
{
    return ledger->base + entry * ledger->counters;
}

/* Adds a sample to a ledger that is being filled. The counters of equal keys are added up: E_LIMIT if they do not fit.
 * pd_ledger_end_filling ends the filling. */
pprofdelta_status pd_ledger_put(pd_ledger *ledger, pd_mem *mem, pd_key key, const int64_t *counters,
                                pprofdelta_error *err);

/* Makes the entries that were put the last committed window. */
void pd_ledger_end_filling(pd_ledger *ledger);

/* The number of the last window that had the entry. The first window has all entries: seen is not read,
 * and a base does not set it. */
static inline uint32_t pd_ledger_seen(const pd_ledger *ledger, size_t entry)
{
    return ledger->window == 1 ? 1 : ledger->seen[entry];
}

/* Returns whether the last window had the entry. */
static inline bool pd_ledger_is_living(const pd_ledger *ledger, size_t entry)
{
    return entry < ledger->committed && pd_ledger_seen(ledger, entry) == ledger->window;
}

/* Puts an entry in the place of another one. Slots and what was tried are left as they are. */
void pd_ledger_move(pd_ledger *ledger, size_t to, size_t from);

/* Exchanges the bases for what the open attempt had, if there is one: all kept entries count as
 * committed. The next call exchanges them again. In between, the ledger is only read. */
void pd_ledger_exchange(pd_ledger *ledger);

/* The open attempt has arrived: what it had becomes the base. Drops the entries unseen for longest
 * while the others outnumber the living. */
void pd_ledger_commit(pd_ledger *ledger);

#endif

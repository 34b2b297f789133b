#include "ledger/ledger.h"

#include "base/sum.h"

void pd_ledger_clear(pd_ledger *ledger, size_t counters)
{
    pd_keymap_clear(&ledger->keys);
    ledger->counters = counters;
    ledger->committed = ledger->kept = ledger->living = 0;
    ledger->is_open = ledger->has_old_keys = false;
    ledger->window = 0;
}

pprofdelta_status pd_ledger_reserve(pd_ledger *ledger, pd_mem *mem, size_t need,
                                    pprofdelta_error *err)
{
    if (need < ledger->keys.cap) /* from a time with fewer counters, perhaps */
        need = ledger->keys.cap;
    size_t values = pd_mem_times(need, ledger->counters);
    size_t sides = pd_mem_times(need, ledger->side_len);
    PD_TRY(PD_RESERVE(mem, ledger->base, values, err));
    PD_TRY(PD_RESERVE(mem, ledger->tried, ledger->is_bare ? 0 : values, err));
    PD_TRY(PD_RESERVE(mem, ledger->side, sides, err));
    PD_TRY(PD_RESERVE(mem, ledger->seen, ledger->is_bare ? 0 : need, err));
    return pd_keymap_reserve(&ledger->keys, mem, need, err);
}

void pd_ledger_trim(pd_ledger *ledger, pd_mem *mem, size_t room)
{
    if (ledger->keys.cap <= room)
        return;
    pd_keymap_trim(&ledger->keys, mem, room);
    room = ledger->keys.cap; /* larger if the allocator refused */
    PD_TRIM(mem, ledger->base, room * ledger->counters);
    PD_TRIM(mem, ledger->tried, room * ledger->counters);
    PD_TRIM(mem, ledger->seen, room);
    PD_TRIM(mem, ledger->side, room * ledger->side_len);
}

pprofdelta_status pd_ledger_put(pd_ledger *ledger, pd_mem *mem, pd_key key, const int64_t *counters,
                                pprofdelta_error *err)
{
    size_t len = ledger->keys.len;
    if (len == ledger->keys.cap)
        PD_TRY(pd_ledger_reserve(ledger, mem, pd_mem_roomy(mem, len), err));
    uint32_t entry = pd_keymap_add(&ledger->keys, key);
    int64_t *base = pd_ledger_base(ledger, entry);
    if (entry < len && !pd_values_add(base, counters, ledger->counters))
        return pd_no_fit(err, PPROFDELTA_NOWHERE, PD_SUM_FITS_NOT);
    for (size_t i = 0; i < ledger->counters && entry == len; i++)
        base[i] = counters[i];
    return PPROFDELTA_OK;
}

void pd_ledger_end_filling(pd_ledger *ledger)
{
    ledger->window = 1;
    ledger->committed = ledger->kept = ledger->living = ledger->keys.len;
}

pprofdelta_status pd_ledger_widen(pd_ledger *ledger, pd_mem *mem, size_t side_len,
                                  pprofdelta_error *err)
{
    size_t sides = pd_mem_times(ledger->keys.cap, side_len);
    PD_TRY(PD_RESERVE(mem, ledger->side, sides, err));
    ledger->side_len = side_len;
    if (sides)
        memset(ledger->side, 0, sides);
    return PPROFDELTA_OK;
}

void pd_ledger_exchange(pd_ledger *ledger)
{
    if (!ledger->is_open)
        return;
    PD_SWAP(int64_t *, ledger->base, ledger->tried);
    PD_SWAP(size_t, ledger->committed, ledger->kept);
}

/* The number of entries last seen before this window. */
static size_t count_before(const pd_ledger *ledger, uint32_t window)
{
    size_t count = 0;
    for (size_t i = 0; i < ledger->keys.len; i++)
        count += ledger->seen[i] < window;
    return count;
}

/* The largest window number before which at most `most` entries were last seen. All of these are
 * dropped, and entries seen in that window up to `most` in total. */
static uint32_t last_to_drop(const pd_ledger *ledger, size_t most)
{
    uint32_t low = 0, high = ledger->window;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2 + 1;
        if (count_before(ledger, middle) <= most)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void pd_ledger_move(pd_ledger *ledger, size_t to, size_t from)
{
    if (to == from)
        return;
    ledger->keys.keys[to] = ledger->keys.keys[from];
    ledger->seen[to] = ledger->seen[from];
    memcpy(pd_ledger_base(ledger, to), pd_ledger_base(ledger, from),
           ledger->counters * sizeof *ledger->base);
    if (ledger->side_len)
        memcpy(pd_ledger_side(ledger, to), pd_ledger_side(ledger, from), ledger->side_len);
}

/* Drops the entries last seen before `window` and the first `also` of those last seen in it. */
static void drop_entries(pd_ledger *ledger, uint32_t window, size_t also)
{
    size_t kept = 0;
    for (size_t i = 0; i < ledger->keys.len; i++) {
        if (ledger->seen[i] < window)
            continue;
        if (also && ledger->seen[i] == window) {
            also--;
            continue;
        }
        pd_ledger_move(ledger, kept++, i);
    }
    pd_keymap_reindex(&ledger->keys, kept, SIZE_MAX);
}

void pd_ledger_commit(pd_ledger *ledger)
{
    if (ledger->is_open)
        PD_SWAP(int64_t *, ledger->base, ledger->tried);
    ledger->is_open = false;
    size_t unseen = ledger->keys.len - ledger->living;
    if (unseen > ledger->living) {
        size_t excess = unseen - ledger->living;
        uint32_t last = last_to_drop(ledger, excess);
        drop_entries(ledger, last, excess - count_before(ledger, last));
    }
    ledger->committed = ledger->kept = ledger->keys.len;
}

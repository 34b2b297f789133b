#include "ledger/ledger.h"

void pd_ledger_clear(pd_ledger *ledger, size_t counters)
{
    pd_keymap_clear(&ledger->keys);
    ledger->counters = counters;
    ledger->committed = ledger->kept = ledger->living = ledger->tried.len = 0;
    ledger->window = 0;
}

pprofdelta_status pd_ledger_reserve(pd_ledger *ledger, pd_mem *mem, size_t need,
                                    pprofdelta_error *err)
{
    size_t values;
    size_t sides;
    if (need < ledger->keys.cap) /* from a time with fewer counters, perhaps */
        need = ledger->keys.cap;
    if (__builtin_mul_overflow(need, ledger->counters, &values))
        values = SIZE_MAX;
    if (__builtin_mul_overflow(need, ledger->side_len, &sides))
        sides = SIZE_MAX;
    pprofdelta_status status =
        pd_mem_reserve(mem, &ledger->base, &ledger->base_cap, values, sizeof *ledger->base, err);
    if (!status)
        status = pd_mem_reserve(mem, &ledger->side, &ledger->side_cap, sides, 1, err);
    if (!status)
        status =
            pd_mem_reserve(mem, &ledger->seen, &ledger->seen_cap, need, sizeof *ledger->seen, err);
    if (!status)
        status = pd_keymap_reserve(&ledger->keys, mem, need, err);
    return status;
}

void pd_ledger_trim(pd_ledger *ledger, pd_mem *mem, size_t room)
{
    pd_tried *tried = &ledger->tried;
    pd_mem_trim(mem, &tried->entry, &tried->entry_cap, tried->len, sizeof *tried->entry);
    pd_mem_trim(mem, &tried->values, &tried->values_cap, tried->len * tried->stride,
                sizeof *tried->values);
    if (ledger->keys.cap <= room)
        return;
    pd_keymap_trim(&ledger->keys, mem, room);
    room = ledger->keys.cap; /* larger if the allocator refused */
    pd_mem_trim(mem, &ledger->base, &ledger->base_cap, room * ledger->counters,
                sizeof *ledger->base);
    pd_mem_trim(mem, &ledger->seen, &ledger->seen_cap, room, sizeof *ledger->seen);
    pd_mem_trim(mem, &ledger->side, &ledger->side_cap, room * ledger->side_len, 1);
}

pprofdelta_status pd_ledger_put(pd_ledger *ledger, pd_mem *mem, pd_key key, const int64_t *counters,
                                pprofdelta_error *err)
{
    size_t len = ledger->keys.len;
    pprofdelta_status status = PPROFDELTA_OK;
    if (len == ledger->keys.cap)
        status = pd_ledger_reserve(ledger, mem, pd_mem_roomy(mem, len), err);
    if (status)
        return status;
    uint32_t entry = pd_keymap_add(&ledger->keys, key);
    int64_t *base = pd_ledger_base(ledger, entry);
    for (size_t i = 0; i < ledger->counters; i++)
        base[i] = (int64_t)((entry < len ? (uint64_t)base[i] : 0) + (uint64_t)counters[i]);
    return PPROFDELTA_OK;
}

void pd_ledger_settle(pd_ledger *ledger)
{
    ledger->window = 1;
    ledger->committed = ledger->kept = ledger->living = ledger->keys.len;
    for (size_t i = 0; i < ledger->keys.len; i++)
        ledger->seen[i] = ledger->window;
}

pprofdelta_status pd_ledger_widen(pd_ledger *ledger, pd_mem *mem, size_t side_len,
                                  pprofdelta_error *err)
{
    size_t sides;
    if (__builtin_mul_overflow(ledger->keys.cap, side_len, &sides))
        sides = SIZE_MAX;
    pprofdelta_status status = pd_mem_reserve(mem, &ledger->side, &ledger->side_cap, sides, 1, err);
    if (status)
        return status;
    ledger->side_len = side_len;
    if (sides)
        memset(ledger->side, 0, sides);
    return PPROFDELTA_OK;
}

void pd_ledger_rollback(pd_ledger *ledger)
{
    pd_keymap_truncate(&ledger->keys, ledger->kept);
}

void pd_ledger_exchange(pd_ledger *ledger)
{
    size_t committed = ledger->committed;
    for (size_t row = 0; row < ledger->tried.len; row++) {
        int64_t *base = pd_ledger_base(ledger, ledger->tried.entry[row]);
        int64_t *tried = pd_tried_values(ledger, row);
        for (size_t i = 0; i < ledger->counters; i++) {
            int64_t value = base[i];
            base[i] = tried[i];
            tried[i] = value;
        }
    }
    ledger->committed = ledger->kept;
    ledger->kept = committed;
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

/* Drops the entries last seen before `window` and the first `also` of those last seen in it. */
static void drop(pd_ledger *ledger, uint32_t window, size_t also)
{
    size_t kept = 0;
    for (size_t i = 0; i < ledger->keys.len; i++) {
        if (ledger->seen[i] < window)
            continue;
        if (also && ledger->seen[i] == window) {
            also--;
            continue;
        }
        if (kept != i) {
            ledger->keys.keys[kept] = ledger->keys.keys[i];
            ledger->seen[kept] = ledger->seen[i];
            memcpy(pd_ledger_base(ledger, kept), pd_ledger_base(ledger, i),
                   ledger->counters * sizeof *ledger->base);
            if (ledger->side_len)
                memcpy(pd_ledger_side(ledger, kept), pd_ledger_side(ledger, i), ledger->side_len);
        }
        kept++;
    }
    ledger->keys.len = kept;
    pd_keymap_reindex(&ledger->keys);
}

void pd_ledger_commit(pd_ledger *ledger)
{
    for (size_t row = 0; row < ledger->tried.len; row++)
        memcpy(pd_ledger_base(ledger, ledger->tried.entry[row]), pd_tried_values(ledger, row),
               ledger->counters * sizeof *ledger->base);
    ledger->tried.len = 0;
    size_t unseen = ledger->keys.len - ledger->living;
    if (unseen > ledger->living) {
        size_t excess = unseen - ledger->living;
        uint32_t last = last_to_drop(ledger, excess);
        drop(ledger, last, excess - count_before(ledger, last));
    }
    ledger->committed = ledger->kept = ledger->keys.len;
}

void pd_ledger_release(pd_ledger *ledger, pd_mem *mem)
{
    pd_keymap_release(&ledger->keys, mem);
    pd_mem_release(mem, &ledger->base, &ledger->base_cap, sizeof *ledger->base);
    pd_mem_release(mem, &ledger->seen, &ledger->seen_cap, sizeof *ledger->seen);
    pd_mem_release(mem, &ledger->side, &ledger->side_cap, 1);
    pd_mem_release(mem, &ledger->tried.entry, &ledger->tried.entry_cap,
                   sizeof *ledger->tried.entry);
    pd_mem_release(mem, &ledger->tried.values, &ledger->tried.values_cap,
                   sizeof *ledger->tried.values);
    *ledger = (pd_ledger){0};
}

/* What the counts of a text dump stand for (text/dump.h), in windows that are sent again.
 *
 * A receiver keeps the last attempt at a window, so no attempt may have less than the one before. The counts
 * never have. But of more counts, fewer objects may be estimated, because their mean size decides: 1 object
 * of 16 bytes stands for 32,769, and 2 of 16 and 1 MiB for 4. So what was sent of a sample is the least
 * that is sent of it. The ledger's sides have it as an excess: by how much more was sent than what the counts of the
 * open attempt stand for. That is nearly always 0. */
#include "delta/context.h"

static int64_t *excess_of(const pd_ledger *ledger, size_t entry)
{
    return (int64_t *)(void *)pd_ledger_side(ledger, entry);
}

/* Both are 0 or more, unless a state is damaged. */
static int64_t add_bounded(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* What these counts of an entry, less its base, stand for, in the order of the ledger's counters. */
static void estimate_counts(const pprofdelta *pd, size_t entry, const int64_t *counts, int64_t *out)
{
    const pd_ledger *ledger = &pd->ledger;
    const pd_columns *columns = &pd->cur.columns;
    const int64_t *base = pd_ledger_base(ledger, entry);
    int64_t values[PPROFDELTA_MAX_TYPES];
    memset(out, 0, ledger->counters * sizeof *out);
    for (size_t i = 0; i < columns->len; i++) {
        size_t slot = columns->slot[i];
        bool is_more = slot < ledger->counters && counts[slot] > base[slot];
        values[i] = is_more ? (int64_t)((uint64_t)counts[slot] - (uint64_t)base[slot]) : 0;
    }
    pd_dump_unsample(&pd->cur.dump, values);
    for (size_t i = 0; i < columns->len; i++)
        out[columns->slot[i]] = values[i];
}

/* What the open attempt sent of an entry. */
static void estimate_sent(const pprofdelta *pd, size_t entry, int64_t *out)
{
    const pd_ledger *ledger = &pd->ledger;
    estimate_counts(pd, entry, pd_ledger_tried(ledger, entry), out);
    for (size_t i = 0; i < ledger->counters; i++)
        out[i] = add_bounded(out[i], excess_of(ledger, entry)[i]);
}

pprofdelta_status pd_estimate_begin(pprofdelta *pd, pprofdelta_error *err)
{
    pd_ledger *ledger = &pd->ledger;
    size_t side = ledger->counters * sizeof(int64_t);
    return ledger->side_len == side ? PPROFDELTA_OK : pd_ledger_widen(ledger, &pd->mem, side, err);
}

bool pd_estimate(const pprofdelta *pd, uint32_t entry, int64_t *values)
{
    const pd_ledger *ledger = &pd->ledger;
    const pd_columns *columns = &pd->cur.columns;
    int64_t sent[PPROFDELTA_MAX_TYPES];
    if (!pd_dump_unsample(&pd->cur.dump, values))
        return false;
    if (!ledger->is_open || entry >= ledger->kept)
        return true;
    estimate_sent(pd, entry, sent);
    for (size_t i = 0; i < columns->len; i++)
        if (columns->slot[i] < ledger->counters && values[i] < sent[columns->slot[i]])
            values[i] = sent[columns->slot[i]];
    return true;
}

void pd_estimate_settle(pprofdelta *pd)
{
    pd_ledger *ledger = &pd->ledger;
    int64_t sent[PPROFDELTA_MAX_TYPES], own[PPROFDELTA_MAX_TYPES];
    for (size_t entry = 0; entry < ledger->keys.len; entry++) {
        const int64_t *counts = pd_row_set_counters(&pd->cur.window, entry);
        bool is_again = ledger->is_open && entry < ledger->kept && pd->how == PD_COMMIT_KEEP;
        if (is_again) {
            estimate_sent(pd, entry, sent);
            estimate_counts(pd, entry, counts ? counts : pd_ledger_base(ledger, entry), own);
        }
        for (size_t i = 0; i < ledger->counters; i++)
            excess_of(ledger, entry)[i] = is_again && sent[i] > own[i] ? sent[i] - own[i] : 0;
    }
}

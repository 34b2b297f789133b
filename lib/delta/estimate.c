#include "delta/estimate.h"

static int64_t *excess_of(const pd_ledger *ledger, size_t entry)
{
    return (int64_t *)(void *)pd_ledger_side(ledger, entry);
}

/* Both are 0 or more, unless a state is damaged. */
static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* What the counts of the open attempt stand for, in the order of the ledger's counters. */
static void estimate_of_attempt(const pprofdelta *pd, size_t entry, int64_t *out)
{
    const pd_ledger *ledger = &pd->ledger;
    const pd_columns *columns = &pd->cur.columns;
    const int64_t *base = pd_ledger_base(ledger, entry), *tried = pd_ledger_tried(ledger, entry);
    int64_t values[PPROFDELTA_MAX_TYPES];
    for (size_t i = 0; i < columns->len; i++) {
        size_t slot = columns->slot[i];
        values[i] =
            slot < ledger->counters ? (int64_t)((uint64_t)tried[slot] - (uint64_t)base[slot]) : 0;
    }
    pd_dump_unsample(&pd->cur.dump, values);
    for (size_t i = 0; i < columns->len; i++)
        out[columns->slot[i]] = values[i];
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
    estimate_of_attempt(pd, entry, sent);
    for (size_t i = 0; i < columns->len; i++) {
        size_t slot = columns->slot[i];
        if (slot >= ledger->counters)
            continue;
        sent[slot] = plus(sent[slot], excess_of(ledger, entry)[slot]);
        values[i] = values[i] < sent[slot] ? sent[slot] : values[i];
    }
    return true;
}

/* The sides become what was sent. */
void pd_estimate_settling(pprofdelta *pd)
{
    pd_ledger *ledger = &pd->ledger;
    int64_t own[PPROFDELTA_MAX_TYPES] = {0};
    for (size_t entry = 0; entry < ledger->keys.len; entry++) {
        int64_t *excess = excess_of(ledger, entry);
        bool is_again = ledger->is_open && entry < ledger->kept && pd->how == PD_COMMIT_KEEP;
        if (is_again)
            estimate_of_attempt(pd, entry, own);
        for (size_t i = 0; i < ledger->counters; i++)
            excess[i] = is_again ? plus(own[i], excess[i]) : 0;
    }
}

void pd_estimate_settled(pprofdelta *pd)
{
    pd_ledger *ledger = &pd->ledger;
    int64_t own[PPROFDELTA_MAX_TYPES] = {0};
    for (size_t entry = 0; entry < ledger->kept; entry++) {
        int64_t *excess = excess_of(ledger, entry);
        estimate_of_attempt(pd, entry, own);
        for (size_t i = 0; i < ledger->counters; i++)
            excess[i] = excess[i] > own[i] ? excess[i] - own[i] : 0;
    }
}

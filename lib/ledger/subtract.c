#include "ledger/subtract.h"

bool pd_subtract_row(const pd_row_set *w, size_t row, pd_subtraction how, int64_t *out)
{
    const int64_t *values = pd_row_set_values(w, row);
    size_t counters = w->ledger->counters, entry = w->entry[row];
    bool is_known = entry < w->ledger->committed && how != PD_SUBTRACT_NOTHING;
    const int64_t *base = pd_ledger_base(w->ledger, entry);
    int64_t any = 0;
    for (size_t i = 0; i < counters; i++) {
        int64_t difference = values[i];
        if (how == PD_SUBTRACT_ALL ||
            (is_known && how == PD_SUBTRACT_CLAMP && difference < base[i]))
            difference = 0;
        else if (is_known)
            difference = (int64_t)((uint64_t)difference - (uint64_t)base[i]);
        any |= out[i] = difference;
    }
    for (size_t i = counters; i < w->stride; i++)
        any |= out[i] = values[i];
    return any != 0;
}

bool pd_subtract_vanished(const pd_row_set *w, uint32_t entry, int64_t *out)
{
    const int64_t *base = pd_ledger_base(w->ledger, entry);
    int64_t any = 0;
    for (size_t i = 0; i < w->ledger->counters; i++)
        any |= out[i] = (int64_t)(0 - (uint64_t)base[i]);
    for (size_t i = w->ledger->counters; i < w->stride; i++)
        out[i] = 0;
    return any != 0;
}

/* ---- sums -------------------------------------------------------------------------------- */

/* Adds up the ledger's counters, those of the entries that the window does not have, and those that
 * have not changed. */
static void book_base(pd_tally *tally, const pd_row_set *w, pd_subtraction how)
{
    const pd_ledger *ledger = w->ledger;
    for (size_t entry = 0; entry < ledger->committed; entry++) {
        const int64_t *base = pd_ledger_base(ledger, entry);
        uint32_t row = pd_row_set_find(w, entry);
        tally->vanished += row == PD_ROW_NONE;
        for (size_t i = 0; i < ledger->counters; i++) {
            pprofdelta_type_report *sums = &tally->types[i];
            pd_sum_add(&sums->prev, base[i]);
            tally->is_too_large |=
                how == PD_SUBTRACT_NEGATIVE && base[i] == INT64_MIN && row == PD_ROW_NONE;
            if (row >= PD_ROW_UNCHANGED)
                pd_sum_add(row == PD_ROW_NONE ? &sums->vanished : &sums->cur, base[i]);
        }
    }
    tally->matched += w->unchanged;
}

/* What is clamped, and whether all differences fit. */
static void book_differences(pd_tally *tally, const pd_row_set *w, size_t row, bool clamps)
{
    const int64_t *base = pd_ledger_base(w->ledger, w->entry[row]);
    const int64_t *values = pd_row_set_values(w, row);
    bool is_clamped = false;
    for (size_t i = 0; i < w->ledger->counters; i++) {
        int64_t any;
        bool fits = !__builtin_sub_overflow(values[i], base[i], &any);
        bool is_lower = clamps && values[i] < base[i];
        tally->is_too_large |= !fits && !is_lower;
        if (!is_lower)
            continue;
        pd_sum_add_unsigned(&tally->types[i].clamped, (uint64_t)base[i] - (uint64_t)values[i]);
        is_clamped = true;
    }
    tally->clamped += is_clamped;
}

static void book_rows(pd_tally *tally, const pd_row_set *w, size_t known, pd_subtraction how)
{
    for (size_t row = 0; row < w->len; row++) {
        const int64_t *values = pd_row_set_values(w, row);
        for (size_t i = 0; i < w->stride; i++)
            pd_sum_add(&tally->types[i].cur, values[i]);
        if (w->entry[row] >= known) {
            tally->fresh++;
            continue;
        }
        tally->matched++;
        book_differences(tally, w, row, how == PD_SUBTRACT_CLAMP);
    }
}

pprofdelta_status pd_tally_begin(pd_tally *tally, const pd_row_set *w, pd_subtraction how,
                                 pprofdelta_error *err)
{
    size_t counters = w->ledger->counters;
    bool has_prev = how == PD_SUBTRACT_CLAMP || how == PD_SUBTRACT_NEGATIVE;
    size_t known = has_prev ? w->ledger->committed : 0;
    *tally = (pd_tally){0};
    book_rows(tally, w, known, how);
    if (has_prev)
        book_base(tally, w, how);
    tally->clamped += w->raised_len;
    for (size_t i = 0; i < counters; i++) {
        pprofdelta_type_report *sums = &tally->types[i];
        sums->cur = pd_sum_plus(sums->cur, pd_sum_negated(w->raised[i]));
        sums->clamped = pd_sum_plus(sums->clamped, w->raised[i]);
        if (how == PD_SUBTRACT_NEGATIVE) /* the output has the vanished samples */
            tally->types[i].vanished = (pprofdelta_sum){0, 0};
        if (how == PD_SUBTRACT_ALL) /* as if prev were cur */
            tally->types[i].prev = tally->types[i].cur;
    }
    return tally->is_too_large
               ? pd_no_fit(err, PPROFDELTA_NOWHERE, "the difference of two counters does not fit")
               : PPROFDELTA_OK;
}

void pd_tally_output(pd_tally *tally, const int64_t *row, size_t len)
{
    for (size_t i = 0; i < len; i++)
        pd_sum_add(&tally->types[i].delta, row[i]);
}

pprofdelta_status pd_tally_refuse(const pd_schema *schema, size_t slot, const char *what,
                                  pprofdelta_error *err)
{
    return PD_FAIL(err, PPROFDELTA_E_VERIFY, PPROFDELTA_STAGE_DELTA, "sample.value",
                   "the sums of %s do not add up: %s; this is a bug",
                   (const char *)schema->text.ptr + schema->names[slot].type, what);
}

pprofdelta_status pd_tally_check(const pd_tally *tally, const pd_schema *schema,
                                 pprofdelta_error *err)
{
    for (size_t i = 0; i < schema->counters; i++) {
        const pprofdelta_type_report *s = &tally->types[i];
        pprofdelta_sum left = pd_sum_plus(s->prev, s->delta);
        pprofdelta_sum right = pd_sum_plus(pd_sum_plus(s->cur, s->clamped), s->vanished);
        if (left.lo != right.lo)
            return pd_tally_refuse(schema, i, "prev + delta - clamped - vanished is not cur", err);
    }
    return PPROFDELTA_OK;
}

void pd_tally_report(const pd_tally *tally, const pd_row_set *w, const pd_interval *interval,
                     const pd_schema *schema, const pd_columns *columns,
                     pprofdelta_type_report *out, pprofdelta_report *report)
{
    const char *text = (const char *)schema->text.ptr;
    for (size_t i = 0; i < columns->len; i++) {
        size_t slot = columns->slot[i];
        out[i] = tally->types[slot];
        out[i].type = text + schema->names[slot].type;
        out[i].unit = text + schema->names[slot].unit;
        out[i].is_counter = slot < schema->counters;
    }
    *report = (pprofdelta_report){
        .matched = tally->matched,
        .fresh = tally->fresh,
        .vanished = tally->vanished,
        .clamped = tally->clamped,
        .duplicates = w->duplicates,
        .restart = interval->restart,
        .from_nanos = interval->from_nanos,
        .to_nanos = interval->to_nanos,
        .sequence = interval->sequence,
        .attempt = interval->attempt,
        .types = out,
        .types_len = columns->len,
        .types_stride = sizeof *out,
    };
}

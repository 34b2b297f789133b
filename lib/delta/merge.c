/* The merge: the targets of the windows, and the total of all targets.
 *
 *     window -> the sum of the target (adder.c) -> total  counters and gauges added up
 *                                            \-> all    each sample once
 *
 * The sum of a target joins the total when a profile of another target comes, or at the end. So the
 * memory does not depend on the number of windows. For the same reason a window that comes late
 * cannot take the place of an attempt that was added: it is refused, and the caller sorts. */
#include "delta/adder.h"

#include <inttypes.h>
#include <stdio.h>

bool pd_merge_has_target(const pprofdelta_stamp *stamp)
{
    return stamp->id && stamp->sequence;
}

pd_key pd_merge_target(const pprofdelta_adder *a, const pprofdelta_stamp *stamp)
{
    pd_bytes bytes = a->pd->cur.tables.bytes;
    uint64_t words[] = {stamp->id, stamp->live != PPROFDELTA_LIVE_NONE};
    return pd_merge_has_target(stamp) ? pd_key_of_words(words, 2, 0)
                                      : pd_key_of_bytes(bytes.ptr, bytes.len, 1);
}

pprofdelta_status pd_merge_check_target(const pprofdelta_adder *a, const pprofdelta_stamp *stamp,
                                        pd_key target, pprofdelta_join *join, pprofdelta_error *err)
{
    bool is_forced = a->pd->flags & PPROFDELTA_FORCE, has = pd_merge_has_target(stamp);
    bool is_seen = pd_keymap_find(&a->merge.seen, target) != PD_KEYMAP_NONE;
    if (!has && (a->merge.is_on ? !is_forced : stamp->targets != 0))
        return PD_JOIN_REFUSE(
            NO_TARGET, "%s",
            stamp->targets ? "it is a merge, whose windows may count twice"
            : stamp->is_delta
                ? "its stamp names no target: it is the delta of two files, or a sum"
                : "it has no stamp: it may be cumulative, and count its windows again");
    if (!has && is_seen && is_forced)
        *join = PPROFDELTA_JOIN_EQUAL;
    if (!a->merge.is_on || (a->is_waiting && pd_key_equal(target, a->merge.target)))
        return PPROFDELTA_OK;
    if (a->has_gap) /* in the target that ends here */
        return pd_fail_as(err, &a->gap);
    if (has && is_seen)
        return PD_JOIN_REFUSE(WINDOW_LATE, "the windows of target %016" PRIx64 " are not together",
                              stamp->id);
    if (stamp->live == PPROFDELTA_LIVE_DELTA)
        return PD_JOIN_REFUSE(WINDOW_MISSING, "the full profile of epoch %" PRIu64 " is missing",
                              stamp->epoch);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_merge_check_period(pprofdelta_adder *a, pprofdelta_error *err)
{
    const pd_tables *t = &a->pd->cur.tables;
    const pd_value_type *period = &t->header.period_type;
    pd_type_name name = {.type = t->strings[period->type], .unit = t->strings[period->unit]};
    pd_columns same;
    if (!a->is_waiting)
        return pd_schema_set(&a->merge.period_type, &a->pd->mem, &name, 1, err);
    pprofdelta_status status = pd_schema_match(&a->merge.period_type, &name, 1, &same, err);
    if (status && err)
        err->field = "period_type";
    return status;
}

/* Adds a sample of the target's sum to the total. */
static pprofdelta_status add_sample(pprofdelta_adder *a, size_t entry)
{
    pd_totals *total = &a->merge.total;
    pd_model *m = &total->model;
    pd_key key = a->sum.ledger.keys.keys[entry];
    pd_bytes label = {a->pd->target_label.ptr, a->pd->target_label.len};
    uint64_t words[] = {key.lo, key.hi, a->merge.target.lo, a->merge.target.hi};
    if (label.len)
        key = pd_key_of_words(words, 4, 0);
    if (pd_keymap_find(&total->ledger.keys, key) == PD_KEYMAP_NONE) {
        pd_transfer_sample(&a->transfer, a->sum.origins[entry]);
        if (label.len) {
            uint32_t name = pd_model_string(m, pd_bytes_of((const char *)label.ptr));
            pd_model_add_label(m, name, pd_model_string(m, pd_bytes_of(a->merge.label)), 0, 0);
        }
    }
    return pd_totals_add(total, key, pd_ledger_base(&a->sum.ledger, entry));
}

pprofdelta_status pd_merge_end_target(pprofdelta_adder *a, pd_input *last, pprofdelta_error *err)
{
    const pd_totals *sum = &a->sum;
    pd_model *total = &a->merge.total.model;
    pprofdelta_status status = pd_sum_settle(a, last, true, err);
    total->writer.err = err;
    if (!status)
        status = pd_transfer_begin_model(&a->transfer, &a->pd->mem, &sum->model, total, err);
    snprintf(a->merge.label, sizeof a->merge.label, "%016" PRIx64,
             pd_merge_has_target(&a->last) ? a->last.id : a->merge.target.lo);
    for (size_t entry = 0; entry < sum->ledger.keys.len && !status; entry++)
        if (pd_model_has_value(pd_ledger_base(&sum->ledger, entry), sum->ledger.counters))
            status = add_sample(a, entry);
    a->merge.targets++;
    a->merge.windows += a->merge.own;
    a->merge.own = 0;
    return status;
}

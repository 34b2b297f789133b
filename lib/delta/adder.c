/* The sum: a profile and the deltas that follow it.
 *
 *     profile n -> tables -> window -> [pending] -> sum     counters added up, each sample once
 *     finish:  sum -> model, with the gauges of the last window
 *
 * The window of the last profile is pending, because the next profile may be a later attempt at the
 * same window and replace it: the pending window is then abandoned. The adder works in a context:
 * cur is the last profile and prev the one before. The output is made at the end, because a sample may
 * sum to zero.
 *
 * Batches of a live heap have changes in their in-use values and their peak too, so these are
 * counters in the ledger. A full batch clears the ledger first. A window, and a delta of two full
 * profiles, have absolute ones, so those of the ledger are cleared before they are added. Every other
 * gauge of a live heap is absolute, as in other profiles.
 *
 * A merge:
 *
 *     profile -> the sum of its target -> total             counters and gauges added up
 *
 * The sum of a target joins the total when a profile of another target comes, or at the end. So the
 * memory does not depend on the number of windows. For the same reason a window that comes late
 * cannot take the place of an attempt that was added: it is refused, and the caller sorts. A merge
 * that is added to another one is a target of its own, which has the targets that it lists. */
#include "delta/context.h"
#include "delta/join.h"
#include "delta/targets.h"
#include "model/totals.h"
#include "profile/stamp.h"

#include <inttypes.h>
#include <stdio.h>

#define UNKNOWN INT64_MIN /* earlier than every known time */

/* The targets, and for merges what is complete. */
typedef struct pd_merge {
    bool is_on;                     /* the sum is a merge */
    pd_targets seen;                /* the targets so far: see target_of */
    pd_target target;               /* of the last profile that counts */
    pd_totals total;                /* of the targets that are complete */
    uint64_t targets, windows, own; /* in the total; and windows of the last target */
    uint64_t added;                 /* profiles that were taken, or did not count */
    int64_t period;                 /* the longest */
    pd_schema period_type;          /* of all profiles */
    char label[17];                 /* of the target that joins the total */
} pd_merge;

struct pprofdelta_adder {
    pprofdelta pd;
    /* Of a merge: that of the last target. Gauges are 0 until the last window is counted. */
    pd_totals sum;
    bool is_waiting;                     /* cur's window is pending: filled, not in the ledger */
    bool has_earlier;                    /* an earlier window is in the ledger */
    bool is_over;                        /* finished, or failed in the middle: only free is valid */
    bool is_live;                        /* the first profile was of a live heap */
    bool is_forced;                      /* a profile was added by force */
    bool has_gap;                        /* batches are missing, and no full one has followed */
    bool is_gauge[PPROFDELTA_MAX_TYPES]; /* by counter of the ledger: in use, of a live heap */
    bool has_window;                     /* a batch with absolute gauges is counted */
    pprofdelta_error gap;                /* the message about the missing batches */
    pprofdelta_stamp first;              /* of the first profile of the sum */
    pprofdelta_stamp last;               /* of the last profile that counts */
    int64_t from, to;                    /* the time of the sum; from may be UNKNOWN */
    int64_t duration;                    /* of the sum, if `to` is 0 */
    pprofdelta_stamp named;              /* of the last profile that names its target */
    pd_merge merge;
    pd_transfer transfer; /* from a sum */
};

pprofdelta_status pprofdelta_adder_new(const pprofdelta_options *options,
                                       const pprofdelta_allocator *allocator,
                                       pprofdelta_adder **out, pprofdelta_error *err)
{
    pprofdelta *pd;
    PD_TRY(pd_need(out, err));
    PD_TRY(pd_context_new(options, allocator, sizeof **out, &pd, err));
    *out = (pprofdelta_adder *)pd;
    (*out)->merge.is_on = pd->flags & PPROFDELTA_MERGE;
    return PPROFDELTA_OK;
}

void pprofdelta_adder_free(pprofdelta_adder *adder)
{
    if (adder)
        pprofdelta_free(&adder->pd);
}

pd_mem *pd_adder_mem(pprofdelta_adder *adder)
{
    return &adder->pd.mem;
}

/* ---- the targets of a merge -------------------------------------------------------------- */

/* Does the stamp name the target, and the window of it? */
static bool has_target(const pprofdelta_stamp *stamp)
{
    return stamp->id && stamp->sequence;
}

/* Is it a merge whose targets are known? By force alone it is a target. */
static bool is_merge(const pprofdelta_adder *a, const pprofdelta_stamp *stamp)
{
    return stamp->targets && a->pd.flags & PPROFDELTA_DISJOINT;
}

/* A profile that names no target is a target of its own: equal bytes are one profile. */
static pd_target target_of(const pprofdelta_adder *a, const pprofdelta_stamp *stamp)
{
    pd_bytes bytes = a->pd.cur.tables.bytes;
    return (pd_target){.number = has_target(stamp) ? stamp->id
                                                   : pd_key_of_bytes(bytes.ptr, bytes.len, 1).lo,
                       .profile = a->merge.added,
                       .is_merge = is_merge(a, stamp)};
}

static bool is_same_target(const pd_target *a, const pd_target *b)
{
    return a->number == b->number && a->is_merge == b->is_merge;
}

/* Refuses what names no target. */
static pprofdelta_status check_name(const pprofdelta_adder *a, const pprofdelta_stamp *stamp,
                                    pprofdelta_error *err)
{
    unsigned taken = PPROFDELTA_FORCE | (stamp->targets ? PPROFDELTA_DISJOINT : 0);
    bool is_taken = a->merge.is_on ? (a->pd.flags & taken) != 0 : !stamp->targets;
    if (has_target(stamp) || is_taken)
        return PPROFDELTA_OK;
    return PD_JOIN_REFUSE(
        NO_TARGET, "%s",
        stamp->targets    ? "it is a merge, whose windows may count twice"
        : stamp->is_delta ? "its stamp names no target: it is the delta of two files, or a sum"
                          : "it has no stamp: it may be cumulative, and count its windows again");
}

/* Refuses what may count twice. Sets *join to EQUAL if the bytes were added before. */
static pprofdelta_status check_target(const pprofdelta_adder *a, const pprofdelta_stamp *stamp,
                                      const pd_target *target, pprofdelta_join *join,
                                      pprofdelta_error *err)
{
    const pd_target *common = pd_targets_common(&a->merge.seen);
    if (!has_target(stamp) && common && is_same_target(common, target) &&
        (target->is_merge || a->pd.flags & PPROFDELTA_FORCE))
        *join = PPROFDELTA_JOIN_EQUAL;
    if (!a->merge.is_on || (a->is_waiting && is_same_target(target, &a->merge.target)))
        return PPROFDELTA_OK;
    if (a->has_gap) /* in the target that ends here */
        return pd_fail_as(err, &a->gap);
    if (common && *join != PPROFDELTA_JOIN_EQUAL)
        return pd_because(err, PPROFDELTA_REASON_WINDOW_LATE,
                          pd_fail(err, PPROFDELTA_E_MISMATCH, PPROFDELTA_STAGE_SUM, NULL,
                                  common->profile, PPROFDELTA_NOWHERE,
                                  "the windows of target %016" PRIx64
                                  " are not together, or some would count twice",
                                  common->number));
    if (stamp->live == PPROFDELTA_LIVE_DELTA)
        return PD_JOIN_REFUSE(WINDOW_MISSING, "the full profile of epoch %" PRIu64 " is missing",
                              stamp->epoch);
    return PPROFDELTA_OK;
}

/* All profiles of a merge have one type of period. */
static pprofdelta_status check_period(pprofdelta_adder *a, pprofdelta_error *err)
{
    const pd_tables *t = &a->pd.cur.tables;
    const pd_value_type *period = &t->header.period_type;
    pd_type_name name = {.type = t->strings[period->type], .unit = t->strings[period->unit]};
    pd_columns same;
    if (!a->is_waiting)
        return pd_schema_set(&a->merge.period_type, &a->pd.mem, &name, 1, err);
    pprofdelta_status status = pd_schema_match(&a->merge.period_type, &name, 1, &same, err);
    if (status && err)
        err->field = "period_type";
    return status;
}

/* ---- adding a profile -------------------------------------------------------------------- */

/* Begins a sum; of a merge, that of a target. */
static pprofdelta_status begin_sum(pprofdelta_adder *a, pprofdelta_error *err)
{
    a->has_earlier = a->merge.targets != 0;
    a->has_window = false;
    return pd_totals_begin(&a->sum, &a->pd.mem, a->pd.schema.len, err);
}

/* Are in-use values in the ledger? In a merge all targets have the same columns. */
static bool sums_gauges(const pprofdelta_adder *a)
{
    return a->is_live || a->merge.is_on;
}

/* Marks the counters. If gauges are summed, these are the in-use types too, and is_gauge shows which
 * of the counters, in their order, these are. */
static pprofdelta_status classify_types(pprofdelta_adder *a, bool *is_gauge, pprofdelta_error *err)
{
    pd_input *cur = &a->pd.cur;
    size_t len = cur->tables.types_len;
    pprofdelta_status status = pd_types_classify(cur->names, len, &a->pd.rules, err);
    for (size_t i = 0, counters = 0; i < len && !status && sums_gauges(a); i++) {
        pd_bytes type = cur->names[i].type;
        bool is_in_use = pd_bytes_begin(type, "inuse_") || pd_bytes_begin(type, "peak_");
        bool is_gauge_here = !cur->names[i].is_counter && is_in_use;
        cur->names[i].is_counter |= is_gauge_here;
        if (cur->names[i].is_counter)
            is_gauge[counters++] = is_gauge_here;
    }
    return status;
}

/* Begins the sum with the types of the first profile. */
static pprofdelta_status begin_types(pprofdelta_adder *a, const bool *is_gauge,
                                     pprofdelta_error *err)
{
    pprofdelta *pd = &a->pd;
    pd_input *cur = &pd->cur;
    PD_TRY(pd_schema_set(&pd->schema, &pd->mem, cur->names, cur->tables.types_len, err));
    memcpy(a->is_gauge, is_gauge, sizeof a->is_gauge);
    PD_TRY(pd_totals_begin(&a->merge.total, &pd->mem, pd->schema.len, err));
    return begin_sum(a, err);
}

/* Can the profile be added by force? Not if it may count twice, or is of another state or tracker, or
 * if absolute gauges and changes of gauges would be mixed. */
static bool can_force(const pprofdelta_adder *a, const pprofdelta_stamp *next)
{
    const pprofdelta_stamp *last = &a->named;
    bool may_be_next =
        !has_target(next) || !last->id || (next->id == last->id && next->sequence > last->sequence);
    return a->pd.flags & PPROFDELTA_FORCE && may_be_next && !a->merge.is_on &&
           (a->is_live || !next->live);
}

/* Decides how the new profile joins the sum. A gap is no failure yet. */
static pprofdelta_status follow_last(pprofdelta_adder *a, const pprofdelta_stamp *next,
                                     pprofdelta_join *join, pprofdelta_error *err)
{
    pprofdelta_error why;
    pprofdelta_status status = pd_join(&a->last, next, join, &why);
    if (status && a->merge.is_on && pd_is_apart(&a->last, next)) {
        *join = PPROFDELTA_JOIN_APART;
        return PPROFDELTA_OK;
    }
    if (!status && a->has_gap && *join != PPROFDELTA_JOIN_RESYNC)
        return PD_JOIN_REFUSE(WINDOW_LATE, "the second fills a gap before a profile that was given "
                                           "already: give them in order");
    if (!status)
        return PPROFDELTA_OK;
    if (status == PPROFDELTA_E_MISMATCH && can_force(a, next)) {
        *join = PPROFDELTA_JOIN_FORCED;
        return PPROFDELTA_OK;
    }
    if (*join == PPROFDELTA_JOIN_GAP) {
        if (!a->has_gap)
            a->gap = why;
        return PPROFDELTA_OK;
    }
    return pd_fail_as(err, &why);
}

/* Returns whether the profile continues the process of the sum, whose files may have been replaced.
 * The mappings of a live heap are read from memory and do not depend on files. A restart may be in a
 * window that is missing. */
static bool goes_on(const pprofdelta_adder *a, const pprofdelta_stamp *next, pprofdelta_join join)
{
    return join != PPROFDELTA_JOIN_FIRST && join != PPROFDELTA_JOIN_APART && !next->restart &&
           !next->live && !a->is_live;
}

/* Parses and checks the new profile, in cur, and how it joins. Does not change the sum. */
static pprofdelta_status read_next(pprofdelta_adder *a, const void *bytes, size_t len,
                                   pprofdelta_stamp *stamp, pd_target *target,
                                   pprofdelta_join *join, pprofdelta_error *err)
{
    pprofdelta *pd = &a->pd;
    pd_input *cur = &pd->cur;
    bool is_gauge[PPROFDELTA_MAX_TYPES] = {false};
    pd_reading reading = {
        .bytes = {bytes, len},
        .keeps_bytes = true,
        .unsamples = true /* as the deltas are that are added to it */
    };
    PD_TRY(pd_input_parse(cur, &reading, err));
    if (!pd_stamp_of(&cur->tables, stamp))
        return PD_FAIL(err, PPROFDELTA_E_MISMATCH, PPROFDELTA_STAGE_SUM, "comment",
                       "the stamp is not valid: pprofdelta did not write it");
    *target = target_of(a, stamp);
    *join = PPROFDELTA_JOIN_FIRST;
    PD_TRY(check_name(a, stamp, err));
    PD_TRY(pd_targets_take(&a->merge.seen, &pd->mem, &cur->tables, *target, err));
    PD_TRY(check_target(a, stamp, target, join, err));
    if (*join == PPROFDELTA_JOIN_EQUAL)
        return PPROFDELTA_OK;
    if (!a->is_waiting)
        a->is_live = stamp->live != PPROFDELTA_LIVE_NONE;
    else if (!a->merge.is_on || is_same_target(target, &a->merge.target))
        PD_TRY(follow_last(a, stamp, join, err));
    if (a->merge.is_on)
        PD_TRY(check_period(a, err));
    if (goes_on(a, stamp, *join))
        PD_TRY(pd_mapped_recognise(&pd->mapped, cur->mem, &pd->last.mapped, &cur->tables, err));
    PD_TRY(classify_types(a, is_gauge, err));
    if (!a->is_waiting)
        PD_TRY(begin_types(a, is_gauge, err));
    PD_TRY(pd_schema_match(&pd->schema, cur->names, cur->tables.types_len, &cur->columns, err));
    return pd_input_samples(cur, (pd_sample_taker){0}, err);
}

/* Returns whether the profile's gauges are absolute, and gauges are summed. */
static bool replaces_gauges(const pprofdelta_adder *a, const pprofdelta_stamp *stamp)
{
    return sums_gauges(a) &&
           (stamp->live == PPROFDELTA_LIVE_WINDOW || stamp->live == PPROFDELTA_LIVE_NONE);
}

static void forget_gauges(pprofdelta_adder *a)
{
    pd_ledger *ledger = &a->sum.ledger;
    for (size_t entry = 0; entry < ledger->committed; entry++)
        for (size_t i = 0; i < a->pd.schema.counters; i++)
            if (a->is_gauge[i])
                pd_ledger_base(ledger, entry)[i] = 0;
}

/* The beginning of the time of the last profile. */
static int64_t from_of(const pprofdelta_adder *a, const pd_input *input)
{
    int64_t duration = input->tables.header.duration_nanos, from = UNKNOWN;
    bool is_known = a->last.to_nanos && duration > 0 &&
                    !__builtin_sub_overflow(a->last.to_nanos, duration, &from);
    return a->last.from_nanos ? a->last.from_nanos : is_known ? from : UNKNOWN;
}

/* Do the profiles come in any order of time? */
static bool has_no_order(const pprofdelta_adder *a)
{
    return a->is_forced || a->merge.is_on;
}

/* The duration of the sum if no profile has a time: that of all, one after the other, or, if they come in any
 * order, of the longest. */
static void note_duration(pprofdelta_adder *a, int64_t duration)
{
    int64_t before = a->has_earlier ? a->duration : 0;
    if (has_no_order(a) || duration < 0)
        a->duration = before > duration ? before : duration;
    else if (__builtin_add_overflow(before, duration, &a->duration))
        a->duration = INT64_MAX;
}

/* The time of the sum begins with its first profile and ends with its last one. Profiles that come in
 * any order widen it. */
static void note_time(pprofdelta_adder *a, const pd_input *input)
{
    int64_t from = from_of(a, input);
    note_duration(a, input->tables.header.duration_nanos);
    if (!a->has_earlier || (has_no_order(a) && from < a->from))
        a->from = from;
    if (!a->has_earlier || !has_no_order(a) || a->to < a->last.to_nanos)
        a->to = a->last.to_nanos;
    a->has_earlier = true;
}

/* Adds the counters of a pending window to the sum; of the last window the gauges, too. */
static pprofdelta_status settle_window(pprofdelta_adder *a, pd_input *input, bool is_last,
                                       pprofdelta_error *err)
{
    pprofdelta *pd = &a->pd;
    pd_ledger *ledger = &a->sum.ledger;
    const pd_row_set *w = &input->window;
    size_t len = is_last ? pd->schema.len : pd->schema.counters;
    a->sum.model.writer.err = err;
    note_time(a, input);
    if (replaces_gauges(a, &a->last)) {
        forget_gauges(a);
        a->has_window = true;
    }
    pprofdelta_status status =
        pd_transfer_begin(&input->transfer, &pd->door.mem, &input->tables, &a->sum.model, err);
    for (size_t row = 0; row < w->len && !status; row++) {
        size_t entry = w->entry[row];
        int64_t *base = pd_ledger_base(ledger, entry);
        const int64_t *values = pd_row_set_values(w, row);
        bool is_new = entry >= ledger->committed;
        if (is_new)
            memset(base, 0, ledger->counters * sizeof *base);
        for (size_t i = 0; i < len; i++)
            base[i] = (int64_t)((uint64_t)base[i] + (uint64_t)values[i]);
        if (!is_new)
            continue;
        pd_transfer_sample(&input->transfer, w->offset[row]);
        status = pd_totals_add_sample(&a->sum, entry);
    }
    ledger->committed = ledger->kept = ledger->keys.len;
    return status;
}

/* Checks that each counter of the sum fits in 64 bits. */
static pprofdelta_status check_sums(const pprofdelta_adder *a, const pprofdelta_stamp *stamp,
                                    pprofdelta_error *err)
{
    const pd_ledger *ledger = &a->sum.ledger;
    const pd_row_set *w = &a->pd.cur.window;
    bool is_anew = replaces_gauges(a, stamp);
    for (size_t row = 0; row < w->len; row++) {
        const int64_t *values = pd_row_set_values(w, row);
        int64_t any;
        if (w->entry[row] >= ledger->committed)
            continue;
        for (size_t i = 0; i < a->pd.schema.counters; i++)
            if (!(is_anew && a->is_gauge[i]) &&
                __builtin_add_overflow(pd_ledger_base(ledger, w->entry[row])[i], values[i], &any))
                return pd_no_fit(err, w->offset[row], PD_SUM_FITS_NOT);
    }
    return PPROFDELTA_OK;
}

/* Adds a sample of the target's sum to the total. */
static pprofdelta_status add_sample(pprofdelta_adder *a, size_t entry)
{
    pd_totals *total = &a->merge.total;
    pd_model *m = &total->model;
    pd_key key = a->sum.ledger.keys.keys[entry];
    pd_bytes label = {a->pd.target_label.ptr, a->pd.target_label.len};
    uint64_t words[] = {key.lo, key.hi, a->merge.target.number};
    if (a->merge.target.is_merge) /* whose samples have the labels that it gave them */
        label.len = 0;
    if (label.len)
        key = pd_key_of_words(words, 3, 0);
    if (pd_keymap_find(&total->ledger.keys, key) == PD_KEYMAP_NONE) {
        pd_transfer_sample(&a->transfer, a->sum.offsets[entry]);
        if (label.len) {
            uint32_t name = pd_model_string(m, pd_bytes_of((const char *)label.ptr));
            pd_model_add_label(m, name, pd_model_string(m, pd_bytes_of(a->merge.label)), 0, 0);
        }
    }
    return pd_totals_add(total, key, pd_ledger_base(&a->sum.ledger, entry));
}

/* The target has no more windows: its sum joins the total. `last` is the last window. */
static pprofdelta_status end_target(pprofdelta_adder *a, pd_input *last, pprofdelta_error *err)
{
    const pd_totals *sum = &a->sum;
    pd_model *total = &a->merge.total.model;
    pprofdelta_status status = settle_window(a, last, true, err);
    total->writer.err = err;
    if (!status)
        status = pd_transfer_begin_model(&a->transfer, &a->pd.mem, &sum->model, total, err);
    snprintf(a->merge.label, sizeof a->merge.label, "%016" PRIx64, a->merge.target.number);
    for (size_t entry = 0; entry < sum->ledger.keys.len && !status; entry++)
        if (pd_model_has_value(pd_ledger_base(&sum->ledger, entry), sum->ledger.counters))
            status = add_sample(a, entry);
    a->merge.targets += a->merge.target.is_merge ? a->last.targets : 1;
    a->merge.windows += a->merge.target.is_merge ? a->last.windows : a->merge.own;
    a->merge.own = 0;
    return status;
}

/* Settles or abandons the window of the last profile, in prev. The window of the new one, in cur,
 * is then pending. */
static pprofdelta_status take_in(pprofdelta_adder *a, const pprofdelta_stamp *stamp,
                                 pprofdelta_join join, pprofdelta_error *err)
{
    pprofdelta *pd = &a->pd;
    pd_input *cur = &pd->cur;
    PD_TRY(pd_mapped_remember(&pd->next.mapped, &pd->mem, &cur->tables,
                              goes_on(a, stamp, join) ? &pd->last.mapped : NULL, err));
    PD_SWAP(pd_mapped_list, pd->last.mapped, pd->next.mapped);
    bool is_other = join == PPROFDELTA_JOIN_FIRST && a->is_waiting; /* target */
    if (is_other)
        PD_TRY(end_target(a, &pd->prev, err));
    else if (join == PPROFDELTA_JOIN_AGAIN || join == PPROFDELTA_JOIN_RESYNC)
        pd_row_set_abandon(&pd->prev.window);
    else if (join != PPROFDELTA_JOIN_FIRST)
        PD_TRY(settle_window(a, &pd->prev, false, err));
    if (is_other || join == PPROFDELTA_JOIN_RESYNC)
        PD_TRY(begin_sum(a, err));
    PD_TRY(pd_row_set_begin(&cur->window, &pd->mem, &a->sum.ledger, cur->tables.types_len,
                            cur->tables.samples, false, err));
    PD_TRY(pd_input_samples(cur, (pd_sample_taker){.window = &cur->window}, err));
    return check_sums(a, stamp, err);
}

/* The profile in cur counts. */
static void count_profile(pprofdelta_adder *a, const pprofdelta_stamp *stamp, pd_target target,
                          pprofdelta_join join)
{
    int64_t period = a->pd.cur.tables.header.period;
    a->is_waiting = true;
    a->is_forced |= join == PPROFDELTA_JOIN_FORCED;
    a->has_gap &= join != PPROFDELTA_JOIN_RESYNC;
    if (join == PPROFDELTA_JOIN_FIRST)
        a->is_live = stamp->live != PPROFDELTA_LIVE_NONE;
    a->merge.own =
        join == PPROFDELTA_JOIN_RESYNC ? 1 : a->merge.own + (join != PPROFDELTA_JOIN_AGAIN);
    a->merge.period = a->merge.period < period ? period : a->merge.period;
    a->last = *stamp;
    if (has_target(stamp))
        a->named = *stamp;
    a->merge.target = target;
    pd_targets_add(&a->merge.seen);
    if (!a->has_earlier)
        a->first = *stamp;
}

pprofdelta_status pprofdelta_adder_add(pprofdelta_adder *a, const void *bytes, size_t len,
                                       pprofdelta_join *join, pprofdelta_error *err)
{
    pprofdelta *pd = &a->pd;
    pprofdelta_stamp stamp;
    pd_target target;
    pprofdelta_join how = PPROFDELTA_JOIN_FIRST;
    if (a->is_over)
        return pd_refuse(err, "the sum is finished or has failed: the adder can only be freed");
    PD_TRY(pd_need_array(bytes, len, err));
    PD_SWAP(pd_input, pd->cur, pd->prev);
    pprofdelta_status status = read_next(a, bytes, len, &stamp, &target, &how, err);
    bool counts =
        how != PPROFDELTA_JOIN_STALE && how != PPROFDELTA_JOIN_EQUAL && how != PPROFDELTA_JOIN_GAP;
    if (status || !counts)
        PD_SWAP(pd_input, pd->cur, pd->prev);
    else if ((status = take_in(a, &stamp, how, err)))
        a->is_over = true;
    a->is_over |= status == PPROFDELTA_E_MEMORY || status == PPROFDELTA_E_LIMIT;
    if (status)
        return status;
    a->has_gap |= how == PPROFDELTA_JOIN_GAP;
    a->merge.added++;
    if (counts)
        count_profile(a, &stamp, target, how);
    if (join)
        *join = how;
    return PPROFDELTA_OK;
}

/* ---- writing the sum --------------------------------------------------------------------- */

/* Returns whether the sum begins at the start of the process. */
static bool is_cumulative(const pprofdelta_stamp *first)
{
    return !first->is_delta || first->restart ||
           (first->sequence == 1 && !first->from_nanos && !first->live);
}

/* The stamp of the sum: a merge, a batch of a live heap if all its profiles are, else a delta. */
static pprofdelta_stamp stamp_of(const pprofdelta_adder *a)
{
    if (a->merge.is_on)
        return (pprofdelta_stamp){.from_nanos = a->from == UNKNOWN ? 0 : a->from,
                                  .to_nanos = a->to,
                                  .windows = a->merge.windows,
                                  .targets = a->merge.targets};
    if (!a->is_live || !a->last.live || a->is_forced)
        return (pprofdelta_stamp){.from_nanos = a->first.from_nanos, .to_nanos = a->last.to_nanos};
    pprofdelta_stamp stamp = a->last;
    stamp.from_nanos = a->first.from_nanos;
    stamp.live = a->first.live == PPROFDELTA_LIVE_FULL ? PPROFDELTA_LIVE_FULL
                 : a->has_window                       ? PPROFDELTA_LIVE_WINDOW
                                                       : PPROFDELTA_LIVE_DELTA;
    stamp.first = stamp.live == PPROFDELTA_LIVE_FULL ? stamp.sequence : a->first.first;
    return stamp;
}

/* 0: unknown. */
static int64_t duration_of(const pprofdelta_adder *a)
{
    int64_t duration;
    if (!a->to)
        return a->duration;
    bool is_known =
        a->from != UNKNOWN && a->to && !__builtin_sub_overflow(a->to, a->from, &duration);
    return is_known && duration > 0 ? duration : 0;
}

/* Adds the comments that say what the sum is. */
static void add_stamp(pprofdelta_adder *a)
{
    pd_model *model = &a->pd.door.model;
    pprofdelta_stamp stamp = stamp_of(a);
    bool has_stamp = stamp.live || stamp.targets || !is_cumulative(&a->first);
    if (!has_stamp || !a->pd.door.has_stamp)
        return;
    if (a->merge.is_on)
        stamp.id = pd_targets_write(&a->merge.seen, model);
    pd_model_add_stamp(model, &stamp, 0);
}

static pprofdelta_status write_profile(pprofdelta_adder *a, pd_bytes *out, pprofdelta_error *err)
{
    pprofdelta *pd = &a->pd;
    pd_input *cur = &pd->cur;
    const pd_totals *sum = a->merge.is_on ? &a->merge.total : &a->sum;
    cur->otlp.is_read &= !a->merge.is_on; /* the resource is that of one target */
    PD_TRY(pd_output_begin(pd, err));
    pd_transfer_expect_mappings(&cur->transfer); /* the addresses are the last profile's */
    PD_TRY(pd_transfer_begin_model(&a->transfer, &pd->mem, &sum->model, &pd->door.model, err));
    pd_totals_write(sum, &cur->columns, &a->transfer);
    if (!a->merge.is_on) /* the comments of one target */
        pd_output_comments(pd);
    add_stamp(a);
    int64_t time = has_no_order(a) ? a->to : cur->tables.header.time_nanos;
    pd->header = pd_output_header(pd, time, duration_of(a));
    if (a->merge.is_on)
        pd->header.period = a->merge.period;
    return pd_output_encode(pd, out, err);
}

pprofdelta_status pprofdelta_adder_finish(pprofdelta_adder *a, const pprofdelta_sink *sink,
                                          pprofdelta_error *err)
{
    pprofdelta *pd = &a->pd;
    pprofdelta_sink own;
    pd_bytes out;
    uint64_t written;
    if (a->is_over)
        return pd_refuse(err, "the sum is finished or has failed: the adder can only be freed");
    sink = pd_encoder_sink(&pd->door.encoder, sink, &own);
    PD_TRY(pd_sink_check(sink, err));
    if (!a->is_waiting)
        return pd_refuse(err, "the sum has no profile yet");
    a->is_over = true;
    if (a->has_gap)
        return pd_fail_as(err, &a->gap);
    PD_TRY(a->merge.is_on ? end_target(a, &pd->cur, err) : settle_window(a, &pd->cur, true, err));
    PD_TRY(write_profile(a, &out, err));
    return pd_compress(&pd->door.compressor, &pd->door.mem, out, PD_STEPS_SINK(&pd->steps, sink),
                       &written, err);
}

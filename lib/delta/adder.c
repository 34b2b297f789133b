/* The sum: a profile and the deltas that follow it.
 *
 *     profile n -> tables -> window -> [pending] -> ledger    counters added up
 *                                               \-> stacks    each sample once, as a profile
 *     finish:  stacks -> tables -> compact writer, with the counters of the ledger and the gauges
 *              of the last window
 *
 * The window of the last profile is pending, because the next profile may be a later attempt at the
 * same window and replace it: the pending window is then abandoned. The adder works in a context:
 * cur is the last profile and prev the one before. The entries of the ledger are the samples of the
 * sum in order of appearance, and the records in `stacks` are in the same order. The output is made
 * at the end, because a sample may sum to zero.
 *
 * Batches of a live heap have changes in their in-use values and their peak too, so these are
 * counters in the ledger. A full batch clears the ledger first. A window, and a delta of two full
 * profiles, have absolute ones, so those of the ledger are cleared before they are added. Every other
 * gauge of a live heap is absolute, as in other profiles. */
#include "delta/context.h"
#include "delta/join.h"
#include "profile/stamp.h"

#include <inttypes.h>

#define UNKNOWN INT64_MIN /* earlier than every known time */

struct pprofdelta_adder {
    pprofdelta *pd;
    pd_compact stacks;
    uint64_t *origins; /* of the entries: offsets of their records in stacks */
    size_t origins_cap;
    bool is_waiting;                     /* cur's window is pending: filled, not in the ledger */
    bool has_settled;                    /* an earlier window is in the ledger */
    bool is_over;                        /* finished, or failed in the middle: only free is valid */
    bool is_live;                        /* the first profile was of a live heap */
    bool is_forced;                      /* a profile was added by force */
    bool has_gap;                        /* batches are missing, and no full one has followed */
    bool is_gauge[PPROFDELTA_MAX_TYPES]; /* by counter of the ledger: in use, of a live heap */
    bool has_window;                     /* a batch with absolute gauges is settled */
    pd_mapped_list mapped, spare_mapped; /* the mappings of the sum; the next list */
    pprofdelta_error gap;                /* the message about the missing batches */
    pprofdelta_stamp first;              /* of the first profile of the sum */
    pprofdelta_stamp last;               /* of the last profile that counts */
    int64_t from, to;                    /* the time of the sum; from may be UNKNOWN */
};

pprofdelta_status pprofdelta_adder_new(const pprofdelta_options *options,
                                       const pprofdelta_allocator *allocator,
                                       pprofdelta_adder **out, pprofdelta_error *err)
{
    pprofdelta *pd;
    pprofdelta_adder *adder = NULL;
    size_t cap = 0;
    pprofdelta_status status = pprofdelta_new(options, allocator, &pd, err);
    if (status)
        return status;
    status = pd_mem_reserve(&pd->mem, &adder, &cap, 1, sizeof *adder, err);
    if (status) {
        pprofdelta_free(pd);
        return status;
    }
    memset(adder, 0, sizeof *adder);
    adder->pd = pd;
    *out = adder;
    return PPROFDELTA_OK;
}

void pprofdelta_adder_free(pprofdelta_adder *adder)
{
    if (!adder)
        return;
    pprofdelta *pd = adder->pd;
    size_t cap = 1;
    pd_compact_release(&adder->stacks, &pd->mem);
    pd_mem_release(&pd->mem, &adder->origins, &adder->origins_cap, sizeof *adder->origins);
    pd_mapped_list *const lists[] = {&adder->mapped, &adder->spare_mapped};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        pd_mem_release(&pd->mem, &lists[i]->list, &lists[i]->cap, sizeof *lists[i]->list);
    pd_mem_release(&pd->mem, &adder, &cap, sizeof *adder);
    pprofdelta_free(pd);
}

pd_mem *pd_adder_mem(pprofdelta_adder *adder)
{
    return &adder->pd->mem;
}

/* ---- adding a profile -------------------------------------------------------------------- */

/* Makes the sum empty. */
static pprofdelta_status clear(pprofdelta_adder *a, pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pd_ledger_clear(&pd->ledger, pd->schema.counters);
    pd_compact_begin(&a->stacks, &pd->mem, err);
    for (size_t i = 0; i < pd->schema.len; i++)
        pd_compact_type(&a->stacks, 0, 0);
    a->has_settled = a->has_window = false;
    return a->stacks.writer.status;
}

static bool begins_with(pd_bytes name, const char *prefix)
{
    size_t len = strlen(prefix);
    return name.len >= len && memcmp(name.ptr, prefix, len) == 0;
}

/* Batches have changes of these gauges. */
static bool is_in_use(const pd_type_name *name)
{
    return begins_with(name->type, "inuse_") || begins_with(name->type, "peak_");
}

/* Marks the counters. For a live heap these are the in-use types too, and is_gauge shows which of
 * the counters, in their order, these are. */
static pprofdelta_status classify(pprofdelta_adder *a, bool *is_gauge, pprofdelta_error *err)
{
    pd_input *cur = &a->pd->cur;
    size_t len = cur->tables.types_len;
    pprofdelta_status status = pd_types_classify(cur->names, len, &a->pd->rules, err);
    for (size_t i = 0, counters = 0; i < len && !status && a->is_live; i++) {
        bool is_gauge_here = !cur->names[i].is_counter && is_in_use(&cur->names[i]);
        cur->names[i].is_counter |= is_gauge_here;
        if (cur->names[i].is_counter)
            is_gauge[counters++] = is_gauge_here;
    }
    return status;
}

/* Begins the sum with the types of the first profile. */
static pprofdelta_status begin(pprofdelta_adder *a, const bool *is_gauge, pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pd_input *cur = &pd->cur;
    pprofdelta_status status =
        pd_schema_set(&pd->schema, &pd->mem, cur->names, cur->tables.types_len, err);
    if (status)
        return status;
    memcpy(a->is_gauge, is_gauge, sizeof a->is_gauge);
    return clear(a, err);
}

/* Decides how the new profile joins the sum. A gap is no failure yet. */
static pprofdelta_status follow(pprofdelta_adder *a, const pprofdelta_stamp *next,
                                pprofdelta_join *join, pprofdelta_error *err)
{
    pprofdelta_error why;
    pprofdelta_status status = pd_join(&a->last, next, join, &why);
    /* Forcing must not mix absolute gauges with changes of gauges. */
    bool can_force = a->pd->flags & PPROFDELTA_FORCE && (a->is_live || !next->live);
    if (!status && a->has_gap && *join != PPROFDELTA_JOIN_RESYNC)
        return pd_because(
            err, PPROFDELTA_REASON_BATCH_LATE,
            pd_fail(err, PPROFDELTA_E_MISMATCH, "sum", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                    "the second fills a gap before a profile that was given already: give them "
                    "in order"));
    if (!status)
        return PPROFDELTA_OK;
    if (status == PPROFDELTA_E_MISMATCH && can_force) {
        *join = PPROFDELTA_JOIN_FORCED;
        return PPROFDELTA_OK;
    }
    if (*join == PPROFDELTA_JOIN_GAP) {
        if (!a->has_gap)
            a->gap = why;
        return PPROFDELTA_OK;
    }
    if (err)
        *err = why;
    return status;
}

/* Returns whether the profile continues the process of the sum, whose files may have been replaced.
 * The mappings of a live heap are read from memory and do not depend on files. */
static bool goes_on(const pprofdelta_adder *a, const pprofdelta_stamp *next)
{
    return a->is_waiting && !next->restart && !next->live && !a->is_live;
}

/* Parses and checks the new profile, in cur, and how it joins. Does not change the sum. */
static pprofdelta_status read_next(pprofdelta_adder *a, const void *bytes, size_t len,
                                   pprofdelta_stamp *stamp, pprofdelta_join *join,
                                   pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pd_input *cur = &pd->cur;
    bool is_gauge[PPROFDELTA_MAX_TYPES] = {false};
    pd_reading reading = {
        .bytes = {bytes, len},
        .keeps_bytes = true,
        .unsamples = true /* as the deltas are that are added to it */
    };
    pprofdelta_status status = pd_input_parse(cur, &reading, err);
    if (status)
        return status;
    if (!pd_stamp_of(&cur->tables, stamp))
        return pd_fail(err, PPROFDELTA_E_MISMATCH, "sum", "comment", PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "the stamp is not valid: pprofdelta did not write it");
    *join = PPROFDELTA_JOIN_FIRST;
    if (a->is_waiting)
        status = follow(a, stamp, join, err);
    else
        a->is_live = stamp->live != PPROFDELTA_LIVE_NONE;
    if (!status && goes_on(a, stamp))
        status = pd_mapped_recognise(&pd->mapped, &pd->mem, &a->mapped, &cur->tables, err);
    if (!status)
        status = classify(a, is_gauge, err);
    if (!status && !a->is_waiting)
        status = begin(a, is_gauge, err);
    if (!status)
        status =
            pd_schema_match(&pd->schema, cur->names, cur->tables.types_len, &cur->columns, err);
    if (!status)
        status = pd_input_samples(cur, (pd_sample_taker){0}, err);
    return status;
}

/* Adds the record of a new entry to stacks. */
static pprofdelta_status keep_stack(pprofdelta_adder *a, pd_input *input, size_t entry,
                                    uint64_t origin, pprofdelta_error *err)
{
    static const int64_t zeros[PPROFDELTA_MAX_TYPES];
    pprofdelta_status status =
        pd_mem_grow(&a->pd->mem, &a->origins, &a->origins_cap, entry + 1, sizeof *a->origins, err);
    if (status)
        return status;
    a->origins[entry] = a->stacks.out.len;
    pd_transfer_sample(&input->transfer, origin, zeros, input->columns.len);
    return a->stacks.writer.status;
}

/* Returns whether the profile's gauges are absolute, in a sum of changes of gauges. */
static bool replaces_gauges(const pprofdelta_adder *a, const pprofdelta_stamp *stamp)
{
    return a->is_live &&
           (stamp->live == PPROFDELTA_LIVE_WINDOW || stamp->live == PPROFDELTA_LIVE_NONE);
}

static void forget_gauges(pprofdelta_adder *a)
{
    pd_ledger *ledger = &a->pd->ledger;
    for (size_t entry = 0; entry < ledger->committed; entry++)
        for (size_t i = 0; i < ledger->counters; i++)
            if (a->is_gauge[i])
                pd_ledger_base(ledger, entry)[i] = 0;
}

/* Adds the counters of a pending window to the ledger. */
static pprofdelta_status settle(pprofdelta_adder *a, pd_input *input, pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pd_ledger *ledger = &pd->ledger;
    const pd_window *w = &input->window;
    a->stacks.writer.err = err;
    if (replaces_gauges(a, &a->last)) {
        forget_gauges(a);
        a->has_window = true;
    }
    pprofdelta_status status =
        pd_transfer_begin(&input->transfer, &pd->mem, &input->tables, &a->stacks, err);
    for (size_t row = 0; row < w->len && !status; row++) {
        size_t entry = w->entry[row];
        int64_t *base = pd_ledger_base(ledger, entry);
        const int64_t *values = pd_window_values(w, row);
        bool is_new = entry >= ledger->committed;
        for (size_t i = 0; i < ledger->counters; i++)
            base[i] = (int64_t)((is_new ? 0 : (uint64_t)base[i]) + (uint64_t)values[i]);
        if (is_new)
            status = keep_stack(a, input, entry, w->origin[row], err);
    }
    ledger->committed = ledger->kept = ledger->keys.len;
    return status;
}

/* Checks that each counter of the sum fits in 64 bits. */
static pprofdelta_status check_sums(const pprofdelta_adder *a, const pprofdelta_stamp *stamp,
                                    pprofdelta_error *err)
{
    const pd_ledger *ledger = &a->pd->ledger;
    const pd_window *w = &a->pd->cur.window;
    bool is_anew = replaces_gauges(a, stamp);
    for (size_t row = 0; row < w->len; row++) {
        const int64_t *values = pd_window_values(w, row);
        int64_t sum;
        if (w->entry[row] >= ledger->committed)
            continue;
        for (size_t i = 0; i < ledger->counters; i++)
            if (!(is_anew && a->is_gauge[i]) &&
                __builtin_add_overflow(pd_ledger_base(ledger, w->entry[row])[i], values[i], &sum))
                return pd_fail(err, PPROFDELTA_E_LIMIT, "sum", "sample.value", row,
                               PPROFDELTA_NOWHERE, "the sum does not fit into 64 bits");
    }
    return PPROFDELTA_OK;
}

/* Settles or abandons the window of the last profile, in prev. The window of the new one, in cur,
 * is then pending. */
static pprofdelta_status take_in(pprofdelta_adder *a, const pprofdelta_stamp *stamp,
                                 pprofdelta_join join, pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pd_input *cur = &pd->cur;
    pprofdelta_status status = pd_mapped_remember(&a->spare_mapped, &pd->mem, &cur->tables,
                                                  goes_on(a, stamp) ? &a->mapped : NULL, err);
    if (status)
        return status;
    PD_SWAP(pd_mapped_list, a->mapped, a->spare_mapped);
    if (join == PPROFDELTA_JOIN_AGAIN || join == PPROFDELTA_JOIN_RESYNC) {
        pd_window_abandon(&pd->prev.window);
    } else if (join != PPROFDELTA_JOIN_FIRST) {
        status = settle(a, &pd->prev, err);
        a->has_settled = true;
    }
    if (join == PPROFDELTA_JOIN_RESYNC)
        status = clear(a, err);
    if (!status)
        status = pd_window_begin(&cur->window, &pd->mem, &pd->ledger, cur->tables.types_len,
                                 cur->tables.samples, err);
    if (!status)
        status = pd_input_samples(cur, (pd_sample_taker){.window = &cur->window}, err);
    return status ? status : check_sums(a, stamp, err);
}

/* The beginning of the time of cur. */
static int64_t from_of(const pprofdelta_adder *a, const pprofdelta_stamp *stamp)
{
    int64_t duration = a->pd->cur.tables.header.duration_nanos, from;
    bool is_known = stamp->to_nanos && duration > 0 &&
                    !__builtin_sub_overflow(stamp->to_nanos, duration, &from);
    return is_known ? from : UNKNOWN;
}

/* The time of the sum begins with its first profile and ends with its last one. Profiles that are
 * added by force may come in any order, so they widen it. */
static void note_time(pprofdelta_adder *a, const pprofdelta_stamp *stamp)
{
    int64_t from = from_of(a, stamp);
    if (!a->has_settled || (a->is_forced && from < a->from))
        a->from = from;
    if (!a->has_settled || !a->is_forced || a->to < stamp->to_nanos)
        a->to = stamp->to_nanos;
}

pprofdelta_status pprofdelta_adder_add(pprofdelta_adder *a, const void *bytes, size_t len,
                                       pprofdelta_join *join, pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pprofdelta_stamp stamp;
    pprofdelta_join how = PPROFDELTA_JOIN_FIRST;
    if (a->is_over)
        return pd_refuse(err, "the sum is finished or has failed: the adder can only be freed");
    pprofdelta_status status = pd_context_refuse_null(bytes, len, err);
    if (status)
        return status;
    PD_SWAP(pd_input, pd->cur, pd->prev);
    status = read_next(a, bytes, len, &stamp, &how, err);
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
    if (counts) {
        a->is_waiting = true;
        a->is_forced |= how == PPROFDELTA_JOIN_FORCED;
        a->has_gap &= how != PPROFDELTA_JOIN_RESYNC;
        a->last = stamp;
        if (!a->has_settled)
            a->first = stamp;
        note_time(a, &stamp);
    }
    if (join)
        *join = how;
    return PPROFDELTA_OK;
}

/* ---- writing the sum --------------------------------------------------------------------- */

/* An entry as a row: counters from the ledger, gauges from the last window. Returns whether a value
 * is not zero. */
static bool make_row(const pprofdelta *pd, size_t entry, int64_t *row)
{
    const pd_window *w = &pd->cur.window;
    const pd_ledger *ledger = &pd->ledger;
    uint32_t last = pd_window_row_of(w, (uint32_t)entry);
    int64_t any = 0;
    for (size_t i = 0; i < ledger->counters; i++)
        any |= row[i] = pd_ledger_base(ledger, entry)[i];
    for (size_t i = ledger->counters; i < w->stride; i++)
        any |= row[i] = last == PD_ROW_NONE ? 0 : pd_window_values(w, last)[i];
    return any != 0;
}

/* Writes all samples that are not zero. pd->proof has the stacks. */
static pprofdelta_status write_samples(pprofdelta_adder *a, pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    const pd_columns *columns = &pd->cur.columns;
    pd_transfer *from = &pd->prev.transfer;
    int64_t row[PPROFDELTA_MAX_TYPES], values[PPROFDELTA_MAX_TYPES];
    pprofdelta_status status =
        pd_transfer_begin(from, &pd->mem, &pd->proof.tables, &pd->compact, err);
    if (status)
        return status;
    for (size_t entry = 0; entry < pd->ledger.committed; entry++) {
        if (!make_row(pd, entry, row))
            continue;
        for (size_t i = 0; i < columns->len; i++)
            values[i] = row[columns->slot[i]];
        pd_transfer_sample(from, a->origins[entry], values, columns->len);
    }
    return PPROFDELTA_OK;
}

/* Returns whether the sum begins at the start of the process. */
static bool is_cumulative(const pprofdelta_stamp *first)
{
    return !first->is_delta || first->restart ||
           (first->sequence == 1 && !first->from_nanos && !first->live);
}

/* The stamp of the sum: a batch of a live heap if all its profiles are, else a delta. */
static pprofdelta_stamp stamp_of(const pprofdelta_adder *a)
{
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
    bool is_known =
        a->from != UNKNOWN && a->to && !__builtin_sub_overflow(a->to, a->from, &duration);
    return is_known && duration > 0 ? duration : 0;
}

static pprofdelta_status write_profile(pprofdelta_adder *a, pd_bytes *out, pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pd_input *cur = &pd->cur;
    pprofdelta_status status = pd_output_begin(pd, err);
    if (status)
        return status;
    pd_transfer_expect_mappings(&cur->transfer); /* the addresses are the last profile's */
    status = write_samples(a, err);
    if (status)
        return status;
    pd_output_comments(pd);
    pprofdelta_stamp stamp = stamp_of(a);
    if ((stamp.live || !is_cumulative(&a->first)) && !(pd->flags & PPROFDELTA_NO_STAMP))
        pd_stamp_add(&stamp, 0, &pd->compact);
    int64_t time = a->is_forced ? a->to : cur->tables.header.time_nanos;
    pd_compact_header header = pd_output_header(pd, time, duration_of(a));
    return pd_compact_finish(&pd->compact, &header, out);
}

pprofdelta_status pprofdelta_adder_finish(pprofdelta_adder *a, const pprofdelta_sink *sink,
                                          pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pd_compact_header nothing = {0};
    pd_bytes stacks, out;
    uint64_t written;
    pprofdelta_sink called = {.write = pd_life_sink_write,
                              .cookie = &(pd_life_sink){&pd->life, sink}};
    if (a->is_over)
        return pd_refuse(err, "the sum is finished or has failed: the adder can only be freed");
    pprofdelta_status status = pd_sink_check(sink, pd->life.is_tables, err);
    if (status)
        return status;
    if (!a->is_waiting)
        return pd_refuse(err, "the sum has no profile yet");
    a->is_over = true;
    if (a->has_gap) {
        if (err)
            *err = a->gap;
        return a->gap.status;
    }
    status = settle(a, &pd->cur, err);
    if (!status)
        status = pd_compact_finish(&a->stacks, &nothing, &stacks);
    if (!status)
        status = pd_tables_parse(&pd->proof.tables, &pd->mem, stacks, err);
    if (!status)
        status = write_profile(a, &out, err);
    if (!status)
        status = pd_compress(&pd->compressor, &pd->mem, out, &called, &written, err);
    return status;
}

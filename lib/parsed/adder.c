/* The sum: a profile plus the deltas that follow it.
 *
 *     profile n -> tables -> window -> [waits] -> ledger     counters added up
 *                                             \-> stacks     each distinct sample once, as a profile
 *     finish:  stacks -> tables -> compact writer, with the counters of the ledger and the gauges of
 *              the last window
 *
 * The last profile waits, because the next may be the same window once more and take its place: it
 * is taken back then like any window that was lost. A context does the work. Its cur is the profile
 * that came last and its prev the one before; the ledger's entries are the samples of the sum in the
 * order they came, and the records in `stacks` stand in the same order. They are not the output yet,
 * because what it has in the end is known only then: samples may come to nothing. */
#include "parsed/context.h"
#include "parsed/join.h"
#include "profile/stamp.h"

struct pprofdelta_adder {
    pprofdelta *pd;
    pd_compact stacks;
    uint64_t *origins; /* of the entries: where their records stand in stacks */
    size_t origins_cap;
    bool is_waiting;        /* cur's window is filled, and not in the ledger's counters yet */
    bool has_settled;       /* one before it is */
    bool is_over;           /* finished, or failed half way: only free is left */
    pprofdelta_stamp first; /* the profile that the sum began with */
    pprofdelta_stamp last;  /* the one that counts as the last */
    int64_t first_duration;
};

static pprofdelta_status refuse(pprofdelta_error *err, const char *what)
{
    return pd_fail(err, PPROFDELTA_E_USAGE, "options", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                   "%s", what);
}

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
    pd_mem_release(&pd->mem, &adder, &cap, sizeof *adder);
    pprofdelta_free(pd);
}

/* ---- a profile comes in ------------------------------------------------------------------------ */

/* The first profile says which types there are. */
static pprofdelta_status begin(pprofdelta_adder *a, pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pd_look *cur = &pd->cur;
    pprofdelta_status status =
        pd_schema_set(&pd->schema, &pd->mem, cur->names, cur->tables.types_len, err);
    if (status)
        return status;
    pd_ledger_clear(&pd->ledger, pd->schema.counters);
    pd_compact_begin(&a->stacks, &pd->mem, err);
    for (size_t i = 0; i < cur->tables.types_len; i++)
        pd_compact_type(&a->stacks, 0, 0);
    return a->stacks.writer.status;
}

/* Parses and checks all of the new profile, in cur, and how it joins. Nothing is touched that the
 * sum consists of. */
static pprofdelta_status look_at(pprofdelta_adder *a, const void *bytes, size_t len,
                                 pprofdelta_stamp *stamp, pprofdelta_joint *joint,
                                 pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pd_look *cur = &pd->cur;
    cur->unsamples = true; /* as the deltas are that are added to it */
    pprofdelta_status status = pd_look_parse(pd, cur, bytes, len, true, err);
    if (status)
        return status;
    if (!pd_stamp_of(&cur->tables, stamp))
        return pd_fail(err, PPROFDELTA_E_MISMATCH, "sum", "comment", PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE,
                       "the stamp cannot be understood: pprofdelta did not write it like that");
    *joint = PPROFDELTA_JOINT_FIRST;
    if (a->is_waiting)
        status = pd_join(&a->last, stamp, joint, err);
    if (status == PPROFDELTA_E_MISMATCH && (pd->flags & PPROFDELTA_ACCEPT_STAMPED)) {
        *joint = PPROFDELTA_JOINT_FORCED;
        status = PPROFDELTA_OK;
    }
    if (!status)
        status = pd_types_classify(cur->names, cur->tables.types_len, &pd->rules, err);
    if (!status && !a->is_waiting)
        status = begin(a, err);
    if (!status)
        status =
            pd_schema_match(&pd->schema, cur->names, cur->tables.types_len, &cur->columns, err);
    if (!status)
        status = pd_samples_read(&cur->tables, &pd->numbers, &cur->columns, (pd_sample_taker){0},
                                 &pd->mem, err);
    return status;
}

/* A record for an entry that the sum did not have. */
static pprofdelta_status keep_stack(pprofdelta_adder *a, pd_look *look, size_t entry,
                                    uint64_t origin, pprofdelta_error *err)
{
    static const int64_t zeros[PPROFDELTA_MAX_TYPES];
    pprofdelta_status status =
        pd_mem_grow(&a->pd->mem, &a->origins, &a->origins_cap, entry + 1, sizeof *a->origins, err);
    if (status)
        return status;
    a->origins[entry] = a->stacks.out.len;
    pd_transfer_sample(&look->transfer, origin, zeros, look->columns.len);
    return a->stacks.writer.status;
}

/* The window that waited counts: its counters go into the ledger. */
static pprofdelta_status settle(pprofdelta_adder *a, pd_look *look, pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pd_ledger *ledger = &pd->ledger;
    const pd_window *w = &look->window;
    a->stacks.writer.err = err;
    pprofdelta_status status =
        pd_transfer_begin(&look->transfer, &pd->mem, &look->tables, &a->stacks, err);
    for (size_t row = 0; row < w->len && !status; row++) {
        size_t entry = w->entry[row];
        int64_t *base = pd_ledger_base(ledger, entry);
        const int64_t *values = pd_window_values(w, row);
        bool is_new = entry >= ledger->committed;
        for (size_t i = 0; i < ledger->counters; i++)
            base[i] = (int64_t)((is_new ? 0 : (uint64_t)base[i]) + (uint64_t)values[i]);
        if (is_new)
            status = keep_stack(a, look, entry, w->origin[row], err);
    }
    ledger->committed = ledger->keys.len;
    return status;
}

/* A counter of the sum must fit into 64 bits, signed. */
static pprofdelta_status check_sums(const pprofdelta *pd, pprofdelta_error *err)
{
    const pd_ledger *ledger = &pd->ledger;
    const pd_window *w = &pd->cur.window;
    for (size_t row = 0; row < w->len; row++) {
        const int64_t *values = pd_window_values(w, row);
        int64_t sum;
        if (w->entry[row] >= ledger->committed)
            continue;
        for (size_t i = 0; i < ledger->counters; i++)
            if (__builtin_add_overflow(pd_ledger_base(ledger, w->entry[row])[i], values[i], &sum))
                return pd_fail(err, PPROFDELTA_E_LIMIT, "sum", "sample.value", row,
                               PPROFDELTA_NOWHERE, "the sum does not fit into 64 bits");
    }
    return PPROFDELTA_OK;
}

/* The look before, in prev, is settled or taken back; the new one, in cur, waits. */
static pprofdelta_status take_in(pprofdelta_adder *a, pprofdelta_joint joint, pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pd_look *cur = &pd->cur;
    pprofdelta_status status = PPROFDELTA_OK;
    if (joint == PPROFDELTA_JOINT_AGAIN)
        pd_window_abandon(&pd->prev.window);
    else if (joint != PPROFDELTA_JOINT_FIRST)
        status = settle(a, &pd->prev, err);
    a->has_settled |= joint != PPROFDELTA_JOINT_FIRST && joint != PPROFDELTA_JOINT_AGAIN;
    if (!status)
        status = pd_window_begin(&cur->window, &pd->mem, &pd->ledger, cur->tables.types_len,
                                 cur->tables.samples, err);
    if (!status)
        status = pd_samples_read(&cur->tables, &pd->numbers, &cur->columns,
                                 (pd_sample_taker){.window = &cur->window}, &pd->mem, err);
    return status ? status : check_sums(pd, err);
}

pprofdelta_status pprofdelta_adder_add(pprofdelta_adder *a, const void *bytes, size_t len,
                                       pprofdelta_joint *joint, pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pprofdelta_stamp stamp;
    pprofdelta_joint how = PPROFDELTA_JOINT_FIRST;
    if (a->is_over)
        return refuse(err, "the sum is over: the adder can only be freed");
    PD_SWAP(pd_look, pd->cur, pd->prev);
    pprofdelta_status status = look_at(a, bytes, len, &stamp, &how, err);
    if (status || how == PPROFDELTA_JOINT_STALE)
        PD_SWAP(pd_look, pd->cur, pd->prev);
    else if ((status = take_in(a, how, err)))
        a->is_over = true;
    a->is_over |= status == PPROFDELTA_E_MEMORY || status == PPROFDELTA_E_LIMIT;
    if (status)
        return status;
    if (how != PPROFDELTA_JOINT_STALE) {
        a->is_waiting = true;
        a->last = stamp;
        if (!a->has_settled) {
            a->first = stamp;
            a->first_duration = pd->cur.tables.header.duration_nanos;
        }
    }
    if (joint)
        *joint = how;
    return PPROFDELTA_OK;
}

/* ---- the sum goes out -------------------------------------------------------------------------- */

/* An entry of the sum as a row: counters from the ledger, gauges from the last window. */
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

/* All samples that come to something. The stacks were read back into pd->proof. */
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

/* Does the sum begin where the process began? */
static bool is_cumulative(const pprofdelta_stamp *first)
{
    return !first->is_delta || first->restart || (first->sequence == 1 && !first->from_nanos);
}

/* How long the sum took: what its first profile says of itself, and the time behind that. */
static int64_t duration_of(const pprofdelta_adder *a)
{
    int64_t first = a->first_duration, from = a->first.to_nanos, to = a->last.to_nanos, sum;
    if (!first || !from || !to || __builtin_sub_overflow(to, from, &sum) ||
        __builtin_add_overflow(sum, first, &sum))
        return 0;
    return sum;
}

static pprofdelta_status write_profile(pprofdelta_adder *a, pd_bytes *out, pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pd_look *cur = &pd->cur;
    pd_compact_begin(&pd->compact, &pd->mem, err);
    pprofdelta_status status =
        pd_transfer_begin(&cur->transfer, &pd->mem, &cur->tables, &pd->compact, err);
    if (status)
        return status;
    pd_output_types(pd);
    if (cur->tables.mappings_len)
        pd_transfer_mapping(&cur->transfer, 0);
    pd_transfer_expect_mappings(&cur->transfer); /* the output speaks the last one's addresses */
    status = write_samples(a, err);
    if (status)
        return status;
    pd_output_comments(pd);
    pprofdelta_stamp stamp = {.from_nanos = a->first.from_nanos, .to_nanos = a->last.to_nanos};
    if (!is_cumulative(&a->first) && !(pd->flags & PPROFDELTA_NO_STAMP))
        pd_output_stamp(pd, &stamp);
    pd_compact_header header = pd_output_header(pd, cur->tables.header.time_nanos, duration_of(a));
    return pd_compact_finish(&pd->compact, &header, out);
}

pprofdelta_status pprofdelta_adder_finish(pprofdelta_adder *a, const pprofdelta_sink *sink,
                                          pprofdelta_error *err)
{
    pprofdelta *pd = a->pd;
    pd_compact_header nothing = {0};
    pd_bytes stacks, out;
    uint64_t written;
    if (a->is_over)
        return refuse(err, "the sum is over: the adder can only be freed");
    if (!sink || !sink->write)
        return refuse(err, "there is no sink to write to");
    if (!a->is_waiting)
        return refuse(err, "the sum has no profile yet");
    a->is_over = true;
    pprofdelta_status status = settle(a, &pd->cur, err);
    if (!status)
        status = pd_compact_finish(&a->stacks, &nothing, &stacks);
    if (!status)
        status = pd_tables_parse(&pd->proof.tables, &pd->mem, stacks, err);
    if (!status)
        status = write_profile(a, &out, err);
    if (!status)
        status = pd_deflate(&pd->deflater, &pd->mem, out.ptr, out.len, sink, &written, err);
    return status;
}

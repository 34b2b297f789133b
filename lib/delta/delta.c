/* base, begin, write, commit, abandon: the course of a delta, and what each step leaves
 * behind.
 *
 * Nothing that is remembered changes before a window is made: the ledger has its new samples behind
 * the kept entries, and a failure removes them. A window that was made stays at once in the ledger
 * as the open attempt (see ledger.h), because its delta may arrive whatever happens then. That of
 * two files does when it ends, since most contexts with one end before. A base is built in a spare
 * ledger, which is exchanged for the other when it is whole. */
#include "base/option_checks.h"
#include "delta/context.h"

/* ---- the base -------------------------------------------------------------------------------- */

/* Reads the input into the spare ledger. prev's gauges are not needed. Rows are kept if the stacks
 * will be needed. */
static pprofdelta_status fill_spare(pprofdelta *pd, pd_input *input, bool keeps_rows,
                                    pprofdelta_error *err)
{
    size_t types = input->tables.types_len;
    PD_TRY(pd_schema_set(&pd->spare_schema, &pd->mem, input->names, types, err));
    PD_TRY(pd_schema_match(&pd->spare_schema, input->names, types, &input->columns, err));
    size_t samples = pd->mem.is_tight ? 0 : input->tables.samples; /* of which many may be equal */
    pd_ledger_clear(&pd->spare, pd->spare_schema.counters);
    if (samples) /* and a few are new in the next window */
        PD_TRY(pd_ledger_reserve(&pd->spare, &pd->mem, samples + samples / 32 + 16, err));
    pd_sample_taker taker = {.ledger = &pd->spare};
    if (keeps_rows) {
        PD_TRY(pd_row_set_begin(&input->window, &pd->mem, &pd->spare, pd->spare_schema.counters,
                                samples, false, err));
        input->window.is_tight = pd->mem.is_tight;
        taker = (pd_sample_taker){.window = &input->window};
    }
    PD_TRY(pd_input_samples(input, taker, err));
    if (!keeps_rows) {
        pd_ledger_end_filling(&pd->spare);
        return PPROFDELTA_OK;
    }
    pd_row_set_attempt(&input->window, PD_COMMIT_REPLACE);
    pd_ledger_commit(&pd->spare);
    return PPROFDELTA_OK;
}

static pprofdelta_status make_base(pprofdelta *pd, void *cookie, pprofdelta_error *err)
{
    const pd_bytes *bytes = cookie;
    bool needs_stacks = pd_is_negative(pd);
    pd_reading reading = {.bytes = *bytes, .chunk = pd->chunk, .keeps_bytes = needs_stacks};
    PD_TRY(pd_input_parse(&pd->cur, &reading, err));
    PD_TRY(pd_check_types(pd, &pd->cur, err));
    PD_TRY(pd_remember_input(pd, &pd->cur, NULL, &pd->next, err));
    PD_TRY(fill_spare(pd, &pd->cur, needs_stacks, err));
    if (needs_stacks)
        PD_SWAP(pd_input, pd->cur, pd->prev);
    pd_take_spare(pd);
    pd_interval base = {.sequence = pd->steps.series.last.sequence,
                        .to_nanos = pd->last.time_nanos};
    bool is_first = !base.sequence; /* all since the process began is window 1 */
    base.sequence += is_first;
    pd->steps.series.last = base;
    base.sequence = is_first ? base.sequence : pd->steps.series.acked.sequence;
    pd->steps.series.acked = base;
    pd->has_base = pd->is_from_base = true;
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_base(pprofdelta *pd, const void *bytes, size_t len,
                                  pprofdelta_error *err)
{
    pd_bytes given = {bytes, len};
    PD_TRY(pd_need_array(bytes, len, err));
    PD_TRY(pd_refuse_change(pd, err));
    pprofdelta_status status = pd_context_call(pd, make_base, &given, err);
    if (status && err)
        err->is_prev = 1;
    return status;
}

/* ---- a window is filled ---------------------------------------------------------------------- */

/* Reads cur's samples into its window, with or without rows for those that have not changed. */
static pprofdelta_status read_samples(pprofdelta *pd, bool omits, pprofdelta_error *err)
{
    pd_input *cur = &pd->cur;
    size_t samples = pd->mem.is_tight ? 0 : cur->tables.samples;
    pd_row_set_abandon(&cur->window);
    PD_TRY(pd_row_set_begin(&cur->window, &pd->mem, &pd->ledger, cur->tables.types_len,
                            omits ? samples / 8 : samples, omits, err));
    cur->window.is_tight = !cur->source.is_whole || pd->mem.is_tight;
    PD_TRY(pd_input_samples(cur, (pd_sample_taker){.window = &cur->window}, err));
    return cur->window.is_late ? pd_row_set_order(&cur->window, &pd->mem, err) : PPROFDELTA_OK;
}

/* Everything up to a window that is filled but not decided about. */
static pprofdelta_status fill_window(pprofdelta *pd, pprofdelta_error *err)
{
    pd->mapped = (pd_mapped_facts){0};
    pd_reading reading = {.bytes = pd->given, .chunk = pd->chunk};
    PD_TRY(pd_input_parse(&pd->cur, &reading, err));
    PD_TRY(pd_check_columns(pd, err));
    PD_TRY(pd_check_times(pd, err));
    bool by_identity = pd_is_negative(pd); /* as google/pprof has it */
    const pd_mapped_list *known = pd_has_seen(pd) ? &pd->last.mapped : NULL;
    if (known && !by_identity)
        PD_TRY(pd_mapped_recognise(&pd->mapped, pd->cur.mem, known, &pd->cur.tables, err));
    PD_TRY(pd_remember_input(pd, &pd->cur, known, &pd->next, err));
    if (pd->cur.dump.rate)
        PD_TRY(pd_estimate_begin(pd, err));
    /* Unchanged samples need rows in a negative delta, and where an open attempt may have had more. */
    return read_samples(pd, known && !by_identity && !pd->ledger.is_open, err);
}

/* ---- ... decided about, and made a delta---------------------------------------------------------- */

/* Cur's mappings have nothing to do with those before, and every sample is new. */
static pprofdelta_status fill_again(pprofdelta *pd, pprofdelta_error *err)
{
    if (pd->mapped.is_renamed)
        PD_TRY(pd_tables_place(&pd->cur.tables, pd->cur.mem, err));
    PD_TRY(pd_remember_input(pd, &pd->cur, NULL, &pd->next, err));
    if (pd->mapped.is_renamed || pd->cur.window.unchanged)
        PD_TRY(read_samples(pd, false, err));
    return PPROFDELTA_OK;
}

/* Has nothing been counted in no time? */
static bool is_same_again(const pprofdelta *pd, const pprofdelta_report *r)
{
    if (!r->had_base || r->restart || r->fresh || !r->to_nanos || r->from_nanos != r->to_nanos ||
        pd->cur.tables.header.time_nanos != pd->last.time_nanos)
        return false;
    for (size_t i = 0; i < r->types_len; i++)
        if (r->types[i].is_counter && (r->types[i].delta.lo || r->types[i].delta.hi))
            return false;
    return true;
}

static uint64_t left_out(const pprofdelta *pd)
{
    const pd_request_facts *facts = &pd->cur.otlp.facts;
    bool has_attributes = pd_encoder_has_attributes(&pd->door.encoder);
    return facts->payloads + (has_attributes ? 0 : facts->listed + facts->unshown);
}

static void fill_report(pprofdelta *pd, const pd_decision *decision, const pd_tally *tally)
{
    const pd_input *cur = &pd->cur;
    pprofdelta_report *r = &pd->report;
    bool goes_on = pd_has_seen(pd) && !decision->is_anew, is_request = cur->otlp.is_read;
    pd_tally_report(tally, &cur->window, &decision->window, &pd->schema, &cur->columns, pd->types,
                    r);
    r->samples_in = cur->tables.samples;
    r->samples_out = pd->door.model.samples;
    r->by_address = cur->tables.by_address;
    r->by_lines = cur->tables.by_lines;
    r->files_replaced = goes_on ? pd->mapped.files_replaced : 0;
    r->other_build = goes_on && pd->mapped.has_main && pd_is_other_build(pd);
    r->unknown_fields = is_request ? cur->otlp.unknown_fields
                                   : cur->tables.unknown_fields + cur->tables.sample_unknown_fields;
    r->left_out = is_request ? left_out(pd) : 0;
    r->had_base = decision->restart || (pd->has_base && !decision->is_anew);
    r->id = pd->door.id;
    if (!pd_has_sequence(pd))
        r->sequence = r->attempt = r->id = 0;
    r->may_be_window = pd->may_be_window;
    r->clock_set_back = decision->is_set_back;
    r->may_be_two_kinds = decision->may_be_two_kinds;
    r->is_same = is_same_again(pd, r);
}

/* The profile becomes the one that was seen last, too. */
void pd_settle_due(pprofdelta *pd)
{
    if (!pd->is_due)
        return;
    pd->is_due = false;
    if (pd->cur.dump.rate)
        pd_estimate_settle(pd);
    pd_row_set_attempt(&pd->cur.window, pd->how);
    PD_SWAP(pd_remembered, pd->last, pd->next);
}

/* The delta was made. It may arrive, even if it is abandoned. */
static void open_attempt(pprofdelta *pd, const pd_decision *decision)
{
    if (decision->is_late) {
        pd->next.time_nanos = pd->last.time_nanos;
        pd->next.duration_nanos = pd->last.duration_nanos;
    }
    pd->is_due = !pd_is_negative(pd);
    if (!pd_is_pair(pd))
        pd_settle_due(pd);
    if (decision->how == PD_SUBTRACT_ALL) /* what was counted so far belongs to no window */
        pd_ledger_commit(pd->cur.window.ledger);
    pd->has_base |= decision->how == PD_SUBTRACT_ALL || decision->restart;
    pd->steps.window = decision->window;
}

/* Makes the delta of the profile that was begun, compressed. */
static pprofdelta_status make_window(pprofdelta *pd, void *unused, pprofdelta_error *err)
{
    pd_decision decision;
    pd_tally tally;
    pd_bytes profile;
    (void)unused;
    bool verifies = pd->flags & PPROFDELTA_VERIFY;
    pprofdelta_status status = fill_window(pd, err);
    if (!status)
        status = pd_decide_window(pd, &decision, err);
    if (!status && decision.is_anew)
        status = fill_again(pd, err);
    else if (!status)
        pd_row_set_raise(&pd->cur.window);
    if (!status)
        status = pd_output_write(pd, &decision, &tally, &profile, err);
    if (!status && verifies)
        status = pd_output_verify_input(pd, &tally, err);
    if (!status) { /* from bytes that pd_output_compress takes */
        fill_report(pd, &decision, &tally);
        status = pd_output_compress(pd, profile, err);
    }
    if (!status && verifies)
        status = pd_output_verify(pd, &tally, err);
    if (!status)
        open_attempt(pd, &decision);
    else
        pd_row_set_abandon(&pd->cur.window);
    return status;
}

/* ---- the course of a window ------------------------------------------------------------------ */

pprofdelta_status pprofdelta_begin(pprofdelta *pd, const void *bytes, size_t len,
                                   pprofdelta_error *err)
{
    PD_TRY(pd_need_array(bytes, len, err));
    PD_TRY(pd_steps_begin(&pd->steps, err));
    pd->is_made = false;
    pd->given = (pd_bytes){bytes, len};
    return PPROFDELTA_OK;
}

/* The delta, which is made once. */
static pprofdelta_status make_delta(void *cookie, pd_bytes *out, pprofdelta_error *err)
{
    pprofdelta *pd = cookie;
    if (!pd->is_made && pd_is_negative(pd) && !pd->is_from_base)
        return pd_refuse(err, "negative deltas are made of two profiles: pprofdelta_base comes "
                              "first");
    if (!pd->is_made)
        PD_TRY(pd_context_call(pd, make_window, NULL, err));
    else if (pd_encoder_makes_tables(&pd->door.encoder)) /* the sink may have them */
        PD_TRY(pd_output_encode(pd, &pd->encoded, err));
    pd->is_made = true;
    *out = pd->encoded;
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_write(pprofdelta *pd, const pprofdelta_sink *sink,
                                   pprofdelta_report *report, pprofdelta_error *err)
{
    static const pd_door_job job = {.make = make_delta};
    if (report)
        PD_TRY(pd_result_check(report, err));
    PD_TRY(pd_door_write(&pd->door, &pd->steps, &job, pd, sink, &pd->report.output_len, err));
    if (report)
        pd_result_write(report, &pd->report, sizeof pd->report);
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_window(pprofdelta *pd, const void *bytes, size_t len,
                                    const pprofdelta_sink *sink, pprofdelta_report *report,
                                    pprofdelta_error *err)
{
    PD_TRY(pprofdelta_begin(pd, bytes, len, err));
    pprofdelta_status status = pprofdelta_write(pd, sink, report, err);
    if (status)
        pprofdelta_abandon(pd);
    return status;
}

pprofdelta_status pprofdelta_commit(pprofdelta *pd)
{
    PD_TRY(pd_steps_commit(&pd->steps, NULL));
    pd->is_due |= pd_is_negative(pd);
    pd_settle_due(pd);
    pd_ledger_commit(pd->cur.window.ledger);
    pd->has_base = true;
    pd->is_from_base = false;
    return PPROFDELTA_OK;
}

void pprofdelta_abandon(pprofdelta *pd)
{
    if (!pd)
        return;
    pd_settle_due(pd);
    if (pd_is_pending(pd))
        pd_row_set_abandon(&pd->cur.window);
    pd_steps_abandon(&pd->steps);
}

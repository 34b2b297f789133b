/* base, window, commit, abandon: the course of a delta, and what each stage leaves behind.
 *
 * Nothing that is remembered changes before pprofdelta_commit. The ledger meanwhile carries the new
 * samples of the window behind its committed entries; a failure takes them back. A base is built in
 * a spare ledger, which takes the other's place when it is whole. */
#include "base/time.h"
#include "delta/span.h"
#include "parsed/context.h"
#include "profile/seal.h"

#include <inttypes.h>

static pprofdelta_status refuse_pending(const pprofdelta *pd, pprofdelta_error *err)
{
    if (pd->is_pending)
        return pd_refuse(
            err, "a window is pending: pprofdelta_commit or pprofdelta_abandon comes first");
    if (pd->pack)
        return pd_refuse(err, "the last window is on its way: pprofdelta_pack_free comes first");
    return PPROFDELTA_OK;
}

/* Reads the look into the spare ledger; prev's gauges are of no interest. Rows are kept where the
 * stacks will be asked for. */
static pprofdelta_status fill_spare(pprofdelta *pd, pd_look *look, bool keeps_rows,
                                    pprofdelta_error *err)
{
    pprofdelta_status status =
        pd_schema_set(&pd->spare_schema, &pd->mem, look->names, look->tables.types_len, err);
    if (!status)
        status = pd_schema_match(&pd->spare_schema, look->names, look->tables.types_len,
                                 &look->columns, err);
    if (status)
        return status;
    size_t samples = pd->way ? 0 : look->tables.samples; /* of which many may be equal */
    pd_ledger_clear(&pd->spare, pd->spare_schema.counters);
    if (samples)
        status = pd_ledger_reserve(&pd->spare, &pd->mem, pd_ledger_roomy(samples), err);
    pd_sample_taker taker = {.ledger = &pd->spare};
    if (!status && keeps_rows) {
        status = pd_window_begin(&look->window, &pd->mem, &pd->spare, pd->spare_schema.counters,
                                 samples, err);
        look->window.is_tight = pd->way != PD_WAY_USUAL;
        taker = (pd_sample_taker){.window = &look->window};
    }
    if (!status)
        status = pd_look_samples(pd, look, taker, err);
    if (!status && keeps_rows)
        pd_window_commit(&look->window, PD_COMMIT_REPLACE);
    else if (!status)
        pd_ledger_settle(&pd->spare);
    return status;
}

static pprofdelta_status make_base(pprofdelta *pd, void *cookie, pprofdelta_error *err)
{
    const pd_bytes *given = cookie;
    const uint8_t *bytes = given->ptr;
    size_t len = given->len;
    bool needs_stacks = pd->on_reset == PPROFDELTA_ON_RESET_NEGATIVE;
    pprofdelta_status status = PPROFDELTA_OK;
    bool is_filled = pd_once_base(pd, bytes, len);
    if (!is_filled)
        status = pd_look_parse(pd, &pd->cur, bytes, len, needs_stacks, err);
    if (!status)
        status = pd_look_classify(pd, &pd->cur, err);
    if (!status)
        status = pd_look_remember(pd, &pd->cur, NULL, &pd->next, err);
    if (!status && !is_filled)
        status = fill_spare(pd, &pd->cur, needs_stacks, err);
    pd_stream_rest(&pd->cur.stream);
    if (status)
        return status;
    if (needs_stacks)
        PD_SWAP(pd_look, pd->cur, pd->prev);
    PD_SWAP(pd_ledger, pd->ledger, pd->spare);
    PD_SWAP(pd_schema, pd->schema, pd->spare_schema);
    PD_SWAP(pd_naming, pd->naming, pd->spare_naming);
    PD_SWAP(pd_remembered, pd->last, pd->next);
    pd->sequence = pd->sequence ? pd->sequence : 1; /* all since the process began is window 1 */
    pd->has_base = pd->is_from_base = true;
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_base(pprofdelta *pd, const void *bytes, size_t len,
                                  pprofdelta_error *err)
{
    pd_bytes given = {bytes, len};
    pprofdelta_status status = refuse_pending(pd, err);
    return status ? status : pd_call_in_any_way(pd, make_base, &given, err);
}

static pprofdelta_status check_order(const pprofdelta *pd, pprofdelta_error *err)
{
    int64_t prev = pd->last.time_nanos, cur = pd->cur.tables.header.time_nanos;
    if (!pd->has_base || !prev || !cur || cur >= prev)
        return PPROFDELTA_OK;
    return pd_fail(err, PPROFDELTA_E_MISMATCH, "delta", "time_nanos", PPROFDELTA_NOWHERE,
                   PPROFDELTA_NOWHERE, "cur is older than prev (%s is before %s): swapped?",
                   pd_time_shown(cur).text, pd_time_shown(prev).text);
}

static pprofdelta_status refuse_window(const pd_span *prev, const pd_span *cur,
                                       pprofdelta_error *err)
{
    const uint64_t second = 1000000000, milli = 1000000;
    uint64_t covered = (uint64_t)cur->duration_nanos;
    uint64_t apart = (uint64_t)cur->time_nanos - (uint64_t)prev->time_nanos;
    return pd_fail(err, PPROFDELTA_E_NOT_CUMULATIVE, "delta", "duration_nanos", PPROFDELTA_NOWHERE,
                   PPROFDELTA_NOWHERE,
                   "cur is a window already, not a cumulative profile: it covers %" PRIu64
                   ".%03u s, and prev is %" PRIu64 ".%03u s older",
                   covered / second, (unsigned)(covered / milli % 1000), apart / second,
                   (unsigned)(apart / milli % 1000));
}

/* The full profile of a live heap says that it is cumulative; of others the times are asked. */
static pprofdelta_status check_span(pprofdelta *pd, pprofdelta_error *err)
{
    const pd_header *header = &pd->cur.tables.header;
    pd_span cur = {header->time_nanos, header->duration_nanos};
    pd_span prev = {pd->last.time_nanos, pd->last.live_id ? 0 : pd->last.duration_nanos};
    pprofdelta_stamp stamp;
    pd->may_be_window = false;
    if (pd->flags & PPROFDELTA_FORCE || pd_look_live_stamp(&pd->cur, &stamp))
        return PPROFDELTA_OK;
    pd_span_kind kind = pd_span_judge(pd->has_base ? &prev : NULL, &cur, pd->started_nanos);
    pd->may_be_window = kind == PD_SPAN_UNCLEAR;
    return kind == PD_SPAN_WINDOW ? refuse_window(&prev, &cur, err) : PPROFDELTA_OK;
}

/* Reads cur's samples into its window, or takes them from an ahead, which may be NULL. */
static pprofdelta_status read_samples(pprofdelta *pd, bool skips_still, pprofdelta_ahead *ahead,
                                      pprofdelta_error *err)
{
    pd_look *cur = &pd->cur;
    size_t samples = pd->way ? 0 : cur->tables.samples, rows = skips_still ? samples / 8 : samples;
    pd_window_abandon(&cur->window);
    pd_look_keep_nothing(pd, cur);
    pprofdelta_status status =
        pd_window_begin(&cur->window, &pd->mem, &pd->ledger, cur->tables.types_len, rows, err);
    cur->window.skips_still = skips_still;
    cur->window.is_tight = cur->is_streamed || pd->way;
    if (!status && ahead && !pd_ahead_add_samples(pd, ahead, &status, err))
        return read_samples(pd, skips_still, NULL, err); /* which tells what is wrong */
    if (!status && !ahead)
        status = pd_look_samples(pd, cur, (pd_sample_taker){.window = &cur->window}, err);
    return status;
}

/* Counts that were sampled at different rates cannot be subtracted from one another. */
static pprofdelta_status check_rate(const pprofdelta *pd, pprofdelta_error *err)
{
    uint32_t prev = pd->last.rate, cur = pd->cur.dump.rate;
    if (!pd->has_base || prev == cur)
        return PPROFDELTA_OK;
    if (prev && cur)
        return pd_fail(
            err, PPROFDELTA_E_MISMATCH, "delta", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
            "the sampling changed: one byte in %" PRIu32 ", and now one in %" PRIu32, prev, cur);
    return pd_fail(err, PPROFDELTA_E_MISMATCH, "delta", NULL, PPROFDELTA_NOWHERE,
                   PPROFDELTA_NOWHERE,
                   "one is a heap profile in text form, with raw counts, and the other is not");
}

/* That cur lacks a counter which prev has is a matter of both: their types are told, then. */
static pprofdelta_status classify_cur(pprofdelta *pd, pprofdelta_error *err)
{
    pd_look *cur = &pd->cur;
    pprofdelta_status status = pd_look_classify(pd, cur, err), match = PPROFDELTA_OK;
    if (status == PPROFDELTA_E_MISMATCH && pd->has_base && !cur->dump.has_no_sums)
        match = pd_schema_match(&pd->schema, cur->names, cur->tables.types_len, &cur->columns, err);
    return match ? match : status;
}

/* Finds out which of cur's mappings the ledger knows under another file, and identifies cur's
 * locations by that. What *ahead found out about its samples is then wrong: it becomes NULL. */
static pprofdelta_status recognise_mappings(pprofdelta *pd, pprofdelta_ahead **ahead,
                                            pprofdelta_error *err)
{
    pd->mapped = pd_mapped_recognise(&pd->last.mapped, &pd->cur.tables);
    if (!pd->mapped.is_renamed)
        return PPROFDELTA_OK;
    if (*ahead)
        pd_ahead_forgo_samples(*ahead);
    *ahead = NULL;
    return pd_tables_identify(&pd->cur.tables, &pd->mem, err);
}

/* The opposite: it is another process, whose mappings have nothing to do with those before. */
static pprofdelta_status forget_mappings(pprofdelta *pd, pprofdelta_error *err)
{
    pd_look *cur = &pd->cur;
    pprofdelta_status status = pd_tables_place(&cur->tables, &pd->mem, err);
    if (!status)
        status = pd_tables_identify(&cur->tables, &pd->mem, err);
    return status;
}

/* Everything up to a window that is filled but not judged. */
static pprofdelta_status fill_window(pprofdelta *pd, const pd_source *source, pprofdelta_error *err)
{
    pd_look *cur = &pd->cur;
    pprofdelta_status status = PPROFDELTA_OK;
    pprofdelta_ahead *ahead = source->ahead;
    bool is_filled = false;
    pd->mapped = (pd_mapped_facts){0};
    if (source->ahead)
        pd_ahead_adopt(pd, source->ahead);
    else if (!(is_filled = pd_once_window(pd, source->bytes, source->len)))
        status = pd_look_parse(pd, cur, source->bytes, source->len, false, err);
    if (!status)
        status = classify_cur(pd, err);
    size_t types = cur->tables.types_len;
    if (!status && !pd->has_base) {
        status = pd_schema_set(&pd->schema, &pd->mem, cur->names, types, err);
        if (!status)
            pd_ledger_clear(&pd->ledger, pd->schema.counters);
    }
    if (!status)
        status = pd_schema_match(&pd->schema, cur->names, types, &cur->columns, err);
    if (!status)
        status = pd_schema_agree(&pd->schema, cur->names, &cur->columns, err);
    if (!status)
        status = check_order(pd, err);
    if (!status)
        status = check_span(pd, err);
    if (!status)
        status = check_rate(pd, err);
    bool by_identity = pd->on_reset == PPROFDELTA_ON_RESET_NEGATIVE; /* as google/pprof has it */
    if (!status && pd->has_base && !is_filled && !by_identity)
        status = recognise_mappings(pd, &ahead, err);
    if (!status)
        status = pd_look_remember(pd, cur, pd->has_base ? &pd->last.mapped : NULL, &pd->next, err);
    bool skips_still = pd->has_base && pd->on_reset != PPROFDELTA_ON_RESET_NEGATIVE;
    if (!status && !is_filled)
        status = read_samples(pd, skips_still, ahead, err);
    return status;
}

static bool has_other_build(const pprofdelta *pd)
{
    const pd_buffer *last = &pd->last.build_id, *next = &pd->next.build_id;
    return last->len && next->len &&
           (last->len != next->len || memcmp(last->ptr, next->ptr, last->len) != 0);
}

/* Do the stamps say that cur's heap is not the one that prev was of? One process has one heap after
 * the other where it runs one program after the other. */
static bool is_other_heap(const pprofdelta *pd)
{
    const pd_remembered *last = &pd->last;
    int64_t end = last->live_to_nanos ? last->live_to_nanos : last->time_nanos;
    pprofdelta_stamp cur;
    if (!pd_look_live_stamp(&pd->cur, &cur))
        return false;
    if (cur.id && last->live_id && cur.id != last->live_id)
        return true;
    return cur.live == PPROFDELTA_LIVE_FULL && end && cur.from_nanos > 0 && cur.from_nanos > end;
}

static pprofdelta_status refuse_reset(pd_verdict verdict, pprofdelta_error *err)
{
    static const char *const why[] = {
        [PPROFDELTA_RESTART_NONE] = "a counter went backwards",
        [PPROFDELTA_RESTART_STARTED] = "the target was started after prev was taken",
        [PPROFDELTA_RESTART_BUILD_ID] = "the main mapping has another build id",
        [PPROFDELTA_RESTART_MASS] = "half of what prev had counted, or more, is gone",
        [PPROFDELTA_RESTART_ANY] = "a counter went backwards",
        [PPROFDELTA_RESTART_LIVE] =
            "the stamp of its live heap is that of another process, or begins after prev",
    };
    return pd_fail(err, PPROFDELTA_E_RESET, "delta", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                   "%s", why[verdict.restart]);
}

/* Decides what the window is and how it will be remembered. */
static pprofdelta_status judge(pprofdelta *pd, pd_story *story, pprofdelta_error *err)
{
    const pd_header *cur = &pd->cur.tables.header;
    bool is_numbered = !(pd->flags & PPROFDELTA_NO_SEQUENCE);
    *story = (pd_story){.how = PD_SUBTRACT_CLAMP,
                        .to_nanos = cur->time_nanos,
                        .sequence = is_numbered ? pd->sequence + 1 : 0,
                        .attempt = is_numbered ? pd->attempts + 1 : 0};
    pd->how = PD_COMMIT_KEEP;
    if (!pd->has_base) {
        story->how = PD_SUBTRACT_NOTHING;
        story->duration_nanos = cur->duration_nanos;
        if (pd->first == PPROFDELTA_FIRST_ZERO) { /* it begins where it ends */
            story->how = PD_SUBTRACT_ALL;
            story->from_nanos = story->to_nanos;
            story->duration_nanos = 0;
        }
        pd->how = PD_COMMIT_REPLACE;
        return PPROFDELTA_OK;
    }
    story->from_nanos = pd->last.time_nanos;
    if (story->from_nanos && story->to_nanos)
        story->duration_nanos = (int64_t)((uint64_t)story->to_nanos - (uint64_t)story->from_nanos);
    pd_reset_facts facts = {.on_reset = pd->on_reset,
                            .started_nanos = pd->started_nanos,
                            .prev_time_nanos = pd->last.time_nanos,
                            .other_build = has_other_build(pd),
                            .main_moved = pd->mapped.main_moved,
                            .is_other_heap = is_other_heap(pd)};
    pd_verdict verdict = pd_reset_judge(&pd->cur.window, &facts);
    bool is_reset = verdict.restart != PPROFDELTA_RESTART_NONE || verdict.has_decrease;
    if (pd->on_reset == PPROFDELTA_ON_RESET_FAIL && is_reset)
        return refuse_reset(verdict, err);
    story->restart = verdict.restart;
    if (verdict.restart)
        story->how = PD_SUBTRACT_NOTHING;
    else if (pd->on_reset == PPROFDELTA_ON_RESET_NEGATIVE)
        story->how = PD_SUBTRACT_NEGATIVE;
    if (story->how != PD_SUBTRACT_CLAMP)
        pd->how = PD_COMMIT_REPLACE;
    return PPROFDELTA_OK;
}

/* Has nothing been counted in no time? */
static bool is_same_again(const pprofdelta_report *r)
{
    if (!r->had_base || r->restart || r->fresh || !r->to_nanos || r->from_nanos != r->to_nanos)
        return false;
    for (size_t i = 0; i < r->types_len; i++)
        if (r->types[i].is_counter && (r->types[i].delta.lo || r->types[i].delta.hi))
            return false;
    return true;
}

static void fill_report(pprofdelta *pd, const pd_story *story, const pd_tally *tally,
                        uint64_t written, pprofdelta_report *report)
{
    const pd_look *cur = &pd->cur;
    for (size_t i = 0; i < cur->columns.len; i++) {
        size_t slot = cur->columns.slot[i];
        const pd_type_sums *sums = &tally->types[slot];
        const char *text = (const char *)pd->schema.text.ptr;
        pd->types[i] = (pprofdelta_type_report){
            .type = text + pd->schema.names[slot].type,
            .unit = text + pd->schema.names[slot].unit,
            .is_counter = slot < pd->schema.counters,
            .prev = sums->prev,
            .cur = sums->cur,
            .delta = sums->delta,
            .clamped = sums->clamped,
            .vanished = sums->vanished,
        };
    }
    *report = (pprofdelta_report){
        .samples_in = cur->tables.samples,
        .samples_out = pd->compact.samples,
        .matched = tally->matched,
        .fresh = tally->fresh,
        .vanished = tally->vanished,
        .clamped = tally->clamped,
        .duplicates = cur->window.duplicates,
        .by_address = cur->tables.by_address,
        .by_lines = cur->tables.by_lines,
        .files_replaced = story->restart ? 0 : pd->mapped.files_replaced,
        .other_build = !story->restart && pd->has_base && has_other_build(pd),
        .unknown_fields = cur->tables.unknown_fields + cur->tables.sample_unknown_fields,
        .had_base = pd->has_base,
        .restart = story->restart,
        .from_nanos = story->from_nanos,
        .to_nanos = story->to_nanos,
        .sequence = story->sequence,
        .attempt = story->attempt,
        .output_len = written,
        .types = pd->types,
        .types_len = cur->columns.len,
        .may_be_window = pd->may_be_window,
    };
    report->is_same = is_same_again(report);
}

/* Everything from a filled window to the sink. */
static pprofdelta_status write_window(pprofdelta *pd, const pprofdelta_sink *sink,
                                      pprofdelta_report *report, pprofdelta_error *err)
{
    pd_story story;
    pd_tally tally;
    pd_bytes out = {0};
    uint64_t written = 0;
    bool has_books = report || (pd->flags & PPROFDELTA_VERIFY);
    pprofdelta_status status = judge(pd, &story, err);
    bool is_another = !status && story.restart;
    if (is_another && pd->mapped.is_renamed)
        status = forget_mappings(pd, err);
    if (!status && is_another)
        status = pd_look_remember(pd, &pd->cur, NULL, &pd->next, err);
    bool has_still = pd->cur.window.still; /* in a restart, these have come anew as well */
    if (!status && is_another && (has_still || pd->mapped.is_renamed))
        status = read_samples(pd, false, NULL, err);
    pd->next.from_nanos = story.from_nanos;
    pd->next.restart = story.restart;
    if (!status)
        status = pd_output_write(pd, &story, has_books ? &tally : NULL, &out, err);
    if (!status && (pd->flags & PPROFDELTA_VERIFY))
        status = pd_output_verify(pd, &tally, out, err);
    pd->raw = out;
    if (!status && sink && !pd_packs_inline(pd))
        status = pd_deflate_cut(&pd->deflater, &pd->mem, out, pd->early, pd->part, &out, err);
    if (!status && sink)
        status = pd_deflate_hand_over(out, sink, &written, err);
    if (!status && report)
        fill_report(pd, &story, &tally, written, report);
    return status;
}

pprofdelta_status pd_window_of(pprofdelta *pd, const pd_source *source, const pprofdelta_sink *sink,
                               pprofdelta_report *report, pprofdelta_error *err)
{
    pprofdelta_status status = refuse_pending(pd, err);
    if (status)
        return status;
    if (pd->ahead != source->ahead)
        return pd_refuse(err, "a profile is read ahead: pprofdelta_ahead_free comes first");
    if (pd->on_reset == PPROFDELTA_ON_RESET_NEGATIVE && !pd->is_from_base)
        return pd_refuse(err,
                         "negative deltas are made of two profiles: pprofdelta_base comes first");
    status = fill_window(pd, source, err);
    if (!status)
        status = write_window(pd, sink, report, err);
    pd_stream_rest(&pd->cur.stream);
    pd_stream_rest(&pd->proof.stream);
    if (status)
        pd_window_abandon(&pd->cur.window);
    else
        pd->is_pending = true;
    return status;
}

typedef struct window_call {
    pd_source source;
    const pprofdelta_sink *sink;
    pprofdelta_report *report;
} window_call;

static pprofdelta_status make_window(pprofdelta *pd, void *cookie, pprofdelta_error *err)
{
    const window_call *call = cookie;
    return pd_window_of(pd, &call->source, call->sink, call->report, err);
}

pprofdelta_status pprofdelta_window(pprofdelta *pd, const void *bytes, size_t len,
                                    const pprofdelta_sink *sink, pprofdelta_report *report,
                                    pprofdelta_error *err)
{
    window_call call = {{.bytes = bytes, .len = len}, sink, report};
    if (!sink || !sink->write)
        return pd_refuse(err, "there is no sink to write to");
    pprofdelta_status status = pd_call_in_any_way(pd, make_window, &call, err);
    if (!status || status == PPROFDELTA_E_SINK) /* which may have had all of it */
        pd->attempts++;
    return status;
}

void pprofdelta_commit(pprofdelta *pd)
{
    if (!pd->is_pending)
        return;
    pd_window_commit(&pd->cur.window, pd->how);
    PD_SWAP(pd_remembered, pd->last, pd->next);
    pd->sequence++;
    pd->attempts = 0;
    pd->has_base = true;
    pd->is_from_base = pd->is_pending = false;
}

void pprofdelta_abandon(pprofdelta *pd)
{
    if (!pd->is_pending)
        return;
    pd_window_abandon(&pd->cur.window);
    pd->is_pending = false;
}

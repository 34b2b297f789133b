/* From a window to the sink: the signs (is it a restart?), unsampling, and the sum that is written. Each row that is
 * not zero becomes a sample of the sum.
 *
 * Records are identified by their program counters, and two program counters may be one place: an
 * interpreter has several numbers for a line, a compiler several instructions. With addresses these
 * are two locations, and the samples differ. Places that are identified by their lines are one
 * location; samples that differ in nothing else are added up, in the place of the first one. */
#include "base/option_checks.h"
#include "record/recorder.h"

/* ---- the signs ----------------------------------------------------------------------------- */

/* The signs on the window after the one that was handed out last. */
static pprofdelta_status find_restart(pprofdelta_recorder *r, pprofdelta_restart *out,
                                      pprofdelta_error *err)
{
    pd_reset_facts facts = {.on_reset = r->options.on_reset};
    pd_reset_signs signs = pd_reset_decide(&r->window, &facts);
    if (r->restarted)
        signs.restart = PPROFDELTA_RESTART_STARTED;
    bool is_reset = signs.restart != PPROFDELTA_RESTART_NONE || signs.has_decrease;
    if (r->options.on_reset == PPROFDELTA_ON_RESET_FAIL && is_reset)
        return PD_FAIL(err, PPROFDELTA_E_RESET, PPROFDELTA_STAGE_DELTA, NULL, "%s",
                       signs.restart == PPROFDELTA_RESTART_STARTED ? "counting began anew"
                       : signs.restart == PPROFDELTA_RESTART_MASS
                           ? "half of what the last window had counted, or more, is gone"
                           : "a counter went backwards");
    /* Nothing was lost that counts as a restart, unless a record that came again was below zero. */
    if (r->window.unchanged && !r->keeps_unchanged)
        signs.restart = PPROFDELTA_RESTART_NONE;
    *out = signs.restart;
    if (signs.restart)
        return pd_row_set_add_unchanged(&r->window, &r->mem, err);
    pd_row_set_raise(&r->window);
    return PPROFDELTA_OK;
}

/* What the window is (how, restart, steps.window). */
static pprofdelta_status judge_window(pprofdelta_recorder *r, pprofdelta_error *err)
{
    bool is_first = !pd_recorder_has_seen(r);
    pprofdelta_restart restart = PPROFDELTA_RESTART_NONE;
    if (!is_first)
        PD_TRY(find_restart(r, &restart, err));
    r->restart = restart;
    int64_t elapsed = is_first ? 0 : pd_series_elapsed(r->last_nanos, r->time_nanos);
    pd_steps_number(&r->steps, r->restart, r->time_nanos, elapsed);
    r->how = is_first || r->restart ? PD_SUBTRACT_NOTHING : PD_SUBTRACT_CLAMP;
    if (is_first && r->options.first == PPROFDELTA_FIRST_ZERO) { /* it begins where it ends */
        r->how = PD_SUBTRACT_ALL;
        r->steps.window.from_nanos = r->steps.window.to_nanos;
    } else if (!r->has_base && !r->restart) {
        r->steps.window.duration_nanos = pd_series_elapsed(r->options.started_nanos, r->time_nanos);
    }
    return PPROFDELTA_OK;
}

/* ---- unsampling ------------------------------------------------------------------------------ */

/* The scale of a heap record. Objects and bytes have the same. */
static pd_scale heap_scale(const pprofdelta_recorder *r, int64_t block_size, int64_t objects,
                           int64_t bytes)
{
    double size = (double)block_size;
    if (block_size <= 0 && objects > 0)
        size = (double)bytes / (double)objects;
    return pd_scale_of_size(size, (double)r->door.period);
}

/* Unsamples the increment of a row, in the order of rows. carries are those of its counters: read
 * and changed. Returns false if a value does not fit in 64 bits. */
static bool unsample(const pprofdelta_recorder *r, int64_t block_size, const int64_t *raw,
                     pd_carry *carries, int64_t *out)
{
    pd_carry none;
    if (!r->is_scaled) {
        memcpy(out, raw, r->schema.len * sizeof *out);
        return true;
    }
    bool fits = true;
    for (size_t i = 0; i < r->schema.len; i++) {
        pd_scale scale = r->scales[i];
        if (r->options.kind == PPROFDELTA_KIND_HEAP) /* (objects, bytes) twice */
            scale = heap_scale(r, block_size, raw[i & ~(size_t)1], raw[i | 1]);
        none = 0;
        out[i] = pd_scale_apply(scale, raw[i], i < r->schema.counters ? &carries[i] : &none);
        fits &= pd_scale_fits(scale, raw[i], out[i]);
    }
    return fits;
}

/* The carries of a row at the beginning of the window. */
static void load_carries(const pprofdelta_recorder *r, size_t row, pd_carry *carries)
{
    const pd_ledger *ledger = &r->ledger;
    size_t entry = r->window.entry[row];
    bool is_known = entry < ledger->committed && r->how == PD_SUBTRACT_CLAMP && ledger->side_len;
    const uint8_t *side = is_known ? pd_ledger_side(ledger, entry) : NULL;
    for (size_t i = 0; i < r->schema.counters; i++)
        carries[i] = side ? pd_carry_load(side + i * PD_CARRY_BYTES) : 0;
}

void pd_recorder_carry_on(pprofdelta_recorder *r)
{
    int64_t raw[PPROFDELTA_MAX_TYPES], out[PPROFDELTA_MAX_TYPES];
    pd_carry carries[PPROFDELTA_MAX_TYPES];
    for (size_t row = 0; row < r->window.len; row++) {
        bool moved = pd_subtract_row(&r->window, row, r->how, raw);
        load_carries(r, row, carries);
        if (moved)
            unsample(r, pd_recorder_kept(r, row).block_size, raw, carries, out);
        uint8_t *side = pd_ledger_side(&r->ledger, r->window.entry[row]);
        for (size_t i = 0; i < r->schema.counters; i++)
            pd_carry_store(side + i * PD_CARRY_BYTES, carries[i]);
    }
}

/* ---- what is written --------------------------------------------------------------------------- */

/* Equal locations have one id, so the ids in the model are the identity of the stack. */
static void put_stack(pprofdelta_recorder *r, const pd_kept *kept, pd_identity *identity)
{
    pd_model *m = &r->sum.model;
    const pd_place_stack stack = {.stack = kept->stack, .depth = kept->depth, .era = PD_ERA_ANY};
    pd_places_write_stack(&r->places, m, &stack);
    pd_identity_addresses(identity, m->stack.ptr, m->stack.len, 0);
}

static void put_label(pprofdelta_recorder *r, const pd_label_parts *label, pd_identity *identity)
{
    pd_identity_label(identity, pd_label_parts_key(label));
    pd_write_label(&r->sum.model, label);
}

static pprofdelta_status add_sample(pprofdelta_recorder *r, const pd_kept *kept,
                                    const int64_t *values)
{
    pd_identity identity = {0};
    const uint8_t *at = kept->labels;
    const pd_bytes bytes = pd_bytes_of("bytes");
    const pd_label_parts size = {.key = bytes, .num = kept->block_size, .num_unit = bytes};
    put_stack(r, kept, &identity);
    if (kept->block_size)
        put_label(r, &size, &identity);
    for (size_t i = 0; i < kept->labels_len; i++) {
        pd_label_parts label = pd_unpack_label(&at);
        put_label(r, &label, &identity);
    }
    return pd_totals_add(&r->sum, pd_identity_key(&identity), values);
}

static pprofdelta_status add_row(pprofdelta_recorder *r, size_t row, const int64_t *raw,
                                 pprofdelta_error *err)
{
    int64_t values[PPROFDELTA_MAX_TYPES];
    pd_carry carries[PPROFDELTA_MAX_TYPES];
    pd_kept kept = pd_recorder_kept(r, row);
    load_carries(r, row, carries);
    if (!unsample(r, kept.block_size, raw, carries, values))
        return pd_no_fit(err, PPROFDELTA_NOWHERE, "an unsampled value does not fit");
    return pd_model_has_value(values, r->schema.len) ? add_sample(r, &kept, values) : PPROFDELTA_OK;
}

/* The main binary is the first mapping: pprof expects that. */
static pprofdelta_status add_rows(pprofdelta_recorder *r, pd_tally *tally, pprofdelta_error *err)
{
    int64_t raw[PPROFDELTA_MAX_TYPES];
    PD_TRY(pd_totals_begin(&r->sum, &r->mem, r->schema.len, err));
    pd_door_add_types(&r->door, &r->sum.model);
    pd_places_write_main(&r->places, &r->sum.model);
    if (r->window.is_late)
        PD_TRY(pd_row_set_order(&r->window, &r->mem, err));
    for (size_t i = 0; i < r->window.len; i++) {
        size_t row = pd_row_set_at(&r->window, i);
        if (!pd_subtract_row(&r->window, row, r->how, raw))
            continue;
        pd_tally_output(tally, raw, r->schema.len);
        PD_TRY(add_row(r, row, raw, err));
    }
    pd_places_write_complete(&r->places, &r->sum.model);
    return PPROFDELTA_OK;
}

/* The sum of equal samples may be 0, if a value was below 0. */
static pprofdelta_status copy_sum(pprofdelta_recorder *r, pprofdelta_error *err)
{
    pd_model_begin(&r->door.model, &r->mem, err);
    pd_door_add_types(&r->door, &r->door.model);
    PD_TRY(pd_transfer_begin_model(&r->transfer, &r->mem, &r->sum.model, &r->door.model, err));
    if (pd_places_has_main(&r->places))
        pd_transfer_mapping(&r->transfer, 0);
    pd_totals_write(&r->sum, &r->columns, &r->transfer);
    return PPROFDELTA_OK;
}

static pprofdelta_status write_profile(pprofdelta_recorder *r, uint64_t *samples, pd_bytes *out,
                                       pprofdelta_error *err)
{
    bool is_whole = pd_totals_finish(&r->sum, &r->columns);
    pd_model *model = is_whole ? &r->sum.model : &r->door.model;
    PD_TRY(is_whole ? PPROFDELTA_OK : copy_sum(r, err));
    *samples = model->samples;
    return pd_door_finish(&r->door, &r->steps, model, out);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void fill_report(pprofdelta_recorder *r, const pd_tally *tally, pprofdelta_report *report)
{
    pd_tally_report(tally, &r->window, &r->steps.window, &r->schema, &r->columns, r->types, report);
    report->samples_in = r->samples_in;
    report->by_address = r->places.keys.len - r->places.by_lines;
    report->by_lines = r->places.by_lines;
    report->had_base = r->has_base || r->restart;
    report->id = r->door.id;
    report->clock_set_back = pd_recorder_has_seen(r) && r->time_nanos < r->last_nanos;
}

typedef struct writing {
    pprofdelta_recorder *recorder;
    pprofdelta_report report;
} writing;

static pprofdelta_status make_window(void *cookie, pd_bytes *out, pprofdelta_error *err)
{
    writing *w = cookie;
    pprofdelta_recorder *r = w->recorder;
    pd_tally tally;
    uint64_t samples;
    r->is_full = true;
    if (r->trouble.status)
        return pd_fail_as(err, &r->trouble);
    PD_TRY(judge_window(r, err));
    PD_TRY(pd_places_begin(&r->places, pd_places_loads(&r->places), &r->mem, err));
    PD_TRY(pd_tally_begin(&tally, &r->window, r->how, err));
    PD_TRY(add_rows(r, &tally, err));
    if (r->options.flags & PPROFDELTA_VERIFY)
        PD_TRY(pd_tally_check(&tally, &r->schema, err));
    PD_TRY(write_profile(r, &samples, out, err));
    fill_report(r, &tally, &w->report);
    w->report.samples_out = samples;
    return pd_compress_bytes(&r->door.compressor, &r->mem, *out, out, err);
}

pprofdelta_status pprofdelta_recorder_write(pprofdelta_recorder *r, const pprofdelta_sink *sink,
                                            pprofdelta_report *report, pprofdelta_error *err)
{
    static const pd_door_job job = {.make = make_window};
    writing w = {.recorder = r};
    if (report)
        PD_TRY(pd_result_check(report, err));
    PD_TRY(pd_door_write(&r->door, &r->steps, &job, &w, sink, &w.report.output_len, err));
    if (report)
        pd_result_write(report, &w.report, sizeof w.report);
    return PPROFDELTA_OK;
}

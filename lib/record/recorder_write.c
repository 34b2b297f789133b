/* From a window to the sink: each row that is not zero becomes a sample of a sum, which is then written.
 *
 * Records are identified by their program counters, and two program counters may be one place: an
 * interpreter has several numbers for a line, a compiler several instructions. With addresses these
 * are two locations, and the samples differ. Places that are identified by their lines are one
 * location; samples that differ in nothing else are added up, in the place of the first one. */
#include "base/option_checks.h"
#include "record/recorder.h"

/* ---- the sum --------------------------------------------------------------------------------- */

static void put_stack(pprofdelta_recorder *r, const pd_kept *kept, pd_identity *identity)
{
    pd_model *m = &r->sum.model;
    size_t depth = kept->depth;
    uint8_t *out = depth ? pd_model_stack(m, depth) : NULL;
    for (size_t i = 0; i < depth && !m->writer.status; i++) {
        uint32_t place;
        m->writer.status =
            pd_places_find_mapped(&r->places, &r->mem, kept->stack[i], &place, m->writer.err);
        if (m->writer.status)
            return;
        pd_identity_place(identity, &r->numbers, r->places.places[place].ident);
        out = pd_model_stack_put(out, pd_places_write(&r->places, m, place));
    }
    if (out)
        pd_model_stack_end(m, out);
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
    pd_recorder_load_carries(r, row, carries);
    if (!pd_recorder_unsample(r, kept.block_size, raw, carries, values))
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
        PD_TRY(pd_window_order(&r->window, &r->mem, err));
    for (size_t i = 0; i < r->window.len; i++) {
        size_t row = pd_window_row_at(&r->window, i);
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
    return pd_door_finish(&r->door, &r->life, model, out);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void fill_report(pprofdelta_recorder *r, const pd_tally *tally, pprofdelta_report *report)
{
    pd_tally_report(tally, &r->window, &r->life.window, &r->schema, &r->columns, r->types, report);
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
    PD_TRY(pd_recorder_judge(r, err));
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
    static const pd_door_steps steps = {.make = make_window};
    writing w = {.recorder = r};
    if (report)
        PD_TRY(pd_result_check(report, err));
    PD_TRY(pd_door_write(&r->door, &r->life, &steps, &w, sink, &w.report.output_len, err));
    if (report)
        pd_result_write(report, &w.report, sizeof w.report);
    return PPROFDELTA_OK;
}

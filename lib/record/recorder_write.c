/* From a window to the sink, in two passes over the samples that are written.
 *
 * The first pass finds every place. All that can fail fails there, and what has to be known of a
 * mapping before it is written is known after it. The second pass writes. */
#include "base/option_checks.h"
#include "record/recorder.h"

/* ---- the first pass -------------------------------------------------------------------------- */

/* Appends the places of a row to `frames`. */
static pprofdelta_status find_places(pprofdelta_recorder *r, size_t row, pd_emitted *e,
                                     pprofdelta_error *err)
{
    pd_kept kept = pd_recorder_kept(r, row);
    e->depth = kept.row.depth;
    pprofdelta_status status = PD_GROW(&r->mem, r->frames, r->frames_len + e->depth, err);
    for (size_t i = 0; i < e->depth && !status; i++)
        status = pd_places_find_mapped(&r->places, &r->mem, kept.stack[i],
                                       &r->frames[r->frames_len + i], err);
    return status;
}

/* The key of a sample as it is written.
 *
 * Records are identified by their program counters, and two program counters may be one place: an
 * interpreter has several numbers for a line, a compiler several instructions. With addresses these
 * are two locations, and the samples differ. Places that are identified by their lines are one
 * location; samples that differ in nothing else are added up, in the place of the first one. */
static pd_key key_of(const pprofdelta_recorder *r, const pd_emitted *e)
{
    pd_kept kept = pd_recorder_kept(r, e->row);
    pd_identity identity = {0};
    for (size_t i = 0; i < e->depth; i++)
        pd_identity_place(&identity, &r->numbers,
                          r->places.places[r->frames[e->frames_first + i]].ident);
    const uint8_t *at = kept.labels;
    const pd_bytes bytes = pd_bytes_of("bytes");
    const pd_label_parts block_size = {.key = bytes, .num = kept.row.block_size, .num_unit = bytes};
    for (size_t i = 0; i < kept.row.labels_len; i++) {
        pd_label_parts l = pd_unpack_label(&at);
        pd_identity_label(&identity, pd_label_parts_key(&l));
    }
    if (kept.row.block_size)
        pd_identity_label(&identity, pd_label_parts_key(&block_size));
    return pd_identity_key(&identity);
}

static int64_t *values_of(const pprofdelta_recorder *r, size_t nth)
{
    return r->values + nth * r->columns.len;
}

/* Makes room for one more sample with this key. */
static pprofdelta_status reserve(pprofdelta_recorder *r, pd_key key, pprofdelta_error *err)
{
    size_t len = r->shown.len + 1;
    PD_TRY(PD_GROW(&r->mem, r->emitted, len, err));
    PD_TRY(PD_GROW(&r->mem, r->values, len * r->columns.len, err));
    return pd_keymap_room(&r->shown, &r->mem, key, err);
}

static pprofdelta_status emit(pprofdelta_recorder *r, size_t row, const int64_t *values,
                              pprofdelta_error *err)
{
    pd_emitted e = {.row = row, .frames_first = r->frames_len};
    PD_TRY(find_places(r, row, &e, err));
    pd_key key = key_of(r, &e);
    PD_TRY(reserve(r, key, err));
    size_t emitted = r->shown.len, nth = pd_keymap_add(&r->shown, key);
    int64_t *sums = values_of(r, nth), arranged[PPROFDELTA_MAX_TYPES];
    if (nth == emitted) {
        r->emitted[nth] = e;
        r->frames_len += e.depth;
        memset(sums, 0, r->columns.len * sizeof *sums);
    }
    for (size_t i = 0; i < r->columns.len; i++)
        arranged[i] = values[r->columns.slot[i]];
    return pd_values_add(sums, arranged, r->columns.len)
               ? PPROFDELTA_OK
               : pd_no_fit(err, PPROFDELTA_NOWHERE, PD_SUM_FITS_NOT);
}

static pprofdelta_status choose(pprofdelta_recorder *r, pd_tally *tally, pprofdelta_error *err)
{
    int64_t raw[PPROFDELTA_MAX_TYPES], values[PPROFDELTA_MAX_TYPES];
    pd_carry carries[PPROFDELTA_MAX_TYPES];
    r->frames_len = 0;
    pd_keymap_clear(&r->shown);
    if (r->window.is_late)
        PD_TRY(pd_window_order(&r->window, &r->mem, err));
    for (size_t i = 0; i < r->window.len; i++) {
        size_t row = pd_window_row_at(&r->window, i);
        if (!pd_subtract_row(&r->window, row, r->how, raw))
            continue;
        pd_tally_output(tally, raw, r->schema.len);
        pd_recorder_load_carries(r, row, carries);
        if (!pd_recorder_unsample(r, pd_recorder_kept(r, row).row.block_size, raw, carries, values))
            return pd_no_fit(err, PPROFDELTA_NOWHERE, "an unsampled value does not fit");
        if (pd_model_has_value(values, r->schema.len))
            PD_TRY(emit(r, row, values, err));
    }
    return PPROFDELTA_OK;
}

/* ---- the second pass ------------------------------------------------------------------------- */

static void write_stack(pprofdelta_recorder *r, size_t first, size_t depth)
{
    uint8_t *out = depth ? pd_model_stack(&r->model, depth) : NULL;
    if (!out)
        return;
    for (size_t i = 0; i < depth; i++)
        out = pd_model_stack_put(out, pd_places_write(&r->places, &r->model, r->frames[first + i]));
    pd_model_stack_end(&r->model, out);
}

static void write_labels(pprofdelta_recorder *r, size_t row)
{
    pd_kept kept = pd_recorder_kept(r, row);
    if (kept.row.block_size) {
        uint32_t bytes = pd_model_string(&r->model, pd_bytes_of("bytes"));
        pd_model_add_label(&r->model, bytes, 0, kept.row.block_size, bytes);
    }
    pd_write_packed_labels(&r->model, kept.labels, kept.row.labels_len);
}

static pprofdelta_status write_profile(pprofdelta_recorder *r, pd_bytes *out, pprofdelta_error *err)
{
    pd_outline_begin(&r->outline, &r->model, &r->mem, err);
    pd_places_write_main(&r->places, &r->model);
    for (size_t i = 0; i < r->shown.len; i++) {
        const pd_emitted *e = &r->emitted[i];
        if (!pd_model_has_value(values_of(r, i), r->columns.len))
            continue; /* equal samples, of which one had values below zero */
        write_stack(r, e->frames_first, e->depth);
        write_labels(r, e->row);
        pd_model_add_sample(&r->model, values_of(r, i));
    }
    return pd_outline_finish(&r->outline, &r->life, &r->model, out);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void fill_report(pprofdelta_recorder *r, const pd_tally *tally, uint64_t written,
                        pprofdelta_report *report)
{
    pd_tally_report(tally, &r->window, &r->life.window, &r->schema, &r->columns, r->types, report);
    report->samples_in = r->samples_in;
    report->samples_out = r->model.samples;
    report->by_address = r->places.keys.len - r->places.by_lines;
    report->by_lines = r->places.by_lines;
    report->had_base = r->has_base || r->restart;
    report->id = r->outline.id;
    report->output_len = written;
    report->clock_set_back = pd_recorder_has_seen(r) && r->time_nanos < r->last_nanos;
}

static pprofdelta_status write_window(pprofdelta_recorder *r, const pprofdelta_sink *sink,
                                      pprofdelta_report *report, pprofdelta_error *err)
{
    pd_tally tally;
    pd_bytes out;
    uint64_t written;
    PD_TRY(pd_recorder_judge(r, err));
    PD_TRY(pd_places_begin(&r->places, pd_places_loads(&r->places), &r->mem, err));
    PD_TRY(pd_tally_begin(&tally, &r->window, r->how, err));
    PD_TRY(choose(r, &tally, err));
    if (r->flags & PPROFDELTA_VERIFY)
        PD_TRY(pd_tally_check(&tally, &r->schema, err));
    PD_TRY(write_profile(r, &out, err));
    PD_TRY(pd_compress(&r->compressor, &r->mem, out, PD_LIFE_SINK(&r->life, sink), &written, err));
    fill_report(r, &tally, written, report);
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_recorder_write(pprofdelta_recorder *r, const pprofdelta_sink *sink,
                                            pprofdelta_report *report, pprofdelta_error *err)
{
    pprofdelta_report done;
    pprofdelta_sink own;
    uint64_t ticket;
    if (report)
        PD_TRY(pd_result_check(report, err));
    sink = pd_encoder_sink(&r->outline.encoder, sink, &own);
    PD_TRY(pd_life_write(&r->life, sink, &ticket, err));
    r->is_full = true;
    if (r->trouble.status && err)
        *err = r->trouble;
    if (r->trouble.status)
        return r->trouble.status;
    pprofdelta_status status = write_window(r, sink, &done, err);
    status = pd_life_wrote(&r->life, ticket, status, err);
    if (!status && report)
        pd_result_write(report, &done, sizeof done);
    return status;
}

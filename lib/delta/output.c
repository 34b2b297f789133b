/* From a window that was decided about to the bytes of a profile, and the proof that they add up. */
#include "delta/context.h"
#include "profile/stamp.h"

/* A request that is made of one has what that has. */
static bool is_of_request(const pprofdelta *pd, const pd_input *input)
{
    return pd_encoder_has_attributes(&pd->door.encoder) && input->otlp.is_read &&
           input->otlp.facts.sets == 1;
}

static pprofdelta_status begin_transfer(pprofdelta *pd, pd_input *input, pprofdelta_error *err)
{
    PD_TRY(
        pd_transfer_begin(&input->transfer, &pd->door.mem, &input->tables, &pd->door.model, err));
    if (is_of_request(pd, input))
        input->transfer.more = pd_request_more(&input->otlp, err);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_output_begin(pprofdelta *pd, pprofdelta_error *err)
{
    pd_input *cur = &pd->cur;
    const pd_tables *t = &cur->tables;
    pd_model *model = &pd->door.model;
    pd->door.encoder.attributes = NULL;
    pd_model_begin(model, &pd->door.mem, err);
    PD_TRY(begin_transfer(pd, cur, err));
    if (is_of_request(pd, cur))
        PD_TRY(pd_request_attributes(&cur->otlp, &pd->door.encoder,
                                     (pd_bytes){pd->strong.ptr, pd->strong.len}, err));
    for (size_t i = 0; i < t->types_len; i++) {
        uint32_t type = pd_transfer_string(&cur->transfer, t->types[i].type);
        uint32_t unit = pd_transfer_string(&cur->transfer, t->types[i].unit);
        pd_model_add_type(model, type, unit);
    }
    if (pd->door.encoder.attributes)
        pd_request_profiles(&cur->otlp, model);
    if (t->mappings_len)
        pd_transfer_mapping(&cur->transfer, 0);
    return PPROFDELTA_OK;
}

/* From a row's order to that of cur's columns; what was counted in samples, as what it stands for.
 * entry: as for pd_estimate. */
static pprofdelta_status arrange_columns(pprofdelta *pd, const int64_t *row, uint32_t entry,
                                         int64_t *values, pprofdelta_error *err)
{
    const pd_columns *columns = &pd->cur.columns;
    for (size_t i = 0; i < columns->len; i++)
        values[i] = row[columns->slot[i]];
    if (!pd->cur.dump.rate)
        return PPROFDELTA_OK;
    if (!pd_estimate(pd, entry, values))
        return pd_no_fit(err, PPROFDELTA_NOWHERE, "an unsampled value does not fit");
    for (size_t i = 0; i < columns->len; i++)
        pd_sum_add(&pd->unsampled[columns->slot[i]], values[i]);
    return PPROFDELTA_OK;
}

static pprofdelta_status write_samples(pprofdelta *pd, pd_subtraction how, pd_tally *tally,
                                       pprofdelta_error *err)
{
    pd_input *cur = &pd->cur;
    int64_t row_values[PPROFDELTA_MAX_TYPES], values[PPROFDELTA_MAX_TYPES];
    pprofdelta_status status = cur->source.is_whole ? PPROFDELTA_OK : pd_input_rewind(cur, err);
    if (!status)
        status = pd_tally_begin(tally, &cur->window, how, err);
    for (size_t i = 0; i < cur->window.len && !status; i++) {
        size_t row = pd_row_set_at(&cur->window, i);
        if (!pd_subtract_row(&cur->window, row, how, row_values))
            continue;
        pd_tally_output(tally, row_values, cur->columns.len);
        uint32_t entry = how == PD_SUBTRACT_CLAMP ? cur->window.entry[row] : PD_ROW_NONE;
        status = arrange_columns(pd, row_values, entry, values, err);
        if (!status && !cur->source.is_whole)
            status = pd_input_record(cur, row, err);
        if (status)
            break;
        pd_transfer_sample(&cur->transfer, cur->window.offset[row]);
        pd_model_add_sample(&pd->door.model, values);
    }
    return status;
}

/* What only google/pprof's way shows: samples that cur does not have, in prev's order. A base was
 * just made, so entry n of the ledger is row n of prev's window. */
static pprofdelta_status write_vanished(pprofdelta *pd, pd_tally *tally, pprofdelta_error *err)
{
    pd_input *cur = &pd->cur, *prev = &pd->prev;
    int64_t row_values[PPROFDELTA_MAX_TYPES], values[PPROFDELTA_MAX_TYPES];
    PD_TRY(begin_transfer(pd, prev, err));
    pd_transfer_expect_mappings(&cur->transfer);
    for (uint32_t entry = 0; entry < pd->ledger.committed; entry++) {
        if (pd_row_set_find(&cur->window, entry) != PD_ROW_NONE ||
            !pd_subtract_vanished(&cur->window, entry, row_values))
            continue;
        pd_tally_output(tally, row_values, cur->columns.len);
        PD_TRY(arrange_columns(pd, row_values, PD_ROW_NONE, values, err));
        pd_transfer_sample(&prev->transfer, prev->window.offset[entry]);
        pd_model_add_sample(&pd->door.model, values);
    }
    return PPROFDELTA_OK;
}

void pd_output_comments(pprofdelta *pd)
{
    const pd_tables *t = &pd->cur.tables;
    for (size_t i = 0; i < t->comments_len; i++)
        if (!pd_is_stamp(t->strings[t->comments[i].index]) && /* an older window's */
            !pd_is_live_stamp(t->strings[t->comments[i].index]))
            pd_model_add_comment(&pd->door.model,
                                 pd_transfer_string(&pd->cur.transfer, t->comments[i].index));
}

/* Is `counter` to `gauge` what alloc_space is to inuse_space? */
static bool is_sibling(pd_bytes counter, pd_bytes gauge)
{
    const size_t prefix = sizeof "inuse_" - 1; /* "alloc_" is as long */
    return gauge.len > prefix && pd_bytes_begin(gauge, "inuse_") &&
           pd_bytes_begin(counter, "alloc_") &&
           pd_bytes_equal(pd_bytes_behind(counter, prefix), pd_bytes_behind(gauge, prefix));
}

/* The counter that takes a gauge's place as default type: its sibling by name, else the first of
 * the same unit. Where there is none, or it is no gauge, the default stays. */
static uint32_t counter_for(const pd_input *input, uint32_t default_type)
{
    const pd_tables *t = &input->tables;
    pd_bytes name = t->strings[default_type];
    const pd_type_name *gauge = NULL;
    for (size_t i = 0; i < t->types_len && !gauge; i++)
        if (pd_bytes_equal(input->names[i].type, name))
            gauge = &input->names[i];
    if (!gauge || gauge->is_counter)
        return default_type;
    size_t same_unit = t->types_len;
    for (size_t i = 0; i < t->types_len; i++) {
        if (!input->names[i].is_counter)
            continue;
        if (is_sibling(input->names[i].type, gauge->type))
            return t->types[i].type;
        if (same_unit == t->types_len && pd_bytes_equal(input->names[i].unit, gauge->unit))
            same_unit = i;
    }
    return same_unit < t->types_len ? t->types[same_unit].type : default_type;
}

pd_model_header pd_output_header(pprofdelta *pd, int64_t time_nanos, int64_t duration_nanos)
{
    pd_transfer *transfer = &pd->cur.transfer;
    const pd_header *h = &pd->cur.tables.header;
    uint32_t default_type = h->default_sample_type.index;
    if (pd->flags & PPROFDELTA_DEFAULT_COUNTER)
        default_type = counter_for(&pd->cur, default_type);
    return (pd_model_header){
        .has_period_type = h->has_period_type,
        .period_type = pd_transfer_string(transfer, h->period_type.type),
        .period_unit = pd_transfer_string(transfer, h->period_type.unit),
        .period = h->period,
        .time_nanos = time_nanos,
        .duration_nanos = duration_nanos,
        .drop_frames = pd_transfer_string(transfer, h->drop_frames.index),
        .keep_frames = pd_transfer_string(transfer, h->keep_frames.index),
        .default_sample_type = pd_transfer_string(transfer, default_type),
        .doc_url = pd_transfer_string(transfer, h->doc_url.index),
    };
}

pprofdelta_status pd_output_encode(pprofdelta *pd, pd_bytes *profile, pprofdelta_error *err)
{
    pd->door.model.writer.err = err;
    return pd_encode(&pd->door.encoder, &pd->door.model, &pd->header, profile);
}

pprofdelta_status pd_output_write(pprofdelta *pd, const pd_decision *decision, pd_tally *tally,
                                  pd_bytes *profile, pprofdelta_error *err)
{
    pd_input *cur = &pd->cur;
    memset(pd->unsampled, 0, sizeof pd->unsampled);
    /* Nothing is looked up in the ledger while samples are written. */
    if (!cur->source.is_whole || pd_gives_back(pd))
        pd_keymap_fold(&pd->ledger.keys, &pd->mem);
    PD_TRY(pd_output_begin(pd, err));
    PD_TRY(write_samples(pd, decision->how, tally, err));
    if (decision->how == PD_SUBTRACT_NEGATIVE)
        PD_TRY(write_vanished(pd, tally, err));
    pd_output_comments(pd);
    pd_interval w = decision->window;
    if (!pd_has_sequence(pd))
        w.sequence = w.attempt = 0;
    pd_door_add_stamp(&pd->door, &pd->steps, &w, &pd->door.model);
    /* That of a first window is cur's, which may be anything. */
    int64_t duration = w.duration_nanos > 0 ? w.duration_nanos : 0;
    pd->header = pd_output_header(pd, w.to_nanos, duration);
    pd->header.series = w.sequence ? pd->door.id : 0;
    pd->header.sequence = w.sequence;
    return pd_output_encode(pd, profile, err);
}

pprofdelta_status pd_output_compress(pprofdelta *pd, pd_bytes profile, pprofdelta_error *err)
{
    pd_door *d = &pd->door;
    bool saves_memory = pd->mem.is_tight || profile.len > PD_LARGE || pd_gives_back(pd);
    if (d->compressor.compression == PPROFDELTA_PLAIN || !profile.len) {
        pd->encoded = profile;
        return PPROFDELTA_OK;
    }
    if (!saves_memory)
        return pd_compress_bytes(&d->compressor, &d->mem, profile, &pd->encoded, err);
    pd_buffer *window = &pd->cur.source.window;
    PD_SWAP(pd_buffer, d->compressor.out, *window);
    pprofdelta_status status =
        pd_compress_bytes(&d->compressor, pd->cur.mem, profile, &pd->encoded, err);
    PD_SWAP(pd_buffer, d->compressor.out, *window);
    pd_output_drop(pd);
    if (!status) { /* before the ledger's second half is touched */
        pd_buffer_trim(pd->cur.mem, window, pd->encoded.len);
        pd->encoded.ptr = window->ptr;
    }
    return status;
}

void pd_output_drop(pprofdelta *pd)
{
    pd_door_drop(&pd->door);
    pd->cur.transfer = pd->prev.transfer = (pd_transfer){.more = NULL};
}

/* Parses what is to go out, and adds it up. */
static pprofdelta_status read_back(pprofdelta *pd, pprofdelta_sum *sums, pprofdelta_error *err)
{
    pd_input *proof = &pd->proof;
    pd_reading reading = {.bytes = pd->encoded, .chunk = pd->chunk};
    PD_TRY(pd_input_parse(proof, &reading, err));
    proof->columns = pd->cur.columns;
    PD_TRY(pd_input_samples(proof, (pd_sample_taker){0}, err));
    return pd_input_sums(proof, sums, err);
}

pprofdelta_status pd_output_verify_input(pprofdelta *pd, const pd_tally *tally,
                                         pprofdelta_error *err)
{
    pd_input *cur = &pd->cur;
    pprofdelta_sum in[PPROFDELTA_MAX_TYPES] = {{0, 0}};
    PD_TRY(pd_input_sums(cur, in, err));
    for (size_t i = 0; i < cur->columns.len; i++) {
        size_t slot = cur->columns.slot[i];
        if (in[i].lo != tally->types[slot].cur.lo)
            return pd_tally_refuse(&pd->schema, slot, "what was read is not what was counted", err);
    }
    return PPROFDELTA_OK;
}

pprofdelta_status pd_output_verify(pprofdelta *pd, const pd_tally *tally, pprofdelta_error *err)
{
    const pd_input *cur = &pd->cur;
    pprofdelta_sum written[PPROFDELTA_MAX_TYPES] = {{0, 0}};
    if (pd_encoder_makes_tables(&pd->door.encoder))
        pd_encoder_sums(&pd->door.encoder, pd->door.model.types_len, written);
    else if (pd->encoded.len)
        PD_TRY(read_back(pd, written, err));
    for (size_t i = 0; i < cur->columns.len; i++) {
        size_t slot = cur->columns.slot[i];
        pprofdelta_sum sent = cur->dump.rate ? pd->unsampled[slot] : tally->types[slot].delta;
        if (written[i].lo != sent.lo)
            return pd_tally_refuse(&pd->schema, slot, "what was written is not what was counted",
                                   err);
    }
    return pd_tally_check(tally, &pd->schema, err);
}

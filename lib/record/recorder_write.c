/* From a window to the sink, in two passes over the samples that are written.
 *
 * The first pass finds every place. All that can fail fails there, and what has to be known of a
 * mapping before it is written is known after it. The second pass writes. */
#include "profile/stamp.h"
#include "base/option_checks.h"
#include "record/recorder.h"

/* ---- the first pass -------------------------------------------------------------------------- */

static pprofdelta_status find_places(pprofdelta_recorder *r, size_t row, pprofdelta_error *err)
{
    size_t depth;
    const uintptr_t *stack = pd_recorder_stack(r, row, &depth);
    pprofdelta_status status = pd_mem_grow(&r->mem, &r->frames, &r->frames_cap,
                                           r->frames_len + depth, sizeof *r->frames, err);
    for (size_t i = 0; i < depth && !status; i++)
        status = pd_places_find_mapped(&r->places, &r->mem, stack[i], &r->frames[r->frames_len + i],
                                       err);
    if (!status)
        r->frames_len += depth;
    return status;
}

static pprofdelta_status emit(pprofdelta_recorder *r, size_t row, const int64_t *values,
                              pprofdelta_error *err)
{
    size_t types = r->columns.len, nth = r->emitted_len;
    pprofdelta_status status =
        pd_mem_grow(&r->mem, &r->emitted, &r->emitted_cap, nth + 1, sizeof *r->emitted, err);
    if (!status)
        status = pd_mem_grow(&r->mem, &r->values, &r->values_cap, (nth + 1) * types,
                             sizeof *r->values, err);
    if (status)
        return status;
    r->emitted[nth] = (pd_emitted){.row = row, .frames_first = r->frames_len};
    for (size_t i = 0; i < types; i++)
        r->values[nth * types + i] = values[r->columns.slot[i]];
    status = find_places(r, row, err);
    if (!status)
        r->emitted[r->emitted_len++].depth = r->frames_len - r->emitted[nth].frames_first;
    return status;
}

/* tally may be NULL: then nothing is counted. */
static pprofdelta_status choose(pprofdelta_recorder *r, pd_tally *tally, pprofdelta_error *err)
{
    int64_t raw[PPROFDELTA_MAX_TYPES], values[PPROFDELTA_MAX_TYPES];
    pd_carry carries[PPROFDELTA_MAX_TYPES];
    pd_window_walk walk = {0};
    r->emitted_len = r->frames_len = 0;
    for (size_t row; (row = pd_window_next(&r->window, &walk)) != PD_ROW_NONE;) {
        if (!pd_subtract_row(&r->window, row, r->how, raw))
            continue;
        if (tally)
            pd_tally_output(tally, raw, r->schema.len);
        pd_arena_row kept;
        pd_recorder_kept(r, row, &kept);
        pd_recorder_load_carries(r, row, carries);
        pd_recorder_unsample(r, kept.block_size, raw, carries, values);
        pprofdelta_status status =
            pd_compact_has_value(values, r->schema.len) ? emit(r, row, values, err) : PPROFDELTA_OK;
        if (status)
            return status;
    }
    return PPROFDELTA_OK;
}

/* ---- equal samples --------------------------------------------------------------------------- */

/* Records are identified by their program counters, and two program counters may be one place: an
 * interpreter has several numbers for a line, a compiler several instructions. With addresses these
 * are two locations, and the samples differ. Places that are identified by their lines are one
 * location; samples that differ in nothing else are added up, in the place of the first one. */

/* The key of a sample as it is written. */
static pd_key key_of(const pprofdelta_recorder *r, const pd_stack_numbers *numbers,
                     const pd_emitted *e)
{
    pd_arena_row kept;
    pd_identity identity = {0};
    for (size_t i = 0; i < e->depth; i++)
        pd_identity_place(&identity, numbers,
                          r->places.symbols.places[r->frames[e->frames_first + i]].ident);
    const uint8_t *at = pd_recorder_labels(r, e->row, &kept);
    const pd_bytes bytes = pd_bytes_of("bytes");
    const pd_label_parts block_size = {.key = bytes, .num = kept.block_size, .num_unit = bytes};
    for (size_t i = 0; i < kept.labels_len; i++) {
        pd_label_parts l = pd_unpack_label(&at);
        pd_identity_label(&identity, pd_label_parts_key(&l));
    }
    if (kept.block_size)
        pd_identity_label(&identity, pd_label_parts_key(&block_size));
    return pd_identity_key(&identity);
}

static int64_t *values_of(const pprofdelta_recorder *r, size_t nth)
{
    return r->values + nth * r->columns.len;
}

static void add_to(const pprofdelta_recorder *r, size_t to, size_t from)
{
    int64_t *sums = values_of(r, to);
    const int64_t *values = values_of(r, from);
    for (size_t i = 0; i < r->columns.len; i++)
        sums[i] = (int64_t)((uint64_t)sums[i] + (uint64_t)values[i]);
}

static void move(pprofdelta_recorder *r, size_t to, size_t from)
{
    if (to == from)
        return;
    r->emitted[to] = r->emitted[from];
    memcpy(values_of(r, to), values_of(r, from), r->columns.len * sizeof *r->values);
}

/* Values below zero may have made a sum zero. */
static void drop_zeros(pprofdelta_recorder *r)
{
    size_t kept = 0;
    for (size_t nth = 0; nth < r->emitted_len; nth++)
        if (pd_compact_has_value(values_of(r, nth), r->columns.len))
            move(r, kept++, nth);
    r->emitted_len = kept;
}

static pprofdelta_status add_up_equal(pprofdelta_recorder *r, pprofdelta_error *err)
{
    size_t kept = 0; /* also the number of keys in r->shown */
    pd_stack_numbers numbers;
    pd_stack_numbers_init(&numbers);
    pd_keymap_clear(&r->shown);
    for (size_t nth = 0; nth < r->emitted_len; nth++) {
        pd_key key = key_of(r, &numbers, &r->emitted[nth]);
        uint32_t first = pd_keymap_find(&r->shown, key);
        if (first != PD_KEYMAP_NONE) {
            add_to(r, first, nth);
            continue;
        }
        pprofdelta_status status = pd_keymap_room(&r->shown, &r->mem, key, err);
        if (status)
            return status;
        pd_keymap_add(&r->shown, key);
        move(r, kept++, nth);
    }
    r->emitted_len = kept;
    drop_zeros(r);
    return PPROFDELTA_OK;
}

/* ---- the second pass ------------------------------------------------------------------------- */

static uint32_t write_text(pprofdelta_recorder *r, const void *text, size_t len)
{
    return pd_compact_string(&r->compact, (pd_bytes){text, len});
}

static uint32_t write_schema_text(pprofdelta_recorder *r, size_t off, size_t len)
{
    return write_text(r, r->schema.text.ptr + off, len);
}

static void write_types(pprofdelta_recorder *r)
{
    for (size_t i = 0; i < r->columns.len; i++) {
        size_t slot = r->columns.slot[i];
        uint32_t type =
            write_schema_text(r, r->schema.names[slot].type, r->schema.names[slot].type_len);
        uint32_t unit =
            write_schema_text(r, r->schema.names[slot].unit, r->schema.names[slot].unit_len);
        pd_compact_type(&r->compact, type, unit);
    }
}

static void write_stack(pprofdelta_recorder *r, size_t first, size_t depth)
{
    uint8_t *out = depth ? pd_compact_stack(&r->compact, depth) : NULL;
    if (!out)
        return;
    for (size_t i = 0; i < depth; i++)
        out = pd_compact_stack_put(out,
                                   pd_places_write(&r->places, &r->compact, r->frames[first + i]));
    pd_compact_stack_end(&r->compact, out);
}

static void write_label(pprofdelta_recorder *r, const pd_label_parts *label)
{
    uint32_t key = pd_compact_string(&r->compact, label->key);
    uint32_t str = pd_compact_string(&r->compact, label->str);
    uint32_t num_unit = pd_compact_string(&r->compact, label->num_unit);
    pd_compact_sample_label(&r->compact, key, str, label->num, num_unit);
}

static void write_labels(pprofdelta_recorder *r, size_t row)
{
    pd_arena_row kept;
    const uint8_t *at = pd_recorder_labels(r, row, &kept);
    if (kept.block_size) {
        uint32_t bytes = write_text(r, "bytes", 5);
        pd_compact_sample_label(&r->compact, bytes, 0, kept.block_size, bytes);
    }
    for (size_t i = 0; i < kept.labels_len; i++) {
        pd_label_parts label = pd_unpack_label(&at);
        write_label(r, &label);
    }
}

static pd_compact_header make_header(pprofdelta_recorder *r)
{
    const char *text = (const char *)r->text.ptr;
    const char *period_unit = text + r->period_unit_off, *type = text + r->default_type_off;
    return (pd_compact_header){
        .has_period_type = r->has_period_type,
        .period_type = write_text(r, text, strlen(text)),
        .period_unit = write_text(r, period_unit, strlen(period_unit)),
        .period = r->period,
        .time_nanos = r->life.window.to_nanos,
        .duration_nanos = r->life.window.duration_nanos,
        .default_sample_type = write_text(r, type, strlen(type)),
        .series = r->id,
        .sequence = r->life.window.sequence,
    };
}

static pprofdelta_status write_profile(pprofdelta_recorder *r, pd_bytes *out, pprofdelta_error *err)
{
    size_t types = r->columns.len;
    pd_compact_begin(&r->compact, &r->mem, err);
    write_types(r);
    pd_places_write_main(&r->places, &r->compact);
    for (size_t i = 0; i < r->emitted_len; i++) {
        const pd_emitted *e = &r->emitted[i];
        write_stack(r, e->frames_first, e->depth);
        write_labels(r, e->row);
        pd_compact_sample_end(&r->compact, r->values + i * types, types);
    }
    if (!(r->flags & PPROFDELTA_NO_STAMP)) {
        pprofdelta_stamp stamp = {.from_nanos = r->life.window.from_nanos,
                                  .to_nanos = r->life.window.to_nanos,
                                  .sequence = r->life.window.sequence,
                                  .attempt = r->life.window.attempt,
                                  .id = r->id,
                                  .acked = r->life.series.acked.sequence,
                                  .restart = r->life.window.restart};
        pd_stamp_add(&stamp, 0, &r->compact);
    }
    pd_compact_header header = make_header(r);
    return pd_compact_finish(&r->compact, &header, out);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void fill_report(pprofdelta_recorder *r, const pd_tally *tally, uint64_t written,
                        pprofdelta_report *report)
{
    pd_tally_report(tally, &r->schema, &r->columns, r->types);
    *report = (pprofdelta_report){
        .samples_in = r->samples_in,
        .samples_out = r->emitted_len,
        .matched = tally->matched,
        .fresh = tally->fresh,
        .vanished = tally->vanished,
        .clamped = tally->clamped,
        .duplicates = r->window.duplicates,
        .by_address = r->places.symbols.place_keys.len - r->places.by_lines,
        .by_lines = r->places.by_lines,
        .had_base = r->has_base || r->restart,
        .restart = r->life.window.restart,
        .from_nanos = r->life.window.from_nanos,
        .to_nanos = r->life.window.to_nanos,
        .sequence = r->life.window.sequence,
        .attempt = r->life.window.attempt,
        .id = r->id,
        .output_len = written,
        .types = r->types,
        .types_len = r->columns.len,
        .clock_set_back = pd_recorder_has_seen(r) && r->time_nanos < r->last_nanos,
    };
}

static pprofdelta_status check_books(const pprofdelta_recorder *r, const pd_tally *tally,
                                     pprofdelta_error *err)
{
    int broken = pd_tally_check(tally, r->schema.counters);
    if (broken < 0)
        return PPROFDELTA_OK;
    return pd_fail(err, PPROFDELTA_E_VERIFY, "delta", "sample.value", PPROFDELTA_NOWHERE,
                   PPROFDELTA_NOWHERE,
                   "the sums of %s do not add up: prev + delta - clamped - vanished is not cur; "
                   "this is a bug",
                   (const char *)r->schema.text.ptr + r->schema.names[broken].type);
}

static pprofdelta_status write_window(pprofdelta_recorder *r, const pprofdelta_sink *sink,
                                      pprofdelta_report *report, pprofdelta_error *err)
{
    pd_tally tally;
    pd_bytes out;
    uint64_t written;
    bool has_books = report || (r->flags & PPROFDELTA_VERIFY);
    pprofdelta_sink called = {pd_life_sink_write, &(pd_life_sink){&r->life, sink}};
    pprofdelta_status status = pd_recorder_judge(r, err);
    if (!status)
        status = pd_places_begin(&r->places, &r->mem, err);
    if (!status && has_books)
        pd_tally_begin(&tally, &r->window, r->how);
    if (!status)
        status = choose(r, has_books ? &tally : NULL, err);
    if (!status && r->places.by_lines)
        status = add_up_equal(r, err);
    if (!status && (r->flags & PPROFDELTA_VERIFY))
        status = check_books(r, &tally, err);
    if (!status)
        status = write_profile(r, &out, err);
    if (!status)
        status = pd_compress(&r->compressor, &r->mem, out, &called, &written, err);
    if (!status && report)
        fill_report(r, &tally, written, report);
    return status;
}

pprofdelta_status pprofdelta_recorder_write(pprofdelta_recorder *r, const pprofdelta_sink *sink,
                                            pprofdelta_report *report, pprofdelta_error *err)
{
    pprofdelta_report done;
    uint64_t ticket;
    pprofdelta_status status = pd_life_write(&r->life, sink, &ticket, err);
    if (status)
        return status;
    r->is_full = true;
    if (r->trouble.status && err)
        *err = r->trouble;
    if (r->trouble.status)
        return r->trouble.status;
    status = write_window(r, sink, report ? &done : NULL, err);
    status = pd_life_wrote(&r->life, ticket, status, err);
    if (!status && report)
        pd_result_write(report, &done, sizeof done);
    return status;
}

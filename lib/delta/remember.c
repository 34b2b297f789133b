/* What a context remembers besides its ledger; and all of it saved, loaded, described. */
#include "delta/context.h"
#include "base/option_checks.h"
#include "profile/stamp.h"

/* Copies the text, with room for a NUL. */
static pprofdelta_status copy_text(pd_mem *mem, pd_buffer *to, pd_bytes text, pprofdelta_error *err)
{
    pprofdelta_status status = pd_buffer_room(mem, to, text.len + 1, err);
    if (status || !text.len)
        return status;
    memcpy(to->ptr, text.ptr, text.len);
    to->len = text.len;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_remember_input(pprofdelta *pd, const pd_input *input,
                                    const pd_mapped_list *known, pd_remembered *out,
                                    pprofdelta_error *err)
{
    const pd_tables *t = &input->tables;
    pprofdelta_stamp live = {0};
    pd_stamp_of_live(t, &live);
    out->live_id = live.id;
    out->live_to_nanos = live.to_nanos;
    out->time_nanos = t->header.time_nanos;
    out->duration_nanos = t->header.duration_nanos > 0 ? t->header.duration_nanos : 0;
    out->rate = input->dump.rate;
    out->kind = pd_label_names_key(
        t->strings[t->header.period_type.type], /* a hash of three strings */
        t->strings[t->header.period_type.unit], t->strings[t->header.default_sample_type.index]);
    out->build_id.len = out->binary.len = 0;
    if (t->mappings_len) {
        PD_TRY(copy_text(&pd->mem, &out->build_id, t->strings[t->mappings[0].build_id], err));
        PD_TRY(copy_text(&pd->mem, &out->binary, t->strings[t->mappings[0].filename], err));
    }
    return pd_mapped_remember(&out->mapped, &pd->mem, t, known, err);
}

/* The context can be described while the caller's source is called, but not changed. */
typedef struct life_source {
    pd_steps *steps;
    const pprofdelta_source *source;
} life_source;

static int life_source_read(void *cookie, void *buf, size_t len, size_t *got)
{
    const life_source *s = cookie;
    uint64_t ticket = pd_steps_sink_begin(s->steps);
    int failed = s->source->read(s->source->cookie, buf, len, got);
    return !pd_steps_sink_end(s->steps, ticket) || failed;
}

pprofdelta_status pprofdelta_save(pprofdelta *pd, const pprofdelta_sink *sink,
                                  pprofdelta_error *err)
{
    if (!sink || !sink->write)
        return pd_refuse(err, "there is no sink to save to");
    pd_settle_due(pd);
    pd_state state = {.ledger = &pd->ledger,
                      .schema = &pd->schema,
                      .last = &pd->last,
                      .series = pd_steps_series(&pd->steps),
                      .id = pd->door.id,
                      .has_base = pd->has_base};
    pd_steps_sink guarded = {.steps = &pd->steps, .sink = sink, .is_state = true};
    return pd_state_write(
        &state, &(pprofdelta_sink){.write = pd_steps_sink_write, .cookie = &guarded}, err);
}

pprofdelta_status pprofdelta_load(pprofdelta *pd, const pprofdelta_source *source,
                                  pprofdelta_error *err)
{
    PD_TRY(pd_refuse_change(pd, err));
    if (!source || !source->read)
        return pd_refuse(err, "there is no source to load from");
    pd_state state = {.ledger = &pd->spare, .schema = &pd->spare_schema, .last = &pd->next};
    life_source guarded = {&pd->steps, source};
    PD_TRY(pd_state_read(&state, &pd->mem,
                         &(pprofdelta_source){.read = life_source_read, .cookie = &guarded}, err));
    pd_take_spare(pd);
    pd->steps.series = state.series;
    uint64_t *sequence = &pd->steps.series.last.sequence;
    if (!pd_series_is_open(&state.series) && *sequence < pd->last_sequence)
        *sequence = pd->last_sequence;
    pd->door.id = state.id ? state.id : pd->door.id;
    pd->has_base = state.has_base;
    pd->is_from_base = false;
    return PPROFDELTA_OK;
}

/* Sets the names of the types, in the ledger's order. */
static void name_types(pprofdelta *pd)
{
    const char *text = (const char *)pd->schema.text.ptr;
    for (size_t i = 0; i < pd->schema.len; i++)
        pd->described[i] = (pprofdelta_type_report){.type = text + pd->schema.names[i].type,
                                                    .unit = text + pd->schema.names[i].unit,
                                                    .is_counter = i < pd->schema.counters};
}

static pprofdelta_memory describe_memory(pprofdelta *pd)
{
    const pd_series series = pd_steps_series(&pd->steps);
    const pd_interval *last = &series.last, *acked = &series.acked;
    pprofdelta_memory out = {.has_base = pd->has_base,
                             .sequence = acked->sequence,
                             .attempts = last->attempt,
                             .from_nanos = acked->from_nanos,
                             .to_nanos = acked->to_nanos,
                             .restart = acked->restart,
                             .build_id = "",
                             .id = pd->door.id};
    const pd_input *const inputs[] = {&pd->cur, &pd->prev, &pd->proof};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        out.bytes += pd_gzip_own(&inputs[i]->source) + pd_zstd_own(&inputs[i]->source);
    out.bytes += pd->mem.used + pd_compressor_own(&pd->door.compressor);
    if (pd_series_is_open(&series)) {
        out.open_sequence = last->sequence;
        out.open_from_nanos = last->from_nanos;
        out.open_to_nanos = last->to_nanos;
        out.open_restart = last->restart;
    }
    if (!pd_has_seen(pd))
        return out;
    name_types(pd);
    for (size_t entry = 0; entry < pd->ledger.committed; entry++)
        for (size_t i = 0; i < pd->ledger.counters; i++)
            pd_sum_add(&pd->described[i].prev, pd_ledger_base(&pd->ledger, entry)[i]);
    if (pd->last.build_id.len) {
        pd->last.build_id.ptr[pd->last.build_id.len] = 0; /* there is room: see copy_text */
        out.build_id = (const char *)pd->last.build_id.ptr;
    }
    out.samples = pd->ledger.kept;
    out.unseen = pd->ledger.kept - pd->ledger.living;
    out.types = pd->described;
    out.types_len = pd->schema.len;
    out.types_stride = sizeof *out.types;
    return out;
}

pprofdelta_status pprofdelta_describe(pprofdelta *pd, pprofdelta_memory *out)
{
    PD_TRY(pd_result_check(out, NULL));
    pd_settle_due(pd);
    pprofdelta_memory memory = describe_memory(pd);
    pd_result_write(out, &memory, sizeof memory);
    return PPROFDELTA_OK;
}

/* Writes a profile again, with every sample and in the compact form.
 *
 *     profile -> tables -> every sample in its order -> compact writer -> compress -> sink
 *
 * Nothing is subtracted, added up or dropped, and the stamps stay. So this is for profiles that were
 * changed: what was added to their tables is numbered densely, and what became unused goes away. */
#include "delta/context.h"

static void write_samples(pprofdelta *pd)
{
    const pd_tables *t = &pd->cur.tables;
    pd_reader top = pd_reader_of(t->bytes.ptr, t->bytes.len);
    int64_t values[PPROFDELTA_MAX_TYPES];
    pd_field f;
    while (!pd->compact.writer.status && pd_reader_next(&top, &f)) {
        if (f.number != PD_PROFILE_SAMPLE)
            continue;
        pd_sample_values_read(f.body, values);
        pd_transfer_sample(&pd->cur.transfer, (uint64_t)(f.start - t->bytes.ptr), values,
                           t->types_len);
    }
}

static pprofdelta_status write_profile(pprofdelta *pd, pd_bytes *out, pprofdelta_error *err)
{
    pd_look *cur = &pd->cur;
    const pd_tables *t = &cur->tables;
    pd_compact_begin(&pd->compact, &pd->mem, err);
    pprofdelta_status status = pd_transfer_begin(&cur->transfer, &pd->mem, t, &pd->compact, err);
    if (status)
        return status;
    pd_output_types(pd);
    if (t->mappings_len)
        pd_transfer_mapping(&cur->transfer, 0); /* pprof takes the first as the main binary */
    write_samples(pd);
    for (size_t i = 0; i < t->comments_len; i++)
        pd_compact_comment(&pd->compact, pd_transfer_string(&cur->transfer, t->comments[i].index));
    pd_compact_header header = pd_output_header(pd, t->header.time_nanos, t->header.duration_nanos);
    return pd_compact_finish(&pd->compact, &header, out);
}

typedef struct rewrite_call {
    pd_bytes bytes;
    const pprofdelta_sink *sink;
} rewrite_call;

static pprofdelta_status rewrite(pprofdelta *pd, void *cookie, pprofdelta_error *err)
{
    const rewrite_call *call = cookie;
    pd_look *cur = &pd->cur;
    pd_bytes out;
    uint64_t written;
    pd_reading reading = pd_context_reading(pd, cur, call->bytes, (pd_plan_facts){0});
    reading.plan.source = PD_SOURCE_WHOLE; /* the samples are read at random after the passes */
    reading.unsamples = true;
    pd->is_made = false; /* the compressor and the look are taken */
    pprofdelta_status status = pd_look_parse(cur, &reading, err);
    cur->columns = (pd_columns){.len = cur->tables.types_len};
    if (!status)
        status = pd_look_samples(cur, (pd_sample_taker){0}, err);
    if (!status)
        status = write_profile(pd, &out, err);
    return status ? status : pd_compress(&pd->compressor, &pd->mem, out, call->sink, &written, err);
}

pprofdelta_status pprofdelta_rewrite(pprofdelta *pd, const void *bytes, size_t len,
                                     const pprofdelta_sink *sink, pprofdelta_error *err)
{
    rewrite_call call = {{bytes, len}, sink};
    pprofdelta_status status = pd_context_refuse_null(bytes, len, err);
    if (status)
        return status;
    if (!sink || !sink->write)
        return pd_refuse(err, "there is no sink to write to");
    if (pd->life.stage != PD_IDLE)
        return pd_refuse(err, "a window is under way: pprofdelta_commit or pprofdelta_abandon "
                              "comes first");
    return rewrite(pd, &call, err);
}

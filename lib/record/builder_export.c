/* From what was flushed to the sink, while more comes in. */
#include "profile/stamp.h"
#include "record/builder.h"

/* The numbers of an export on its way. */
typedef struct journey {
    uint64_t generation;
    pprofdelta_export_report report;
} journey;

static void swap_collected(pd_collected *a, pd_collected *b)
{
    pd_collected scratch = *a;
    *a = *b;
    *b = scratch;
}

static bool is_empty(const pd_collected *c)
{
    return !c->keys.len && !c->in;
}

static pprofdelta_status move_spare(pprofdelta_builder *b, pprofdelta_error *err)
{
    if (is_empty(&b->spare))
        return PPROFDELTA_OK;
    pprofdelta_status status = pd_collected_move(&b->outgoing, &b->spare, err);
    if (!status)
        pd_collected_clear(&b->spare);
    return status;
}

/* Moves everything that was flushed so far into the outgoing collection. A failure leaves the rest
 * where it is, in the spare one and the shards. */
static pprofdelta_status gather(pprofdelta_builder *b, pprofdelta_error *err)
{
    pprofdelta_status status = move_spare(b, err);
    for (size_t i = 0; i < PD_SHARDS && !status; i++) {
        pd_shard *shard = &b->shards[i];
        pd_collected *to = is_empty(&b->outgoing) ? &b->outgoing : &b->spare;
        pd_gate_enter(&shard->gate);
        if (!is_empty(&shard->collected))
            swap_collected(&shard->collected, to);
        pd_gate_leave(&shard->gate);
        status = move_spare(b, err);
    }
    if (!status)
        pd_builder_drain(b, &b->outgoing);
    return status;
}

static uint32_t next_text(pprofdelta_builder *b, const char **at)
{
    size_t len = strlen(*at);
    pd_bytes text = {(const uint8_t *)*at, len};
    *at += len + 1;
    return pd_compact_string(&b->compact, text);
}

static pprofdelta_status write_profile(pprofdelta_builder *b, journey *j, pd_bytes *out,
                                       pprofdelta_error *err)
{
    const char *text = (const char *)b->text.ptr;
    pprofdelta_export_report *report = &j->report;
    pd_compact_begin(&b->compact, &b->export_mem, err);
    for (size_t i = 0; i < b->types; i++) {
        uint32_t type = next_text(b, &text);
        pd_compact_type(&b->compact, type, next_text(b, &text));
    }
    pd_collected_write(&b->outgoing, &b->compact);
    if (!(b->flags & PPROFDELTA_NO_STAMP)) {
        pprofdelta_stamp stamp = {.from_nanos = report->from_nanos,
                                  .to_nanos = report->to_nanos,
                                  .sequence = report->sequence,
                                  .attempt = report->attempt};
        pd_stamp_add(&stamp, report->pid, &b->compact);
    }
    bool is_forward = report->to_nanos > report->from_nanos;
    pd_compact_header header = {.has_period_type = b->has_period_type,
                                .period = b->period,
                                .time_nanos = report->to_nanos,
                                .duration_nanos =
                                    is_forward ? report->to_nanos - report->from_nanos : 0};
    header.period_type = next_text(b, &text);
    header.period_unit = next_text(b, &text);
    header.default_sample_type = next_text(b, &text);
    report->samples_out = b->compact.samples;
    report->strings = b->compact.strings.len;
    return pd_compact_finish(&b->compact, &header, out);
}

/* Where the compressor leaves its output: the caller's sink is called later, without a lock. */
static int note_output(void *cookie, const void *data, size_t len)
{
    *(pd_bytes *)cookie = (pd_bytes){data, len};
    return 0;
}

static pprofdelta_status compute(pprofdelta_builder *b, journey *j, pd_bytes *out,
                                 pprofdelta_error *err)
{
    pd_bytes raw;
    pprofdelta_sink notes = {note_output, out};
    pprofdelta_status status = gather(b, err);
    *j = (journey){.generation = atomic_load(&b->generation),
                   .report = {.pid = b->pid,
                              .sequence = b->sequence + 1,
                              .attempt = b->attempts + 1,
                              .from_nanos = b->from_nanos,
                              .to_nanos = pd_builder_now(),
                              .samples_in = b->outgoing.in,
                              .samples_lost = b->outgoing.lost}};
    if (!status)
        status = write_profile(b, j, &raw, err);
    if (!status)
        status =
            pd_compress(&b->compressor, &b->export_mem, raw, &notes, &j->report.output_len, err);
    return status;
}

static void arrived(pprofdelta_builder *b, const journey *j)
{
    pd_gate_enter(&b->work);
    pd_collected_clear(&b->outgoing);
    b->sequence = j->report.sequence;
    b->attempts = 0;
    b->from_nanos = j->report.to_nanos;
    pd_gate_leave(&b->work);
}

static pprofdelta_status export_now(pprofdelta_builder *b, const pprofdelta_sink *sink,
                                    pprofdelta_export_report *report, pprofdelta_error *err)
{
    journey j;
    pd_bytes out;
    pd_gate_enter(&b->work);
    pprofdelta_status status = compute(b, &j, &out, err);
    pd_gate_leave(&b->work);
    if (status)
        return status;
    int refused = sink->write(sink->cookie, out.ptr, out.len);
    if (j.generation != atomic_load(&b->generation))
        return pd_refuse(err,
                         "the sink forked, and this is the child: what was being exported is the "
                         "parent's");
    if (refused) {
        pd_gate_enter(&b->work); /* a fork may look */
        b->attempts++;
        pd_gate_leave(&b->work);
        return pd_fail(err, PPROFDELTA_E_SINK, "write", NULL, PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "the output of %zu bytes was refused", out.len);
    }
    arrived(b, &j);
    if (report)
        *report = j.report;
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_builder_export(pprofdelta_builder *b, const pprofdelta_sink *sink,
                                            pprofdelta_export_report *report, pprofdelta_error *err)
{
    if (!sink || !sink->write)
        return pd_refuse(err, "there is no sink to write to");
    if (!pd_gate_try(&b->busy))
        return pd_refuse(err, "another export is under way");
    uint64_t generation = atomic_load(&b->generation);
    pprofdelta_status status = export_now(b, sink, report, err);
    if (generation == atomic_load(&b->generation)) /* else a fork has let it go */
        pd_gate_leave(&b->busy);
    return status;
}

pprofdelta_status pprofdelta_builder_clear(pprofdelta_builder *b, pprofdelta_error *err)
{
    if (!pd_gate_try(&b->busy))
        return pd_refuse(err, "an export is under way");
    pd_gate_enter(&b->work);
    for (size_t i = 0; i < PD_SHARDS; i++) {
        pd_gate_enter(&b->shards[i].gate);
        pd_collected_clear(&b->shards[i].collected);
        pd_gate_leave(&b->shards[i].gate);
    }
    pd_builder_drain(b, &b->outgoing);
    pd_collected_clear(&b->outgoing);
    pd_collected_clear(&b->spare);
    b->from_nanos = pd_builder_now();
    pd_gate_leave(&b->work);
    pd_gate_leave(&b->busy);
    return PPROFDELTA_OK;
}

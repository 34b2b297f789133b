/* The windows of a builder. Samples may be added while a window is under way.
 *
 *     begin     shards -> spare -> outgoing     the gate of a shard is held for a swap only
 *     write     outgoing -> profile -> sink     no gate is held while the sink is called
 *     commit    clears outgoing
 *     abandon   leaves outgoing; the next begin adds to it */
#include "base/time.h"
#include "profile/stamp.h"
#include "builder/builder.h"

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

/* Moves all samples that were added so far to the outgoing collection. If that fails, the rest
 * stays where it is, in the spare collection and the shards. */
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

/* The window under way, which ends at window.to_nanos. */
static pd_stretch stretch_of(const pprofdelta_builder *b)
{
    int64_t to = b->window.to_nanos;
    return pd_series_next(&b->series, PPROFDELTA_RESTART_NONE, to,
                          pd_series_elapsed(b->series.last.to_nanos, to));
}

static pprofdelta_builder_report make_report(const pprofdelta_builder *b)
{
    pd_stretch window = stretch_of(b);
    return (pprofdelta_builder_report){.pid = b->pid,
                                       .sequence = window.sequence,
                                       .attempt = window.attempt,
                                       .from_nanos = window.from_nanos,
                                       .to_nanos = window.to_nanos,
                                       .samples_in = b->outgoing.in,
                                       .samples_lost = b->outgoing.lost};
}

static pprofdelta_status write_profile(pprofdelta_builder *b, pprofdelta_builder_report *report,
                                       pd_bytes *out, pprofdelta_error *err)
{
    const char *text = (const char *)b->text.ptr;
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
                                  .attempt = report->attempt,
                                  .id = b->id,
                                  .acked = b->series.acked.sequence};
        pd_stamp_add(&stamp, report->pid, &b->compact);
    }
    pd_compact_header header = {.has_period_type = b->has_period_type,
                                .period = b->period,
                                .time_nanos = report->to_nanos,
                                .duration_nanos = stretch_of(b).duration_nanos,
                                .series = b->id,
                                .sequence = report->sequence};
    header.period_type = next_text(b, &text);
    header.period_unit = next_text(b, &text);
    header.default_sample_type = next_text(b, &text);
    report->samples_out = b->compact.samples;
    pprofdelta_status status = pd_compact_finish(&b->compact, &header, out);
    report->strings = pd_compact_strings(&b->compact);
    return status;
}

/* The compressor's sink: the output stays in the compressor's buffer. */
static int note_output(void *cookie, const void *data, size_t len)
{
    *(pd_bytes *)cookie = (pd_bytes){data, len};
    return 0;
}

/* ---- the four steps, with the gate `work` ---------------------------------------------------- */

static pprofdelta_status begin(pprofdelta_builder *b, pprofdelta_error *err)
{
    if (b->window.is_open)
        return pd_refuse(err, "a window is under way: pprofdelta_builder_commit or "
                              "pprofdelta_builder_abandon comes first");
    pprofdelta_status status = gather(b, err);
    if (status)
        return status;
    b->window = (pd_builder_window){.number = b->window.number + 1,
                                    .is_open = true,
                                    .is_in_sink = b->window.is_in_sink,
                                    .to_nanos = pd_time_now()};
    return PPROFDELTA_OK;
}

static pprofdelta_status compute(pprofdelta_builder *b, pprofdelta_builder_report *report,
                                 pd_bytes *out, pprofdelta_error *err)
{
    if (!b->window.is_open)
        return pd_refuse(err, "no window is under way: pprofdelta_builder_begin comes first");
    if (b->window.is_in_sink)
        return pd_refuse(err, "a sink of this builder is being called");
    pd_bytes raw;
    pprofdelta_sink notes = {note_output, out};
    b->window.is_written = false;
    *report = make_report(b);
    pprofdelta_status status = write_profile(b, report, &raw, err);
    if (!status)
        status = pd_compress(&b->compressor, &b->export_mem, raw, &notes, &report->output_len, err);
    b->window.is_in_sink = !status;
    b->window.is_handed_out |= !status; /* also if the sink refuses: it may have had all of it */
    return status;
}

static void commit(pprofdelta_builder *b)
{
    pd_collected_clear(&b->outgoing);
    b->series.last = stretch_of(b);
    pd_series_commit(&b->series);
    b->window.is_open = false;
}

static void abandon(pprofdelta_builder *b)
{
    if (b->window.is_open && b->window.is_handed_out)
        b->series.last = stretch_of(b);
    b->window.is_open = false;
}

/* ---- the calls ------------------------------------------------------------------------------- */

pprofdelta_status pprofdelta_builder_begin(pprofdelta_builder *b, pprofdelta_error *err)
{
    pd_gate_enter(&b->work);
    pprofdelta_status status = begin(b, err);
    pd_gate_leave(&b->work);
    return status;
}

/* After the sink. Returns false if the sink forked and this is the child: the window is the
 * parent's. */
static bool end_sink(pprofdelta_builder *b, uint64_t generation, uint64_t number, bool is_taken)
{
    pd_gate_enter(&b->work);
    bool is_ours = generation == atomic_load(&b->generation);
    if (is_ours) {
        b->window.is_in_sink = false;
        if (b->window.is_open && b->window.number == number)
            b->window.is_written = is_taken;
    }
    pd_gate_leave(&b->work);
    return is_ours;
}

pprofdelta_status pprofdelta_builder_write(pprofdelta_builder *b, const pprofdelta_sink *sink,
                                           pprofdelta_builder_report *report, pprofdelta_error *err)
{
    pprofdelta_builder_report done;
    pd_bytes out = {0};
    if (!sink || !sink->write)
        return pd_refuse(err, "there is no sink to write to");
    pd_gate_enter(&b->work);
    pprofdelta_status status = compute(b, &done, &out, err);
    uint64_t generation = atomic_load(&b->generation), number = b->window.number;
    pd_gate_leave(&b->work);
    if (status)
        return status;
    bool is_taken = sink->write(sink->cookie, out.ptr, out.len) == 0;
    if (!end_sink(b, generation, number, is_taken))
        return pd_refuse(err, "the sink forked, and this is the child: the window is the parent's");
    if (!is_taken)
        return pd_fail(err, PPROFDELTA_E_SINK, "write", NULL, PPROFDELTA_NOWHERE,
                       PPROFDELTA_NOWHERE, "the output of %zu bytes was refused", out.len);
    if (report)
        *report = done;
    return PPROFDELTA_OK;
}

void pprofdelta_builder_commit(pprofdelta_builder *b)
{
    pd_gate_enter(&b->work);
    if (b->window.is_open && b->window.is_written)
        commit(b);
    else
        abandon(b);
    pd_gate_leave(&b->work);
}

void pprofdelta_builder_abandon(pprofdelta_builder *b)
{
    pd_gate_enter(&b->work);
    abandon(b);
    pd_gate_leave(&b->work);
}

static void clear(pprofdelta_builder *b)
{
    for (size_t i = 0; i < PD_SHARDS; i++) {
        pd_gate_enter(&b->shards[i].gate);
        pd_collected_clear(&b->shards[i].collected);
        pd_gate_leave(&b->shards[i].gate);
    }
    pd_builder_drain(b, &b->outgoing);
    pd_collected_clear(&b->outgoing);
    pd_collected_clear(&b->spare);
    pd_series_end_open(&b->series); /* its samples are gone: what was delivered of it stands */
    int64_t now = pd_time_now();
    if (now > b->series.last.to_nanos)
        b->series.last.to_nanos = now;
}

pprofdelta_status pprofdelta_builder_clear(pprofdelta_builder *b, pprofdelta_error *err)
{
    pd_gate_enter(&b->work);
    bool is_open = b->window.is_open;
    if (!is_open)
        clear(b);
    pd_gate_leave(&b->work);
    return is_open ? pd_refuse(err, "a window is under way") : PPROFDELTA_OK;
}

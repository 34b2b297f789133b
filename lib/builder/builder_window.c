/* The windows of a builder. Samples may be added while a window is under way.
 *
 *     begin     shards -> spare -> outgoing     the gate of a shard is held for a swap only
 *     write     outgoing -> profile -> sink     no gate is held while the sink is called
 *     commit    clears outgoing
 *     abandon   leaves outgoing; the next begin adds to it */
#include "base/random.h"
#include "base/option_checks.h"
#include "base/time.h"
#include "profile/stamp.h"
#include "builder/builder.h"

#include <unistd.h>

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

static pprofdelta_builder_report make_report(const pprofdelta_builder *b)
{
    const pd_stretch *window = &b->life.window;
    return (pprofdelta_builder_report){.pid = b->pid,
                                       .sequence = window->sequence,
                                       .attempt = window->attempt,
                                       .from_nanos = window->from_nanos,
                                       .to_nanos = window->to_nanos,
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
                                  .acked = b->life.series.acked.sequence};
        pd_stamp_add(&stamp, report->pid, &b->compact);
    }
    pd_compact_header header = {.has_period_type = b->has_period_type,
                                .period = b->period,
                                .time_nanos = report->to_nanos,
                                .duration_nanos = b->life.window.duration_nanos,
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

/* ---- the four steps -------------------------------------------------------------------------- */

static pprofdelta_status begin(pprofdelta_builder *b, pprofdelta_error *err)
{
    pprofdelta_status status = pd_life_begin(&b->life, err);
    if (status)
        return status;
    status = gather(b, err);
    if (status) {
        pd_life_abandon(&b->life);
        return status;
    }
    int64_t now = pd_time_now();
    pd_life_number(&b->life, PPROFDELTA_RESTART_NONE, now,
                   pd_series_elapsed(b->life.series.last.to_nanos, now));
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_builder_begin(pprofdelta_builder *b, pprofdelta_error *err)
{
    pd_gate_enter(&b->work);
    pprofdelta_status status = begin(b, err);
    pd_gate_leave(&b->work);
    return status;
}

/* The caller's sink, and the builder whose gate is left while it is called. */
typedef struct outlet {
    pprofdelta_builder *builder;
    const pprofdelta_sink *sink;
} outlet;

static int call_sink(void *cookie, const void *data, size_t len)
{
    const outlet *o = cookie;
    pd_life_enter_sink(&o->builder->life);
    pd_gate_leave(&o->builder->work);
    int refused = o->sink->write(o->sink->cookie, data, len);
    pd_gate_enter(&o->builder->work);
    pd_life_leave_sink(&o->builder->life);
    return refused;
}

static pprofdelta_status write_window(pprofdelta_builder *b, const pprofdelta_sink *sink,
                                      pprofdelta_builder_report *report, pprofdelta_error *err)
{
    pd_bytes raw;
    pprofdelta_sink out = {call_sink, &(outlet){b, sink}};
    *report = make_report(b);
    pprofdelta_status status = write_profile(b, report, &raw, err);
    return status
               ? status
               : pd_compress(&b->compressor, &b->export_mem, raw, &out, &report->output_len, err);
}

pprofdelta_status pprofdelta_builder_write(pprofdelta_builder *b, const pprofdelta_sink *sink,
                                           pprofdelta_builder_report *report, pprofdelta_error *err)
{
    pprofdelta_builder_report done;
    uint64_t ticket;
    pd_gate_enter(&b->work);
    pprofdelta_status status = pd_life_write(&b->life, sink, &ticket, err);
    if (!status)
        status = pd_life_wrote(&b->life, ticket, write_window(b, sink, &done, err), err);
    pd_gate_leave(&b->work);
    if (!status && report)
        pd_result_write(report, &done, sizeof done);
    return status;
}

pprofdelta_status pprofdelta_builder_commit(pprofdelta_builder *b)
{
    pd_gate_enter(&b->work);
    pprofdelta_status status = pd_life_commit(&b->life, NULL);
    if (!status)
        pd_collected_clear(&b->outgoing);
    pd_gate_leave(&b->work);
    return status;
}

void pprofdelta_builder_abandon(pprofdelta_builder *b)
{
    pd_gate_enter(&b->work);
    pd_life_abandon(&b->life);
    pd_gate_leave(&b->work);
}

/* ---- fork ------------------------------------------------------------------------------------ */

static void close_all(pprofdelta_builder *b)
{
    pd_gate_enter(&b->work);
    for (size_t i = 0; i < PD_SHARDS; i++)
        pd_gate_enter(&b->shards[i].gate);
    for (size_t i = 0; i < PD_SHELVES; i++)
        pd_gate_enter(&b->pool[i].gate);
}

static void open_all(pprofdelta_builder *b)
{
    for (size_t i = 0; i < PD_SHELVES; i++)
        pd_gate_leave(&b->pool[i].gate);
    for (size_t i = 0; i < PD_SHARDS; i++)
        pd_gate_leave(&b->shards[i].gate);
    pd_gate_leave(&b->work);
}

/* Everything is complete, and the child has one thread. Samples in the queue, and samples that are
 * being put together, have an older generation and are not added. Another thread may have waited for
 * a gate, so its ticket is not served in the child: the gates are reset. */
static void begin_child(pprofdelta_builder *b)
{
    atomic_fetch_add(&b->generation, 1);
    pd_collected_clear(&b->spare);
    pd_collected_clear(&b->outgoing);
    for (size_t i = 0; i < PD_SHARDS; i++)
        pd_collected_clear(&b->shards[i].collected);
    b->pid = getpid();
    b->id = pd_random_id(b);
    pd_life_forked(&b->life, pd_time_now());
    for (size_t i = 0; i < PD_SHELVES; i++)
        pd_gate_reset(&b->pool[i].gate);
    for (size_t i = 0; i < PD_SHARDS; i++)
        pd_gate_reset(&b->shards[i].gate);
    pd_gate_reset(&b->work);
}

void pprofdelta_builder_fork(pprofdelta_builder *b, pprofdelta_fork step)
{
    if (step == PPROFDELTA_FORK_PREPARE)
        close_all(b);
    else if (step == PPROFDELTA_FORK_PARENT)
        open_all(b);
    else
        begin_child(b);
}

/* The windows of a builder. Samples may be added while a window is under way.
 *
 *     begin     gathering -> outgoing              `adding` is held: samples that are added meanwhile wait in
 *                                                  the queue
 *     write     outgoing -> profile -> sink        no lock is held while the sink is called
 *     commit    clears outgoing
 *     abandon   leaves outgoing; the next begin adds to it */
#include "base/random.h"
#include "base/option_checks.h"
#include "base/time.h"
#include "builder/builder.h"

#include <unistd.h>

/* Moves all samples that were added so far to the outgoing collection. If that is full, the window has what is in it,
 * and the rest waits for the next one. If it fails otherwise, the rest stays where it is. Samples that wait for memory
 * are gathered once there is room again. */
static pprofdelta_status gather_samples(pprofdelta_builder *b, pprofdelta_error *err)
{
    pprofdelta_status status = PPROFDELTA_OK, waiting;
    pd_lock_take(&b->adding);
    do {
        waiting = pd_builder_drain(b, err);
        bool has_some = b->gathering.sum.ledger.keys.len != 0;
        status =
            waiting && !has_some ? waiting : pd_collected_move(&b->outgoing, &b->gathering, err);
    } while (waiting && !status);
    pd_lock_give(&b->adding);
    return status == PPROFDELTA_E_LIMIT && b->outgoing.sum.ledger.keys.len ? PPROFDELTA_OK : status;
}

/* ---- the four steps -------------------------------------------------------------------------- */

static pprofdelta_status begin_window(pprofdelta_builder *b, pprofdelta_error *err)
{
    PD_TRY(pd_steps_begin(&b->steps, err));
    pprofdelta_error why;
    pprofdelta_status status = gather_samples(b, &why);
    if (status) {
        pd_steps_abandon(&b->steps);
        return pd_fail_as(err, &why);
    }
    int64_t now = pd_time_now();
    pd_steps_number(&b->steps, PPROFDELTA_RESTART_NONE, now,
                    pd_series_elapsed(b->steps.series.last.to_nanos, now));
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_builder_begin(pprofdelta_builder *b, pprofdelta_error *err)
{
    pd_lock_take(&b->work);
    pprofdelta_status status = begin_window(b, err);
    pd_lock_give(&b->work);
    return status;
}

typedef struct writing {
    pprofdelta_builder *builder;
    pprofdelta_builder_report report;
} writing;

static pprofdelta_status make_window(void *cookie, pd_bytes *out, pprofdelta_error *err)
{
    writing *w = cookie;
    pprofdelta_builder *b = w->builder;
    pd_door *d = &b->door;
    const pd_interval *window = &b->steps.window;
    pd_model_begin(&d->model, &b->export_mem, err);
    pd_door_add_types(d, &d->model);
    pd_collected_write(&b->outgoing, &b->transfer, &d->model);
    PD_TRY(pd_door_finish(d, &b->steps, &d->model, out));
    w->report = (pprofdelta_builder_report){.pid = d->pid,
                                            .sequence = window->sequence,
                                            .attempt = window->attempt,
                                            .from_nanos = window->from_nanos,
                                            .to_nanos = window->to_nanos,
                                            .samples_in = b->outgoing.in,
                                            .samples_out = d->model.samples,
                                            .samples_lost = b->outgoing.lost,
                                            .strings = d->encoder.strings};
    return pd_compress_bytes(&d->compressor, &b->export_mem, *out, out, err);
}

static int send_unlocked(void *cookie, const pprofdelta_sink *sink, const void *data, size_t len)
{
    pprofdelta_builder *b = ((writing *)cookie)->builder;
    pd_lock_give(&b->work);
    int refused = sink->write(sink->cookie, data, len);
    pd_lock_take(&b->work);
    return refused;
}

pprofdelta_status pprofdelta_builder_write(pprofdelta_builder *b, const pprofdelta_sink *sink,
                                           pprofdelta_builder_report *report, pprofdelta_error *err)
{
    static const pd_door_job job = {make_window, send_unlocked};
    writing w = {.builder = b};
    if (report)
        PD_TRY(pd_result_check(report, err));
    pd_lock_take(&b->work);
    pprofdelta_status status =
        pd_door_write(&b->door, &b->steps, &job, &w, sink, &w.report.output_len, err);
    pd_lock_give(&b->work);
    if (!status && report)
        pd_result_write(report, &w.report, sizeof w.report);
    return status;
}

pprofdelta_status pprofdelta_builder_commit(pprofdelta_builder *b)
{
    pd_lock_take(&b->work);
    pprofdelta_status status = pd_steps_commit(&b->steps, NULL);
    if (!status)
        pd_collected_clear(&b->outgoing);
    pd_lock_give(&b->work);
    return status;
}

void pprofdelta_builder_abandon(pprofdelta_builder *b)
{
    if (!b)
        return;
    pd_lock_take(&b->work);
    pd_steps_abandon(&b->steps);
    pd_lock_give(&b->work);
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* Everything is complete, and the child has one thread. Samples in the queue, and samples that are
 * being put together, have an older generation and are not added. */
static void begin_child(pprofdelta_builder *b)
{
    atomic_fetch_add(&b->generation, 1);
    pd_collected_clear(&b->outgoing);
    pd_collected_clear(&b->gathering);
    b->door.pid = getpid();
    b->door.id = pd_random_id(b);
    pd_steps_forked(&b->steps, pd_time_now());
    pd_lock_reset(&b->adding);
    pd_lock_reset(&b->work);
}

void pprofdelta_builder_fork(pprofdelta_builder *b, pprofdelta_fork step)
{
    if (step == PPROFDELTA_FORK_PREPARE) {
        pd_lock_take(&b->work);
        pd_lock_take(&b->adding);
    } else if (step == PPROFDELTA_FORK_PARENT) {
        pd_lock_give(&b->adding);
        pd_lock_give(&b->work);
    } else {
        begin_child(b);
    }
}

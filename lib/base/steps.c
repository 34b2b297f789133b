#include "base/steps.h"

/* ---- the series ------------------------------------------------------------------------------ */

int64_t pd_series_elapsed(int64_t from, int64_t to)
{
    int64_t elapsed;
    if (!from || !to || to <= from)
        return 0;
    return __builtin_sub_overflow(to, from, &elapsed) ? INT64_MAX : elapsed;
}

pd_interval pd_series_next(const pd_series *series, pprofdelta_restart restart, int64_t now,
                           int64_t elapsed)
{
    pd_interval next = series->last;
    if (!pd_series_is_open(series) || restart)
        next = (pd_interval){.sequence = next.sequence + 1,
                             .from_nanos = next.to_nanos,
                             .to_nanos = next.to_nanos,
                             .restart = restart};
    next.attempt++;
    int64_t before = next.to_nanos ? next.to_nanos : next.from_nanos;
    next.to_nanos = now && now < before ? before : now;
    if (__builtin_add_overflow(next.duration_nanos, elapsed, &next.duration_nanos))
        next.duration_nanos = INT64_MAX;
    return next;
}

/* ---- the steps ------------------------------------------------------------------------------- */

pprofdelta_status pd_steps_refuse_in_sink(const pd_steps *steps, pprofdelta_error *err)
{
    return steps->is_in_sink
               ? pd_refuse(err, "a sink is being called: it must return, or the window be "
                                "abandoned, first")
               : PPROFDELTA_OK;
}

pprofdelta_status pd_steps_begin(pd_steps *steps, pprofdelta_error *err)
{
    PD_TRY(pd_steps_refuse_in_sink(steps, err));
    if (steps->stage != PD_IDLE)
        return pd_refuse(err, "a window is under way: commit it or abandon it first");
    steps->stage = PD_OPEN;
    steps->is_handed_out = false;
    return PPROFDELTA_OK;
}

void pd_steps_number(pd_steps *steps, pprofdelta_restart restart, int64_t now, int64_t elapsed)
{
    if (!steps->is_handed_out)
        steps->window = pd_series_next(&steps->series, restart, now, elapsed);
}

pprofdelta_status pd_steps_write(pd_steps *steps, const pprofdelta_sink *sink, uint64_t *ticket,
                                 pprofdelta_error *err)
{
    PD_TRY(pd_sink_check(sink, err));
    PD_TRY(pd_steps_refuse_in_sink(steps, err));
    if (steps->stage == PD_IDLE)
        return pd_refuse(err, "no window is under way: begin one first");
    steps->stage = PD_OPEN;
    *ticket = steps->ticket;
    return PPROFDELTA_OK;
}

pprofdelta_status pd_sink_check(const pprofdelta_sink *sink, pprofdelta_error *err)
{
    if (!sink || !sink->write)
        return pd_refuse(err, "there is no sink, or it has no function for this format");
    return PPROFDELTA_OK;
}

pprofdelta_status pd_sink_write(const pprofdelta_sink *sink, pd_bytes bytes, uint64_t *written,
                                pprofdelta_error *err)
{
    if (sink->write(sink->cookie, bytes.ptr, bytes.len) != 0)
        return PD_FAIL(err, PPROFDELTA_E_SINK, PPROFDELTA_STAGE_WRITE, NULL,
                       "the output of %zu bytes was refused", bytes.len);
    *written = bytes.len;
    return PPROFDELTA_OK;
}

uint64_t pd_steps_sink_begin(pd_steps *steps)
{
    steps->is_in_sink = true;
    return steps->ticket;
}

bool pd_steps_sink_end(pd_steps *steps, uint64_t ticket)
{
    if (ticket != steps->ticket)
        return false;
    steps->is_in_sink = false;
    return true;
}

int pd_steps_sink_write(void *cookie, const void *data, size_t len)
{
    const pd_steps_sink *s = cookie;
    pd_steps *steps = s->steps;
    bool was_in_sink = steps->is_in_sink; /* that saves the attempt before it sends it */
    uint64_t ticket = pd_steps_sink_begin(steps);
    if (!s->is_state) {
        steps->is_handed_out = true;
        steps->is_empty = !len;
    }
    int refused = len ? s->sink->write(s->sink->cookie, data, len) : 0;
    if (!pd_steps_sink_end(steps, ticket))
        return 1;
    steps->is_in_sink = was_in_sink;
    return refused;
}

pprofdelta_status pd_steps_wrote(pd_steps *steps, uint64_t ticket, pprofdelta_status status,
                                 pprofdelta_error *err)
{
    if (ticket != steps->ticket)
        return pd_refuse(err, "the window ended while its sink was called: the sink abandoned it, "
                              "or forked and this is the child");
    if (!status)
        steps->stage = PD_WRITTEN;
    return status;
}

static void end_steps(pd_steps *steps)
{
    steps->series = pd_steps_series(steps);
    steps->stage = PD_IDLE;
    steps->is_handed_out = steps->is_in_sink = false;
    steps->ticket++;
}

pprofdelta_status pd_steps_commit(pd_steps *steps, pprofdelta_error *err)
{
    PD_TRY(pd_steps_refuse_in_sink(steps, err));
    if (steps->stage != PD_WRITTEN)
        return pd_refuse(err, steps->stage == PD_IDLE
                                  ? "no window is under way: begin one first"
                                  : "the window was not written, or its last write failed: write "
                                    "it or abandon it");
    end_steps(steps);
    if (steps->is_empty)
        pd_series_end_open(&steps->series);
    else
        pd_series_commit(&steps->series);
    return PPROFDELTA_OK;
}

bool pd_steps_abandon(pd_steps *steps)
{
    bool had_window = steps->stage != PD_IDLE;
    end_steps(steps);
    return had_window;
}

pd_series pd_steps_series(const pd_steps *steps)
{
    pd_series series = steps->series;
    if (steps->is_handed_out)
        series.last = steps->window;
    return series;
}

void pd_steps_forked(pd_steps *steps, int64_t now)
{
    *steps = (pd_steps){.ticket = steps->ticket + 1, .series = {.last = {.to_nanos = now}}};
}

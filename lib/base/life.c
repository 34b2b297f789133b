#include "base/life.h"

/* ---- the series ------------------------------------------------------------------------------ */

int64_t pd_series_elapsed(int64_t from, int64_t to)
{
    int64_t elapsed;
    if (!from || !to || to <= from)
        return 0;
    return __builtin_sub_overflow(to, from, &elapsed) ? INT64_MAX : elapsed;
}

pd_stretch pd_series_next(const pd_series *series, pprofdelta_restart restart, int64_t now,
                          int64_t elapsed)
{
    pd_stretch next = series->last;
    if (!pd_series_is_open(series) || restart)
        next = (pd_stretch){.sequence = next.sequence + 1,
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

/* ---- the life -------------------------------------------------------------------------------- */

pprofdelta_status pd_life_refuse_in_sink(const pd_life *life, pprofdelta_error *err)
{
    return life->is_in_sink
               ? pd_refuse(err, "a sink is being called: it must return, or the window be "
                                "abandoned, first")
               : PPROFDELTA_OK;
}

pprofdelta_status pd_life_begin(pd_life *life, pprofdelta_error *err)
{
    PD_TRY(pd_life_refuse_in_sink(life, err));
    if (life->stage != PD_IDLE)
        return pd_refuse(err, "a window is under way: commit it or abandon it first");
    life->stage = PD_OPEN;
    life->is_handed_out = false;
    return PPROFDELTA_OK;
}

void pd_life_number(pd_life *life, pprofdelta_restart restart, int64_t now, int64_t elapsed)
{
    if (!life->is_handed_out)
        life->window = pd_series_next(&life->series, restart, now, elapsed);
}

pprofdelta_status pd_life_write(pd_life *life, const pprofdelta_sink *sink, uint64_t *ticket,
                                pprofdelta_error *err)
{
    PD_TRY(pd_sink_check(sink, err));
    PD_TRY(pd_life_refuse_in_sink(life, err));
    if (life->stage == PD_IDLE)
        return pd_refuse(err, "no window is under way: begin one first");
    life->stage = PD_OPEN;
    *ticket = life->ticket;
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

uint64_t pd_life_sink_begin(pd_life *life)
{
    life->is_in_sink = true;
    return life->ticket;
}

bool pd_life_sink_end(pd_life *life, uint64_t ticket)
{
    if (ticket != life->ticket)
        return false;
    life->is_in_sink = false;
    return true;
}

int pd_life_sink_write(void *cookie, const void *data, size_t len)
{
    const pd_life_sink *s = cookie;
    pd_life *life = s->life;
    bool was_in_sink = life->is_in_sink; /* that saves the attempt before it sends it */
    uint64_t ticket = pd_life_sink_begin(life);
    if (!s->is_state) {
        life->is_handed_out = true;
        life->is_empty = !len;
    }
    int refused = len ? s->sink->write(s->sink->cookie, data, len) : 0;
    if (!pd_life_sink_end(life, ticket))
        return 1;
    life->is_in_sink = was_in_sink;
    return refused;
}

pprofdelta_status pd_life_wrote(pd_life *life, uint64_t ticket, pprofdelta_status status,
                                pprofdelta_error *err)
{
    if (ticket != life->ticket)
        return pd_refuse(err, "the window ended while its sink was called: the sink abandoned it, "
                              "or forked and this is the child");
    if (!status)
        life->stage = PD_WRITTEN;
    return status;
}

static void end(pd_life *life)
{
    life->series = pd_life_series(life);
    life->stage = PD_IDLE;
    life->is_handed_out = life->is_in_sink = false;
    life->ticket++;
}

pprofdelta_status pd_life_commit(pd_life *life, pprofdelta_error *err)
{
    PD_TRY(pd_life_refuse_in_sink(life, err));
    if (life->stage != PD_WRITTEN)
        return pd_refuse(err, life->stage == PD_IDLE
                                  ? "no window is under way: begin one first"
                                  : "the window was not written, or its last write failed: write "
                                    "it or abandon it");
    end(life);
    if (life->is_empty)
        pd_series_end_open(&life->series);
    else
        pd_series_commit(&life->series);
    return PPROFDELTA_OK;
}

bool pd_life_abandon(pd_life *life)
{
    bool had_window = life->stage != PD_IDLE;
    end(life);
    return had_window;
}

pd_series pd_life_series(const pd_life *life)
{
    pd_series series = life->series;
    if (life->is_handed_out)
        series.last = life->window;
    return series;
}

void pd_life_forked(pd_life *life, int64_t now)
{
    *life = (pd_life){.ticket = life->ticket + 1, .series = {.last = {.to_nanos = now}}};
}

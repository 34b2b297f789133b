/* The verdict on a window (is it a restart?), and unsampling. */
#include "record/recorder.h"

/* ---- records that stand still ---------------------------------------------------------------- */

/* A counter that loses half of its mass or more shows a restart (reset.h). */
static void set_to_meet(pprofdelta_recorder *r)
{
    const pd_ledger *ledger = &r->ledger;
    for (size_t i = 0; i < ledger->counters; i++) {
        uint64_t mass = 0;
        for (size_t entry = 0; entry < ledger->committed; entry++) {
            int64_t base = pd_ledger_base(ledger, entry)[i];
            if (base > 0 && pd_ledger_is_living(ledger, entry) &&
                __builtin_add_overflow(mass, (uint64_t)base, &mass))
                mass = UINT64_MAX;
        }
        r->to_meet[i] = mass == UINT64_MAX ? mass : mass / 2 + (mass > 0);
    }
}

void pd_recorder_watch(pprofdelta_recorder *r)
{
    r->window.skips_still = pd_recorder_has_seen(r) && !r->restarted;
    r->asleep_len = 0;
    r->keeps_still = r->window.skips_still && (pd_series_is_open(&r->life.series) ||
                                               r->on_reset == PPROFDELTA_ON_RESET_AUTO ||
                                               r->on_reset == PPROFDELTA_ON_RESET_RESTART);
    if (r->keeps_still)
        set_to_meet(r);
}

void pd_recorder_met(pprofdelta_recorder *r, size_t entry)
{
    const int64_t *base = pd_ledger_base(&r->ledger, entry);
    bool is_settled =
        r->on_reset == PPROFDELTA_ON_RESET_AUTO && !pd_series_is_open(&r->life.series);
    for (size_t i = 0; i < r->schema.counters; i++) {
        uint64_t mass =
            base[i] > 0 && pd_ledger_is_living(&r->ledger, entry) ? (uint64_t)base[i] : 0;
        r->to_meet[i] -= mass < r->to_meet[i] ? mass : r->to_meet[i];
        is_settled &= r->to_meet[i] == 0;
    }
    r->keeps_still = !is_settled;
}

/* Gives a row to the records that did not change: to all if counting began again at zero, else to
 * those of which the open attempt had more. */
static pprofdelta_status wake(pprofdelta_recorder *r, bool all, pprofdelta_error *err)
{
    size_t more = all ? r->window.still : r->ledger.tried.len;
    pprofdelta_status status = pd_mem_grow(&r->mem, &r->kept_at, &r->kept_at_cap,
                                           r->window.len + more, sizeof *r->kept_at, err);
    if (!status)
        status = (all ? pd_window_wake : pd_window_wake_tried)(&r->window, &r->mem, err);
    for (size_t i = 0; i < r->asleep_len && !status; i++) {
        uint32_t row = pd_window_row_of(&r->window, (uint32_t)r->asleep[i].entry);
        if (row < r->window.len)
            r->kept_at[row] = r->asleep[i].at;
    }
    return status;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static pprofdelta_status refuse_reset(pprofdelta_restart restart, pprofdelta_error *err)
{
    return pd_fail(err, PPROFDELTA_E_RESET, "delta", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
                   "%s",
                   restart == PPROFDELTA_RESTART_STARTED ? "counting began anew"
                   : restart == PPROFDELTA_RESTART_MASS
                       ? "half of what the last window had counted, or more, is gone"
                       : "a counter went backwards");
}

/* The verdict on the window after the one that was handed out last. */
static pprofdelta_status find_restart(pprofdelta_recorder *r, pprofdelta_restart *out,
                                      pprofdelta_error *err)
{
    if (pd_series_is_open(&r->life.series) && r->window.still) {
        pprofdelta_status status = wake(r, false, err);
        if (status)
            return status;
    }
    pd_reset_facts facts = {.on_reset = r->on_reset};
    pd_verdict verdict = pd_reset_judge(&r->window, &facts);
    if (r->restarted)
        verdict.restart = PPROFDELTA_RESTART_STARTED;
    bool is_reset = verdict.restart != PPROFDELTA_RESTART_NONE || verdict.has_decrease;
    if (r->on_reset == PPROFDELTA_ON_RESET_FAIL && is_reset)
        return refuse_reset(verdict.restart, err);
    /* Half of each counter was found again, so there was no restart. Counters below zero can make
     * it look like one. */
    if (r->window.still && !r->keeps_still)
        verdict.restart = PPROFDELTA_RESTART_NONE;
    *out = verdict.restart;
    if (!verdict.restart)
        pd_window_lift(&r->window);
    return verdict.restart && r->window.still ? wake(r, true, err) : PPROFDELTA_OK;
}

pprofdelta_status pd_recorder_judge(pprofdelta_recorder *r, pprofdelta_error *err)
{
    bool is_first = !pd_recorder_has_seen(r);
    pprofdelta_status status = PPROFDELTA_OK;
    pprofdelta_restart restart = PPROFDELTA_RESTART_NONE;
    if (!is_first)
        status = find_restart(r, &restart, err);
    if (!status)
        status = pd_window_order(&r->window, &r->mem, err);
    if (status)
        return status;
    r->restart = restart;
    int64_t elapsed = is_first ? 0 : pd_series_elapsed(r->last_nanos, r->time_nanos);
    pd_life_number(&r->life, r->restart, r->time_nanos, elapsed);
    r->how = is_first || r->restart ? PD_SUBTRACT_NOTHING : PD_SUBTRACT_CLAMP;
    if (is_first && r->first == PPROFDELTA_FIRST_ZERO) { /* it begins where it ends */
        r->how = PD_SUBTRACT_ALL;
        r->life.window.from_nanos = r->life.window.to_nanos;
    } else if (!r->has_base && !r->restart) {
        r->life.window.duration_nanos = pd_series_elapsed(r->started_nanos, r->time_nanos);
    }
    return PPROFDELTA_OK;
}

/* ---- unsampling ------------------------------------------------------------------------------ */

/* The scale of a heap record. Objects and bytes have the same. */
static pd_scale heap_scale(const pprofdelta_recorder *r, int64_t block_size, int64_t objects,
                           int64_t bytes)
{
    double size = (double)block_size;
    if (block_size <= 0 && objects > 0)
        size = (double)bytes / (double)objects;
    return pd_scale_of_size(size, (double)r->period);
}

void pd_recorder_unsample(const pprofdelta_recorder *r, int64_t block_size, const int64_t *raw,
                          pd_carry *carries, int64_t *out)
{
    pd_carry none;
    if (!r->is_scaled) {
        memcpy(out, raw, r->schema.len * sizeof *out);
        return;
    }
    for (size_t i = 0; i < r->schema.len; i++) {
        pd_scale scale = r->scales[i];
        if (r->kind == PPROFDELTA_KIND_HEAP) /* (objects, bytes) twice */
            scale = heap_scale(r, block_size, raw[i & ~(size_t)1], raw[i | 1]);
        none = 0;
        out[i] = pd_scale_apply(scale, raw[i], i < r->schema.counters ? &carries[i] : &none);
    }
}

void pd_recorder_load_carries(const pprofdelta_recorder *r, size_t row, pd_carry *carries)
{
    const pd_ledger *ledger = &r->ledger;
    size_t entry = r->window.entry[row];
    bool is_known = entry < ledger->committed && r->how == PD_SUBTRACT_CLAMP && ledger->side_len;
    const uint8_t *side = is_known ? pd_ledger_side(ledger, entry) : NULL;
    for (size_t i = 0; i < r->schema.counters; i++)
        carries[i] = side ? pd_carry_load(side + i * PD_CARRY_BYTES) : 0;
}

void pd_recorder_carry_on(pprofdelta_recorder *r)
{
    int64_t raw[PPROFDELTA_MAX_TYPES], out[PPROFDELTA_MAX_TYPES];
    pd_carry carries[PPROFDELTA_MAX_TYPES];
    for (size_t row = 0; row < r->window.len; row++) {
        bool moved = pd_subtract_row(&r->window, row, r->how, raw);
        pd_recorder_load_carries(r, row, carries);
        if (moved) {
            pd_arena_row kept;
            pd_recorder_kept(r, row, &kept);
            pd_recorder_unsample(r, kept.block_size, raw, carries, out);
        }
        uint8_t *side = pd_ledger_side(&r->ledger, r->window.entry[row]);
        for (size_t i = 0; i < r->schema.counters; i++)
            pd_carry_store(side + i * PD_CARRY_BYTES, carries[i]);
    }
}

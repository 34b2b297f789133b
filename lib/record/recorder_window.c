/* The verdict on a window (is it a restart?), and unsampling. */
#include "record/recorder.h"

/* ---- the verdict ----------------------------------------------------------------------------- */

/* The verdict on the window after the one that was handed out last. */
static pprofdelta_status find_restart(pprofdelta_recorder *r, pprofdelta_restart *out,
                                      pprofdelta_error *err)
{
    pd_reset_facts facts = {.on_reset = r->options.on_reset};
    pd_verdict verdict = pd_reset_judge(&r->window, &facts);
    if (r->restarted)
        verdict.restart = PPROFDELTA_RESTART_STARTED;
    bool is_reset = verdict.restart != PPROFDELTA_RESTART_NONE || verdict.has_decrease;
    if (r->options.on_reset == PPROFDELTA_ON_RESET_FAIL && is_reset)
        return PD_FAIL(err, PPROFDELTA_E_RESET, PPROFDELTA_STAGE_DELTA, NULL, "%s",
                       verdict.restart == PPROFDELTA_RESTART_STARTED ? "counting began anew"
                       : verdict.restart == PPROFDELTA_RESTART_MASS
                           ? "half of what the last window had counted, or more, is gone"
                           : "a counter went backwards");
    /* Nothing was lost that counts as a restart, unless a record that came again was below zero. */
    if (r->window.unchanged && !r->keeps_unchanged)
        verdict.restart = PPROFDELTA_RESTART_NONE;
    *out = verdict.restart;
    if (verdict.restart)
        return pd_window_add_unchanged(&r->window, &r->mem, err);
    pd_window_lift(&r->window);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_recorder_judge(pprofdelta_recorder *r, pprofdelta_error *err)
{
    bool is_first = !pd_recorder_has_seen(r);
    pprofdelta_restart restart = PPROFDELTA_RESTART_NONE;
    if (!is_first)
        PD_TRY(find_restart(r, &restart, err));
    r->restart = restart;
    int64_t elapsed = is_first ? 0 : pd_series_elapsed(r->last_nanos, r->time_nanos);
    pd_life_number(&r->life, r->restart, r->time_nanos, elapsed);
    r->how = is_first || r->restart ? PD_SUBTRACT_NOTHING : PD_SUBTRACT_CLAMP;
    if (is_first && r->options.first == PPROFDELTA_FIRST_ZERO) { /* it begins where it ends */
        r->how = PD_SUBTRACT_ALL;
        r->life.window.from_nanos = r->life.window.to_nanos;
    } else if (!r->has_base && !r->restart) {
        r->life.window.duration_nanos = pd_series_elapsed(r->options.started_nanos, r->time_nanos);
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
    return pd_scale_of_size(size, (double)r->door.period);
}

bool pd_recorder_unsample(const pprofdelta_recorder *r, int64_t block_size, const int64_t *raw,
                          pd_carry *carries, int64_t *out)
{
    pd_carry none;
    if (!r->is_scaled) {
        memcpy(out, raw, r->schema.len * sizeof *out);
        return true;
    }
    bool fits = true;
    for (size_t i = 0; i < r->schema.len; i++) {
        pd_scale scale = r->scales[i];
        if (r->options.kind == PPROFDELTA_KIND_HEAP) /* (objects, bytes) twice */
            scale = heap_scale(r, block_size, raw[i & ~(size_t)1], raw[i | 1]);
        none = 0;
        out[i] = pd_scale_apply(scale, raw[i], i < r->schema.counters ? &carries[i] : &none);
        fits &= pd_scale_fits(scale, raw[i], out[i]);
    }
    return fits;
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
        if (moved)
            pd_recorder_unsample(r, pd_recorder_kept(r, row).block_size, raw, carries, out);
        uint8_t *side = pd_ledger_side(&r->ledger, r->window.entry[row]);
        for (size_t i = 0; i < r->schema.counters; i++)
            pd_carry_store(side + i * PD_CARRY_BYTES, carries[i]);
    }
}

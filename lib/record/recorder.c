/* A recorder: its options, and the beginning and the end of its windows. */
#include "base/option_checks.h"
#include "base/time.h"
#include "record/recorder.h"

#include <math.h>

/* ---- options --------------------------------------------------------------------------------- */

static pprofdelta_status read_options(const pprofdelta_recorder_options *given,
                                      pprofdelta_recorder_options *out, pprofdelta_error *err)
{
    *out = (pprofdelta_recorder_options)PPROFDELTA_RECORDER_OPTIONS_INIT;
    PD_TRY(pd_options_read(out, sizeof *out, given, err));
    const unsigned known = PPROFDELTA_NO_STAMP | PPROFDELTA_VERIFY | PPROFDELTA_BORROW_STACKS |
                           PPROFDELTA_RETURN_ADDRESSES | PPROFDELTA_NO_MAPPINGS;
    if (out->flags & ~known)
        return pd_refuse(err, "options.flags has a bit that a recorder does not know");
    if ((unsigned)out->kind > PPROFDELTA_KIND_TYPES)
        return pd_refuse(err, "options.kind is not one of pprofdelta_kind");
    if (out->on_reset == PPROFDELTA_ON_RESET_NEGATIVE)
        return pd_refuse(err, "a recorder keeps no stacks for negative deltas");
    if ((unsigned)out->on_reset > PPROFDELTA_ON_RESET_FAIL)
        return pd_refuse(err, "options.on_reset is not one of pprofdelta_on_reset");
    if ((unsigned)out->first > PPROFDELTA_FIRST_ZERO)
        return pd_refuse(err, "options.first is not one of pprofdelta_first");
    if (out->kind != PPROFDELTA_KIND_TYPES && (out->types || out->period_type || out->period_unit))
        return pd_refuse(err,
                         "options.types and options.period_type are for PPROFDELTA_KIND_TYPES");
    return PPROFDELTA_OK;
}

static pprofdelta_status set_types(pprofdelta_recorder *r, const pprofdelta_value_type *types,
                                   size_t len, pprofdelta_error *err)
{
    pd_type_name names[PPROFDELTA_MAX_TYPES];
    for (size_t i = 0; i < len; i++)
        names[i] = (pd_type_name){pd_bytes_of(types[i].type), pd_bytes_of(types[i].unit),
                                  types[i].is_counter};
    PD_TRY(pd_schema_set(&r->schema, &r->mem, names, len, err));
    if (!r->schema.counters)
        PD_TRY(pd_refuse(err, "options.types has no counter: there is nothing to subtract"));
    PD_TRY(pd_schema_match(&r->schema, names, len, &r->columns, err));
    pd_ledger_clear(&r->ledger, r->schema.counters);
    return PPROFDELTA_OK;
}

/* What the kinds bring with them. */
static void fill_kind(pprofdelta_recorder_options *o)
{
    static const pprofdelta_value_type heap[] = {{"alloc_objects", "count", 1},
                                                 {"alloc_space", "bytes", 1},
                                                 {"inuse_objects", "count", 0},
                                                 {"inuse_space", "bytes", 0}};
    static const pprofdelta_value_type contention[] = {{"contentions", "count", 1},
                                                       {"delay", "nanoseconds", 1}};
    if (o->kind == PPROFDELTA_KIND_TYPES)
        return;
    bool is_heap = o->kind == PPROFDELTA_KIND_HEAP;
    o->types = is_heap ? heap : contention;
    o->types_len = is_heap ? sizeof heap / sizeof *heap : sizeof contention / sizeof *contention;
    o->period_type = is_heap ? "space" : "contentions";
    o->period_unit = is_heap ? "bytes" : "count";
}

pprofdelta_status pprofdelta_recorder_new(const pprofdelta_recorder_options *options,
                                          const pprofdelta_allocator *allocator,
                                          pprofdelta_recorder **out, pprofdelta_error *err)
{
    pprofdelta_recorder_options o;
    PD_TRY(pd_need(out, err));
    PD_TRY(read_options(options, &o, err));
    fill_kind(&o);
    PD_TRY(pd_door_check(PD_DOOR_OPTIONS(&o), err));
    PD_TRY(pd_options_check_types(o.types, o.types_len, err));
    pd_mem mem;
    pprofdelta_recorder *r = NULL;
    PD_TRY(pd_mem_begin(&mem, allocator, o.max_memory, &r, sizeof *r, err));
    r->mem = mem;
    r->options = o;
    r->places.symbolize = o.symbolize;
    r->places.symbolize_cookie = o.symbolize_cookie;
    r->places.has_mappings = !(o.flags & PPROFDELTA_NO_MAPPINGS);
    r->places.has_return_addresses = (o.flags & PPROFDELTA_RETURN_ADDRESSES) != 0;
    o.level = o.level ? o.level : 1;
    r->ledger.keys.is_tight = true;
    pprofdelta_status status = set_types(r, o.types, o.types_len, err);
    const char *const rest[] = {o.period_type, o.period_unit, o.default_type};
    if (!status)
        status = pd_door_open(&r->door, &r->mem, PD_DOOR_OPTIONS(&o), err);
    if (!status)
        status = pd_door_describe(&r->door, &r->mem, o.types, o.types_len, rest, err);
    if (status) {
        pprofdelta_recorder_free(r);
        return status;
    }
    *out = r;
    return PPROFDELTA_OK;
}

void pprofdelta_recorder_free(pprofdelta_recorder *r)
{
    if (!r)
        return;
    pd_door_close(&r->door);
    pd_mem_end(&r->mem, r);
}

/* ---- begin ----------------------------------------------------------------------------------- */

static bool is_number(double number)
{
    return isfinite(number) && number >= 0;
}

static pprofdelta_status set_scales(pprofdelta_recorder *r, const pprofdelta_recording *how,
                                    pprofdelta_error *err)
{
    double factors[PPROFDELTA_MAX_TYPES];
    if (!is_number(how->fraction) || how->fraction > 1 || !is_number(how->cycles_per_second))
        return pd_refuse(err, "fraction is not from 0 to 1, or cycles_per_second is not a number "
                              "above 0");
    double fraction = how->fraction > 0 ? how->fraction : 1;
    r->is_scaled = r->options.kind == PPROFDELTA_KIND_HEAP && how->period > 1;
    for (size_t i = 0; i < r->columns.len; i++) {
        factors[i] = 1;
        if (r->options.kind == PPROFDELTA_KIND_CONTENTION)
            factors[i] = (i == 1 && how->cycles_per_second > 0 ? 1e9 / how->cycles_per_second : 1) /
                         fraction;
        else if (r->options.kind == PPROFDELTA_KIND_TYPES && how->scales)
            factors[i] = how->scales[i];
        if (!is_number(factors[i]) || factors[i] == 0)
            return pd_refuse(err, "a scale is not a number above 0");
        r->scales[r->columns.slot[i]] = pd_scale_of(factors[i]);
        r->is_scaled |= factors[i] != 1;
    }
    return PPROFDELTA_OK;
}

static pprofdelta_status begin_window(pprofdelta_recorder *r, const pprofdelta_recording *how,
                                      pprofdelta_error *err)
{
    PD_TRY(set_scales(r, how, err));
    r->restarted |= how->restarted != 0;
    if (how->has_unloaded) {
        pd_places_clear(&r->places);
        r->may_hide = true; /* frames that were not hidden may be hidden from now on */
    }
    if (r->is_scaled && !r->ledger.side_len) /* entries have carries from now on */
        PD_TRY(pd_ledger_widen(&r->ledger, &r->mem, PD_CARRY_BYTES * r->schema.counters, err));
    bool omits = pd_recorder_has_seen(r) && !r->restarted && !r->ledger.is_open;
    PD_TRY(pd_row_set_begin(&r->window, &r->mem, &r->ledger, r->schema.len, 0, omits, err));
    r->keeps_unchanged = omits && (r->options.on_reset == PPROFDELTA_ON_RESET_AUTO ||
                                   r->options.on_reset == PPROFDELTA_ON_RESET_RESTART);
    if (r->keeps_unchanged)
        pd_reset_watch_begin(&r->watch, &r->ledger);
    r->time_nanos = how->time_nanos ? how->time_nanos : pd_time_now();
    r->door.period = how->period;
    r->trouble.status = PPROFDELTA_OK;
    r->samples_in = 0;
    r->arena.len = 0;
    r->is_full = false;
    return PPROFDELTA_OK;
}

pprofdelta_status pprofdelta_recorder_begin(pprofdelta_recorder *r, const pprofdelta_recording *how,
                                            pprofdelta_error *err)
{
    static const pprofdelta_recording zeros = {0};
    PD_TRY(pd_steps_begin(&r->steps, err));
    pprofdelta_status status = begin_window(r, how ? how : &zeros, err);
    if (status)
        pd_steps_abandon(&r->steps);
    return status;
}

/* ---- the end of a window --------------------------------------------------------------------- */

/* The window was handed out: it is the open attempt, and the base if it has arrived. */
static void end_window(pprofdelta_recorder *r, bool has_arrived)
{
    /* With FIRST_ZERO, what was counted so far belongs to no window. */
    bool is_base = has_arrived || r->how == PD_SUBTRACT_ALL;
    if (is_base && r->ledger.side_len)
        pd_recorder_carry_on(r);
    pd_row_set_attempt(&r->window,
                       r->how == PD_SUBTRACT_CLAMP ? PD_COMMIT_KEEP : PD_COMMIT_REPLACE);
    if (is_base)
        pd_ledger_commit(&r->ledger);
    r->has_base |= is_base || r->restart;
    r->last_nanos = r->time_nanos;
    r->restarted = false;
}

pprofdelta_status pprofdelta_recorder_commit(pprofdelta_recorder *r)
{
    PD_TRY(pd_steps_commit(&r->steps, NULL));
    end_window(r, true);
    pd_ledger_trim(&r->ledger, &r->mem, r->ledger.keys.len + r->ledger.keys.len / 64);
    return PPROFDELTA_OK;
}

void pprofdelta_recorder_abandon(pprofdelta_recorder *r)
{
    if (!r)
        return;
    bool is_handed_out = r->steps.is_handed_out;
    if (!pd_steps_abandon(&r->steps))
        return;
    if (is_handed_out)
        end_window(r, false);
    pd_row_set_abandon(&r->window);
}

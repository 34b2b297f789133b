/* Cur is compared with prev: can it follow, and is it a restart? */
#include "base/time.h"
#include "ledger/reset.h"
#include "delta/context.h"
#include "profile/stamp.h"

#include <inttypes.h>

/* ---- types ------------------------------------------------------------------------------------- */

pprofdelta_status pd_check_types(pprofdelta *pd, pd_input *input, pprofdelta_error *err)
{
    const pd_tables *t = &input->tables;
    bool is_forced = pd->flags & PPROFDELTA_FORCE;
    if (t->is_stamped && !is_forced)
        return PD_FAIL(err, PPROFDELTA_E_STAMPED, PPROFDELTA_STAGE_DELTA, "comment",
                       "this is already a delta that pprofdelta wrote, not a cumulative profile");
    pd_type_name period = {.type = t->strings[t->header.period_type.type],
                           .unit = t->strings[t->header.period_type.unit]};
    if (input->otlp.is_read && input->otlp.facts.timestamps && !is_forced)
        return PD_FAIL(err, PPROFDELTA_E_NOT_CUMULATIVE, PPROFDELTA_STAGE_DELTA,
                       "samples.timestamps_unix_nano",
                       "its samples have timestamps: they are events, and do not count from the "
                       "start of the process");
    pprofdelta_status status =
        is_forced ? pd_types_classify(input->names, t->types_len, &pd->rules, err)
                  : pd_types_classify_cumulative(input->names, t->types_len,
                                                 t->header.has_period_type ? &period : NULL,
                                                 &pd->rules, err);
    if (status == PPROFDELTA_E_MISMATCH && input->dump.has_no_sums)
        return PD_FAIL(err, status, PPROFDELTA_STAGE_DELTA, "sample_type",
                       "this dump has no cumulative counts, only what is in use; jemalloc counts "
                       "with MALLOC_CONF=prof:true,prof_accum:true");
    return status;
}

pprofdelta_status pd_check_columns(pprofdelta *pd, pprofdelta_error *err)
{
    pd_input *cur = &pd->cur;
    size_t types = cur->tables.types_len;
    bool has_seen = pd_has_seen(pd);
    pprofdelta_status status = pd_check_types(pd, cur, err), match = PPROFDELTA_OK;
    if (status == PPROFDELTA_E_MISMATCH && has_seen && !cur->dump.has_no_sums)
        match = pd_schema_match(&pd->schema, cur->names, types, &cur->columns, err);
    if (status)
        return match ? match : status;
    if (!has_seen) {
        PD_TRY(pd_schema_set(&pd->schema, &pd->mem, cur->names, types, err));
        pd_ledger_clear(&pd->ledger, pd->schema.counters);
    }
    PD_TRY(pd_schema_match(&pd->schema, cur->names, types, &cur->columns, err));
    return pd_schema_agree(&pd->schema, cur->names, &cur->columns, err);
}

/* ---- times ------------------------------------------------------------------------------------- */

/* Is the clock of cur behind that of the profile that was seen last? */
static bool is_before(const pprofdelta *pd)
{
    int64_t prev = pd->last.time_nanos, cur = pd->cur.tables.header.time_nanos;
    return pd_has_seen(pd) && prev && cur && cur < prev;
}

/* Of two files, or in a negative delta, the order is the caller's mistake. A series goes on: the
 * counters decide whether the clock was set back. */
static pprofdelta_status check_order(const pprofdelta *pd, pprofdelta_error *err)
{
    if (!is_before(pd) || !(pd_is_pair(pd) || pd_is_negative(pd)))
        return PPROFDELTA_OK;
    return pd_because(err, PPROFDELTA_REASON_SWAPPED,
                      PD_FAIL(err, PPROFDELTA_E_MISMATCH, PPROFDELTA_STAGE_DELTA, "time_nanos",
                              "cur is older than prev (%s is before %s): swapped?",
                              pd_time_shown(pd->cur.tables.header.time_nanos).text,
                              pd_time_shown(pd->last.time_nanos).text));
}

static pprofdelta_status refuse_window(const pd_span *prev, const pd_span *cur,
                                       pprofdelta_error *err)
{
    const uint64_t second = 1000000000, milli = 1000000;
    uint64_t covered = (uint64_t)cur->duration_nanos;
    uint64_t apart = (uint64_t)cur->time_nanos - (uint64_t)prev->time_nanos;
    return pd_because(
        err, PPROFDELTA_REASON_IS_WINDOW,
        PD_FAIL(err, PPROFDELTA_E_NOT_CUMULATIVE, PPROFDELTA_STAGE_DELTA, "duration_nanos",
                "cur is a window already, not a cumulative profile: it covers %" PRIu64
                ".%03u s, and prev is %" PRIu64 ".%03u s older",
                covered / second, (unsigned)(covered / milli % 1000), apart / second,
                (unsigned)(apart / milli % 1000)));
}

/* The full profile of a live heap says that it is cumulative; of others the times are asked. */
static pprofdelta_status check_span(pprofdelta *pd, pprofdelta_error *err)
{
    const pd_header *header = &pd->cur.tables.header;
    pd_span cur = {header->time_nanos, header->duration_nanos};
    pd_span prev = {is_before(pd) ? 0 : pd->last.time_nanos,
                    pd->last.live_id ? 0 : pd->last.duration_nanos};
    pprofdelta_stamp stamp;
    pd->may_be_window = false;
    if (pd->flags & PPROFDELTA_FORCE || pd_stamp_of_live(&pd->cur.tables, &stamp))
        return PPROFDELTA_OK;
    pd_span_kind kind = pd_span_decide(pd_has_seen(pd) ? &prev : NULL, &cur, pd->started_nanos);
    pd->may_be_window = kind == PD_SPAN_UNCLEAR;
    return kind == PD_SPAN_WINDOW ? refuse_window(&prev, &cur, err) : PPROFDELTA_OK;
}

pprofdelta_status pd_check_times(pprofdelta *pd, pprofdelta_error *err)
{
    uint32_t prev = pd->last.rate, cur = pd->cur.dump.rate;
    PD_TRY(check_order(pd, err));
    PD_TRY(check_span(pd, err));
    if (!pd_has_seen(pd) || prev == cur)
        return PPROFDELTA_OK;
    /* Counts that were sampled at different rates cannot be subtracted from one another. */
    if (prev && cur)
        return PD_FAIL(err, PPROFDELTA_E_MISMATCH, PPROFDELTA_STAGE_DELTA, NULL,
                       "the sampling changed: one byte in %" PRIu32 ", and now one in %" PRIu32,
                       prev, cur);
    return PD_FAIL(err, PPROFDELTA_E_MISMATCH, PPROFDELTA_STAGE_DELTA, NULL,
                   "one is a heap profile in text form, with raw counts, and the other is not");
}

/* ---- the window -------------------------------------------------------------------------------- */

bool pd_is_other_build(const pprofdelta *pd)
{
    return pd->mapped.main_replaced && pd->last.build_id.len && pd->next.build_id.len;
}

/* Do the stamps say that cur's heap is not the one that prev was of? One process has one heap after
 * the other where it runs one program after the other. */
static bool is_other_heap(const pprofdelta *pd)
{
    const pd_remembered *last = &pd->last;
    int64_t end = last->live_to_nanos ? last->live_to_nanos : last->time_nanos;
    pprofdelta_stamp cur;
    if (!pd_stamp_of_live(&pd->cur.tables, &cur))
        return false;
    if (cur.id && last->live_id && cur.id != last->live_id)
        return true;
    return cur.live == PPROFDELTA_LIVE_FULL && end && cur.from_nanos > 0 && cur.from_nanos > end;
}

/* Are prev and cur of two services? Their main binaries have different names, no file is mapped in
 * both, and the main mapping is not one whose file was renamed in the same process. */
static bool is_other_service(const pprofdelta *pd, pprofdelta_restart restart)
{
    const pd_buffer *last = &pd->last.binary, *next = &pd->next.binary;
    if (pd->on_reset == PPROFDELTA_ON_RESET_NEGATIVE) /* as google/pprof has it */
        return false;
    if (pd->flags & PPROFDELTA_FORCE || pd->mapped.has_common || (pd->mapped.has_main && !restart))
        return false;
    return !pd_filename_may_be_one_service((pd_bytes){last->ptr, last->len},
                                           (pd_bytes){next->ptr, next->len});
}

static pprofdelta_status refuse_service(const pprofdelta *pd, pprofdelta_error *err)
{
    enum { MOST = 200 };
    const pd_buffer *last = &pd->last.binary, *next = &pd->next.binary;
    int last_len = (int)(last->len < MOST ? last->len : MOST);
    int next_len = (int)(next->len < MOST ? next->len : MOST);
    return PD_FAIL(err, PPROFDELTA_E_OTHER_TARGET, PPROFDELTA_STAGE_DELTA, "mapping",
                   "prev and cur are of two services: %.*s and %.*s, and no file is mapped in both",
                   last_len, (const char *)last->ptr, next_len, (const char *)next->ptr);
}

static pprofdelta_status refuse_reset(pd_reset_signs signs, pprofdelta_error *err)
{
    static const char *const why[] = {
        [PPROFDELTA_RESTART_NONE] = "a counter went backwards",
        [PPROFDELTA_RESTART_STARTED] = "the target was started after prev was taken",
        [PPROFDELTA_RESTART_BUILD_ID] =
            "half of what prev had counted is gone, and the main mapping has another build id",
        [PPROFDELTA_RESTART_MASS] = "half of what prev had counted, or more, is gone",
        [PPROFDELTA_RESTART_ANY] = "a counter went backwards",
        [PPROFDELTA_RESTART_LIVE] =
            "the stamp of its live heap is that of another process, or begins after prev",
    };
    return PD_FAIL(err, PPROFDELTA_E_RESET, PPROFDELTA_STAGE_DELTA, NULL, "%s", why[signs.restart]);
}

static pprofdelta_status refuse_late(const pprofdelta *pd, pprofdelta_error *err)
{
    return PD_FAIL(err, PPROFDELTA_E_OLDER, PPROFDELTA_STAGE_DELTA, "time_nanos",
                   "cur is an older profile that comes late: it is of %s, prev is of %s, and no "
                   "counter has grown",
                   pd_time_shown(pd->cur.tables.header.time_nanos).text,
                   pd_time_shown(pd->last.time_nanos).text);
}

/* Is cur, which comes after a later profile, later than what it is subtracted from? The later profile was
 * an attempt at this window, and not of a new process. */
static bool is_after_base(const pprofdelta *pd)
{
    const pd_interval *open = &pd->steps.series.last;
    return pd_series_is_open(&pd->steps.series) && !open->restart &&
           pd->cur.tables.header.time_nanos >= open->from_nanos &&
           pd_reset_has_growth(&pd->cur.window);
}

static bool is_by_counters(pprofdelta_restart restart)
{
    return restart == PPROFDELTA_RESTART_MASS || restart == PPROFDELTA_RESTART_BUILD_ID;
}

/* A profile of another kind with equal types looks like a restart, and so does the next one of the first
 * kind. */
static bool may_be_two_kinds(const pprofdelta *pd, pprofdelta_restart restart)
{
    const pd_key *last = &pd->last.kind, *next = &pd->next.kind;
    bool is_other = pd_key_is_set(*last) && !pd_key_equal(*last, *next);
    return is_by_counters(restart) && (is_other || is_by_counters(pd->steps.series.last.restart));
}

/* The signs on cur after the profile that was seen last. */
static pprofdelta_status find_restart(const pprofdelta *pd, pd_decision *decision,
                                      pprofdelta_error *err)
{
    pd_reset_facts facts = {.on_reset = pd->on_reset,
                            .started_nanos = pd->started_nanos,
                            .prev_time_nanos = pd->last.time_nanos,
                            .other_build = pd_is_other_build(pd),
                            .is_other_heap = is_other_heap(pd),
                            .has_other_keys = decision->has_other_keys};
    pd_reset_signs signs = pd_reset_decide(&pd->cur.window, &facts);
    decision->is_set_back = is_before(pd);
    if (is_other_service(pd, signs.restart))
        return refuse_service(pd, err);
    /* An earlier profile of the process that was seen already has nothing that the later one does not
     * have. A restart that is known without the counters is none. An attempt may have been later. */
    decision->is_late = decision->is_set_back && signs.has_loss && !signs.has_increase &&
                        signs.restart != PPROFDELTA_RESTART_STARTED &&
                        signs.restart != PPROFDELTA_RESTART_ANY;
    if (decision->is_late) {
        decision->is_set_back = false;
        return is_after_base(pd) ? PPROFDELTA_OK : refuse_late(pd, err);
    }
    if (pd->on_reset == PPROFDELTA_ON_RESET_FAIL && (signs.restart || signs.has_decrease))
        return refuse_reset(signs, err);
    decision->restart = signs.restart;
    decision->may_be_two_kinds = may_be_two_kinds(pd, signs.restart);
    return PPROFDELTA_OK;
}

pprofdelta_status pd_decide_window(pprofdelta *pd, pd_decision *decision, pprofdelta_error *err)
{
    const pd_header *cur = &pd->cur.tables.header;
    bool is_first = !pd_has_seen(pd);
    pd_series series = pd->steps.series;
    *decision = (pd_decision){.how = PD_SUBTRACT_CLAMP,
                              .has_other_keys = pd->ledger.has_old_keys && pd->cur.tables.by_both};
    if (!is_first)
        PD_TRY(find_restart(pd, decision, err));
    decision->is_anew = decision->restart || decision->has_other_keys;
    if (decision->is_anew)
        pd_series_end_open(&series);
    int64_t elapsed = is_first ? 0 : pd_series_elapsed(pd->last.time_nanos, cur->time_nanos);
    decision->window = pd_series_next(&series, decision->restart, cur->time_nanos, elapsed);
    if (pd_is_negative(pd)) { /* each attempt is against the base */
        decision->how = PD_SUBTRACT_NEGATIVE;
        decision->window.duration_nanos = elapsed;
    } else if ((is_first && pd->first == PPROFDELTA_FIRST_ZERO) ||
               (decision->has_other_keys && !decision->restart)) { /* it begins where it ends */
        decision->how = PD_SUBTRACT_ALL;
        decision->window.from_nanos = decision->window.to_nanos;
        decision->window.duration_nanos = 0;
    } else if (is_first || decision->restart) {
        decision->how = PD_SUBTRACT_NOTHING;
    }
    if (!pd->has_base && !decision->restart && decision->how != PD_SUBTRACT_ALL)
        decision->window.duration_nanos = cur->duration_nanos > 0 ? cur->duration_nanos : 0;
    pd->how = decision->how == PD_SUBTRACT_CLAMP ? PD_COMMIT_KEEP : PD_COMMIT_REPLACE;
    return PPROFDELTA_OK;
}

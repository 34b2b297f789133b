#include "oracle_work.h"

#include <string.h>

/* ---- Types ----------------------------------------------------------------------------------- */

static bool option_names(const char *option, const expected_type *type)
{
    size_t len = strlen(type->type);
    if (strcmp(option, type->type) == 0)
        return true;
    return strncmp(option, type->type, len) == 0 && option[len] == '/' &&
           strcmp(option + len + 1, type->unit) == 0;
}

/* Sets the types that the options name. Returns false if an option names no type. */
static bool apply_options(work *w, const char *const *options, size_t len, bool is_counter)
{
    bool all = true;
    for (size_t i = 0; i < len; i++) {
        bool found = false;
        for (size_t t = 0; t < w->types_len; t++)
            if (option_names(options[i], &w->types[t])) {
                w->types[t].is_counter = is_counter;
                found = true;
            }
        all = all && found;
    }
    return all;
}

/* Returns false if an option names no type, or if there is no counter. */
static bool make_types(work *w)
{
    static const expected_type usual[] = {
        {.type = "alloc_objects", .unit = "count"}, {.type = "alloc_space", .unit = "bytes"},
        {.type = "freed_objects", .unit = "count"}, {.type = "freed_space", .unit = "bytes"},
        {.type = "contentions", .unit = "count"},   {.type = "delay", .unit = "nanoseconds"}};
    const Pd__View__Profile *p = w->cur.view;
    w->types_len = p->n_sample_type;
    w->types = ARENA_ARRAY(w->arena, expected_type, w->types_len);
    for (size_t i = 0; i < w->types_len; i++) {
        expected_type *t = &w->types[i];
        t->type = reading_string(&w->cur, p->sample_type[i]->type);
        t->unit = reading_string(&w->cur, p->sample_type[i]->unit);
        for (size_t n = 0; n < sizeof usual / sizeof *usual; n++)
            if (strcmp(t->type, usual[n].type) == 0 && strcmp(t->unit, usual[n].unit) == 0)
                t->is_counter = true;
    }
    const pprofdelta_options *o = w->o->options;
    bool good = apply_options(w, o->counters, o->counters_len, true);
    good = apply_options(w, o->gauges, o->gauges_len, false) && good;
    bool any = false;
    for (size_t i = 0; i < w->types_len; i++)
        any = any || w->types[i].is_counter;
    return good && any;
}

/* Returns whether a type of a profile of samples by time is subtracted, or is the only type. The
 * generator has one such type. */
static bool times_stacks(const work *w)
{
    size_t found = 0, subtracted = 0, counters = 0;
    for (size_t i = 0; i < w->types_len; i++) {
        const expected_type *t = &w->types[i];
        bool is_one = !strcmp(t->type, "wall") && !strcmp(t->unit, "nanoseconds");
        counters += t->is_counter;
        found += is_one;
        subtracted += is_one && t->is_counter;
    }
    return subtracted || (!counters && w->types_len && found == w->types_len);
}

/* ---- Can there be a delta? ------------------------------------------------------------------- */

static bool is_stamped(const reading *r)
{
    for (size_t i = 0; i < r->view->n_comment; i++)
        if (reading_is_stamp(r, i))
            return true;
    return false;
}

/* Reads cur and checks what base and window both check. */
static status_set open_profile(work *w, const void *bytes, size_t len)
{
    pprofdelta_status status = reading_make(w->arena, bytes, len, &w->cur);
    if (status == PPROFDELTA_E_WIRE)
        return STATUS(PPROFDELTA_E_WIRE) | STATUS(PPROFDELTA_E_PROFILE);
    if (status == PPROFDELTA_E_PROFILE) /* and perhaps other errors; their order is not defined */
        return STATUS(PPROFDELTA_E_WIRE) | STATUS(PPROFDELTA_E_PROFILE) |
               STATUS(PPROFDELTA_E_MISMATCH) | STATUS(PPROFDELTA_E_STAMPED);
    if (status != PPROFDELTA_OK)
        return STATUS(status);
    status_set wrong = 0;
    if (is_stamped(&w->cur) && !(w->o->options->flags & PPROFDELTA_FORCE))
        wrong |= STATUS(PPROFDELTA_E_STAMPED);
    w->time_nanos = w->cur.view->time_nanos;
    w->duration_nanos = w->cur.view->duration_nanos > 0 ? w->cur.view->duration_nanos : 0;
    if (!make_types(w))
        wrong |= STATUS(PPROFDELTA_E_MISMATCH);
    if (times_stacks(w) && !(w->o->options->flags & PPROFDELTA_FORCE))
        wrong |= STATUS(PPROFDELTA_E_NOT_CUMULATIVE);
    if (!w->types_len) /* not a profile, or one without a counter */
        wrong |= STATUS(PPROFDELTA_E_PROFILE);
    return wrong;
}

static bool is_negative(const oracle *o)
{
    return o->options->on_reset == PPROFDELTA_ON_RESET_NEGATIVE;
}

/* Returns whether cur can be a later profile of what was seen last. A negative delta and, without
 * sequences, the one after a base are of two files, whose order is the caller's; otherwise the counters decide. */
static bool fits_ledger(work *w)
{
    int64_t before = w->seen->time_nanos, now = w->cur.view->time_nanos;
    w->is_set_back = before && now && now < before;
    w->is_same_time = now == before;
    bool is_pair = w->o->is_fresh_base && w->o->options->flags & PPROFDELTA_NO_SEQUENCE;
    return ledger_match(w, w->seen) && !(w->is_set_back && (is_pair || is_negative(w->o)));
}

/* Returns whether cur begins to count after prev. Sets whether that is unknown. */
static bool is_window(work *w)
{
    const oracle *o = w->o;
    wide before = o->has_seen && !w->is_set_back ? w->seen->time_nanos : 0;
    wide now = w->cur.view->time_nanos;
    wide had = o->has_seen ? w->seen->duration_nanos : 0, has = w->duration_nanos;
    w->may_be_window = !had != !has;
    if (!has || !before || !now)
        return false;
    wide start = now - has;
    if (start < before) {
        wide late = start - (before - had), shared = before - start;
        w->may_be_window = !had || -late > shared / 4;
        return had && late > had / 4;
    }
    wide began = o->started_nanos, life = now - began;
    w->may_be_window = false;
    return !(began > before && began <= now && has >= life - life / 4);
}

/* ---- Restarts -------------------------------------------------------------------------------- */

static bool any_fell(const work *w)
{
    for (size_t i = 0; i < w->cur.samples_len; i++)
        for (size_t t = 0; w->matches[i] && t < w->types_len; t++)
            if (w->types[t].is_counter &&
                w->cur.samples[i].values[t] < w->matches[i]->base[w->columns[t]])
                return true;
    return false;
}

/* Returns whether half of this counter is lost. Only entries of the last window and positive values
 * count. */
static bool mass_fell(const work *w, size_t t)
{
    const ledger *l = w->ledger;
    wide had = 0, lost = 0;
    for (size_t i = 0; i < l->len; i++) {
        int64_t base = l->entries[i].base[w->columns[t]];
        if (l->entries[i].seen != l->window || base <= 0)
            continue;
        had += base;
        if (w->is_gone[i])
            lost += base;
    }
    for (size_t i = 0; i < w->cur.samples_len; i++) {
        const ledger_entry *e = w->matches[i];
        int64_t cur = w->cur.samples[i].values[t];
        if (e && e->seen == l->window && e->base[w->columns[t]] > 0 && cur < e->base[w->columns[t]])
            lost += (wide)e->base[w->columns[t]] - cur;
    }
    return had > 0 && 2 * lost >= had;
}

static pprofdelta_restart find_restart(const work *w)
{
    const oracle *o = w->o;
    pprofdelta_on_reset mode = o->options->on_reset;
    if (!o->has_seen || mode == PPROFDELTA_ON_RESET_CLAMP || mode == PPROFDELTA_ON_RESET_NEGATIVE)
        return PPROFDELTA_RESTART_NONE;
    if (w->seen->time_nanos ? o->started_nanos && o->started_nanos > w->seen->time_nanos
                            : o->started_nanos == INT64_MAX)
        return PPROFDELTA_RESTART_STARTED;
    for (size_t t = 0; t < w->types_len; t++)
        if (w->types[t].is_counter && mass_fell(w, t))
            return w->other_build ? PPROFDELTA_RESTART_BUILD_ID : PPROFDELTA_RESTART_MASS;
    if (mode == PPROFDELTA_ON_RESET_RESTART && any_fell(w))
        return PPROFDELTA_RESTART_ANY;
    return PPROFDELTA_RESTART_NONE;
}

/* Two programs that have no file in common, unless the same process has its file under another
 * name. */
static bool is_other_service(const work *w)
{
    const oracle *o = w->o;
    if (!o->has_seen || is_negative(o) || o->options->flags & PPROFDELTA_FORCE)
        return false;
    bool is_same_process = w->has_main && !w->restart;
    return !w->has_common && !is_same_process &&
           mappings_differ(w->arena, w->seen->binary, mappings_binary(w->arena, &w->cur));
}

/* Returns whether a sample is new or has grown. */
static bool any_grew(const work *w)
{
    bool grew = false;
    for (size_t i = 0; i < w->cur.samples_len; i++) {
        grew |= !w->matches[i];
        for (size_t t = 0; w->matches[i] && t < w->types_len; t++)
            grew |= w->types[t].is_counter &&
                    w->cur.samples[i].values[t] > w->matches[i]->base[w->columns[t]];
    }
    return grew;
}

/* Returns whether cur is an earlier profile that comes late: something fell or is missing, and nothing
 * grew or is new. */
static bool is_late(const work *w)
{
    bool fell = any_fell(w);
    for (size_t i = 0; i < w->ledger->len; i++)
        fell |= w->is_gone[i] && w->ledger->entries[i].seen == w->ledger->window;
    bool is_known =
        w->restart == PPROFDELTA_RESTART_STARTED || w->restart == PPROFDELTA_RESTART_ANY;
    return w->is_set_back && fell && !any_grew(w) && !is_known;
}

/* Returns whether that later profile was only an attempt at this window, and cur is later than where the
 * window begins. */
static bool is_after_base(work *w)
{
    const oracle *o = w->o;
    const ledger *seen = w->seen;
    ledger_match(w, &o->held);
    bool grew = any_grew(w);
    ledger_match(w, seen);
    return grew && o->attempts && !o->restart && w->cur.view->time_nanos >= o->from_nanos;
}

static bool is_by_counters(pprofdelta_restart restart)
{
    return restart == PPROFDELTA_RESTART_MASS || restart == PPROFDELTA_RESTART_BUILD_ID;
}

/* Returns whether the records of a sample cannot be added up in 64 bits. Of a base, only its counters are. */
static bool sums_overflow(const work *w)
{
    for (size_t t = 0; t < w->types_len; t++)
        if (w->cur.overflows[t] && (w->types[t].is_counter || !w->is_base))
            return true;
    return false;
}

/* Returns whether a difference that is to be written leaves 64 bits. */
static bool differences_overflow(const work *w)
{
    bool is_clamped = !is_negative(w->o);
    int64_t any;
    for (size_t i = 0; i < w->cur.samples_len; i++)
        for (size_t t = 0; w->matches[i] && t < w->types_len; t++) {
            int64_t cur = w->cur.samples[i].values[t], base = w->matches[i]->base[w->columns[t]];
            if (w->types[t].is_counter && !(is_clamped && cur < base) &&
                __builtin_sub_overflow(cur, base, &any))
                return true;
        }
    for (size_t i = 0; i < w->ledger->len && !is_clamped; i++)
        for (size_t t = 0; w->is_gone[i] && t < w->types_len; t++)
            if (w->types[t].is_counter && w->ledger->entries[i].base[w->columns[t]] == INT64_MIN)
                return true;
    return false;
}

/* ---- The calls ------------------------------------------------------------------------------- */

void oracle_init(oracle *o, const pprofdelta_options *options)
{
    static const pprofdelta_options usual = PPROFDELTA_OPTIONS_INIT;
    *o = (oracle){.options = options ? options : &usual};
}

void oracle_free(oracle *o)
{
    arena_free(&o->held.arena);
    arena_free(&o->next.arena);
    arena_free(&o->base_arena);
    arena_free(&o->window_arena);
}

void oracle_set_started(oracle *o, int64_t started_nanos)
{
    o->started_nanos = started_nanos;
}

static void replace_ledger(ledger *old, ledger now)
{
    arena_free(&old->arena);
    *old = now;
}

status_set oracle_base(oracle *o, const void *bytes, size_t len)
{
    if (o->is_pending)
        return STATUS(PPROFDELTA_E_USAGE);
    arena a = {0};
    work w = {.o = o, .arena = &a, .is_base = true};
    status_set wrong = open_profile(&w, bytes, len);
    if (!wrong && sums_overflow(&w))
        wrong = STATUS(PPROFDELTA_E_LIMIT);
    if (wrong) {
        arena_free(&a);
        return wrong;
    }
    replace_ledger(&o->held, ledger_of_cur(&w, NULL));
    replace_ledger(&o->next, (ledger){0});
    arena_free(&o->base_arena);
    o->base_arena = a;
    o->base = w.cur;
    o->base.arena = &o->base_arena;
    o->has_base = o->has_seen = o->is_fresh_base = true;
    if (!o->sequence)
        o->sequence = o->committed = 1;
    o->attempts = 0; /* what was open has ended */
    o->restart = PPROFDELTA_RESTART_NONE;
    o->to_nanos = o->held.time_nanos;
    return STATUS(PPROFDELTA_OK);
}

/* The numbers and times of the next attempt, or of the next window. */
static void number_window(work *w)
{
    oracle *o = w->o;
    int64_t now = w->cur.view->time_nanos, before = o->has_seen ? w->seen->time_nanos : 0;
    wide elapsed = before && now && now > before ? (wide)now - before : 0;
    bool is_first = !o->has_seen && o->options->first == PPROFDELTA_FIRST_ZERO;
    if (!o->attempts || w->restart) {
        o->sequence++;
        o->attempts = 0;
        o->from_nanos = o->to_nanos;
        o->duration_nanos = 0;
        o->restart = w->restart;
    }
    o->attempts++;
    int64_t least = o->to_nanos ? o->to_nanos : o->from_nanos;
    o->to_nanos = now && now < least ? least : now;
    o->duration_nanos = elapsed + (is_negative(o) ? 0 : o->duration_nanos);
    if (o->duration_nanos > INT64_MAX)
        o->duration_nanos = INT64_MAX;
    if (is_first)
        o->from_nanos = o->to_nanos;
}

status_set oracle_window(oracle *o, const void *bytes, size_t len, const expectation **out)
{
    if (o->is_pending)
        return STATUS(PPROFDELTA_E_USAGE);
    arena_free(&o->window_arena);
    bool is_open = o->attempts && !is_negative(o);
    work w = {.o = o, .arena = &o->window_arena, .seen = is_open ? &o->next : &o->held};
    status_set wrong = open_profile(&w, bytes, len);
    if (is_negative(o) && !o->is_fresh_base)
        wrong |= STATUS(PPROFDELTA_E_USAGE);
    if (w.cur.view && o->has_seen && !fits_ledger(&w))
        wrong |= STATUS(PPROFDELTA_E_MISMATCH);
    if (w.cur.view && !(o->options->flags & PPROFDELTA_FORCE) && is_window(&w))
        wrong |= STATUS(PPROFDELTA_E_NOT_CUMULATIVE);
    if (wrong)
        return wrong;
    if (o->has_seen && !is_negative(o))
        mappings_recognise(&w, bytes, len);
    if (sums_overflow(&w))
        return STATUS(PPROFDELTA_E_LIMIT);
    ledger_match(&w, w.seen);
    w.restart = find_restart(&w);
    if (is_other_service(&w))
        return STATUS(PPROFDELTA_E_OTHER_TARGET);
    w.is_late = is_late(&w);
    if (w.is_late && !is_after_base(&w))
        return STATUS(PPROFDELTA_E_OLDER);
    if (w.is_late) {
        w.is_set_back = false;
        w.restart = PPROFDELTA_RESTART_NONE;
    }
    w.may_be_two_kinds =
        is_by_counters(w.restart) &&
        (is_by_counters(o->restart) ||
         strcmp(o->attempts ? o->next.kind : o->held.kind, reading_kind(&w.cur)) != 0);
    if (!w.is_late && o->options->on_reset == PPROFDELTA_ON_RESET_FAIL &&
        (w.restart || any_fell(&w)))
        return STATUS(PPROFDELTA_E_RESET);
    if (w.restart && w.is_renamed) /* another process has other mappings */
        reading_make(w.arena, bytes, len, &w.cur);
    else if (!w.restart && is_open)
        ledger_lift(&w);
    static const ledger nothing = {0};
    ledger_match(&w, w.restart ? &nothing : &o->held);
    if (sums_overflow(&w) || differences_overflow(&w))
        return STATUS(PPROFDELTA_E_LIMIT);
    w.result = arena_alloc(w.arena, sizeof *w.result);
    number_window(&w);
    work_write_down(&w);
    bool is_first = !o->has_seen, afresh = is_first || w.restart || is_negative(o);
    ledger next = afresh ? ledger_of_cur(&w, w.seen) : ledger_carried_on(&w);
    if (w.restart) /* what the old process counted is not subtracted any more */
        replace_ledger(&o->held, (ledger){0});
    if (is_first && o->options->first == PPROFDELTA_FIRST_ZERO)
        replace_ledger(&o->held, ledger_of_cur(&w, w.seen));
    replace_ledger(&o->next, next);
    o->has_base |= w.restart || (is_first && o->options->first == PPROFDELTA_FIRST_ZERO);
    o->has_seen = o->is_pending = true;
    *out = w.result;
    return STATUS(PPROFDELTA_OK);
}

void oracle_commit(oracle *o)
{
    if (!o->is_pending)
        return;
    replace_ledger(&o->held, o->next);
    o->next = (ledger){0};
    ledger_forget(&o->held);
    o->is_pending = o->is_fresh_base = false;
    o->has_base = true;
    o->committed = o->sequence;
    o->attempts = 0;
}

void oracle_abandon(oracle *o)
{
    o->is_pending = false;
}

/* Two profiles and what is done with them (pair.h): whatever they hold, the promises of
 * pprofdelta.h and the arithmetic of a delta stand.
 *
 *   - the conservation law holds for every counter, and the counts of a report add up
 *   - what is written is a valid profile, stamped where it should be, and already compact: it is
 *     not smaller as an input, and what it becomes then stays, byte for byte, what it is
 *   - a profile against itself has no counters; nor has a second look at what was just remembered
 *   - window after window, whatever comes back, vanishes or is lost, the law holds in each
 *   - a window that was abandoned, or that failed for whatever reason (bad bytes, a sink that
 *     refuses, no memory), leaves nothing behind but capacity: the same window again gives the same
 *     bytes and, where it had succeeded before, allocates nothing
 *   - as OTLP it means the same (otlp_model.h), and as tables it is well-formed
 *   - in pieces it is the same delta
 *   - every failure fills in the error struct, and everything is given back */
#include "fuzz.h"

#include "pair.h"
#include "delta/context.h"
#include "keep.h"
#include "run.h"
#include "same_meaning.h"
#include "table_reader.h"
#include "view.h"

/* ---- what the values of a profile add up to ---------------------------------------------------- */

typedef struct sums {
    pprofdelta_sum types[PPROFDELTA_MAX_TYPES];
    uint64_t samples;
    bool is_small; /* every value is from 0 to 2^40: no sum of them wraps in 64 bits */
} sums;

/* Of a profile that the library accepted. */
static sums sums_of(pd_bytes in)
{
    sums r = {.is_small = true};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.max_memory = FUZZ_MAX_MEMORY;
    pprofdelta_profile *profile;
    const uint8_t *bytes;
    size_t len;
    require(!pprofdelta_profile_open(&options, NULL, in.ptr, in.len, &profile, NULL));
    require(!pprofdelta_profile_bytes(profile, &bytes, &len, NULL));
    Pd__View__Profile *view = view_unpack(bytes, len);
    require(view);
    r.samples = view->n_sample;
    for (size_t i = 0; i < view->n_sample; i++)
        for (size_t n = 0; n < view->sample[i]->n_value; n++) {
            require(n < PPROFDELTA_MAX_TYPES);
            r.is_small &= (uint64_t)view->sample[i]->value[n] <= UINT64_C(1) << 40;
            pd_sum_add(&r.types[n], view->sample[i]->value[n]);
        }
    view_free(view);
    pprofdelta_profile_free(profile);
    return r;
}

/* ---- what an input asks for ------------------------------------------------------------------ */

/* Types that the rules name: there is no delta where a profile lacks one. */
static const char *const some_counters[] = {"inuse_space/bytes", "inuse_objects", "samples/count",
                                            "cpu/nanoseconds"};
static const char *const some_gauges[] = {"alloc_space", "alloc_objects/count", "contentions",
                                          "delay/nanoseconds"};

static pprofdelta_options options_of(const uint8_t *header)
{
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    o.on_reset = (pprofdelta_on_reset)(header[PAIR_HOW] % 5);
    o.compression = (header[PAIR_HOW] >> 3 & 7) < 6
                        ? PPROFDELTA_PLAIN
                        : (pprofdelta_compression)(header[PAIR_HOW] & 1);
    o.level = header[PAIR_HOW] >> 6;
    o.flags = PPROFDELTA_VERIFY | (header[PAIR_WHAT] & 11u);
    o.flags |= PPROFDELTA_NO_SEQUENCE; /* each attempt gives the same bytes */
    o.first = (pprofdelta_first)(header[PAIR_WHAT] >> 4 & 1);
    o.max_memory = FUZZ_MAX_MEMORY;
    o.counters = some_counters + (header[PAIR_WHO] & 3);
    o.counters_len = header[PAIR_WHO] >> 2 & 1;
    o.gauges = some_gauges + (header[PAIR_WHO] >> 3 & 3);
    o.gauges_len = header[PAIR_WHO] >> 5 & 1;
    return o;
}

/* Everything in pieces of this size, if not 0. */
static size_t piece_of(const uint8_t *header)
{
    size_t at = header[PAIR_AT];
    return header[PAIR_WHAT] >> 6 & 1 ? 1 + at * at / 8 : 0;
}

static pprofdelta *new_context(const pprofdelta_options *options, tracker *memory)
{
    pprofdelta_allocator allocator = tracker_allocator(memory);
    pprofdelta *context = NULL;
    require(pprofdelta_new(options, &allocator, &context, NULL) == PPROFDELTA_OK);
    return context;
}

static void free_context(pprofdelta *context, const tracker *memory)
{
    pprofdelta_free(context);
    require(!memory->live);
}

static size_t inflated_len(const uint8_t *bytes, size_t len)
{
    pd_mem mem;
    pd_source source;
    size_t out_len = fuzz_inflate(&source, &mem, bytes, len) ? source.whole.len : 1;
    pd_source_end(&source);
    return out_len;
}

/* ---- one call of the library, with the promises of every call held against it ---------------- */

static arena deltas; /* of this input */

typedef struct delta {
    pprofdelta_status status;
    buf bytes; /* what the sink got */
    pprofdelta_report report;
    size_t allocations; /* that the call made */
    bool refuse;        /* the sink shall */
} delta;

static void require_error(const pprofdelta_error *err, pprofdelta_status status, pd_bytes in)
{
    require(status != PPROFDELTA_E_VERIFY);
    if (status == PPROFDELTA_OK)
        fuzz_require_untouched(err);
    else
        fuzz_require_filled(err, status, in.len, inflated_len(in.ptr, in.len));
}

static pprofdelta_status base(pprofdelta *context, pd_bytes in)
{
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_status status = pprofdelta_base(context, in.ptr, in.len, &err);
    require_error(&err, status, in);
    return status;
}

static void window(pprofdelta *context, const tracker *memory, pd_bytes in, delta *d)
{
    pprofdelta_error err = fuzz_unfilled();
    collector c = {.bytes = buf_begin(&deltas), .fail_at = d->refuse};
    pprofdelta_sink sink = collector_sink(&c);
    size_t calls = memory->calls;
    d->report.size = sizeof d->report;
    d->status = pprofdelta_window(context, in.ptr, in.len, &sink, &d->report, &err);
    d->allocations = memory->calls - calls;
    d->bytes = c.bytes;
    require_error(&err, d->status, in);
    require(d->status == PPROFDELTA_OK || d->bytes.len == 0);
}

static void require_same(const delta *a, const delta *b)
{
    require(a->status == b->status && buf_equal(a->bytes, b->bytes));
}

static pd_bytes bytes_of(const delta *d)
{
    return (pd_bytes){d->bytes.ptr, d->bytes.len};
}

/* ---- the promises ---------------------------------------------------------------------------- */

typedef struct trial {
    pair in;
    pprofdelta_options options;
    size_t piece;
    bool has_base;      /* prev could be remembered */
    bool is_small;      /* see sums; of both profiles */
    const delta *first; /* the delta that all others are held against */
    buf nothing;        /* the state of a context that remembers nothing */
} trial;

static pprofdelta *begin(const trial *t, tracker *memory)
{
    pprofdelta *context = new_context(&t->options, memory);
    context->piece = t->piece;
    return context;
}

static bool is_zero(pprofdelta_sum sum)
{
    return !sum.lo && !sum.hi;
}

static void require_no_counters(const pprofdelta_report *report)
{
    for (size_t i = 0; i < report->types_len; i++)
        require(!report->types[i].is_counter || is_zero(report->types[i].delta));
}

/* prev + delta - clamped - vanished = cur: in 64 bits always, in all of them where nothing
 * wraps. */
static void require_law(const pprofdelta_type_report *type, bool is_small)
{
    pprofdelta_sum left = pd_sum_plus(type->prev, type->delta);
    pprofdelta_sum right = pd_sum_plus(pd_sum_plus(type->cur, type->clamped), type->vanished);
    require(left.lo == right.lo && (!is_small || left.hi == right.hi));
}

static void require_report(const trial *t, const delta *d)
{
    const pprofdelta_report *r = &d->report;
    sums cur = sums_of(t->in.cur), out = sums_of(bytes_of(d));
    bool is_negative = t->options.on_reset == PPROFDELTA_ON_RESET_NEGATIVE;
    bool never_restarts = is_negative || t->options.on_reset == PPROFDELTA_ON_RESET_CLAMP;
    require(!r->had_base == !t->has_base && !r->sequence && !r->attempt &&
            r->output_len == d->bytes.len);
    require(r->samples_in == cur.samples && r->samples_out == out.samples);
    require(r->matched + r->fresh + r->duplicates == r->samples_in);
    require(r->samples_out <= r->matched + r->fresh + (is_negative ? r->vanished : 0));
    require(r->clamped <= r->matched);
    require(t->has_base || r->restart == PPROFDELTA_RESTART_NONE);
    require(!never_restarts || r->restart == PPROFDELTA_RESTART_NONE);
    for (size_t i = 0; i < r->types_len; i++) {
        const pprofdelta_type_report *type = &r->types[i];
        require(type->cur.lo == cur.types[i].lo && type->delta.lo == out.types[i].lo);
        if (type->is_counter)
            require_law(type, t->is_small);
        else
            require(!memcmp(&type->cur, &type->delta, sizeof type->cur));
        require(!t->is_small || is_negative || type->delta.hi >= 0);
    }
}

/* Valid, stamped, and refused as an input because of that. */
static void require_valid_output(const trial *t, const delta *d)
{
    static const char *const formats[] = {"gzip", "zstd", "plain"};
    bool is_stamped = !(t->options.flags & PPROFDELTA_NO_STAMP);
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    tracker memory = {0};
    pprofdelta *context = new_context(&options, &memory);
    pprofdelta_census census;
    require(!fuzz_census(d->bytes.ptr, d->bytes.len, &census, NULL));
    require(!strcmp(census.format, formats[t->options.compression]));
    require(!census.is_stamped == !is_stamped);
    require(census.types == d->report.types_len && census.samples == d->report.samples_out);
    require(census.time_nanos == d->report.to_nanos && !census.unknown_fields);
    if (is_stamped)
        require(pprofdelta_base(context, d->bytes.ptr, d->bytes.len, NULL) == PPROFDELTA_E_STAMPED);
    free_context(context, &memory);
}

/* Neither has anything that the other lacks, but for the stamp. */
static void require_same_size(const delta *a, const delta *b)
{
    pprofdelta_census one, other;
    require(!fuzz_census(a->bytes.ptr, a->bytes.len, &one, NULL));
    require(!fuzz_census(b->bytes.ptr, b->bytes.len, &other, NULL));
    require(one.samples == other.samples && one.mappings == other.mappings);
    require(one.locations == other.locations && one.functions == other.functions);
    require(one.strings - !!one.is_stamped == other.strings && !other.is_stamped);
}

/* The delta is as compact as it can be. Taken as a profile of everything since the process began it
 * is written with strings in another order where the input had labels before locations, and after
 * that in no other. */
static void require_fixed_point(const trial *t, const delta *d)
{
    pprofdelta_options options = t->options;
    options.flags = PPROFDELTA_NO_STAMP | PPROFDELTA_FORCE | PPROFDELTA_VERIFY;
    options.on_reset = PPROFDELTA_ON_RESET_CLAMP;
    options.first = PPROFDELTA_FIRST_FULL;
    tracker memory = {0};
    pprofdelta *context = new_context(&options, &memory);
    delta once = {0}, twice = {0};
    window(context, &memory, bytes_of(d), &once);
    require(once.status == PPROFDELTA_OK);
    require(!once.report.duplicates && once.report.samples_out == d->report.samples_out);
    pprofdelta_abandon(context);
    require_same_size(d, &once);
    window(context, &memory, bytes_of(&once), &twice);
    require_same(&once, &twice);
    free_context(context, &memory);
}

/* A second look at the same: no counter has moved. An attempt has arrays of its own: when both have
 * their arrays, nothing is allocated. A start that is still to come is one restart after the other. */
static void require_steady(const trial *t, pprofdelta *context, tracker *memory)
{
    delta again = {0};
    for (int i = 0; i < 3; i++) {
        pprofdelta_abandon(context);
        window(context, memory, t->in.cur, &again);
        if (again.status == PPROFDELTA_E_RESET)
            require(t->options.on_reset == PPROFDELTA_ON_RESET_FAIL);
        else if (again.report.restart != PPROFDELTA_RESTART_STARTED)
            require_same(t->first, &again);
        require(i < 2 || !again.allocations || t->piece);
    }
    pprofdelta_commit(context);
    window(context, memory, t->in.cur, &again);
    if (t->options.on_reset == PPROFDELTA_ON_RESET_NEGATIVE) {
        require(again.status == PPROFDELTA_E_USAGE);
    } else if (t->options.on_reset == PPROFDELTA_ON_RESET_FAIL) {
        require(again.status == PPROFDELTA_OK || again.status == PPROFDELTA_E_RESET);
    } else {
        bool is_restart = again.report.restart == PPROFDELTA_RESTART_STARTED;
        require(again.status == PPROFDELTA_OK && again.report.had_base);
        if ((t->is_small && !is_restart) || t->options.on_reset == PPROFDELTA_ON_RESET_CLAMP)
            require_no_counters(&again.report);
    }
}

/* cur against itself. */
static void require_no_difference(const trial *t)
{
    tracker memory = {0};
    delta d = {0};
    pprofdelta *context = begin(t, &memory);
    require(base(context, t->in.cur) == PPROFDELTA_OK);
    window(context, &memory, t->in.cur, &d);
    require(d.status == PPROFDELTA_OK && d.report.restart == PPROFDELTA_RESTART_NONE);
    require(!d.report.fresh && !d.report.vanished && !d.report.clamped);
    require_no_counters(&d.report);
    free_context(context, &memory);
}

static void set_started(const trial *t, pprofdelta *context)
{
    static const int64_t starts[] = {0, 1, -1, INT64_MAX, 1700000000000000000};
    uint8_t old = t->in.header[PAIR_OLD];
    if (old & 8)
        pprofdelta_set_started(context, starts[(old & 7) % 5]);
}

/* Begins with prev again, if there is one, whatever the context remembers. */
static void begin_again(const trial *t, pprofdelta *context)
{
    pprofdelta_abandon(context);
    require(keep_load(context, t->nothing, NULL) == PPROFDELTA_OK);
    require(t->has_base == (base(context, t->in.prev) == PPROFDELTA_OK));
}

/* A window with something wrong in it. Where it comes out right all the same, it is forgotten. */
static void spoil(const trial *t, pprofdelta *context, tracker *memory)
{
    size_t len = t->in.cur.len, at = len ? len * t->in.header[PAIR_AT] / 256 : 0;
    delta d = {.refuse = t->in.header[PAIR_BAD] % 5 == 0};
    uint8_t *copy = calloc(len + 1, 1);
    require(copy);
    if (len)
        memcpy(copy, t->in.cur.ptr, len);
    pd_bytes in = {copy, len};
    switch (t->in.header[PAIR_BAD] % 5) {
    case 1:
        in.len = at;
        break;
    case 2:
        copy[at] ^= (uint8_t)(1 << (t->in.header[PAIR_BAD] >> 5));
        break;
    case 3:
        in = t->in.prev;
        break;
    case 4:
        memory->fail_at = memory->calls + 1 + t->in.header[PAIR_AT];
        break;
    default:
        break;
    }
    window(context, memory, in, &d);
    require(!d.refuse || d.status != PPROFDELTA_OK);
    memory->fail_at = 0;
    if (d.status == PPROFDELTA_OK || d.status == PPROFDELTA_E_SINK) /* it was handed out */
        begin_again(t, context);
    free(copy);
}

/* The nth allocation fails. Who carries on after that gets what he would have got. */
static void starve(const trial *t)
{
    const uint8_t *nth = t->in.header + PAIR_NTH;
    tracker memory = {.fail_at = (nth[0] | (size_t)nth[1] << 8) % 512 + 1, .is_alone = true};
    pprofdelta_allocator allocator = tracker_allocator(&memory);
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta *context = NULL;
    if (pprofdelta_new(&t->options, &allocator, &context, &err)) {
        require(!context && !memory.live);
        fuzz_require_filled(&err, PPROFDELTA_E_MEMORY, 0, 1);
        context = new_context(&t->options, &memory);
    }
    context->piece = t->piece;
    set_started(t, context);
    delta d = {0};
    if (base(context, t->in.prev) == PPROFDELTA_E_MEMORY)
        require(t->has_base == (base(context, t->in.prev) == PPROFDELTA_OK));
    window(context, &memory, t->in.cur, &d);
    if (d.status == PPROFDELTA_E_MEMORY)
        window(context, &memory, t->in.cur, &d);
    require_same(t->first, &d);
    free_context(context, &memory);
}

/* Little memory is a reason to refuse, never to give another answer. */
static void squeeze(const trial *t)
{
    pprofdelta_options options = t->options;
    options.max_memory = UINT64_C(1) << (12 + t->in.header[PAIR_AT] % 10);
    tracker memory = {0};
    pprofdelta_allocator allocator = tracker_allocator(&memory);
    pprofdelta *context = NULL;
    if (pprofdelta_new(&options, &allocator, &context, NULL) != PPROFDELTA_OK) {
        require(!memory.live);
        return;
    }
    context->piece = t->piece;
    set_started(t, context);
    delta d = {0};
    pprofdelta_status status = base(context, t->in.prev);
    require(status == PPROFDELTA_E_LIMIT || t->has_base == (status == PPROFDELTA_OK));
    window(context, &memory, t->in.cur, &d);
    if (d.status != PPROFDELTA_E_LIMIT && status != PPROFDELTA_E_LIMIT)
        require_same(t->first, &d);
    free_context(context, &memory);
}

/* Window after window on one context, some of them lost: samples vanish, come back and are
 * forgotten, and the law holds in each. */
static void take_turns(const trial *t)
{
    tracker memory = {0};
    delta d = {0};
    pprofdelta *context = begin(t, &memory);
    uint8_t turns = t->in.header[PAIR_AT], is_lost = t->in.header[PAIR_BAD];
    for (int i = 0; i < 8; i++) {
        window(context, &memory, turns >> i & 1 ? t->in.prev : t->in.cur, &d);
        if (d.status)
            continue;
        require(d.report.matched + d.report.fresh + d.report.duplicates == d.report.samples_in);
        for (size_t k = 0; k < d.report.types_len; k++)
            if (d.report.types[k].is_counter)
                require_law(&d.report.types[k], t->is_small);
        if (is_lost >> i & 1)
            pprofdelta_abandon(context);
        else
            pprofdelta_commit(context);
    }
    free_context(context, &memory);
}

static void require_same_as_whole(const trial *t, pprofdelta *context, tracker *memory,
                                  pprofdelta *other, tracker *other_memory, pd_bytes in)
{
    delta d = {0}, whole = {0};
    window(context, memory, in, &d);
    window(other, other_memory, in, &whole);
    bool has_limits = d.status == PPROFDELTA_E_LIMIT || whole.status == PPROFDELTA_E_LIMIT;
    require(has_limits || d.status == whole.status);
    if (!d.status && !whole.status && t->options.compression == PPROFDELTA_PLAIN)
        require_same(&d, &whole);
    pprofdelta_commit(context);
    pprofdelta_commit(other);
}

/* Window after window the same as when everything is in memory. */
static void compare_with_whole(const trial *t)
{
    tracker memory = {0}, other_memory = {0};
    if (!t->piece)
        return;
    pprofdelta *context = begin(t, &memory), *other = new_context(&t->options, &other_memory);
    pprofdelta_status status = base(context, t->in.prev), whole = base(other, t->in.prev);
    if (status != PPROFDELTA_E_LIMIT && whole != PPROFDELTA_E_LIMIT) {
        require(status == whole);
        require_same_as_whole(t, context, &memory, other, &other_memory, t->in.cur);
        require_same_as_whole(t, context, &memory, other, &other_memory, t->in.prev);
        require_same_as_whole(t, context, &memory, other, &other_memory, t->in.cur);
    }
    free_context(context, &memory);
    free_context(other, &other_memory);
}

/* The delta as OTLP means the same. */
static void require_otlp(const trial *t, const delta *d)
{
    tracker memory = {0};
    delta request = {0};
    trial other = *t;
    if (!meaning_is_compared(d->bytes.len))
        return;
    other.options.format = PPROFDELTA_OTLP;
    pprofdelta *context = begin(&other, &memory);
    set_started(t, context);
    base(context, t->in.prev);
    window(context, &memory, t->in.cur, &request);
    require(request.status == PPROFDELTA_OK || request.status == PPROFDELTA_E_LIMIT);
    if (!request.status)
        require_same_meaning(bytes_of(d), bytes_of(&request));
    free_context(context, &memory);
}

static void require_tables(const trial *t, const delta *d)
{
    tracker memory = {0};
    table_mail mail = {0};
    trial other = *t;
    pprofdelta_sink sink = table_sink(&mail);
    other.options.format = PPROFDELTA_TABLES;
    pprofdelta *context = begin(&other, &memory);
    set_started(t, context);
    base(context, t->in.prev);
    pprofdelta_status status =
        pprofdelta_window(context, t->in.cur.ptr, t->in.cur.len, &sink, NULL, NULL);
    pprofdelta_free(context);
    require(status == PPROFDELTA_OK || (status == PPROFDELTA_E_LIMIT && !mail.calls));
    require(status || !tables_malformed(&mail.got));
    require(status || (uint64_t)mail.got.samples.array.length == d->report.samples_out);
    tables_release(&mail);
    require(!memory.live);
}

/* All of it, on the pair's own context. */
static void try_all(trial *t)
{
    tracker memory = {.is_alone = true};
    delta d = {0}, after = {0};
    pprofdelta *context = begin(t, &memory);
    t->nothing = keep_save(&deltas, context);
    set_started(t, context);
    t->first = &d;
    t->has_base = base(context, t->in.prev) == PPROFDELTA_OK;
    window(context, &memory, t->in.cur, &d);
    starve(t);
    squeeze(t);
    compare_with_whole(t);
    if (d.status == PPROFDELTA_OK) {
        t->is_small = sums_of(t->in.cur).is_small && (!t->has_base || sums_of(t->in.prev).is_small);
        require_report(t, &d);
        require_valid_output(t, &d);
        require_fixed_point(t, &d);
        require_otlp(t, &d);
        require_tables(t, &d);
        begin_again(t, context);
        if (t->options.on_reset != PPROFDELTA_ON_RESET_NEGATIVE || t->has_base)
            require_no_difference(t);
    }
    spoil(t, context, &memory);
    window(context, &memory, t->in.cur, &after);
    require_same(&d, &after);
    if (d.status == PPROFDELTA_OK) {
        require_steady(t, context, &memory);
        take_turns(t);
    }
    free_context(context, &memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trial t = {0};
    if (!pair_split(data, size, &t.in) || fuzz_is_text(t.in.prev.ptr, t.in.prev.len) ||
        fuzz_is_text(t.in.cur.ptr, t.in.cur.len))
        return 0;
    t.options = options_of(data);
    t.piece = piece_of(data);
    try_all(&t);
    arena_free(&deltas);
    return 0;
}

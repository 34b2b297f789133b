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
 *   - as OTLP it means the same (otlp_model.h)
 *   - in pieces it is the same delta
 *   - every failure fills in the error struct, and everything is given back */
#include "counting.h"
#include "pair.h"
#include "delta/context.h"
#include "same_meaning.h"
#include "values.h"

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

static pprofdelta *new_context(const pprofdelta_options *options, heap *h)
{
    pprofdelta_allocator allocator = {heap_resize, heap_release, h};
    pprofdelta *context = NULL;
    require(pprofdelta_new(options, &allocator, &context, NULL) == PPROFDELTA_OK);
    return context;
}

static void free_context(pprofdelta *context, const heap *h)
{
    pprofdelta_free(context);
    require(!h->held);
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

typedef struct delta {
    pprofdelta_status status;
    uint8_t *bytes; /* what the sink got */
    size_t len;
    pprofdelta_report report;
    uint64_t allocations; /* that the call made */
    bool refuse;          /* the sink shall */
} delta;

static int write_delta(void *cookie, const void *data, size_t len)
{
    delta *d = cookie;
    if (d->refuse)
        return 1;
    d->bytes = realloc(d->bytes, d->len + len + 1);
    require(d->bytes);
    memcpy(d->bytes + d->len, data, len);
    d->len += len;
    return 0;
}

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

static void window(pprofdelta *context, heap *h, pd_bytes in, delta *d)
{
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta_sink sink = {write_delta, d};
    uint64_t calls = h->calls;
    d->len = 0;
    d->report.size = sizeof d->report;
    d->status = pprofdelta_window(context, in.ptr, in.len, &sink, &d->report, &err);
    d->allocations = h->calls - calls;
    require_error(&err, d->status, in);
    require(d->status == PPROFDELTA_OK || d->len == 0);
}

static void require_same(const delta *a, const delta *b)
{
    require(a->status == b->status && a->len == b->len);
    require(!a->len || !memcmp(a->bytes, b->bytes, a->len));
}

/* ---- the promises ---------------------------------------------------------------------------- */

typedef struct trial {
    pair in;
    pprofdelta_options options;
    size_t piece;
    bool has_base;        /* prev could be remembered */
    bool is_small;        /* see reading; of both profiles */
    const delta *first;   /* the delta that all others are held against */
    const delta *nothing; /* the state of a context that remembers nothing */
} trial;

static pprofdelta *begin(const trial *t, heap *h)
{
    pprofdelta *context = new_context(&t->options, h);
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
    reading cur = read_profile(t->in.cur), out = read_profile((pd_bytes){d->bytes, d->len});
    bool is_negative = t->options.on_reset == PPROFDELTA_ON_RESET_NEGATIVE;
    bool never_restarts = is_negative || t->options.on_reset == PPROFDELTA_ON_RESET_CLAMP;
    require(!r->had_base == !t->has_base && !r->sequence && !r->attempt && r->output_len == d->len);
    require(r->samples_in == cur.samples && r->samples_out == out.samples);
    require(r->matched + r->fresh + r->duplicates == r->samples_in);
    require(r->samples_out <= r->matched + r->fresh + (is_negative ? r->vanished : 0));
    require(r->clamped <= r->matched);
    require(t->has_base || r->restart == PPROFDELTA_RESTART_NONE);
    require(!never_restarts || r->restart == PPROFDELTA_RESTART_NONE);
    for (size_t i = 0; i < r->types_len; i++) {
        const pprofdelta_type_report *type = &r->types[i];
        require(type->cur.lo == cur.sums[i].lo && type->delta.lo == out.sums[i].lo);
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
    heap h = {0};
    pprofdelta *context = new_context(&options, &h);
    pprofdelta_census census;
    require(!fuzz_census(d->bytes, d->len, &census, NULL));
    require(!strcmp(census.format, formats[t->options.compression]));
    require(!census.is_stamped == !is_stamped);
    require(census.types == d->report.types_len && census.samples == d->report.samples_out);
    require(census.time_nanos == d->report.to_nanos && !census.unknown_fields);
    if (is_stamped)
        require(pprofdelta_base(context, d->bytes, d->len, NULL) == PPROFDELTA_E_STAMPED);
    free_context(context, &h);
}

/* Neither has anything that the other lacks, but for the stamp. */
static void require_same_size(const delta *a, const delta *b)
{
    pprofdelta_census one, other;
    require(!fuzz_census(a->bytes, a->len, &one, NULL));
    require(!fuzz_census(b->bytes, b->len, &other, NULL));
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
    heap h = {0};
    pprofdelta *context = new_context(&options, &h);
    delta once = {0}, twice = {0};
    window(context, &h, (pd_bytes){d->bytes, d->len}, &once);
    require(once.status == PPROFDELTA_OK);
    require(!once.report.duplicates && once.report.samples_out == d->report.samples_out);
    pprofdelta_abandon(context);
    require_same_size(d, &once);
    window(context, &h, (pd_bytes){once.bytes, once.len}, &twice);
    require_same(&once, &twice);
    free(once.bytes);
    free(twice.bytes);
    free_context(context, &h);
}

/* A second look at the same: no counter has moved. An attempt has arrays of its own: when both have
 * their arrays, nothing is allocated. A start that is still to come is one restart after the other. */
static void require_steady(const trial *t, pprofdelta *context, heap *h)
{
    delta again = {0};
    for (int i = 0; i < 3; i++) {
        pprofdelta_abandon(context);
        window(context, h, t->in.cur, &again);
        if (again.status == PPROFDELTA_E_RESET)
            require(t->options.on_reset == PPROFDELTA_ON_RESET_FAIL);
        else if (again.report.restart != PPROFDELTA_RESTART_STARTED)
            require_same(t->first, &again);
        require(i < 2 || !again.allocations || t->piece);
    }
    pprofdelta_commit(context);
    window(context, h, t->in.cur, &again);
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
    free(again.bytes);
}

/* cur against itself. */
static void require_no_difference(const trial *t)
{
    heap h = {0};
    delta d = {0};
    pprofdelta *context = begin(t, &h);
    require(base(context, t->in.cur) == PPROFDELTA_OK);
    window(context, &h, t->in.cur, &d);
    require(d.status == PPROFDELTA_OK && d.report.restart == PPROFDELTA_RESTART_NONE);
    require(!d.report.fresh && !d.report.vanished && !d.report.clamped);
    require_no_counters(&d.report);
    free(d.bytes);
    free_context(context, &h);
}

static void set_started(const trial *t, pprofdelta *context)
{
    static const int64_t starts[] = {0, 1, -1, INT64_MAX, 1700000000000000000};
    uint8_t old = t->in.header[PAIR_OLD];
    if (old & 8)
        pprofdelta_set_started(context, starts[(old & 7) % 5]);
}

static int read_state(void *cookie, void *data, size_t room, size_t *len)
{
    pd_bytes *state = cookie;
    *len = room < state->len ? room : state->len;
    memcpy(data, state->ptr, *len);
    state->ptr += *len;
    state->len -= *len;
    return 0;
}

/* Begins with prev again, if there is one, whatever the context remembers. */
static void begin_again(const trial *t, pprofdelta *context)
{
    pd_bytes state = {t->nothing->bytes, t->nothing->len};
    pprofdelta_source source = {read_state, &state};
    pprofdelta_abandon(context);
    require(pprofdelta_load(context, &source, NULL) == PPROFDELTA_OK);
    require(t->has_base == (base(context, t->in.prev) == PPROFDELTA_OK));
}

/* A window with something wrong in it. Where it comes out right all the same, it is forgotten. */
static void spoil(const trial *t, pprofdelta *context, heap *h)
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
        h->fail = h->calls + 1 + t->in.header[PAIR_AT];
        break;
    default:
        break;
    }
    window(context, h, in, &d);
    require(!d.refuse || d.status != PPROFDELTA_OK);
    h->fail = 0;
    if (d.status == PPROFDELTA_OK || d.status == PPROFDELTA_E_SINK) /* it was handed out */
        begin_again(t, context);
    free(d.bytes);
    free(copy);
}

/* The nth allocation fails. Who carries on after that gets what he would have got. */
static void starve(const trial *t)
{
    const uint8_t *nth = t->in.header + PAIR_NTH;
    heap h = {.fail = (nth[0] | (uint64_t)nth[1] << 8) % 512 + 1};
    pprofdelta_allocator allocator = {heap_resize, heap_release, &h};
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta *context = NULL;
    if (pprofdelta_new(&t->options, &allocator, &context, &err)) {
        require(!context && !h.held);
        fuzz_require_filled(&err, PPROFDELTA_E_MEMORY, 0, 1);
        context = new_context(&t->options, &h);
    }
    context->piece = t->piece;
    set_started(t, context);
    delta d = {0};
    if (base(context, t->in.prev) == PPROFDELTA_E_MEMORY)
        require(t->has_base == (base(context, t->in.prev) == PPROFDELTA_OK));
    window(context, &h, t->in.cur, &d);
    if (d.status == PPROFDELTA_E_MEMORY)
        window(context, &h, t->in.cur, &d);
    require_same(t->first, &d);
    free(d.bytes);
    free_context(context, &h);
}

/* Little memory is a reason to refuse, never to give another answer. */
static void squeeze(const trial *t)
{
    pprofdelta_options options = t->options;
    options.max_memory = UINT64_C(1) << (12 + t->in.header[PAIR_AT] % 10);
    heap h = {0};
    pprofdelta_allocator allocator = {heap_resize, heap_release, &h};
    pprofdelta *context = NULL;
    if (pprofdelta_new(&options, &allocator, &context, NULL) != PPROFDELTA_OK) {
        require(!h.held);
        return;
    }
    context->piece = t->piece;
    set_started(t, context);
    delta d = {0};
    pprofdelta_status status = base(context, t->in.prev);
    require(status == PPROFDELTA_E_LIMIT || t->has_base == (status == PPROFDELTA_OK));
    window(context, &h, t->in.cur, &d);
    if (d.status != PPROFDELTA_E_LIMIT && status != PPROFDELTA_E_LIMIT)
        require_same(t->first, &d);
    free(d.bytes);
    free_context(context, &h);
}

/* Window after window on one context, some of them lost: samples vanish, come back and are
 * forgotten, and the law holds in each. */
static void take_turns(const trial *t)
{
    heap h = {0};
    delta d = {0};
    pprofdelta *context = begin(t, &h);
    uint8_t turns = t->in.header[PAIR_AT], is_lost = t->in.header[PAIR_BAD];
    for (int i = 0; i < 8; i++) {
        window(context, &h, turns >> i & 1 ? t->in.prev : t->in.cur, &d);
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
    free(d.bytes);
    free_context(context, &h);
}

static void require_same_as_whole(const trial *t, pprofdelta *context, heap *h, pprofdelta *other,
                                  heap *other_h, pd_bytes in)
{
    delta d = {0}, whole = {0};
    window(context, h, in, &d);
    window(other, other_h, in, &whole);
    bool has_limits = d.status == PPROFDELTA_E_LIMIT || whole.status == PPROFDELTA_E_LIMIT;
    require(has_limits || d.status == whole.status);
    if (!d.status && !whole.status && t->options.compression == PPROFDELTA_PLAIN)
        require_same(&d, &whole);
    pprofdelta_commit(context);
    pprofdelta_commit(other);
    free(d.bytes);
    free(whole.bytes);
}

/* Window after window the same as when everything is in memory. */
static void compare_with_whole(const trial *t)
{
    heap h = {0}, other_h = {0};
    if (!t->piece)
        return;
    pprofdelta *context = begin(t, &h), *other = new_context(&t->options, &other_h);
    pprofdelta_status status = base(context, t->in.prev), whole = base(other, t->in.prev);
    if (status != PPROFDELTA_E_LIMIT && whole != PPROFDELTA_E_LIMIT) {
        require(status == whole);
        require_same_as_whole(t, context, &h, other, &other_h, t->in.cur);
        require_same_as_whole(t, context, &h, other, &other_h, t->in.prev);
        require_same_as_whole(t, context, &h, other, &other_h, t->in.cur);
    }
    free_context(context, &h);
    free_context(other, &other_h);
}

/* The delta as OTLP means the same. */
static void require_otlp(const trial *t, const delta *d)
{
    heap h = {0};
    delta request = {0};
    trial other = *t;
    if (!meaning_is_compared(d->len))
        return;
    other.options.format = PPROFDELTA_OTLP;
    pprofdelta *context = begin(&other, &h);
    set_started(t, context);
    base(context, t->in.prev);
    window(context, &h, t->in.cur, &request);
    require(request.status == PPROFDELTA_OK || request.status == PPROFDELTA_E_LIMIT);
    if (!request.status)
        require_same_meaning((pd_bytes){d->bytes, d->len}, (pd_bytes){request.bytes, request.len});
    free(request.bytes);
    free_context(context, &h);
}

/* All of it, on the pair's own context. */
static void try_all(trial *t)
{
    heap h = {0};
    delta d = {0}, after = {0}, nothing = {0};
    pprofdelta *context = begin(t, &h);
    require(!pprofdelta_save(context, &(pprofdelta_sink){write_delta, &nothing}, NULL));
    t->nothing = &nothing;
    set_started(t, context);
    t->first = &d;
    t->has_base = base(context, t->in.prev) == PPROFDELTA_OK;
    window(context, &h, t->in.cur, &d);
    starve(t);
    squeeze(t);
    compare_with_whole(t);
    if (d.status == PPROFDELTA_OK) {
        t->is_small =
            read_profile(t->in.cur).is_small && (!t->has_base || read_profile(t->in.prev).is_small);
        require_report(t, &d);
        require_valid_output(t, &d);
        require_fixed_point(t, &d);
        require_otlp(t, &d);
        begin_again(t, context);
        if (t->options.on_reset != PPROFDELTA_ON_RESET_NEGATIVE || t->has_base)
            require_no_difference(t);
    }
    spoil(t, context, &h);
    window(context, &h, t->in.cur, &after);
    require_same(&d, &after);
    if (d.status == PPROFDELTA_OK) {
        require_steady(t, context, &h);
        take_turns(t);
    }
    free(d.bytes);
    free(after.bytes);
    free(nothing.bytes);
    free_context(context, &h);
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
    return 0;
}

/* Two profiles and what is done with them (pair.h): whatever they hold, the promises of
 * pprofdelta.h and the arithmetic of a delta stand.
 *
 *   - window after window, whole or in pieces, whatever comes back, vanishes or is lost, output and
 *     report are those of the oracle
 *   - what is written is refused as an input where it is stamped, and else is a profile that becomes
 *     the same, byte for byte, whenever it is written again
 *   - a window that was abandoned, or that failed for whatever reason (bad bytes, a sink that
 *     refuses, no memory), leaves nothing behind but capacity: the same window again gives the same
 *     bytes and, where it had succeeded before, allocates nothing
 *   - as OTLP it means the same (otlp_model.h), and as tables it is well-formed
 *   - every failure fills in the error struct, and everything is given back */
#include "fuzz.h"

#include "pair.h"
#include "delta/context.h"
#include "keep.h"
#include "run.h"
#include "same_meaning.h"
#include "table_reader.h"

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
    pprofdelta *context = NULL;
    require(pprofdelta_new(options, tracking(memory), &context, NULL) == PPROFDELTA_OK);
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
    size_t calls = memory->calls;
    d->report.size = sizeof d->report;
    d->status = pprofdelta_window(context, in.ptr, in.len, collecting(&c), &d->report, &err);
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
    size_t chunk;
    bool has_base;      /* prev could be remembered */
    const delta *first; /* the delta that all others are held against */
    buf nothing;        /* the state of a context that remembers nothing */
} trial;

/* 0: not told. */
static int64_t started_of(const trial *t)
{
    static const int64_t starts[] = {0, 1, -1, INT64_MAX, 1700000000000000000};
    uint8_t old = t->in.header[PAIR_OLD];
    return old & 8 ? starts[(old & 7) % 5] : 0;
}

static void set_up(const trial *t, pprofdelta *context)
{
    context->chunk = t->chunk;
    pprofdelta_set_started(context, started_of(t));
}

/* One that is set up, with prev as its base. */
static pprofdelta *begin_as(const trial *t, pprofdelta_format format, tracker *memory)
{
    pprofdelta_options options = t->options;
    options.format = format;
    pprofdelta *context = new_context(&options, memory);
    set_up(t, context);
    base(context, t->in.prev);
    return context;
}

/* It is compressed as it should be, and refused as an input where it is stamped. */
static void require_file(const trial *t, const delta *d)
{
    static const char *const formats[] = {"gzip", "zstd", "plain"};
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    tracker memory = {0};
    pprofdelta_census census;
    require(!fuzz_census(d->bytes.ptr, d->bytes.len, &census, NULL));
    require(!strcmp(census.format, formats[t->options.compression]));
    pprofdelta *context = new_context(&options, &memory);
    if (!(t->options.flags & PPROFDELTA_NO_STAMP))
        require(base(context, bytes_of(d)) == PPROFDELTA_E_STAMPED);
    free_context(context, &memory);
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
    window(context, &memory, bytes_of(&once), &twice);
    require_same(&once, &twice);
    free_context(context, &memory);
}

/* The same window again. An attempt has arrays of its own: when both have their arrays, nothing is
 * allocated. A start that is still to come is one restart after the other. */
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
        require(i < 2 || !again.allocations || t->chunk);
    }
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

size_t fuzz_delta_starved = 1;
/* The nth allocation fails. Who carries on after that gets what he would have got. */
static void starve(const trial *t, size_t nth)
{
    tracker memory = {.fail_at = nth % 512 + 1, .is_alone = true};
    pprofdelta_error err = fuzz_unfilled();
    pprofdelta *context = NULL;
    if (pprofdelta_new(&t->options, tracking(&memory), &context, &err)) {
        require(!context && !memory.live);
        fuzz_require_filled(&err, PPROFDELTA_E_MEMORY, 0, 1);
        context = new_context(&t->options, &memory);
    }
    set_up(t, context);
    delta d = {0};
    if (base(context, t->in.prev) == PPROFDELTA_E_MEMORY)
        require(t->has_base == (base(context, t->in.prev) == PPROFDELTA_OK));
    window(context, &memory, t->in.cur, &d);
    if (d.status == PPROFDELTA_E_MEMORY)
        window(context, &memory, t->in.cur, &d);
    require_same(t->first, &d);
    free_context(context, &memory);
}

/* Does the oracle read all of it? protobuf-c does not merge two period_types, and for the oracle a
 * string ends at a NUL. */
static bool is_for_the_oracle(pd_bytes in)
{
    pd_mem mem;
    pd_source source;
    pd_field f;
    size_t period_types = 0, nuls = 0;
    if (fuzz_inflate(&source, &mem, in.ptr, in.len)) {
        pd_reader r = pd_reader_of(source.whole.ptr, source.whole.len);
        while (pd_reader_next(&r, &f)) {
            period_types += f.number == PD_PROFILE_PERIOD_TYPE;
            nuls += f.number == PD_PROFILE_STRING_TABLE && f.wire == PD_WIRE_BYTES &&
                    memchr(f.body.at, 0, (size_t)(f.body.end - f.body.at));
        }
    }
    pd_source_end(&source);
    return period_types < 2 && !nuls;
}

static buf buf_of(pd_bytes bytes)
{
    return (buf){.ptr = (uint8_t *)(uintptr_t)bytes.ptr, .len = bytes.len};
}

/* Window after window, some of them lost, as the oracle has them: samples vanish, come back and are
 * forgotten. The first one is the delta of the pair. */
static void take_turns(const trial *t)
{
    tracker memory = {0};
    uint8_t turns = t->in.header[PAIR_AT], is_lost = t->in.header[PAIR_BAD];
    buf cur = buf_of(t->in.cur), other = t->has_base ? buf_of(t->in.prev) : cur;
    pprofdelta_status status;
    twin w;
    twin_begin(&w, &t->options, tracking(&memory));
    set_up(t, w.pd);
    twin_set_started(&w, started_of(t));
    if (t->has_base)
        fuzz_agree(twin_base(&w, other, &status));
    for (int i = 0; i < 8; i++) {
        const char *wrong = twin_window(&w, i && turns >> i & 1 ? other : cur, &status);
        if (status == PPROFDELTA_E_LIMIT) /* the oracle has none */
            break;
        fuzz_agree(wrong);
        require(i || (status == t->first->status && buf_equal(w.output, t->first->bytes)));
        if (!status && is_lost >> i & 1)
            twin_abandon(&w);
        else if (!status)
            twin_commit(&w);
    }
    twin_end(&w);
    require(!memory.live);
}

/* The delta as OTLP means the same. */
static void require_otlp(const trial *t, const delta *d)
{
    tracker memory = {0};
    delta request = {0};
    if (!meaning_is_compared(d->bytes.len))
        return;
    pprofdelta *context = begin_as(t, PPROFDELTA_OTLP, &memory);
    window(context, &memory, t->in.cur, &request);
    require(request.status == PPROFDELTA_OK || request.status == PPROFDELTA_E_LIMIT);
    if (!request.status)
        require_same_meaning(d->bytes, request.bytes);
    free_context(context, &memory);
}

static void require_tables(const trial *t, const delta *d)
{
    tracker memory = {0};
    table_mail mail = {0};
    pprofdelta_sink sink = table_sink(&mail);
    pprofdelta *context = begin_as(t, PPROFDELTA_TABLES, &memory);
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
    pprofdelta *context = new_context(&t->options, &memory);
    t->nothing = keep_save(&deltas, context);
    set_up(t, context);
    t->first = &d;
    t->has_base = base(context, t->in.prev) == PPROFDELTA_OK;
    window(context, &memory, t->in.cur, &d);
    for (size_t i = 0; i < fuzz_delta_starved; i++)
        starve(t, (t->in.header[PAIR_NTH] | (size_t)t->in.header[PAIR_NTH + 1] << 8) + i);
    if (d.status == PPROFDELTA_OK) {
        require_file(t, &d);
        require_fixed_point(t, &d);
        require_otlp(t, &d);
        require_tables(t, &d);
        begin_again(t, context);
    }
    spoil(t, context, &memory);
    window(context, &memory, t->in.cur, &after);
    require_same(&d, &after);
    if (d.status == PPROFDELTA_OK)
        require_steady(t, context, &memory);
    bool is_valid = d.status == PPROFDELTA_OK || d.status == PPROFDELTA_E_RESET;
    if (is_valid && is_for_the_oracle(t->in.cur) && is_for_the_oracle(t->in.prev))
        take_turns(t);
    free_context(context, &memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trial t = {0};
    if (!pair_split(data, size, &t.in) || fuzz_is_text(t.in.prev.ptr, t.in.prev.len) ||
        fuzz_is_text(t.in.cur.ptr, t.in.cur.len))
        return 0;
    t.options = options_of(data);
    t.chunk = piece_of(data);
    try_all(&t);
    arena_free(&deltas);
    return 0;
}

/* The life of a context, whole, while allocations fail: every one of them, in every mode and format. */
#include "../support/test.h"

#include "delta/context.h"
#include "otlp_model.h"
#include "pack.h"
#include "pprofdelta_profile.h"
#include "scene.h"

/* ---- A small process that has one of everything ---------------------------------------------- */

typedef struct process {
    build b;
    model_sample *main, *labelled;
    size_t vanishing; /* its place */
} process;

static void process_begin(process *p)
{
    *p = (process){0};
    build *b = &p->b;
    build_types(b, HEAP_TYPES);
    model_mapping *app = build_mapping(b, 0x400000, 0x500000, 0x1000, "/bin/app", "build-id-1");
    model_mapping *anon = build_mapping(b, 0x7f0000000000, 0x7f0000100000, 0, "[anon]", "");
    build_place(b, "main", app, 0x401000);
    build_place(b, "jit", anon, 0x7f0000000100);
    model_location *inlined = build_bare(b, "inlined", app, 0x402000);
    build_line(b, inlined, build_function(b, "inner", "inner.c"), 3);
    build_line(b, inlined, build_function(b, "outer", "outer.c"), 30);
    build_bare(b, "stripped", app, 0x403000)->is_folded = true;
    p->main = build_sample(b, "inlined jit main", "10 1000 1 100");
    p->vanishing = b->m.samples_len;
    build_sample(b, "symbol main", "1 10 0 0");
    p->labelled = build_sample(b, "stripped main", "5 500 5 500");
    build_label(b, p->labelled, "request", "GET /index", 0, "");
    build_label(b, p->labelled, "request", "POST /\xff", 0, ""); /* not UTF-8 */
    build_label(b, p->labelled, "bytes", "", 4096, "bytes");
    build_sample(b, "inlined jit main", "1 100 1 100"); /* once more */
    build_comment(b, "a comment");
    model *m = &b->m;
    m->period_type = (model_type){"space", "bytes"};
    m->period = 524288;
    m->drop_frames = "runtime\\..*";
    m->keep_frames = "main\\..*";
    m->default_sample_type = "inuse_space";
    m->doc_url = "https://example.org/heap";
    m->time_nanos = 1000;
}

/* Three looks at it. In the second one a counter fell, if it may; one sample went, another came. */
static void take_looks(process *p, serial_pack pack, bool may_fall, buf looks[3])
{
    serial_style style = {.pack = pack, .packing = EMIT_PACKED};
    static const serial_ids ids[] = {IDS_SEQUENTIAL, IDS_HUGE, IDS_SHUFFLED};
    for (int i = 0; i < 3; i++) {
        style.ids = ids[i];
        looks[i] = serial_write(&p->b.arena, &p->b.m, &style);
        p->b.m.time_nanos += 1000;
        p->main->values[0] += i || !may_fall ? 3 : -1;
        p->labelled->values[1] += 64;
        if (i > 0)
            continue;
        p->b.m.samples[p->vanishing] = build_sample(&p->b, "new jit main", "7 70 7 70");
        p->b.m.samples_len--;
    }
}

/* ---- Its life, call by call ------------------------------------------------------------------ */

typedef struct life {
    tracker memory;
    arena arena;
    pprofdelta_options options;
    size_t piece; /* profiles are read in pieces of this size; 0: whole */
    buf looks[3];
    pprofdelta *pd;
    collector got[2]; /* of the two windows */
    size_t refused;   /* calls that failed */
} life;

/* Did it fail? Then it must say so, and the next attempt has all the memory there is. */
static bool is_refused(life *l, pprofdelta_status status, const pprofdelta_error *err)
{
    if (status == PPROFDELTA_OK) {
        CHECK(!l->memory.refused || l->refused);
        return false;
    }
    CHECK_MSG(status == PPROFDELTA_E_MEMORY && l->memory.refused && !l->refused, "%d: %s", status,
              err->text);
    CHECK(err->status == PPROFDELTA_E_MEMORY && strcmp(err->stage, "memory") == 0);
    l->memory.fail_at = 0;
    return l->refused++ == 0;
}

#define UNTIL_DONE(l, call)                                                                        \
    do {                                                                                           \
        memset(&err, 0, sizeof err);                                                               \
    } while (is_refused((l), (call), &err))

static void window(life *l, int nth)
{
    pprofdelta_error err;
    collector *c = &l->got[nth];
    *c = (collector){.bytes = buf_begin(&l->arena)};
    pprofdelta_sink sink = collector_sink(c);
    const buf *look = &l->looks[nth + 1];
    pprofdelta_report report = {.size = sizeof report};
    do {
        CHECK(c->calls == 0);
        memset(&err, 0, sizeof err);
    } while (
        is_refused(l, pprofdelta_window(l->pd, look->ptr, look->len, &sink, &report, &err), &err));
    CHECK(report.sequence == (uint64_t)nth + 2 && report.output_len == c->bytes.len);
}

/* Needs no memory. */
static void commit(life *l)
{
    size_t fail_at = l->memory.fail_at;
    l->memory.fail_at = l->memory.calls + 1;
    CHECK(pprofdelta_commit(l->pd) == PPROFDELTA_OK);
    l->memory.fail_at = fail_at;
}

static void live(life *l)
{
    pprofdelta_allocator allocator = tracker_allocator(&l->memory);
    pprofdelta_error err;
    pprofdelta_profile *profile;
    pprofdelta_census census = {.size = sizeof census};
    const uint8_t *plain;
    size_t plain_len;
    const buf *first = &l->looks[0], *last = &l->looks[2];
    l->pd = NULL;
    UNTIL_DONE(l, pprofdelta_new(&l->options, &allocator, &l->pd, &err));
    l->pd->piece = l->piece;
    UNTIL_DONE(l, pprofdelta_base(l->pd, first->ptr, first->len, &err));
    window(l, 0);
    commit(l);
    if (l->options.on_reset == PPROFDELTA_ON_RESET_NEGATIVE) {
        UNTIL_DONE(l, pprofdelta_base(l->pd, l->looks[1].ptr, l->looks[1].len, &err));
        l->got[1] = l->got[0];
    } else {
        window(l, 1);
        pprofdelta_abandon(l->pd);
        window(l, 1);
        commit(l);
    }
    UNTIL_DONE(
        l, pprofdelta_profile_open(&l->options, &allocator, last->ptr, last->len, &profile, &err));
    pprofdelta_profile_census(profile, &census);
    CHECK(census.samples == (census.request ? 3 : 4)); /* equal ones are added up */
    UNTIL_DONE(l, pprofdelta_profile_bytes(profile, &plain, &plain_len, &err));
    CHECK(census.request || plain_len == census.inflated_len);
    collector rewritten = {.bytes = buf_begin(&l->arena)};
    pprofdelta_sink sink = collector_sink(&rewritten);
    UNTIL_DONE(l, pprofdelta_profile_rewrite(profile, &sink, &err));
    CHECK(rewritten.calls > 0);
    pprofdelta_profile_free(profile);
    pprofdelta_free(l->pd);
    CHECK_MSG(l->memory.live == 0, "%zu bytes left", l->memory.live);
}

static bool wrote_the_same(arena *a, const life *x, const life *y)
{
    for (int i = 0; i < 2; i++) {
        buf p, q;
        if (!unpack(a, x->got[i].bytes.ptr, x->got[i].bytes.len, &p) ||
            !unpack(a, y->got[i].bytes.ptr, y->got[i].bytes.len, &q) || !buf_equal(p, q))
            return false;
    }
    return true;
}

static void fail_each(const pprofdelta_options *options, size_t piece, const buf *looks,
                      bool is_alone)
{
    life whole = {.options = *options, .piece = piece};
    memcpy(whole.looks, looks, sizeof whole.looks);
    live(&whole);
    CHECK(whole.memory.refused == 0 && whole.memory.calls > 40);
    for (size_t nth = 1; nth <= whole.memory.calls; nth++) {
        life l = {
            .options = *options, .piece = piece, .memory = {.fail_at = nth, .is_alone = is_alone}};
        memcpy(l.looks, looks, sizeof l.looks);
        live(&l);
        CHECK_MSG(l.refused == 1, "allocation %zu", nth);
        CHECK_MSG(wrote_the_same(&l.arena, &whole, &l), "allocation %zu", nth);
        arena_free(&l.arena);
    }
    arena_free(&whole.arena);
}

/* What goes in packed one way comes out packed the same way. */
static const struct {
    serial_pack in;
    pprofdelta_compression out;
} packings[] = {
    {PACK_PLAIN, PPROFDELTA_PLAIN}, {PACK_GZIP, PPROFDELTA_GZIP}, {PACK_ZSTD, PPROFDELTA_ZSTD}};

TEST(every_allocation_may_fail)
{
    static const char *const counters[] = {"alloc_objects", "alloc_space/bytes"};
    static const char *const gauges[] = {"inuse_objects"};
    static const pprofdelta_attribute resource[] = {{"service.name", "shop"}, {"host.name", "h"}};
    for (size_t packing = 0; packing < 3; packing++)
        for (int reset = PPROFDELTA_ON_RESET_AUTO; reset <= PPROFDELTA_ON_RESET_FAIL; reset++) {
            pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
            options.id = 1;
            options.on_reset = (pprofdelta_on_reset)reset;
            options.compression = packings[packing].out;
            options.counters = counters;
            options.counters_len = 2;
            options.gauges = gauges;
            options.gauges_len = 1;
            process p;
            process_begin(&p);
            buf looks[3];
            take_looks(&p, packings[packing].in, reset != PPROFDELTA_ON_RESET_FAIL, looks);
            for (unsigned way = 0; way < 4; way++) {
                options.flags = way % 2 ? PPROFDELTA_VERIFY | PPROFDELTA_DEFAULT_COUNTER : 0;
                options.format = way % 2 && !packing ? PPROFDELTA_OTLP : PPROFDELTA_PPROF;
                options.resource = resource;
                options.resource_len = options.format == PPROFDELTA_OTLP ? 2 : 0;
                for (size_t i = 0; i < 3 && way == 3 && !packing; i++)
                    looks[i] = otlp_request_of(&p.b.arena, &options, looks[i]);
                fail_each(&options, way == 2 ? 50 : 0, looks, way / 2);
            }
            build_free(&p.b);
        }
}

TEST_MAIN()

/* OTLP output compared with pprof output: both mean the same, and the request is as it must be. */
#include "delta_stage.h"
#include "otlp_model.h"
#include "seeds.h"

#include "base/utf8.h"
#include "pprofdelta_heap.h"
#include "pprofdelta_record.h"
#include "profile/otlp_attributes.h"
#include "profile/otlp_resource.h"

static const pprofdelta_attribute resource[] = {
    {"service.name", "first"}, {"host.name", "h\xff"}, {"service.name", "second"}, {"empty", NULL}};
static const char resource_text[] = "12'service.name'=6'second';9'host.name'=4'h\\xef\\xbf\\xbd';"
                                    "5'empty'=0'';";

static pprofdelta_options as_otlp(pprofdelta_options o)
{
    o.format = PPROFDELTA_OTLP;
    o.resource = resource;
    o.resource_len = sizeof resource / sizeof *resource;
    return o;
}

/* NULL if the two outputs mean the same. *otlp is set. */
static const char *differ(arena *a, buf pprof, buf request, otlp_model *otlp)
{
    otlp_model meant;
    if (!otlp_model_read_pprof(a, pprof.ptr, pprof.len, &meant))
        return "the pprof output cannot be read";
    if (!otlp_model_read(a, request.ptr, request.len, otlp))
        return "the OTLP output cannot be read";
    if (otlp->types != meant.types)
        return "there is not one profile for each type";
    const char *wrong = otlp_model_differ(a, &meant, otlp);
    return wrong ? wrong : strcmp(otlp->resource, resource_text) ? otlp->resource : NULL;
}

/* How many ids both have. The order of the types may differ. */
static size_t common_ids(const otlp_model *a, const otlp_model *b)
{
    size_t common = 0;
    for (size_t i = 0; i < a->types; i++)
        for (size_t j = 0; j < b->types; j++)
            common += !memcmp(a->ids[i], b->ids[j], sizeof a->ids[i]);
    return common;
}

static bool same_ids(const otlp_model *a, const otlp_model *b)
{
    return a->types == b->types && common_ids(a, b) == a->types;
}

/* ---- windows --------------------------------------------------------------------------------- */

typedef struct both {
    pprofdelta *pprof, *otlp;
    pprofdelta_options options, otlp_options;
    otlp_model last; /* of the last window */
    bool is_again;   /* which was abandoned */
} both;

static pprofdelta_status window(pprofdelta *pd, buf profile, buf *out, pprofdelta_report *report)
{
    collector c = {.bytes = *out};
    pprofdelta_sink sink = collector_sink(&c);
    pprofdelta_status status = pprofdelta_window(pd, profile.ptr, profile.len, &sink, report, NULL);
    *out = c.bytes;
    return status;
}

static int take(void *cookie, const void *data, size_t len)
{
    buf_add(cookie, data, len);
    return 0;
}

typedef struct saved {
    const uint8_t *ptr;
    size_t len;
} saved;

static int read_saved(void *cookie, void *to, size_t len, size_t *got)
{
    saved *s = cookie;
    *got = len < s->len ? len : s->len;
    if (*got)
        memcpy(to, s->ptr, *got);
    s->ptr += *got;
    s->len -= *got;
    return 0;
}

/* The context goes on in another one, by its state. */
static void move_state(arena *a, pprofdelta **pd, const pprofdelta_options *options)
{
    pprofdelta *next;
    buf bytes = buf_begin(a);
    pprofdelta_sink sink = {take, &bytes};
    CHECK(pprofdelta_save(*pd, &sink, NULL) == PPROFDELTA_OK);
    saved state = {bytes.ptr, bytes.len};
    pprofdelta_source source = {read_saved, &state};
    CHECK(pprofdelta_new(options, NULL, &next, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_load(next, &source, NULL) == PPROFDELTA_OK);
    pprofdelta_free(*pd);
    *pd = next;
}

static const char *one_window(both *b, stage *s)
{
    buf profile = look(s), pprof = buf_begin(&s->arena), request = buf_begin(&s->arena);
    pprofdelta_report one = {0}, other = {0};
    otlp_model meant;
    pprofdelta_status status = window(b->pprof, profile, &pprof, &one);
    if (status != window(b->otlp, profile, &request, &other))
        return "only one of the two fails";
    if (status)
        return NULL;
    const char *wrong = differ(&s->arena, pprof, request, &meant);
    if (!wrong && one.samples_out != other.samples_out)
        wrong = "the reports differ";
    if (!wrong && b->last.types && common_ids(&b->last, &meant) != (b->is_again ? meant.types : 0))
        wrong = b->is_again ? "a window that is sent again has other ids"
                            : "two windows have the same ids";
    b->last = meant;
    b->is_again = rng_chance(&s->rng, 40);
    void (*end)(pprofdelta *) = b->is_again ? pprofdelta_abandon : pprofdelta_commit;
    end(b->pprof);
    end(b->otlp);
    return wrong;
}

TEST(windows_mean_the_same)
{
    seed_range range = seeds(12);
    size_t windows = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        stage s;
        both b = {0};
        stage_begin(&s, seed + 7000000);
        if (s.options.on_reset == PPROFDELTA_ON_RESET_NEGATIVE)
            s.options.on_reset = PPROFDELTA_ON_RESET_AUTO;
        b.options = s.options;
        b.otlp_options = as_otlp(s.options);
        CHECK(!pprofdelta_new(&b.options, NULL, &b.pprof, NULL));
        CHECK(!pprofdelta_new(&b.otlp_options, NULL, &b.otlp, NULL));
        for (size_t i = 0; i < 4; i++) {
            const char *wrong = one_window(&b, &s);
            windows += b.last.types != 0;
            AGREE(seed, wrong);
            if (rng_chance(&s.rng, 30))
                move_state(&s.arena, &b.otlp, &b.otlp_options);
            gen_evolve(&s.g, GEN_ANYTHING & ~GEN_REORDER);
        }
        pprofdelta_free(b.pprof);
        pprofdelta_free(b.otlp);
        stage_end(&s);
    }
    CHECK(getenv("PD_TEST_SEED") || windows > range.to);
}

/* The window that arrives after all refused ones is whole, and has the ids of the next attempt. */
static void refuse_each_write(stage *s, pprofdelta *pd, uint64_t seed)
{
    pprofdelta_status status = PPROFDELTA_E_SINK;
    otlp_model arrived, again;
    buf profile = look(s), request = buf_begin(&s->arena);
    for (size_t nth = 1; status != PPROFDELTA_OK; nth++) {
        collector c = {.bytes = buf_begin(&s->arena), .fail_at = nth};
        pprofdelta_sink sink = collector_sink(&c);
        pprofdelta_error err = {0};
        status = pprofdelta_window(pd, profile.ptr, profile.len, &sink, NULL, &err);
        CHECK_MSG((status == PPROFDELTA_E_SINK) == (c.calls >= nth), "seed %" PRIu64, seed);
        REQUIRE(status == PPROFDELTA_OK || status == PPROFDELTA_E_SINK);
        request = c.bytes;
    }
    CHECK(otlp_model_read(&s->arena, request.ptr, request.len, &arrived) && !arrived.wrong);
    pprofdelta_abandon(pd);
    request = buf_begin(&s->arena);
    CHECK(!window(pd, profile, &request, NULL));
    CHECK(otlp_model_read(&s->arena, request.ptr, request.len, &again) && !again.wrong);
    CHECK_MSG(same_ids(&arrived, &again), "seed %" PRIu64, seed);
}

TEST(a_sink_that_refuses_costs_no_window)
{
    seed_range range = seeds(1);
    size_t tried = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        stage s;
        pprofdelta *pd;
        buf first;
        stage_begin(&s, seed + 7500000);
        pprofdelta_options options = as_otlp(s.options);
        options.on_reset = PPROFDELTA_ON_RESET_AUTO;
        CHECK(!pprofdelta_new(&options, NULL, &pd, NULL));
        first = buf_begin(&s.arena);
        if (!window(pd, look(&s), &first, NULL)) {
            pprofdelta_commit(pd);
            refuse_each_write(&s, pd, seed);
            tried++;
        }
        pprofdelta_free(pd);
        stage_end(&s);
    }
    CHECK(getenv("PD_TEST_SEED") || tried > 0);
}

static buf pair(arena *a, const pprofdelta_options *options, buf prev, buf cur,
                pprofdelta_status *status)
{
    pprofdelta *pd;
    collector c = {.bytes = buf_begin(a)};
    pprofdelta_sink sink = collector_sink(&c);
    CHECK(!pprofdelta_new(options, NULL, &pd, NULL));
    *status = pprofdelta_compare(pd, prev.ptr, prev.len, cur.ptr, cur.len, &sink, NULL, NULL);
    pprofdelta_free(pd);
    return c.bytes;
}

static buf sum(arena *a, const pprofdelta_options *options, buf base, buf delta,
               pprofdelta_status *status)
{
    pprofdelta_adder *adder;
    collector c = {.bytes = buf_begin(a)};
    pprofdelta_sink sink = collector_sink(&c);
    CHECK(!pprofdelta_adder_new(options, NULL, &adder, NULL));
    *status = pprofdelta_adder_add(adder, base.ptr, base.len, NULL, NULL);
    if (!*status)
        *status = pprofdelta_adder_add(adder, delta.ptr, delta.len, NULL, NULL);
    if (!*status)
        *status = pprofdelta_adder_finish(adder, &sink, NULL);
    pprofdelta_adder_free(adder);
    return c.bytes;
}

TEST(pairs_and_sums_mean_the_same)
{
    seed_range range = seeds(12);
    size_t pairs = 0, sums = 0;
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        stage s;
        otlp_model meant, again;
        pprofdelta_status status, other;
        stage_begin(&s, seed + 8000000);
        pprofdelta_options otlp = as_otlp(s.options);
        buf prev = look(&s);
        gen_evolve(&s.g, GEN_ANYTHING & ~GEN_WINDOW);
        buf cur = look(&s);
        buf pprof = pair(&s.arena, &s.options, prev, cur, &status);
        buf request = pair(&s.arena, &otlp, prev, cur, &other);
        CHECK_MSG(status == other, "seed %" PRIu64, seed);
        const char *wrong = status || other ? NULL : differ(&s.arena, pprof, request, &meant);
        AGREE(seed, wrong);
        if (!status && !other && !wrong) {
            buf twice = pair(&s.arena, &otlp, prev, cur, &other);
            CHECK(twice.len == request.len && !memcmp(twice.ptr, request.ptr, twice.len));
            pairs++;
            buf total = sum(&s.arena, &s.options, prev, pprof, &status);
            buf otlp_total = sum(&s.arena, &otlp, prev, pprof, &other);
            CHECK_MSG(status == other, "seed %" PRIu64, seed);
            wrong = status || other ? NULL : differ(&s.arena, total, otlp_total, &again);
            AGREE(seed, wrong);
            if (!status && !wrong) {
                sums++;
                CHECK(!common_ids(&meant, &again));
            }
        }
        stage_end(&s);
    }
    CHECK(getenv("PD_TEST_SEED") || (pairs > range.to / 4 && sums > range.to / 8));
}

/* ---- the writer by itself -------------------------------------------------------------------- */

static const char *const strings[] = {"",          "a",     "bytes",    "kb",           "bad\xff",
                                      "bad\xfe",   "x/y",   "\xc3\xa9", "\xed\xa0\x80", "deadbeef",
                                      "abc/d-_/f", "thread"};
enum { STRINGS = sizeof strings / sizeof *strings };

static uint32_t draw_string(rng *r, pd_compact *c)
{
    return pd_compact_string(c, pd_bytes_of(strings[rng_below(r, STRINGS)]));
}

static void write_labels(rng *r, pd_compact *c)
{
    size_t len = rng_chance(r, 70) ? rng_below(r, 3) : rng_below(r, 30);
    for (size_t i = 0; i < len; i++) {
        uint32_t key = draw_string(r, c), str = rng_chance(r, 40) ? draw_string(r, c) : 0;
        uint32_t unit = str || rng_chance(r, 50) ? 0 : draw_string(r, c);
        pd_compact_sample_label(c, key, str, str ? 0 : rng_magnitude(r, 40), unit);
    }
}

static uint32_t write_location(rng *r, pd_compact *c, uint64_t number)
{
    pd_key ident = {number * UINT64_C(0x9e3779b97f4a7c15), number};
    uint32_t id = pd_compact_find_location(c, ident), mapping = 0;
    uint64_t start;
    if (id)
        return id;
    if (rng_chance(r, 60)) {
        pd_compact_mapping m = {.start = rng_below(r, 3) << 12,
                                .limit = 5 << 12,
                                .filename = draw_string(r, c),
                                .build_id = draw_string(r, c),
                                .has = (uint32_t)rng_below(r, 16)};
        mapping = pd_compact_add_mapping(c, (pd_key){rng_below(r, 9), 1}, &m, &start);
    }
    for (size_t lines = rng_below(r, 3); lines; lines--) {
        uint32_t name = draw_string(r, c), system = draw_string(r, c), file = draw_string(r, c);
        uint32_t function =
            rng_chance(r, 20) ? 0 : pd_compact_add_function(c, name, system, file, 0);
        pd_compact_add_line(c, function, (int64_t)rng_below(r, 3), 0);
    }
    return pd_compact_add_location(c, ident, mapping, rng_below(r, 4), rng_chance(r, 10));
}

static void write_sample(rng *r, pd_compact *c)
{
    int64_t values[3];
    size_t depth = rng_below(r, 4);
    uint8_t *at;
    uint32_t ids[4];
    for (size_t i = 0; i < depth; i++)
        ids[i] = write_location(r, c, rng_below(r, 40));
    if (depth && (at = pd_compact_stack(c, depth))) {
        for (size_t i = 0; i < depth; i++)
            at = pd_compact_stack_put(at, pd_encode_id(ids[i]));
        pd_compact_stack_end(c, at);
    }
    write_labels(r, c);
    for (size_t i = 0; i < 3; i++)
        values[i] = rng_chance(r, 30)   ? 0
                    : rng_chance(r, 10) ? (int64_t)rng_next(r)
                                        : rng_magnitude(r, 20);
    values[2] = values[0] | values[1] ? values[2] : 1;
    pd_compact_sample_end(c, values, 3);
}

/* The same calls for the same seed, whatever the format. */
static pprofdelta_status write_world(uint64_t seed, pd_compact *c, pd_mem *mem, pd_bytes *out)
{
    rng r = {seed};
    pprofdelta_error err;
    pd_compact_begin(c, mem, &err);
    for (size_t i = 0; i < 3; i++) {
        uint32_t type = draw_string(&r, c);
        pd_compact_type(c, type, draw_string(&r, c));
    }
    for (size_t samples = rng_below(&r, 40); samples; samples--)
        write_sample(&r, c);
    for (size_t comments = rng_below(&r, 3); comments; comments--)
        pd_compact_comment(c, draw_string(&r, c));
    pd_compact_header h = {.has_period_type = rng_chance(&r, 50), .period = rng_magnitude(&r, 20)};
    uint32_t *const texts[] = {&h.period_type, &h.period_unit,         &h.drop_frames,
                               &h.keep_frames, &h.default_sample_type, &h.doc_url};
    for (size_t i = 0; i < 6; i++)
        *texts[i] = draw_string(&r, c);
    h.time_nanos = rng_chance(&r, 20) ? 0 : rng_magnitude(&r, 60);
    h.duration_nanos = rng_magnitude(&r, 60);
    return pd_compact_finish(c, &h, out);
}

typedef struct writers {
    tracker memory;
    pd_mem mem;
    pd_buffer resource;
    pd_compact pprof, otlp;
} writers;

static void writers_begin(writers *w)
{
    *w = (writers){0};
    pprofdelta_allocator allocator = tracker_allocator(&w->memory);
    pd_mem_init(&w->mem, &allocator, UINT64_C(1) << 32);
    CHECK(!pd_otlp_resource(resource, sizeof resource / sizeof *resource, &w->mem, &w->resource,
                            NULL));
    w->otlp.format = PPROFDELTA_OTLP;
    w->otlp.resource = (pd_bytes){w->resource.ptr, w->resource.len};
}

static void writers_end(writers *w)
{
    pd_compact_release(&w->pprof, &w->mem);
    pd_compact_release(&w->otlp, &w->mem);
    pd_buffer_release(&w->mem, &w->resource);
    CHECK(w->memory.live == 0);
}

TEST(any_content_means_the_same)
{
    seed_range range = seeds(40);
    writers w;
    writers_begin(&w);
    for (uint64_t seed = range.from; seed < range.to; seed++) {
        arena a = {0};
        pd_bytes pprof, request;
        otlp_model one, other;
        REQUIRE(!write_world(seed, &w.pprof, &w.mem, &pprof));
        REQUIRE(!write_world(seed, &w.otlp, &w.mem, &request));
        REQUIRE(otlp_model_of_pprof(&a, pprof.ptr, pprof.len, &one));
        REQUIRE(otlp_model_of_request(&a, request.ptr, request.len, &other));
        const char *wrong = otlp_model_differ(&a, &one, &other);
        AGREE(seed, wrong);
        CHECK_STR(other.resource, resource_text);
        arena_free(&a);
    }
    size_t calls = w.memory.calls;
    pd_bytes out;
    for (uint64_t seed = range.from; seed < range.to; seed++)
        CHECK(!write_world(seed, &w.otlp, &w.mem, &out));
    CHECK_MSG(w.memory.calls == calls, "%zu allocations in the steady state",
              w.memory.calls - calls);
    writers_end(&w);
}

TEST(every_allocation_may_fail)
{
    for (uint64_t seed = 0; seed < 12; seed++) {
        bool has_failed = true;
        for (size_t n = 1; has_failed; n++) {
            writers w;
            pd_bytes out;
            writers_begin(&w);
            w.memory.fail_at = w.memory.calls + n;
            w.memory.is_alone = seed % 2;
            pprofdelta_status status = write_world(seed, &w.otlp, &w.mem, &out);
            has_failed = w.memory.refused != 0;
            CHECK(status == (has_failed ? PPROFDELTA_E_MEMORY : PPROFDELTA_OK));
            w.memory.fail_at = 0;
            CHECK(!write_world(seed, &w.otlp, &w.mem, &out));
            writers_end(&w);
        }
    }
}

TEST(contexts_fail_cleanly)
{
    stage s;
    stage_begin(&s, 3);
    pprofdelta_options o = as_otlp((pprofdelta_options)PPROFDELTA_OPTIONS_INIT);
    o.counters = s.g.counters;
    o.counters_len = s.g.counters_len;
    o.flags = PPROFDELTA_FORCE | PPROFDELTA_VERIFY;
    buf profile = look(&s);
    size_t done = 0;
    for (size_t n = 1; !done; n++) {
        tracker memory = {.fail_at = n};
        pprofdelta_allocator allocator = tracker_allocator(&memory);
        pprofdelta *pd = NULL;
        buf out = buf_begin(&s.arena), first = buf_begin(&s.arena);
        pprofdelta_status status = pprofdelta_new(&o, &allocator, &pd, NULL);
        if (!status) {
            status = window(pd, profile, &first, NULL);
            done = status == PPROFDELTA_OK && !memory.refused;
            memory.fail_at = 0;
            if (!status)
                pprofdelta_abandon(pd);
            CHECK(window(pd, profile, &out, NULL) == PPROFDELTA_OK && out.len);
        }
        CHECK(!status || status == PPROFDELTA_E_MEMORY);
        pprofdelta_free(pd);
        CHECK(memory.live == 0);
    }
    stage_end(&s);
}

/* ---- the doors inside a process -------------------------------------------------------------- */

static buf sink_of(arena *a, collector *c, pprofdelta_sink *sink)
{
    *c = (collector){.bytes = buf_begin(a)};
    *sink = collector_sink(c);
    return c->bytes;
}

static const pprofdelta_value_type types[] = {{"cpu", "nanoseconds", 1}, {"samples", "count", 1}};

static void add_samples(pprofdelta_builder *b, int64_t round)
{
    static const pprofdelta_label labels[] = {{.key = "k", .str = "one"},
                                              {.key = "k", .str = "two"},
                                              {.key = "n", .num = 7, .num_unit = "bytes"}};
    for (int64_t i = 0; i < 5; i++) {
        pprofdelta_sample *s = pprofdelta_sample_start(b);
        pprofdelta_frame frame = {.name = i % 2 ? "odd" : "even", .filename = "a\xff", .line = i};
        pprofdelta_sample_push_frame(s, &frame, 0);
        for (size_t j = 0; j < (size_t)i % 4; j++)
            pprofdelta_sample_push_label(s, &labels[j]);
        pprofdelta_sample_push_value(s, (size_t)i % 2, 1 + i * round);
        CHECK(!pprofdelta_sample_add(s, NULL));
    }
}

/* Writes one window of the builder. Ends it as told. */
static void builder_window(arena *a, pprofdelta_builder *b, buf *out, bool commits)
{
    collector c;
    pprofdelta_sink sink;
    pprofdelta_builder_report report;
    sink_of(a, &c, &sink);
    CHECK(!pprofdelta_builder_begin(b, NULL));
    CHECK(!pprofdelta_builder_write(b, &sink, &report, NULL));
    (commits ? pprofdelta_builder_commit : pprofdelta_builder_abandon)(b);
    *out = c.bytes;
}

/* The lines without the stamps and the times, which differ between two builders. */
static const char *untimed(arena *a, const char *text)
{
    buf out = buf_begin(a);
    for (; *text; text += strcspn(text, "\n") + 1)
        if (strncmp(text, "time", 4) != 0 && strncmp(text, "comment", 7) != 0)
            buf_add(&out, text, strcspn(text, "\n") + 1);
    return buf_string(&out);
}

TEST(a_builder_writes_the_same)
{
    arena a = {0};
    pprofdelta_builder_options o = PPROFDELTA_BUILDER_OPTIONS_INIT;
    pprofdelta_builder *pprof, *otlp;
    otlp_model one, models[3];
    o.types = types;
    o.types_len = 2;
    o.default_type = "cpu";
    CHECK(!pprofdelta_builder_new(&o, NULL, &pprof, NULL));
    o.format = PPROFDELTA_OTLP;
    CHECK(!pprofdelta_builder_new(&o, NULL, &otlp, NULL));
    for (int64_t i = 0; i < 3; i++) { /* the second window is sent twice */
        buf p, q;
        if (i < 2) {
            add_samples(pprof, i);
            add_samples(otlp, i);
        }
        builder_window(&a, pprof, &p, i != 1);
        builder_window(&a, otlp, &q, i != 1);
        REQUIRE(otlp_model_read_pprof(&a, p.ptr, p.len, &one));
        REQUIRE(otlp_model_read(&a, q.ptr, q.len, &models[i]));
        CHECK_STR(models[i].wrong ? models[i].wrong : "", "");
        CHECK_STR(untimed(&a, models[i].text), untimed(&a, one.text));
        CHECK_STR(models[i].resource, "");
    }
    CHECK(!same_ids(&models[0], &models[1]) && same_ids(&models[1], &models[2]));
    pprofdelta_builder_free(pprof);
    pprofdelta_builder_free(otlp);
    arena_free(&a);
}

static void one_record(pprofdelta_recorder *r, int64_t time, int64_t count, arena *a, buf *out)
{
    static const uintptr_t stack[] = {0x1234, 0x5678};
    const int64_t values[] = {count, count * 10};
    pprofdelta_look look = {.time_nanos = time};
    pprofdelta_record record = {.stack = stack, .depth = 2, .values = values};
    collector c;
    pprofdelta_sink sink;
    pprofdelta_error err;
    sink_of(a, &c, &sink);
    CHECK(!pprofdelta_recorder_begin(r, &look, &err));
    CHECK_MSG(!pprofdelta_recorder_add(r, &record, &err), "%s", err.text);
    CHECK_MSG(!pprofdelta_recorder_write(r, &sink, NULL, &err), "%s", err.text);
    *out = c.bytes;
}

TEST(a_recorder_writes_the_same)
{
    arena a = {0};
    pprofdelta_recorder_options o = PPROFDELTA_RECORDER_OPTIONS_INIT;
    pprofdelta_recorder *pprof, *otlp;
    otlp_model models[3];
    o.kind = PPROFDELTA_KIND_CONTENTION;
    o.flags = PPROFDELTA_NO_MAPPINGS | PPROFDELTA_VERIFY;
    CHECK(!pprofdelta_recorder_new(&o, NULL, &pprof, NULL));
    o.format = PPROFDELTA_OTLP;
    o.resource = resource;
    o.resource_len = sizeof resource / sizeof *resource;
    CHECK(!pprofdelta_recorder_new(&o, NULL, &otlp, NULL));
    for (int64_t i = 0; i < 3; i++) {
        buf p, q;
        one_record(pprof, 1000 + i * 10, 5 + i, &a, &p);
        one_record(otlp, 1000 + i * 10, 5 + i, &a, &q);
        const char *wrong = differ(&a, p, q, &models[i]);
        AGREE((uint64_t)i, wrong);
        (i == 1 ? pprofdelta_recorder_abandon : pprofdelta_recorder_commit)(pprof);
        (i == 1 ? pprofdelta_recorder_abandon : pprofdelta_recorder_commit)(otlp);
    }
    CHECK(!same_ids(&models[0], &models[1]) && same_ids(&models[1], &models[2]));
    pprofdelta_recorder_free(pprof);
    pprofdelta_recorder_free(otlp);
    arena_free(&a);
}

static void heap_batch(pprofdelta_heap *heap, size_t nth, arena *a, buf *out)
{
    uint64_t stack[] = {0x100 + nth, 0x200};
    pprofdelta_label label = {.key = "thread", .str = nth % 2 ? "odd" : "even"};
    pprofdelta_heap_event event = {.ptr = (const void *)(uintptr_t)(0x10000 + nth * 4096),
                                   .weight = {2, 100},
                                   .stack = stack,
                                   .depth = 2,
                                   .labels = &label,
                                   .labels_len = 1};
    collector c;
    pprofdelta_sink sink;
    sink_of(a, &c, &sink);
    CHECK(pprofdelta_heap_track(heap, &event));
    CHECK(!pprofdelta_heap_begin(heap, 100 + (int64_t)nth, NULL, NULL));
    CHECK(!pprofdelta_heap_write(heap, PPROFDELTA_HEAP_CHANGES, &sink, NULL));
    *out = c.bytes;
}

TEST(a_live_heap_writes_the_same)
{
    arena a = {0};
    pprofdelta_heap_options o = PPROFDELTA_HEAP_OPTIONS_INIT;
    pprofdelta_heap *pprof, *otlp;
    otlp_model models[3];
    o.flags = PPROFDELTA_NO_MAPPINGS;
    o.id = 77;
    o.started_nanos = 1;
    CHECK(!pprofdelta_heap_new(&o, &pprof, NULL));
    o.format = PPROFDELTA_OTLP;
    o.resource = resource;
    o.resource_len = sizeof resource / sizeof *resource;
    CHECK(!pprofdelta_heap_new(&o, &otlp, NULL));
    for (size_t i = 0; i < 3; i++) {
        buf p, q;
        heap_batch(pprof, i, &a, &p);
        heap_batch(otlp, i, &a, &q);
        const char *wrong = differ(&a, p, q, &models[i]);
        AGREE((uint64_t)i, wrong);
        (i == 1 ? pprofdelta_heap_abandon : pprofdelta_heap_commit)(pprof);
        (i == 1 ? pprofdelta_heap_abandon : pprofdelta_heap_commit)(otlp);
    }
    CHECK(!same_ids(&models[0], &models[1]) && same_ids(&models[1], &models[2]));
    pprofdelta_heap_free(pprof);
    pprofdelta_heap_free(otlp);
    arena_free(&a);
}

/* ---- small rules ----------------------------------------------------------------------------- */

TEST(build_ids_are_named_by_their_form)
{
    static const struct {
        const char *id, *last;
    } rows[] = {{"deadbeef", "gnu"},      {"a", "gnu"},
                {"C0FFEE01", "gnu"},      {"6b1b2c/ab-_9/zz/Q", "go"},
                {"action/content", "go"}, {"/abc", "gnu"},
                {"abc/", "gnu"},          {"a//b", "gnu"},
                {"a/b c", "gnu"},         {"01234567-89ab", "gnu"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *key = pd_otlp_build_id_key(pd_bytes_of(rows[i].id));
        CHECK_STR(strrchr(key, '.') + 1, rows[i].last);
    }
}

TEST(bytes_that_are_not_utf8_are_replaced_one_by_one)
{
    static const struct {
        const char *given, *want;
    } rows[] = {{"", ""},
                {"plain text of some length", "plain text of some length"},
                {"\x80", "\xef\xbf\xbd"},
                {"a\xffz", "a\xef\xbf\xbdz"},
                {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
                {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
                {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
                {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"}};
    writers w;
    pd_buffer out = {0};
    writers_begin(&w);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pd_bytes given = pd_bytes_of(rows[i].given);
        CHECK(!pd_utf8_repair(given, &w.mem, &out, NULL));
        bool is_same = !out.len || !memcmp(out.ptr, rows[i].want, out.len);
        CHECK_MSG(out.len == strlen(rows[i].want) && is_same, "%zu", i);
        CHECK(pd_utf8_is_valid(given) == !strcmp(rows[i].given, rows[i].want));
    }
    pd_buffer_release(&w.mem, &out);
    writers_end(&w);
}

TEST(options_are_checked)
{
    pprofdelta *pd = NULL;
    pprofdelta_error err;
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    static const pprofdelta_attribute no_key[] = {{"", "x"}}, null_key[] = {{NULL, "x"}};
    o.format = (pprofdelta_format)2;
    CHECK(pprofdelta_new(&o, NULL, &pd, &err) == PPROFDELTA_E_USAGE && strstr(err.text, "format"));
    o.format = PPROFDELTA_OTLP;
    o.resource_len = 1;
    CHECK(pprofdelta_new(&o, NULL, &pd, &err) == PPROFDELTA_E_USAGE &&
          strstr(err.text, "resource"));
    o.resource = no_key;
    CHECK(pprofdelta_new(&o, NULL, &pd, &err) == PPROFDELTA_E_USAGE && strstr(err.text, "key"));
    o.resource = null_key;
    CHECK(pprofdelta_new(&o, NULL, &pd, &err) == PPROFDELTA_E_USAGE && !pd);
}

TEST_MAIN(CASE(windows_mean_the_same), CASE(a_sink_that_refuses_costs_no_window),
          CASE(pairs_and_sums_mean_the_same), CASE(any_content_means_the_same),
          CASE(every_allocation_may_fail), CASE(contexts_fail_cleanly),
          CASE(a_builder_writes_the_same), CASE(a_recorder_writes_the_same),
          CASE(a_live_heap_writes_the_same), CASE(build_ids_are_named_by_their_form),
          CASE(bytes_that_are_not_utf8_are_replaced_one_by_one), CASE(options_are_checked))

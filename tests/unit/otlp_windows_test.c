/* Deltas and sums of parsed profiles as OTLP compared with the same as pprof: both mean the same, and
 * a failure leaves nothing behind. */
#include "delta_stage.h"
#include "keep.h"
#include "otlp_kit.h"
#include "seeds.h"

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

/* The context goes on in another one, by its state. */
static void move_state(arena *a, pprofdelta **pd, const pprofdelta_options *options)
{
    pprofdelta *next;
    buf state = keep_save(a, *pd);
    CHECK(pprofdelta_new(options, NULL, &next, NULL) == PPROFDELTA_OK);
    CHECK(keep_load(next, state, NULL) == PPROFDELTA_OK);
    pprofdelta_free(*pd);
    *pd = next;
}

static const char *one_window(both *b, stage *s)
{
    buf profile = look(s), pprof = buf_begin(&s->arena), request = buf_begin(&s->arena);
    pprofdelta_report one = {.size = sizeof one}, other = {.size = sizeof other};
    otlp_model meant;
    pprofdelta_status status = window(b->pprof, profile, &pprof, &one);
    if (status != window(b->otlp, profile, &request, &other))
        return "only one of the two fails";
    if (status)
        return NULL;
    const char *wrong = differ(&s->arena, pprof, request, &meant);
    if (!wrong && one.samples_out != other.samples_out)
        wrong = "the reports differ";
    b->is_again &= other.attempt > 1 || !other.sequence;
    if (!wrong && b->last.types && common_ids(&b->last, &meant) != (b->is_again ? meant.types : 0))
        wrong = b->is_again ? "a window that is sent again has other ids"
                            : "two windows have the same ids";
    b->last = meant;
    b->is_again = rng_chance(&s->rng, 40);
    pprofdelta *const pair[] = {b->pprof, b->otlp};
    for (size_t i = 0; i < 2; i++)
        if (b->is_again)
            pprofdelta_abandon(pair[i]);
        else
            CHECK(!pprofdelta_commit(pair[i]));
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
    otlp_model_read(&s->arena, request.ptr, request.len, &arrived);
    CHECK_MSG(!arrived.wrong, "seed %" PRIu64 ": %s", seed, arrived.wrong);
    pprofdelta_abandon(pd);
    request = buf_begin(&s->arena);
    CHECK(!window(pd, profile, &request, NULL));
    otlp_model_read(&s->arena, request.ptr, request.len, &again);
    CHECK_MSG(!again.wrong, "seed %" PRIu64 ": %s", seed, again.wrong);
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

/* ---- pairs and sums --------------------------------------------------------------------------- */

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

/* ---- options and memory ----------------------------------------------------------------------- */

TEST(contexts_fail_cleanly)
{
    stage s;
    stage_begin(&s, 3);
    pprofdelta_options o = as_otlp((pprofdelta_options)PPROFDELTA_OPTIONS_INIT);
    o.id = 1;
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

TEST(options_are_checked)
{
    pprofdelta *pd = NULL;
    pprofdelta_error err;
    pprofdelta_options o = PPROFDELTA_OPTIONS_INIT;
    o.id = 1;
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

TEST_MAIN()

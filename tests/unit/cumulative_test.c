/* What is not cumulative by its types, a process that counts its own time, and what the stamp of a live heap says of
 * the process. The oracle of delta_test.c has windows that come as profiles, and a profile that comes twice. */
#include "../support/test.h"

#include "keep.h"
#include "scene.h"

#include <inttypes.h>

#define S  INT64_C(1000000000)
#define T0 (INT64_C(1700000000) * S)

typedef struct stand {
    scene s;
    pprofdelta_options options;
    build b;
} stand;

static void begin(stand *k)
{
    *k = (stand){.options = PPROFDELTA_OPTIONS_INIT};
    k->options.compression = PPROFDELTA_PLAIN;
}

/* Other options, and a context that remembers nothing. */
static void start(stand *k)
{
    if (k->s.pd)
        scene_end(&k->s);
    scene_begin(&k->s, &k->options);
}

static void end(stand *k)
{
    scene_end(&k->s);
    build_free(&k->b);
}

/* The context goes on as one that was loaded from its state. */
static void reload(stand *k)
{
    buf saved = keep_save(&k->s.arena, k->s.pd);
    pprofdelta *fresh = NULL;
    REQUIRE(pprofdelta_new(&k->options, NULL, &fresh, NULL) == PPROFDELTA_OK);
    CHECK(keep_load(fresh, saved, NULL) == PPROFDELTA_OK);
    pprofdelta_free(k->s.pd);
    k->s.pd = fresh;
}

static buf look(stand *k, const char *types, const char *values, int64_t time, int64_t duration)
{
    build_free(&k->b);
    k->b = (build){0};
    build_types(&k->b, types);
    build_sample(&k->b, "leaf main", values);
    k->b.m.time_nanos = time;
    k->b.m.duration_nanos = duration;
    return build_bytes(&k->b);
}

static buf mutex(stand *k, const char *values, int64_t time, int64_t duration)
{
    return look(k, CONTENTION_TYPES, values, time, duration);
}

/* The oracle knows the start, too, but processes are seldom made up that count their own time from it. */
TEST(a_new_process_may_count_its_own_time)
{
    ENDS(end) stand k;
    begin(&k);
    start(&k);
    scene_base(&k.s, mutex(&k, "100 1000", T0, 3600 * S));
    scene_window(&k.s, mutex(&k, "5 50", T0 + 60 * S, 20 * S));
    CHECK(k.s.status == PPROFDELTA_E_NOT_CUMULATIVE);
    static const int64_t others[] = {T0 - S, T0 + 61 * S, T0 + 2 * S}; /* early, late, too long */
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        pprofdelta_set_started(k.s.pd, others[i]);
        scene_window(&k.s, mutex(&k, "5 50", T0 + 60 * S, 20 * S));
        CHECK(k.s.status == PPROFDELTA_E_NOT_CUMULATIVE);
    }
    for (int64_t i = 1; i <= 2; i++) { /* at 40 before 60, and at cur's own time: 120 */
        pprofdelta_set_started(k.s.pd, T0 + (80 * i - 40) * S);
        CHECK_STR(scene_window(&k.s, mutex(&k, "5 50", T0 + 60 * i * S, 20 * S)), "leaf;main 5 50");
        CHECK(k.s.report.restart == PPROFDELTA_RESTART_STARTED);
    }
}

TEST(cpu_and_goroutine_profiles_are_refused)
{
    static const struct {
        const char *types, *values, *counter, *period_type, *period_unit;
        pprofdelta_status want;
    } cases[] = {
        {"samples/count cpu/nanoseconds", "1 1", "cpu", "cpu", "nanoseconds",
         PPROFDELTA_E_NOT_CUMULATIVE},
        {"samples/count cpu/nanoseconds", "1 1", "samples", "cpu", "nanoseconds",
         PPROFDELTA_E_NOT_CUMULATIVE},
        {"samples/count", "1", "samples", "cpu", "nanoseconds", PPROFDELTA_E_NOT_CUMULATIVE},
        {"samples/count cpu/nanoseconds", "1 1", "cpu", NULL, NULL, PPROFDELTA_E_NOT_CUMULATIVE},
        {"goroutine/count", "1", "goroutine", "goroutine", "count", PPROFDELTA_E_NOT_CUMULATIVE},
        {"goroutine/count", "1", NULL, NULL, NULL, PPROFDELTA_E_NOT_CUMULATIVE},
        {"threadcreate/count", "1", "threadcreate", NULL, NULL, PPROFDELTA_E_NOT_CUMULATIVE},
        {"sample/count wall/nanoseconds", "1 1", "sample", "wall", "nanoseconds",
         PPROFDELTA_E_NOT_CUMULATIVE},
        {"samples/count", "1", "samples", NULL, NULL, PPROFDELTA_OK},
        {"samples/count", "1", NULL, NULL, NULL, PPROFDELTA_E_MISMATCH},
        {"samples/count cpu/nanoseconds", "1 1", "samples", NULL, NULL,
         PPROFDELTA_E_NOT_CUMULATIVE},
        {"faults/count cpu/nanoseconds", "1 1", "faults", NULL, NULL, PPROFDELTA_OK},
        {"faults/count cpu/nanoseconds", "1 1", "faults", "cpu", "nanoseconds", PPROFDELTA_OK},
        {"faults/count cpu/nanoseconds", "1 1", "cpu", NULL, NULL, PPROFDELTA_E_NOT_CUMULATIVE},
        {"faults/count cpu/nanoseconds", "1 1", NULL, NULL, NULL, PPROFDELTA_E_MISMATCH},
        {"delay/nanoseconds cpu/nanoseconds", "1 1", NULL, "cpu", "nanoseconds", PPROFDELTA_OK},
        {"goroutine/bytes", "1", "goroutine", NULL, NULL, PPROFDELTA_OK},
    };
    ENDS(end) stand k;
    begin(&k);
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
        const char *counter = cases[i / 2].counter;
        k.options.flags = i % 2 ? PPROFDELTA_FORCE : 0;
        k.options.counters = &counter;
        k.options.counters_len = counter != NULL;
        start(&k);
        look(&k, cases[i / 2].types, cases[i / 2].values, T0, 0);
        if (cases[i / 2].period_type)
            k.b.m.period_type = (model_type){cases[i / 2].period_type, cases[i / 2].period_unit};
        buf profile = build_bytes(&k.b);
        pprofdelta_status want = cases[i / 2].want;
        if (i % 2 && want == PPROFDELTA_E_NOT_CUMULATIVE)
            want = counter ? PPROFDELTA_OK : PPROFDELTA_E_MISMATCH;
        scene_base(&k.s, profile);
        CHECK_MSG(k.s.status == want, "case %zu: base: %d", i, k.s.status);
        scene_window(&k.s, profile);
        CHECK_MSG(k.s.status == want, "case %zu: window: %d", i, k.s.status);
    }
}

/* ---- live heaps ------------------------------------------------------------------------------ */

typedef struct live_look {
    int64_t from, to; /* seconds behind T0 */
    uint64_t id;
    const char *kind; /* NULL: no stamp */
    const char *values;
} live_look;

static buf live(stand *k, const live_look *l)
{
    char stamp[200];
    look(k, HEAP_TYPES, l->values, T0 + l->to * S, (l->to - l->from) * S);
    if (l->kind) {
        snprintf(stamp, sizeof stamp,
                 "pprofdelta: live epoch=1 seq=1 kind=%s from=%" PRId64 " to=%" PRId64
                 " id=%016" PRIx64,
                 l->kind, T0 + l->from * S, T0 + l->to * S, l->id);
        build_comment(&k->b, stamp);
    }
    return build_bytes(&k->b);
}

static const live_look first_run = {0, 10, 1, "full", "5 50 1 1"};

/* What a window says after first_run. */
typedef struct run {
    const char *what;
    live_look cur;
    const char *values; /* NULL: the window fails */
    bool restarts;
    enum how { BY_STAMP, NO_FIRST_STAMP, CLAMP, FAIL, FORCE } how;
} run;

static const run runs[] = {
    {"the same run", {0, 20, 1, "full", "9 90 0 0"}, "4 40 0 0", false, BY_STAMP},
    {"another run, as large", {11, 20, 2, "full", "5 50 1 1"}, "5 50 1 1", true, BY_STAMP},
    {"another run at the same time", {5, 20, 2, "full", "6 60 0 0"}, "6 60 0 0", true, BY_STAMP},
    {"another run under one id", {11, 20, 1, "full", "6 60 0 0"}, "6 60 0 0", true, BY_STAMP},
    {"it began as the other ended", {10, 20, 1, "full", "6 60 0 0"}, "1 10 0 0", false, BY_STAMP},
    {"prev has no stamp", {11, 20, 2, "full", "6 60 0 0"}, "6 60 0 0", true, NO_FIRST_STAMP},
    {"cur has its duration alone", {0, 20, 0, NULL, "6 60 0 0"}, "1 10 0 0", false, BY_STAMP},
    {"never a restart", {11, 20, 2, "full", "6 60 0 0"}, "1 10 0 0", false, CLAMP},
    {"a failure", {11, 20, 2, "full", "6 60 0 0"}, NULL, false, FAIL},
    {"windows of one run, forced", {10, 20, 1, "delta", "6 60 0 0"}, "1 10 0 0", false, FORCE},
    {"windows of two runs, forced", {10, 20, 2, "window", "6 60 0 0"}, "6 60 0 0", true, FORCE},
    {"a stamp that ends too early", {30, 20, 2, "full", "6 60 0 0"}, "1 10 0 0", false, BY_STAMP},
};

TEST(the_stamp_of_a_live_heap_tells_a_restart)
{
    ENDS(end) stand k;
    begin(&k);
    for (size_t i = 0; i < 2 * (sizeof runs / sizeof *runs); i++) {
        const run *r = &runs[i / 2];
        live_look prev = first_run;
        if (r->how == NO_FIRST_STAMP)
            prev.kind = NULL;
        k.options.flags = r->how == FORCE ? PPROFDELTA_FORCE : 0;
        k.options.on_reset = r->how == CLAMP  ? PPROFDELTA_ON_RESET_CLAMP
                             : r->how == FAIL ? PPROFDELTA_ON_RESET_FAIL
                                              : PPROFDELTA_ON_RESET_AUTO;
        start(&k);
        scene_window(&k.s, live(&k, &prev));
        CHECK_MSG(k.s.status == PPROFDELTA_OK && k.s.report.may_be_window == !prev.kind, "%s",
                  r->what);
        if (i % 2)
            reload(&k);
        const char *rows = scene_window(&k.s, live(&k, &r->cur));
        if (!r->values) {
            CHECK_MSG(k.s.status == PPROFDELTA_E_RESET, "%s", r->what);
            continue;
        }
        const char *wanted = arena_format(&k.s.arena, "leaf;main %s", r->values);
        pprofdelta_restart restart =
            r->restarts ? PPROFDELTA_RESTART_LIVE : PPROFDELTA_RESTART_NONE;
        CHECK_MSG(!strcmp(rows, wanted), "%s: %s", r->what, rows);
        CHECK_MSG(k.s.report.restart == restart, "%s", r->what);
        pprofdelta_memory m = {.size = sizeof m};
        pprofdelta_describe(k.s.pd, &m);
        CHECK(m.restart == restart);
    }
}

TEST_MAIN()

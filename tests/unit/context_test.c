/* The public calls at their edges: what the header says of arguments and results. delta_test.c has sequences of calls
 * against the oracle. */
#include "../support/test.h"

#include "census.h"
#include "keep.h"
#include "pack.h"
#include "delta/context.h"
#include "otlp_model.h"
#include "scene.h"

#include <setjmp.h>

/* A process of two stacks, with an address and with lines. Each look is taken a microsecond later. */
typedef struct two_stacks {
    build b;
    model_sample *leaf, *other;
} two_stacks;

static void two_stacks_begin(two_stacks *p)
{
    *p = (two_stacks){0};
    build_types(&p->b, CONTENTION_TYPES);
    model_mapping *app = build_mapping(&p->b, 0x400000, 0x500000, 0, "/bin/app", "id-1");
    build_place(&p->b, "leaf", app, 0x401000);
    p->leaf = build_sample(&p->b, "leaf main", "10 1000");
    p->other = build_sample(&p->b, "other", "100 100");
    p->b.m.time_nanos = 1000;
}

static void two_stacks_end(two_stacks *p)
{
    build_free(&p->b);
}

/* With this value of its first counter. */
static buf two_stacks_look(two_stacks *p, int64_t count)
{
    p->leaf->values[0] = count;
    p->b.m.time_nanos += 1000;
    return build_bytes(&p->b);
}

/* ---- Options and arguments ------------------------------------------------------------------- */

static pprofdelta_status try_options(const pprofdelta_options *options)
{
    pprofdelta *pd = (pprofdelta *)(uintptr_t)options, *untouched = pd;
    pprofdelta_error err = {0};
    pprofdelta_status status = pprofdelta_new(options, NULL, &pd, &err);
    CHECK((pd == untouched) == (status != PPROFDELTA_OK));
    CHECK(status == PPROFDELTA_OK ? !err.field : err.status == status && *err.text);
    if (status == PPROFDELTA_OK)
        pprofdelta_free(pd);
    if (status == PPROFDELTA_E_USAGE)
        CHECK(err.stage == PPROFDELTA_STAGE_OPTIONS);
    return status;
}

TEST(options_are_checked)
{
    enum { CASES = 19 };
    static const char *const names[] = {"x"};
    static const pprofdelta_attribute no_key = {"", "x"}, null_key = {NULL, "x"};
    pprofdelta_options o[CASES];
    for (size_t i = 0; i < CASES; i++) {
        o[i] = (pprofdelta_options)PPROFDELTA_OPTIONS_INIT;
        o[i].format = i > 14 ? PPROFDELTA_OTLP : PPROFDELTA_PPROF;
    }
    o[0].size = 0;
    o[1].size = sizeof(size_t) - 1;
    o[2].size = SIZE_MAX;
    o[3].flags = PPROFDELTA_DISJOINT << 1;
    o[4].flags = ~0u;
    o[5].on_reset = (pprofdelta_on_reset)(PPROFDELTA_ON_RESET_FAIL + 1);
    o[6].on_reset = (pprofdelta_on_reset)-1;
    o[7].first = (pprofdelta_first)(PPROFDELTA_FIRST_ZERO + 1);
    o[8].compression = (pprofdelta_compression)(PPROFDELTA_PLAIN + 1);
    o[9].compression = (pprofdelta_compression)-1;
    o[10].level = -1;
    o[11].level = 10;
    o[12].counters_len = 1;
    o[13].gauges_len = 1;
    o[14].format = (pprofdelta_format)(PPROFDELTA_TABLES + 1);
    o[15].resource_weak = 1;
    o[16].resource_len = o[17].resource_len = o[18].resource_len = 1;
    o[17].resource = &no_key;
    o[18].resource = &null_key;
    for (size_t i = 0; i < CASES; i++)
        CHECK_MSG(try_options(&o[i]) == PPROFDELTA_E_USAGE, "case %zu", i);
    pprofdelta_options good = PPROFDELTA_OPTIONS_INIT;
    good.counters = good.gauges = names;
    CHECK(try_options(&good) == PPROFDELTA_OK);
    good.counters_len = good.gauges_len = 1;
    CHECK(try_options(&good) == PPROFDELTA_OK);
    good.max_memory = 1;
    CHECK(try_options(&good) == PPROFDELTA_E_LIMIT);
}

TEST(the_version_is_known_to_the_compiler_and_at_run_time)
{
    char number[32];
    CHECK_STR(pprofdelta_version(), PD_PROJECT_VERSION);
    CHECK_STR(PPROFDELTA_VERSION, PD_PROJECT_VERSION);
    snprintf(number, sizeof number, "%d.%d.%d", PPROFDELTA_VERSION_NUMBER / 10000,
             PPROFDELTA_VERSION_NUMBER / 100 % 100, PPROFDELTA_VERSION_NUMBER % 100);
    CHECK_STR(number, PD_PROJECT_VERSION);
}

TEST(an_error_is_one_line_with_its_position)
{
    const struct {
        pprofdelta_stage stage;
        const char *field;
        uint64_t element, offset;
        const char *line;
    } rows[] = {
        {PPROFDELTA_STAGE_OPTIONS, "", PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE, "why"},
        {PPROFDELTA_STAGE_OPTIONS, "", 7, PPROFDELTA_NOWHERE, "why"},
        {PPROFDELTA_STAGE_DELTA, "sample_type", PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,
         "sample_type: why"},
        {PPROFDELTA_STAGE_PROFILE, "sample.location_id", 12, 812,
         "sample[12].location_id: why (at byte 812 of the uncompressed file)"},
        {PPROFDELTA_STAGE_INFLATE, "", PPROFDELTA_NOWHERE, 0,
         "why (at byte 0 of the compressed file)"},
        {PPROFDELTA_STAGE_STATE, "entry", UINT64_MAX - 1, UINT64_MAX - 1,
         "entry[18446744073709551614]: why (at byte 18446744073709551614 of the file)"},
    };
    static const char *const words[] = {PPROFDELTA_STAGE_WORDS};
    CHECK(sizeof words / sizeof *words == PPROFDELTA_STAGE_RECOVER + 1);
    CHECK_STR(words[PPROFDELTA_STAGE_STATE], "state");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pprofdelta_error err = {.stage = rows[i].stage,
                                .field = rows[i].field,
                                .element = rows[i].element,
                                .offset = rows[i].offset,
                                .text = "why"};
        char line[PPROFDELTA_ERROR_LINE], cut[8];
        CHECK(pprofdelta_error_line(&err, line, sizeof line) == strlen(rows[i].line));
        CHECK_STR(line, rows[i].line);
        CHECK(pprofdelta_error_line(&err, cut, sizeof cut) == strlen(line) &&
              !strncmp(cut, line, sizeof cut - 1) && strlen(cut) <= sizeof cut - 1);
        CHECK(pprofdelta_error_line(&err, NULL, 0) == strlen(line));
        memset(err.text, 'x', sizeof err.text - 1);
        CHECK(pprofdelta_error_line(&err, line, sizeof line) < sizeof line);
    }
}

static pprofdelta_status rewrite(buf in, const pprofdelta_sink *sink)
{
    pprofdelta_profile *profile;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.compression = PPROFDELTA_PLAIN;
    pprofdelta_status status =
        pprofdelta_profile_open(&options, NULL, in.ptr, in.len, &profile, NULL);
    if (status)
        return status;
    status = pprofdelta_profile_rewrite(profile, sink, NULL);
    pprofdelta_profile_free(profile);
    return status;
}

TEST(null_where_the_header_allows_it)
{
    ENDS(two_stacks_end) two_stacks p;
    two_stacks_begin(&p);
    pprofdelta *pd = NULL;
    REQUIRE(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK && pd);
    buf good = two_stacks_look(&p, 10);
    collector c = {.bytes = buf_begin(&p.b.arena)};
    pprofdelta_sink sink = collector_sink(&c), no_write = {.cookie = &c};
    CHECK(census_of(NULL, 0, NULL, NULL) == PPROFDELTA_E_PROFILE);
    CHECK(pprofdelta_base(pd, NULL, 0, NULL) == PPROFDELTA_E_PROFILE);
    CHECK(pprofdelta_window(pd, NULL, 0, &sink, NULL, NULL) == PPROFDELTA_E_PROFILE);
    CHECK(pprofdelta_window(pd, good.ptr, good.len, NULL, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_window(pd, good.ptr, good.len, &no_write, NULL, NULL) == PPROFDELTA_E_USAGE);
    pprofdelta_profile *untouched = (pprofdelta_profile *)pd, *opened = untouched;
    CHECK(pprofdelta_profile_open(NULL, NULL, good.ptr, good.len - 1, &opened, NULL) &&
          opened == untouched);
    CHECK(rewrite(good, NULL) == PPROFDELTA_E_USAGE);
    CHECK(rewrite(good, &no_write) == PPROFDELTA_E_USAGE);
    CHECK(c.calls == 0);
    CHECK(pprofdelta_window(pd, good.ptr, good.len, &sink, NULL, NULL) == PPROFDELTA_OK);
    CHECK(c.calls > 0);
    CHECK(pprofdelta_base(pd, good.ptr, good.len, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_window(pd, good.ptr, good.len, &sink, NULL, NULL) == PPROFDELTA_E_USAGE);
    pprofdelta_free(pd); /* with a window pending */
}

/* ---- A profile by itself --------------------------------------------------------------------- */

/* All samples stay, the compact form of the compact form is the same, and a table that nothing uses
 * is left out. */
TEST(rewrite_keeps_every_sample)
{
    ENDS(two_stacks_end) two_stacks p;
    two_stacks_begin(&p);
    build_place(&p.b, "unused", NULL, 0);
    buf plain = two_stacks_look(&p, 0);
    p.other->values[0] = p.other->values[1] = 0; /* zero samples stay, too */
    buf zeros = two_stacks_look(&p, 0);
    pprofdelta_census before, after;
    for (int i = 0; i < 2; i++) {
        const buf *in = i ? &zeros : &plain;
        collector once = {.bytes = buf_begin(&p.b.arena)}, twice = {.bytes = buf_begin(&p.b.arena)};
        pprofdelta_sink first = collector_sink(&once), second = collector_sink(&twice);
        REQUIRE(!rewrite(*in, &first));
        REQUIRE(!rewrite(once.bytes, &second));
        CHECK(buf_equal(once.bytes, twice.bytes));
        CHECK(!census_of(in->ptr, in->len, &before, NULL));
        CHECK(!census_of(once.bytes.ptr, once.bytes.len, &after, NULL));
        CHECK(after.samples == before.samples && after.time_nanos == before.time_nanos);
        CHECK(after.types == before.types && after.strings <= before.strings);
    }
}

TEST(a_profile_has_a_census_and_bytes)
{
    ENDS(two_stacks_end) two_stacks p;
    two_stacks_begin(&p);
    ENDS(scene_end) scene s;
    scene_begin(&s, NULL);
    p.b.m.duration_nanos = 77;
    buf plain = two_stacks_look(&p, 10);
    static const uint8_t unknown[] = {0xf8, 0x01, 0x05}; /* field 31 */
    buf_add(&plain, unknown, sizeof unknown);
    const struct {
        const char *format;
        buf bytes;
    } cases[] = {{"plain", plain},
                 {"gzip", pack_gzip(&p.b.arena, plain, 2)},
                 {"zstd", pack_zstd(&p.b.arena, plain, 1)}};
    for (size_t i = 0; i < 3; i++) {
        pprofdelta_profile *profile;
        pprofdelta_census c;
        memset(&c, 0x5a, sizeof c);
        c.size = sizeof c;
        REQUIRE(!pprofdelta_profile_open(NULL, NULL, cases[i].bytes.ptr, cases[i].bytes.len,
                                         &profile, NULL));
        pprofdelta_profile_census(profile, &c);
        CHECK_STR(c.format, cases[i].format);
        CHECK(c.inflated_len == plain.len && c.types == 2 && c.samples == 2 && c.mappings == 1);
        CHECK(c.locations == 3 && c.functions == 3 && c.by_address == 1 && c.by_lines == 2);
        CHECK(c.strings == 11 && c.unknown_fields == 1 && c.is_stamped == 0);
        CHECK(c.time_nanos == p.b.m.time_nanos && c.duration_nanos == 77);
        const uint8_t *out = NULL;
        size_t len = 0;
        CHECK(!pprofdelta_profile_bytes(profile, &out, &len, NULL));
        CHECK(len == plain.len && memcmp(out, plain.ptr, len) == 0);
        CHECK((out == plain.ptr) == (i == 0)); /* plain bytes are not copied */
        pprofdelta_profile_free(profile);
    }
    scene_window(&s, plain);
    pprofdelta_census c;
    CHECK(!census_of(s.bytes.ptr, s.bytes.len, &c, NULL));
    CHECK(c.is_stamped == 1 && c.samples == 2 && c.unknown_fields == 0);
}

/* After a refusal there is memory again. */
static bool is_refused(tracker *memory, pprofdelta_status status)
{
    CHECK(!status || (status == PPROFDELTA_E_MEMORY && memory->refused && memory->fail_at));
    memory->fail_at = status ? 0 : memory->fail_at;
    return status != PPROFDELTA_OK;
}

/* Both profiles rewritten, and their delta. Each call is made until it is not refused. */
static buf rewritten_and_delta(arena *a, const pprofdelta_options *options, const buf looks[2],
                               tracker *memory)
{
    collector c = {.bytes = buf_begin(a)};
    pprofdelta *pd = NULL;
    for (int i = 0; i < 2; i++) {
        pprofdelta_profile *profile = NULL;
        const uint8_t *bytes;
        size_t len;
        while (is_refused(memory, pprofdelta_profile_open(options, tracking(memory), looks[i].ptr,
                                                          looks[i].len, &profile, NULL)))
            CHECK(!profile);
        while (is_refused(memory, pprofdelta_profile_bytes(profile, &bytes, &len, NULL)))
            continue;
        while (is_refused(memory, pprofdelta_profile_rewrite(profile, collecting(&c), NULL)))
            CHECK(c.calls == (size_t)i);
        pprofdelta_profile_free(profile);
    }
    while (is_refused(memory, pprofdelta_new(options, tracking(memory), &pd, NULL)))
        CHECK(!pd);
    while (is_refused(memory, pprofdelta_base(pd, looks[0].ptr, looks[0].len, NULL)))
        continue;
    while (is_refused(
        memory, pprofdelta_window(pd, looks[1].ptr, looks[1].len, collecting(&c), NULL, NULL)))
        CHECK(c.calls == 2);
    const size_t calls = memory->calls;
    CHECK(pprofdelta_commit(pd) == PPROFDELTA_OK && memory->calls == calls);
    pprofdelta_free(pd);
    CHECK_MSG(!memory->live, "%zu bytes left", memory->live);
    return c.bytes;
}

/* Of the profiles of a pair, faults_test.c lets each allocation of a delta fail. */
TEST(each_allocation_for_a_profile_or_a_request_may_fail)
{
    for (int way = 0; way < 4;
         way++) { /* alone, or with all that follow until the call has failed */
        ENDS(two_stacks_end) two_stacks p;
        two_stacks_begin(&p);
        pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
        options.compression = PPROFDELTA_PLAIN;
        options.id = 1;
        options.format = way % 2 ? PPROFDELTA_OTLP : PPROFDELTA_PPROF;
        options.resource = &(const pprofdelta_attribute){"service.name", "app"};
        options.resource_len = (size_t)(way % 2);
        buf looks[2];
        for (int i = 0; i < 2; i++) {
            buf look = two_stacks_look(&p, 10 + i);
            looks[i] = way % 2 ? otlp_request_of(&p.b.arena, &options, look)
                               : pack_gzip(&p.b.arena, look, 1);
        }
        tracker enough = {0};
        buf want = rewritten_and_delta(&p.b.arena, &options, looks, &enough);
        for (size_t nth = 1; nth <= enough.calls; nth++) {
            tracker memory = {.fail_at = nth, .is_alone = way / 2};
            buf got = rewritten_and_delta(&p.b.arena, &options, looks, &memory);
            CHECK_MSG(memory.refused && buf_equal(got, want), "allocation %zu", nth);
        }
    }
}

/* ---- Verify: a check that can fail ----------------------------------------------------------- */

static pprofdelta_status verify(pprofdelta *pd, const pd_tally *tally, pprofdelta_error *err)
{
    pprofdelta_status status = pd_output_verify_input(pd, tally, err);
    return status ? status : pd_output_verify(pd, tally, err);
}

/* The books of the pending window, as it was reported. */
static pd_tally book(const pprofdelta_report *report)
{
    pd_tally tally = {0};
    memcpy(tally.types, report->types, report->types_len * sizeof *report->types);
    return tally;
}

/* A description between two writes of one window leaves the report as it was. */
TEST(each_write_of_a_window_has_the_same_report)
{
    ENDS(two_stacks_end) two_stacks p;
    two_stacks_begin(&p);
    ENDS(context_end) pprofdelta *pd = NULL;
    REQUIRE(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK);
    collector c = {.bytes = buf_begin(&p.b.arena)};
    buf prev = two_stacks_look(&p, 10), cur = two_stacks_look(&p, 17);
    CHECK(!pprofdelta_base(pd, prev.ptr, prev.len, NULL));
    CHECK(!pprofdelta_begin(pd, cur.ptr, cur.len, NULL));
    pprofdelta_type_report types[2];
    for (int written = 0; written < 2; written++) {
        pprofdelta_report report = {.size = sizeof report};
        pprofdelta_memory memory = {.size = sizeof memory};
        REQUIRE(!pprofdelta_write(pd, collecting(&c), &report, NULL) && report.types_len == 2);
        CHECK(!written || !memcmp(types, report.types, sizeof types));
        memcpy(types, report.types, sizeof types);
        CHECK(types[0].delta.lo == 7 && types[0].prev.lo == 110);
        CHECK(!pprofdelta_describe(pd, &memory) && memory.types != report.types);
        CHECK(!memcmp(types, report.types, sizeof types));
        CHECK(memory.types[0].prev.lo == 110 && !memory.types[0].delta.lo);
    }
}

static int refuse_within(void *cookie, const void *data, size_t len)
{
    pprofdelta *pd = cookie;
    const pprofdelta_sink sink = {.write = refuse_within, .cookie = pd};
    const pprofdelta_source source = {.read = NULL};
    (void)data, (void)len;
    CHECK(pprofdelta_begin(pd, "", 0, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_write(pd, &sink, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_base(pd, "", 0, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_load(pd, &source, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_commit(pd) == PPROFDELTA_E_USAGE);
    return 0;
}

static int abandon_within(void *cookie, const void *data, size_t len)
{
    (void)data, (void)len;
    pprofdelta_abandon(cookie);
    return 0;
}

static jmp_buf out_of_callback;

static int leave(void *cookie, const void *data, size_t len)
{
    (void)cookie, (void)data, (void)len;
    longjmp(out_of_callback, 1);
}

static int leave_source(void *cookie, void *to, size_t len, size_t *got)
{
    (void)cookie, (void)to, (void)len, (void)got;
    longjmp(out_of_callback, 1);
}

/* What is remembered is not changed while it is saved; a callback that did not return is forgotten by abandon. */
TEST(states_and_their_callbacks)
{
    ENDS(two_stacks_end) two_stacks p;
    two_stacks_begin(&p);
    ENDS(context_end) pprofdelta *pd = NULL;
    REQUIRE(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK);
    buf prev = two_stacks_look(&p, 10), cur = two_stacks_look(&p, 17);
    const pprofdelta_sink refuses = {.write = refuse_within, .cookie = pd},
                          abandons = {.write = abandon_within, .cookie = pd},
                          leaves = {.write = leave};
    const pprofdelta_source source = {.read = leave_source};
    CHECK(!pprofdelta_base(pd, prev.ptr, prev.len, NULL));
    CHECK(pprofdelta_save(pd, &refuses, NULL) == PPROFDELTA_OK);
    CHECK(pprofdelta_save(pd, &abandons, NULL) == PPROFDELTA_E_SINK);
    if (!setjmp(out_of_callback))
        pprofdelta_save(pd, &leaves, NULL);
    CHECK(pprofdelta_begin(pd, cur.ptr, cur.len, NULL) == PPROFDELTA_E_USAGE);
    pprofdelta_abandon(pd);
    if (!setjmp(out_of_callback))
        pprofdelta_load(pd, &source, NULL);
    CHECK(pprofdelta_begin(pd, cur.ptr, cur.len, NULL) == PPROFDELTA_E_USAGE);
    pprofdelta_abandon(pd);
    collector c = {.bytes = buf_begin(&p.b.arena)};
    pprofdelta_report report = {.size = sizeof report};
    CHECK(pprofdelta_window(pd, cur.ptr, cur.len, collecting(&c), &report, NULL) == PPROFDELTA_OK);
    CHECK(report.types[0].delta.lo == 7);
}

/* A context that goes on with a series: with this state, if there is one. */
static pprofdelta *numbered(uint64_t last_sequence, const buf *state)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pprofdelta *pd = NULL;
    options.id = 7;
    options.last_sequence = last_sequence;
    CHECK(!pprofdelta_new(&options, NULL, &pd, NULL));
    if (state) {
        keep_source rest = {.ptr = state->ptr, .len = state->len};
        pprofdelta_source source = keep_source_of(&rest);
        CHECK(!pprofdelta_load(pd, &source, NULL));
    }
    return pd;
}

/* The sequence of the window, and what it says was acknowledged. */
static uint64_t number_of(pprofdelta *pd, buf look, uint64_t *acked)
{
    collector c = {.bytes = buf_begin(look.arena)};
    pprofdelta_profile *made = NULL;
    pprofdelta_census census = {.size = sizeof census};
    CHECK(!pprofdelta_window(pd, look.ptr, look.len, collecting(&c), NULL, NULL));
    CHECK(!pprofdelta_profile_open(NULL, NULL, c.bytes.ptr, c.bytes.len, &made, NULL));
    pprofdelta_profile_census(made, &census);
    pprofdelta_profile_free(made);
    CHECK(census.stamp.id == 7);
    *acked = census.stamp.acked;
    return census.stamp.sequence;
}

/* The window of two files becomes an open attempt when it ends. Who looks before, or saves, does
 * not see that. */
TEST(a_pair_is_remembered_whoever_looks_first)
{
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.flags = PPROFDELTA_NO_SEQUENCE;
    options.id = 1;
    ENDS(two_stacks_end) two_stacks p;
    two_stacks_begin(&p);
    buf base = two_stacks_look(&p, 10), now = two_stacks_look(&p, 17),
        lower = two_stacks_look(&p, 15); /* than what may have arrived */
    buf saved[4], deltas[4];
    for (size_t i = 0; i < 4; i++) { /* bit 0: describe first; bit 1: save first */
        ENDS(context_end) pprofdelta *pd = NULL;
        collector c = {.bytes = buf_begin(&p.b.arena)}, next = {.bytes = buf_begin(&p.b.arena)};
        pprofdelta_memory open = {.size = sizeof open}, ended = open;
        REQUIRE(!pprofdelta_new(&options, NULL, &pd, NULL));
        CHECK(!pprofdelta_base(pd, base.ptr, base.len, NULL));
        CHECK(!pprofdelta_window(pd, now.ptr, now.len, collecting(&c), NULL, NULL));
        if (i & 1)
            CHECK(!pprofdelta_describe(pd, &open) && open.samples == 2 && open.attempts == 1);
        saved[i] = i & 2 ? keep_save(&p.b.arena, pd) : base;
        pprofdelta_abandon(pd);
        if (i) {
            CHECK(!pprofdelta_describe(pd, &ended) && ended.samples == 2 && ended.attempts == 1);
            buf after = keep_save(&p.b.arena, pd);
            CHECK(!(i & 2) || buf_equal(saved[i], after));
            saved[i] = after;
            CHECK(buf_equal(saved[1], saved[i]));
        }
        CHECK(!pprofdelta_window(pd, lower.ptr, lower.len, collecting(&next), NULL, NULL));
        CHECK(!pprofdelta_commit(pd));
        deltas[i] = next.bytes;
        CHECK(buf_equal(deltas[0], deltas[i]));
    }
}

TEST(a_series_goes_on_after_a_number)
{
    ENDS(two_stacks_end) two_stacks p;
    two_stacks_begin(&p);
    uint64_t acked;
    buf looks[5];
    for (int i = 0; i < 5; i++)
        looks[i] = two_stacks_look(&p, 10 + i);
    pprofdelta *pd = numbered(41, NULL);
    CHECK(!pprofdelta_base(pd, looks[0].ptr, looks[0].len, NULL));
    CHECK(number_of(pd, looks[1], &acked) == 42 && acked == 41);
    CHECK(!pprofdelta_commit(pd));
    buf state = keep_save(&p.b.arena, pd);
    pprofdelta_free(pd);
    pd = numbered(45, &state); /* what is before 46 is somewhere else, or nowhere */
    CHECK(number_of(pd, looks[2], &acked) == 46 && acked == 42);
    pprofdelta_abandon(pd);
    state = keep_save(&p.b.arena, pd);
    pprofdelta_free(pd);
    pd = numbered(50, &state); /* another attempt at the open window */
    CHECK(number_of(pd, looks[3], &acked) == 46 && acked == 42);
    CHECK(!pprofdelta_commit(pd));
    state = keep_save(&p.b.arena, pd);
    pprofdelta_free(pd);
    pd = numbered(3, &state);
    CHECK(number_of(pd, looks[4], &acked) == 47 && acked == 46);
    pprofdelta_free(pd);
}

TEST(verify_sees_what_does_not_add_up)
{
    ENDS(two_stacks_end) two_stacks p;
    two_stacks_begin(&p);
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.compression = PPROFDELTA_PLAIN;
    ENDS(scene_end) scene s;
    scene_begin(&s, &options);
    scene_window(&s, two_stacks_look(&p, 10));
    CHECK_STR(scene_pending(&s, two_stacks_look(&p, 12)), "leaf;main 2 0");
    pd_tally good = book(&s.report);
    CHECK(verify(s.pd, &good, NULL) == PPROFDELTA_OK);
    for (size_t type = 0; type < 2; type++)
        for (size_t sum = 0; sum < 5; sum++) {
            pd_tally bad = good;
            pprofdelta_type_report *t = &bad.types[type];
            pprofdelta_sum *sums[] = {&t->prev, &t->cur, &t->delta, &t->clamped, &t->vanished};
            pd_sum_add(sums[sum], 1);
            pprofdelta_error err = {0};
            CHECK(verify(s.pd, &bad, &err) == PPROFDELTA_E_VERIFY);
            CHECK(err.status == PPROFDELTA_E_VERIFY &&
                  strstr(err.text, type ? "delay" : "contentions"));
        }
    pprofdelta_abandon(s.pd);
    buf other = s.bytes;
    CHECK_STR(scene_pending(&s, two_stacks_look(&p, 13)), "leaf;main 3 0");
    good = book(&s.report);
    s.pd->encoded = (pd_bytes){other.ptr, other.len}; /* the delta of the window before */
    CHECK(verify(s.pd, &good, NULL) == PPROFDELTA_E_VERIFY);
}

/* What a context holds after a window, by describe. */
static uint64_t held_with(pprofdelta_compression compression)
{
    two_stacks p;
    arena a = {0};
    collector c = {.bytes = buf_begin(&a)};
    pprofdelta *pd;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    pprofdelta_memory before = PPROFDELTA_SIZED(pprofdelta_memory), after = before;
    options.compression = compression;
    two_stacks_begin(&p);
    buf bytes = two_stacks_look(&p, 10);
    CHECK(!pprofdelta_new(&options, NULL, &pd, NULL) && !pprofdelta_describe(pd, &before));
    CHECK(!pprofdelta_window(pd, bytes.ptr, bytes.len, collecting(&c), NULL, NULL));
    CHECK(!pprofdelta_describe(pd, &after) && before.bytes && after.bytes > before.bytes);
    pprofdelta_free(pd);
    two_stacks_end(&p);
    arena_free(&a);
    return after.bytes;
}

TEST(what_a_context_holds_is_told_with_its_compressor)
{
    const uint64_t plain = held_with(PPROFDELTA_PLAIN);
    CHECK(held_with(PPROFDELTA_GZIP) >= plain + (700 << 10));
    CHECK(held_with(PPROFDELTA_ZSTD) > plain + (16 << 10));
}

TEST_MAIN()

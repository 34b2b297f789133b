/* The public calls at their edges: what the header says of arguments, order and results. */
#include "../support/test.h"

#include "delta/context.h"
#include "scene.h"
#include "two_stacks.h"

/* Takes what it is given and counts the calls. */
static int ignore(void *cookie, const void *data, size_t len)
{
    (void)data, (void)len;
    ++*(size_t *)cookie;
    return 0;
}

static buf cut_off(buf whole)
{
    whole.len--;
    return whole;
}

/* ---------------------------------------------------------------------------------------------
 * Options and arguments
 * ------------------------------------------------------------------------------------------ */

static pprofdelta_status try_options(const pprofdelta_options *options)
{
    pprofdelta *pd = (pprofdelta *)(uintptr_t)options, *untouched = pd;
    pprofdelta_error err = {0};
    pprofdelta_status status = pprofdelta_new(options, NULL, &pd, &err);
    CHECK((pd == untouched) == (status != PPROFDELTA_OK));
    CHECK(status == PPROFDELTA_OK ? !err.stage : err.status == status && *err.text);
    if (status == PPROFDELTA_OK)
        pprofdelta_free(pd);
    if (status == PPROFDELTA_E_USAGE)
        CHECK_STR(err.stage, "options");
    return status;
}

TEST(options_are_checked)
{
    static const char *const names[] = {"x"};
    pprofdelta_options o[14];
    for (size_t i = 0; i < 14; i++)
        o[i] = (pprofdelta_options)PPROFDELTA_OPTIONS_INIT;
    o[0].size = 0;
    o[1].size--;
    o[2].size++;
    o[3].flags = PPROFDELTA_NO_SEQUENCE << 1;
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
    for (size_t i = 0; i < 14; i++)
        CHECK_MSG(try_options(&o[i]) == PPROFDELTA_E_USAGE, "case %zu", i);
    pprofdelta_options good = PPROFDELTA_OPTIONS_INIT;
    good.counters = good.gauges = names;
    CHECK(try_options(&good) == PPROFDELTA_OK);
    good.counters_len = good.gauges_len = 1;
    CHECK(try_options(&good) == PPROFDELTA_OK);
    good.max_memory = 1;
    CHECK(try_options(&good) == PPROFDELTA_E_LIMIT);
}

TEST(null_where_the_header_allows_it)
{
    pprofdelta_free(NULL);
    two_stacks p;
    two_stacks_begin(&p);
    pprofdelta *pd = NULL;
    REQUIRE(pprofdelta_new(NULL, NULL, &pd, NULL) == PPROFDELTA_OK && pd);
    buf good = two_stacks_look(&p, 10);
    size_t writes = 0;
    pprofdelta_sink sink = {ignore, &writes}, no_write = {NULL, &writes};
    const uint8_t *out = good.ptr;
    size_t len = 4711;
    CHECK(pprofdelta_check(pd, NULL, 0, NULL, NULL) == PPROFDELTA_E_PROFILE);
    CHECK(pprofdelta_base(pd, NULL, 0, NULL) == PPROFDELTA_E_PROFILE);
    CHECK(pprofdelta_window(pd, NULL, 0, &sink, NULL, NULL) == PPROFDELTA_E_PROFILE);
    CHECK(pprofdelta_check(pd, NULL, 1, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_base(pd, NULL, 1, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_window(pd, NULL, 1, &sink, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_inflate(pd, NULL, 1, &out, &len, NULL) == PPROFDELTA_E_USAGE);
    CHECK(out == good.ptr && len == 4711);
    CHECK(pprofdelta_inflate(pd, NULL, 0, &out, &len, NULL) == PPROFDELTA_OK && len == 0);
    CHECK(pprofdelta_window(pd, good.ptr, good.len, NULL, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_window(pd, good.ptr, good.len, &no_write, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(writes == 0);
    CHECK(pprofdelta_window(pd, good.ptr, good.len, &sink, NULL, NULL) == PPROFDELTA_OK);
    CHECK(writes > 0);
    pprofdelta_free(pd); /* with a window pending */
    two_stacks_end(&p);
}

/* ---------------------------------------------------------------------------------------------
 * The order of calls
 * ------------------------------------------------------------------------------------------ */

/* Its first window has a number, as every later one; a later base keeps the numbers. */
TEST(windows_after_a_base_have_numbers)
{
    two_stacks p;
    two_stacks_begin(&p);
    scene s;
    pprofdelta_memory m;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    for (int is_numbered = 1; is_numbered >= 0; is_numbered--) {
        options.flags = is_numbered ? 0 : PPROFDELTA_NO_SEQUENCE;
        scene_begin(&s, &options);
        CHECK_STR(scene_base(&s, two_stacks_look(&p, 10)), "base");
        pprofdelta_describe(s.pd, &m);
        CHECK(m.sequence == 1 && m.attempts == 0 && m.has_base);
        for (int i = 0; i < 2; i++) {
            pprofdelta_census census;
            scene_pending(&s, two_stacks_look(&p, 12 + i));
            CHECK(!pprofdelta_check(s.pd, s.bytes.ptr, s.bytes.len, &census, NULL));
            CHECK(census.stamp.is_delta && census.stamp.sequence == (is_numbered ? 2 : 0));
            CHECK(census.stamp.attempt == (is_numbered ? (uint64_t)i + 1 : 0));
            CHECK(s.report.sequence == census.stamp.sequence);
            CHECK(s.report.attempt == census.stamp.attempt);
            pprofdelta_abandon(s.pd);
        }
        CHECK_STR(scene_base(&s, two_stacks_look(&p, 10)), "base");
        for (uint64_t sequence = 3; sequence < 5; sequence++) { /* a base ends what is open */
            pprofdelta_census census;
            scene_window(&s, two_stacks_look(&p, 14));
            CHECK(s.report.sequence == (is_numbered ? sequence : 0) &&
                  s.report.attempt == (is_numbered ? 1 : 0));
            CHECK(!pprofdelta_check(s.pd, s.bytes.ptr, s.bytes.len, &census, NULL));
            CHECK(census.stamp.acked == (!is_numbered ? 0 : sequence == 3 ? 1 : 3));
            CHECK_STR(scene_base(&s, two_stacks_look(&p, 14)), "base");
        }
        scene_end(&s);
    }
    two_stacks_end(&p);
}

TEST(negative_deltas_need_a_base_each)
{
    two_stacks p;
    two_stacks_begin(&p);
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.on_reset = PPROFDELTA_ON_RESET_NEGATIVE;
    scene s;
    scene_begin(&s, &options);
    scene_window(&s, two_stacks_look(&p, 10));
    CHECK(s.status == PPROFDELTA_E_USAGE);
    buf bytes = two_stacks_look(&p, 10);
    CHECK_STR(scene_base(&s, bytes), "base");
    memset(bytes.ptr, 0xff, bytes.len); /* they were borrowed for the call alone */
    p.b.m.samples_len = 1;
    CHECK_STR(scene_pending(&s, two_stacks_look(&p, 7)), "leaf;main -3 0, other -100 -100");
    pprofdelta_abandon(s.pd);
    CHECK_STR(scene_window(&s, two_stacks_look(&p, 8)), "leaf;main -2 0, other -100 -100");
    scene_window(&s, two_stacks_look(&p, 9));
    CHECK(s.status == PPROFDELTA_E_USAGE);
    CHECK_STR(scene_base(&s, two_stacks_look(&p, 5)), "base");
    CHECK_STR(scene_window(&s, two_stacks_look(&p, 4)), "leaf;main -1 0");
    scene_end(&s);
    two_stacks_end(&p);
}

TEST(a_start_holds_until_it_is_set_again)
{
    two_stacks p;
    two_stacks_begin(&p);
    scene s;
    scene_begin(&s, NULL);
    scene_window(&s, two_stacks_look(&p, 10));
    int64_t now = p.b.m.time_nanos;
    pprofdelta_set_started(s.pd, now + 1);
    for (int i = 0; i < 2; i++) { /* a restart before the window, whatever attempt it is */
        CHECK_STR(scene_pending(&s, two_stacks_look(&p, 12)), "leaf;main 12 1000, other 100 100");
        CHECK(s.report.restart == PPROFDELTA_RESTART_STARTED && s.report.sequence == 2);
        i ? pprofdelta_commit(s.pd) : pprofdelta_abandon(s.pd);
    }
    CHECK_STR(scene_pending(&s, two_stacks_look(&p, 14)), "leaf;main 2 0");
    CHECK(s.report.restart == PPROFDELTA_RESTART_NONE);
    pprofdelta_abandon(s.pd);
    pprofdelta_set_started(s.pd, p.b.m.time_nanos + 1);
    pprofdelta_set_started(s.pd, 0);
    CHECK_STR(scene_window(&s, two_stacks_look(&p, 14)), "leaf;main 2 0");
    scene_end(&s);
    two_stacks_end(&p);
}

/* ---------------------------------------------------------------------------------------------
 * What check and inflate tell
 * ------------------------------------------------------------------------------------------ */

/* All samples stay, the compact form of the compact form is the same, and a table that nothing uses
 * is left out. */
TEST(rewrite_keeps_every_sample)
{
    two_stacks p;
    two_stacks_begin(&p);
    scene s;
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.compression = PPROFDELTA_PLAIN;
    scene_begin(&s, &options);
    build_place(&p.b, "unused", NULL, 0);
    buf plain = two_stacks_look(&p, 0);
    p.other->values[0] = p.other->values[1] = 0; /* zero samples stay, too */
    buf zeros = two_stacks_look(&p, 0);
    pprofdelta_census before, after;
    pprofdelta_error err;
    for (int i = 0; i < 2; i++) {
        const buf *in = i ? &zeros : &plain;
        collector once = {.bytes = buf_begin(&p.b.arena)}, twice = {.bytes = buf_begin(&p.b.arena)};
        pprofdelta_sink first = collector_sink(&once), second = collector_sink(&twice);
        REQUIRE(!pprofdelta_rewrite(s.pd, in->ptr, in->len, &first, &err));
        REQUIRE(!pprofdelta_rewrite(s.pd, once.bytes.ptr, once.bytes.len, &second, &err));
        CHECK(once.bytes.len == twice.bytes.len &&
              !memcmp(once.bytes.ptr, twice.bytes.ptr, once.bytes.len));
        CHECK(!pprofdelta_check(s.pd, in->ptr, in->len, &before, &err));
        CHECK(!pprofdelta_check(s.pd, once.bytes.ptr, once.bytes.len, &after, &err));
        CHECK(after.samples == before.samples && after.time_nanos == before.time_nanos);
        CHECK(after.types == before.types && after.strings <= before.strings);
    }
    scene_end(&s);
    two_stacks_end(&p);
}

TEST(rewrite_refuses_what_is_wrong)
{
    two_stacks p;
    two_stacks_begin(&p);
    scene s;
    scene_begin(&s, NULL);
    buf plain = two_stacks_look(&p, 10);
    buf cut = cut_off(plain);
    size_t calls = 0;
    pprofdelta_sink sink = {ignore, &calls}, none = {NULL, NULL};
    CHECK(pprofdelta_rewrite(s.pd, cut.ptr, cut.len, &sink, NULL) != PPROFDELTA_OK);
    CHECK(pprofdelta_rewrite(s.pd, NULL, 1, &sink, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_rewrite(s.pd, plain.ptr, plain.len, &none, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_rewrite(s.pd, plain.ptr, plain.len, NULL, NULL) == PPROFDELTA_E_USAGE);
    CHECK(pprofdelta_window(s.pd, plain.ptr, plain.len, &sink, NULL, NULL) == PPROFDELTA_OK);
    size_t before = calls;
    CHECK(pprofdelta_rewrite(s.pd, plain.ptr, plain.len, &sink, NULL) == PPROFDELTA_E_USAGE);
    CHECK(calls == before);
    pprofdelta_commit(s.pd);
    CHECK(pprofdelta_rewrite(s.pd, plain.ptr, plain.len, &sink, NULL) == PPROFDELTA_OK);
    buf next = two_stacks_look(&p, 15);
    CHECK(pprofdelta_window(s.pd, next.ptr, next.len, &sink, NULL, NULL) == PPROFDELTA_OK);
    pprofdelta_abandon(s.pd);
    scene_end(&s);
    two_stacks_end(&p);
}

/* ---------------------------------------------------------------------------------------------
 * Verify: a check that can fail
 * ------------------------------------------------------------------------------------------ */

static pprofdelta_status verify(pprofdelta *pd, const pd_tally *tally, pprofdelta_error *err)
{
    pprofdelta_status status = pd_output_verify_input(pd, tally, err);
    return status ? status : pd_output_verify(pd, tally, err);
}

/* The books of the pending window, as it was reported. */
static pd_tally book(const pprofdelta_report *report)
{
    pd_tally tally = {0};
    for (size_t i = 0; i < report->types_len; i++)
        tally.types[i] =
            (pd_type_sums){report->types[i].prev, report->types[i].cur, report->types[i].delta,
                           report->types[i].clamped, report->types[i].vanished};
    return tally;
}

TEST(verify_sees_what_does_not_add_up)
{
    two_stacks p;
    two_stacks_begin(&p);
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.compression = PPROFDELTA_PLAIN;
    scene s;
    scene_begin(&s, &options);
    scene_window(&s, two_stacks_look(&p, 10));
    CHECK_STR(scene_pending(&s, two_stacks_look(&p, 12)), "leaf;main 2 0");
    pd_tally good = book(&s.report);
    CHECK(verify(s.pd, &good, NULL) == PPROFDELTA_OK);
    for (size_t type = 0; type < 2; type++)
        for (size_t sum = 0; sum < 5; sum++) {
            pd_tally bad = good;
            pd_type_sums *t = &bad.types[type];
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
    scene_end(&s);
    two_stacks_end(&p);
}

TEST_MAIN()

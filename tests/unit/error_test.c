/* Errors: the text of a status, complete error structs, results unchanged after a failure. */
#include "../support/test.h"

#include "pack.h"
#include "pprofdelta_profile.h"
#include "scene.h"
#include "two_stacks.h"

/* ---- One input for every way to fail --------------------------------------------------------- */

typedef struct failure {
    pprofdelta_status status;
    pprofdelta_on_reset on_reset;
    const char *stage;
    buf (*make)(two_stacks *p);
} failure;

static buf make_good(two_stacks *p)
{
    return two_stacks_look(p,
                           11); /* it may have arrived, so the next window has at least as much */
}

static buf make_smaller(two_stacks *p)
{
    return two_stacks_look(p, 9);
}

static buf make_cut_off(two_stacks *p)
{
    buf whole = two_stacks_look(p, 20);
    whole.len--;
    return whole;
}

static buf make_damaged(two_stacks *p)
{
    buf packed = pack_gzip(&p->b.arena, two_stacks_look(p, 20), 1);
    packed.ptr[packed.len - 1] ^= 1;
    return packed;
}

static buf make_dangling(two_stacks *p)
{
    static const uint8_t sample[] = {0x12, 0x06, 0x0a, 0x01, 0x63, 0x12, 0x01, 0x05};
    buf whole = two_stacks_look(p, 20);
    buf_add(&whole, sample, sizeof sample);
    return whole;
}

static buf make_other_types(two_stacks *p)
{
    p->b.m.types[1].unit = "microseconds";
    buf made = two_stacks_look(p, 20);
    p->b.m.types[1].unit = "nanoseconds";
    return made;
}

static buf make_older(two_stacks *p)
{
    p->b.m.time_nanos = 0; /* a look is taken a microsecond later: prev was taken after two */
    return two_stacks_look(p, 9);
}

static buf make_stamped(two_stacks *p)
{
    build_comment(&p->b, "pprofdelta: delta from=1 to=2");
    buf made = two_stacks_look(p, 20);
    p->b.m.comments_len = 0;
    return made;
}

static buf make_nothing(two_stacks *p)
{
    return buf_begin(&p->b.arena);
}

static const failure failures[] = {
    {PPROFDELTA_E_INFLATE, PPROFDELTA_ON_RESET_AUTO, "inflate", make_damaged},
    {PPROFDELTA_E_WIRE, PPROFDELTA_ON_RESET_AUTO, "wire", make_cut_off},
    {PPROFDELTA_E_PROFILE, PPROFDELTA_ON_RESET_AUTO, "profile", make_dangling},
    {PPROFDELTA_E_PROFILE, PPROFDELTA_ON_RESET_AUTO, "profile", make_nothing},
    {PPROFDELTA_E_MISMATCH, PPROFDELTA_ON_RESET_AUTO, "delta", make_other_types},
    {PPROFDELTA_E_OLDER, PPROFDELTA_ON_RESET_AUTO, "delta", make_older},
    {PPROFDELTA_E_STAMPED, PPROFDELTA_ON_RESET_AUTO, "delta", make_stamped},
    {PPROFDELTA_E_RESET, PPROFDELTA_ON_RESET_FAIL, "delta", make_smaller},
    {PPROFDELTA_E_SINK, PPROFDELTA_ON_RESET_AUTO, "write", make_good},
};
enum { FAILURES = sizeof failures / sizeof *failures };

/* Runs one of them against a context that knows the process at 10. */
static pprofdelta_status fail_with(const failure *f, pprofdelta_report *report,
                                   pprofdelta_error *err)
{
    ENDS(two_stacks_end) two_stacks p;
    two_stacks_begin(&p);
    pprofdelta_options options = PPROFDELTA_OPTIONS_INIT;
    options.id = 1;
    options.on_reset = f->on_reset;
    ENDS(scene_end) scene s;
    scene_begin(&s, &options);
    CHECK_STR(scene_window(&s, two_stacks_look(&p, 10)), "leaf;main 10 1000, other 100 100");
    bool refuses = f->status == PPROFDELTA_E_SINK;
    collector c = {.bytes = buf_begin(&p.b.arena), .fail_at = refuses};
    pprofdelta_sink sink = collector_sink(&c);
    buf bad = f->make(&p);
    pprofdelta_status status = pprofdelta_window(s.pd, bad.ptr, bad.len, &sink, report, err);
    CHECK(c.calls == refuses);
    p.b.m.time_nanos = 1000000;
    CHECK_STR(scene_window(&s, two_stacks_look(&p, 12)),
              "leaf;main 2 0"); /* as if nothing had been */
    CHECK(s.report.sequence == 2);
    return status;
}

/* ---- Statuses and errors --------------------------------------------------------------------- */

TEST(every_status_has_its_own_text)
{
    for (int i = PPROFDELTA_OK; i <= PPROFDELTA_E_OTHER_TARGET; i++) {
        const char *text = pprofdelta_status_text((pprofdelta_status)i);
        REQUIRE(text && *text);
        for (int n = PPROFDELTA_OK; n < i; n++)
            CHECK(strcmp(text, pprofdelta_status_text((pprofdelta_status)n)) != 0);
    }
    static const int unknown[] = {PPROFDELTA_E_OTHER_TARGET + 1, -1, 1000, INT32_MAX, INT32_MIN};
    const char *first = pprofdelta_status_text((pprofdelta_status)unknown[0]);
    REQUIRE(first && *first);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        CHECK_STR(pprofdelta_status_text((pprofdelta_status)unknown[i]), first);
    for (int i = PPROFDELTA_OK; i <= PPROFDELTA_E_OTHER_TARGET; i++)
        CHECK(strcmp(first, pprofdelta_status_text((pprofdelta_status)i)) != 0);
}

TEST(the_version_is_that_of_the_project)
{
    CHECK_STR(pprofdelta_version(), PD_PROJECT_VERSION);
    CHECK_STR(PPROFDELTA_VERSION, PD_PROJECT_VERSION);
}

/* Bytes that nothing has written to, padding and all. */
enum { UNTOUCHED = 0x5a };

static bool is_untouched(const void *ptr, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((const uint8_t *)ptr)[i] != UNTOUCHED)
            return false;
    return true;
}

/* Whatever stood in the struct before, a failure leaves the same in it: all of it was written. */
TEST(a_failure_sets_the_whole_error_and_no_report)
{
    for (size_t i = 0; i < FAILURES; i++) {
        pprofdelta_error errors[2];
        pprofdelta_report report;
        memset(&report, UNTOUCHED, sizeof report);
        for (int n = 0; n < 2; n++) {
            memset(&errors[n], n ? 0xff : 0x01, sizeof errors[n]);
            CHECK_MSG(fail_with(&failures[i], &report, &errors[n]) == failures[i].status,
                      "case %zu", i);
            CHECK_MSG(is_untouched(&report, sizeof report), "case %zu", i);
        }
        const pprofdelta_error *a = &errors[0], *b = &errors[1];
        CHECK(a->status == failures[i].status && b->status == a->status);
        CHECK(a->reason == b->reason);
        CHECK(a->reason == (a->status == PPROFDELTA_E_MISMATCH ? PPROFDELTA_REASON_OTHER_TYPES
                                                               : PPROFDELTA_REASON_NONE));
        REQUIRE(a->stage && a->stage == b->stage);
        CHECK_STR(a->stage, failures[i].stage);
        REQUIRE(memchr(a->field, 0, sizeof a->field) && memchr(a->text, 0, sizeof a->text));
        REQUIRE(memchr(b->field, 0, sizeof b->field) && memchr(b->text, 0, sizeof b->text));
        CHECK_STR(a->field, b->field);
        CHECK_STR(a->text, b->text);
        CHECK(*a->text && a->element == b->element && a->offset == b->offset);
    }
}

TEST(a_failed_check_does_not_change_the_results)
{
    ENDS(two_stacks_end) two_stacks p;
    two_stacks_begin(&p);
    static buf (*const makers[])(two_stacks *) = {make_cut_off, make_damaged, make_dangling,
                                                  make_nothing};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        buf bad = makers[i](&p);
        pprofdelta_profile *profile;
        memset(&profile, UNTOUCHED, sizeof profile);
        CHECK(pprofdelta_profile_open(NULL, NULL, bad.ptr, bad.len, &profile, NULL));
        CHECK_MSG(is_untouched(&profile, sizeof profile), "case %zu", i);
    }
}

TEST_MAIN()

/* The public header, by itself: the first thing that is included, and all that is. */
#include "pprofdelta_profile.h"

#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
#error "the header is for C11"
#endif

/* What programs are compiled against: changing any of it breaks them. */
_Static_assert(PPROFDELTA_OK == 0, "a status is tested as a truth value");
_Static_assert(PPROFDELTA_E_USAGE == 11, "statuses are not renumbered");
_Static_assert(PPROFDELTA_E_STATE == 12 && PPROFDELTA_E_SOURCE == 13, "nor are the later ones");
_Static_assert(PPROFDELTA_E_NOT_CUMULATIVE == 14 && PPROFDELTA_E_OLDER == 15 &&
                   PPROFDELTA_E_OTHER_TARGET == 16,
               "nor are the last ones");
_Static_assert(PPROFDELTA_REASON_NONE == 0 && PPROFDELTA_REASON_MAX_MEMORY == 1 &&
                   PPROFDELTA_REASON_NEWER_STATE == 13,
               "reasons are not renumbered");
_Static_assert(PPROFDELTA_ON_RESET_FAIL == 4 && PPROFDELTA_FIRST_ZERO == 1 &&
                   PPROFDELTA_PLAIN == 2 && PPROFDELTA_RESTART_ANY == 4 &&
                   PPROFDELTA_RESTART_LIVE == 5,
               "choices are not renumbered");
_Static_assert(PPROFDELTA_NO_STAMP == 1 && PPROFDELTA_FORCE == 2 && PPROFDELTA_VERIFY == 4 &&
                   PPROFDELTA_DEFAULT_COUNTER == 8,
               "flags keep their bits");
_Static_assert(sizeof(pprofdelta_sum) == 16, "a sum is 128 bits");
_Static_assert(PPROFDELTA_NOWHERE == UINT64_MAX && PPROFDELTA_MAX_TYPES == 64,
               "limits are not narrowed");
_Static_assert(PPROFDELTA_DEFAULT_MAX_MEMORY == 8589934592, "the default is 8 GiB");

#include "../support/test.h"

static int take(void *cookie, const void *data, size_t len)
{
    (void)data;
    *(size_t *)cookie += len;
    return 0;
}

TEST(options_begin_with_the_defaults)
{
    pprofdelta_options zero, init = PPROFDELTA_OPTIONS_INIT;
    static const pprofdelta_options as_static = PPROFDELTA_OPTIONS_INIT;
    memset(&zero, 0, sizeof zero);
    zero.size = sizeof zero;
    CHECK(init.size == zero.size && init.flags == zero.flags && init.on_reset == zero.on_reset &&
          init.first == zero.first && init.compression == zero.compression &&
          init.level == zero.level && init.max_memory == zero.max_memory &&
          init.counters == zero.counters && init.counters_len == zero.counters_len &&
          init.gauges == zero.gauges && init.gauges_len == zero.gauges_len);
    CHECK(as_static.size == sizeof as_static);
}

/* Every function can be called with nothing but the header: { one counter of 5 }, then of 7. */
TEST(the_calls_of_the_opening_comment)
{
    static const uint8_t prev[] = {0x0a, 0x04, 0x08, 0x01, 0x10, 0x02, 0x12, 0x03, 0x12, 0x01, 0x05,
                                   0x32, 0x00, 0x32, 0x05, 'd',  'e',  'l',  'a',  'y',  0x32, 0x0b,
                                   'n',  'a',  'n',  'o',  's',  'e',  'c',  'o',  'n',  'd',  's'};
    uint8_t cur[sizeof prev];
    memcpy(cur, prev, sizeof cur);
    cur[10] = 0x07;
    size_t written = 0, len = 0;
    const uint8_t *plain = NULL;
    pprofdelta_sink sink = {take, &written};
    pprofdelta *pd = NULL;
    pprofdelta_error err;
    pprofdelta_report report = {.size = sizeof report};
    pprofdelta_profile *profile;
    pprofdelta_census census = {.size = sizeof census};
    REQUIRE(pprofdelta_new(NULL, NULL, &pd, &err) == PPROFDELTA_OK);
    pprofdelta_set_started(pd, 0);
    REQUIRE(!pprofdelta_profile_open(NULL, NULL, prev, sizeof prev, &profile, &err));
    pprofdelta_profile_census(profile, &census);
    CHECK(pprofdelta_profile_bytes(profile, &plain, &len, &err) == PPROFDELTA_OK);
    pprofdelta_profile_free(profile);
    CHECK(census.samples == 1 && plain == prev && len == sizeof prev);
    CHECK(pprofdelta_base(pd, prev, sizeof prev, &err) == PPROFDELTA_OK);
    CHECK(pprofdelta_window(pd, cur, sizeof cur, &sink, &report, &err) == PPROFDELTA_OK);
    CHECK(written > 0 && report.output_len == written && report.types_len == 1);
    CHECK(report.types[0].delta.lo == 2 && report.types[0].delta.hi == 0);
    pprofdelta_abandon(pd);
    CHECK(pprofdelta_window(pd, cur, sizeof cur, &sink, &report, &err) == PPROFDELTA_OK);
    pprofdelta_commit(pd);
    CHECK(pprofdelta_begin(pd, cur, sizeof cur, &err) == PPROFDELTA_OK);
    pprofdelta_abandon(pd);
    CHECK(pprofdelta_begin(pd, cur, sizeof cur, &err) == PPROFDELTA_OK);
    CHECK(pprofdelta_write(pd, &sink, &report, &err) == PPROFDELTA_OK);
    CHECK(pprofdelta_commit(pd) == PPROFDELTA_OK);
    pprofdelta_free(pd);
    CHECK_STR(pprofdelta_version(), PPROFDELTA_VERSION);
    CHECK_STR(pprofdelta_status_text(PPROFDELTA_OK), "done");
}

TEST_MAIN()

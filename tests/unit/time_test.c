/* Times as text, compared with the C library's calendar. */
#include "test.h"

#include "base/time.h"
#include "rng.h"

#include <inttypes.h>
#include <time.h>

#define NANOS INT64_C(1000000000)

TEST(known_times)
{
    static const struct {
        int64_t nanos;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00Z"},
        {-1, "1969-12-31T23:59:59.999999999Z"},
        {NANOS / 2, "1970-01-01T00:00:00.5Z"},
        {951782400 * NANOS, "2000-02-29T00:00:00Z"},
        {1795343527 * NANOS, "2026-11-22T10:32:07Z"},
        {1795343527 * NANOS + 120, "2026-11-22T10:32:07.00000012Z"},
        {INT64_MAX, "2262-04-11T23:47:16.854775807Z"},
        {INT64_MIN, "1677-09-21T00:12:43.145224192Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[48];
        CHECK(pd_time_format(cases[i].nanos, text) == text);
        CHECK_STR(text, cases[i].text);
    }
}

TEST(the_calendar_is_that_of_the_c_library)
{
    rng r = {1};
    for (int i = 0; i < 20000; i++) {
        int64_t seconds = (int64_t)rng_below_wide(&r, 18000000000) - 9000000000;
        time_t at = (time_t)seconds;
        if (at != seconds)
            continue; /* a time_t of 32 bits */
        struct tm tm;
        char want[48], got[48];
        REQUIRE(gmtime_r(&at, &tm));
        snprintf(want, sizeof want, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        CHECK_STR(pd_time_format(seconds * NANOS, got), want);
    }
}

TEST(time_zero_is_unknown)
{
    CHECK_STR(pd_time_shown(0).text, "an unknown time");
    CHECK_STR(pd_time_shown(NANOS).text, "1970-01-01T00:00:01Z");
}

TEST_MAIN()

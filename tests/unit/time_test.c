/* Times as text, compared with the C library's calendar. */
#include "test.h"

#include "base/time.h"
#include "rng.h"
#include "rows.h"

#include <inttypes.h>
#include <time.h>

#define NANOS INT64_C(1000000000)

TEST(known_times)
{
    for (table_rows r = {0}; rows_next(&r, "numbers", "times");) {
        char text[48];
        CHECK(pd_time_format(strtoll(r.cells[0], NULL, 10), text) == text);
        CHECK_STR(text, r.cells[1]);
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

/* Nanoseconds since 1970 as an RFC 3339 time in UTC, computed without locale and time zone.
 *
 * Days are counted in the proleptic Gregorian calendar with years that begin in March. The leap day
 * is then the last day of its year, and the first day of a month is a linear function of the month.
 */
#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NANOS INT64_C(1000000000)

enum { DAYS_400 = 146097, DAYS_TO_1970 = 719468 }; /* days in 400 years; 1 March 0 to 1970 */

static void date_of(int64_t days, int *year, int *month, int *day)
{
    days += DAYS_TO_1970;
    int64_t era = (days >= 0 ? days : days - (DAYS_400 - 1)) / DAYS_400;
    int64_t in_era = days - era * DAYS_400;
    int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / (DAYS_400 - 1)) / 365;
    int64_t day_of_year = in_era - (365 * y + y / 4 - y / 100);
    int64_t march = (5 * day_of_year + 2) / 153;
    *day = (int)(day_of_year - (153 * march + 2) / 5 + 1);
    *month = (int)(march < 10 ? march + 3 : march - 9);
    *year = (int)(y + era * 400 + (*month <= 2));
}

/* Writes the fraction of a second without trailing zeros. */
static int put_fraction(char *to, size_t room, int64_t nanos)
{
    if (!nanos)
        return 0;
    int digits = 9;
    for (; nanos % 10 == 0; digits--)
        nanos /= 10;
    return snprintf(to, room, ".%0*" PRId64, digits, nanos);
}

char *pd_time_format(int64_t nanos, char buf[48])
{
    int64_t seconds = nanos / NANOS, rest = nanos % NANOS;
    if (rest < 0) {
        rest += NANOS;
        seconds--;
    }
    int64_t days = seconds / 86400, of_day = seconds % 86400;
    if (of_day < 0) {
        of_day += 86400;
        days--;
    }
    int year, month, day, s = (int)of_day;
    date_of(days, &year, &month, &day);
    int at = snprintf(buf, 48, "%04d-%02d-%02dT%02d:%02d:%02d", year, month, day, s / 3600,
                      s / 60 % 60, s % 60);
    at += put_fraction(buf + at, 48 - (size_t)at, rest);
    snprintf(buf + at, 48 - (size_t)at, "Z");
    return buf;
}

int64_t pd_time_now(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return 0;
    return (int64_t)now.tv_sec * NANOS + now.tv_nsec;
}

pd_time_text pd_time_shown(int64_t nanos)
{
    pd_time_text shown = {"an unknown time"};
    if (nanos)
        pd_time_format(nanos, shown.text);
    return shown;
}

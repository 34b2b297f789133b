#define _TIME_BITS 64 /* also where time_t has 32 bits */
#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define NANOS INT64_C(1000000000)

char *pd_time_format(int64_t nanos, char buf[48])
{
    int64_t rest = nanos % NANOS;
    time_t seconds = (time_t)(nanos / NANOS - (rest < 0));
    struct tm t;
    rest += rest < 0 ? NANOS : 0;
    gmtime_r(&seconds, &t);
    int at = snprintf(buf, 48, "%04d-%02d-%02dT%02d:%02d:%02d.%09" PRId64, t.tm_year + 1900,
                      t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, rest);
    while (buf[at - 1] == '0')
        at--;
    at -= buf[at - 1] == '.';
    buf[at] = 'Z';
    buf[at + 1] = 0;
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

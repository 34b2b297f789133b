/* Times and spans from and to text: see instant.h. */
#define _TIME_BITS 64 /* also where time_t has 32 bits */
#include "instant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NANOS INT64_C(1000000000)

static int64_t now_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * NANOS + t.tv_nsec;
}

int64_t cli_instant_now(void)
{
    return now_of(CLOCK_REALTIME);
}

int64_t cli_monotonic_now(void)
{
    return now_of(CLOCK_MONOTONIC);
}

/* Writes ".5" for 500000000, and nothing for 0. Returns its end. */
static char *put_fraction(char *to, int64_t nanos)
{
    int len = sprintf(to, ".%09" PRId64, nanos);
    while (to[len - 1] == '0')
        len--;
    return to + len - (to[len - 1] == '.');
}

char *cli_instant_format(int64_t nanos, char buf[48])
{
    int64_t rest = nanos % NANOS;
    time_t seconds = (time_t)(nanos / NANOS - (rest < 0));
    struct tm t;
    size_t len = strftime(buf, 48, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &t));
    strcpy(put_fraction(buf + len, rest < 0 ? rest + NANOS : rest), "Z");
    return buf;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Has the text digits where the shape has 0, and else its characters? */
static bool has_shape(const char *text, const char *shape)
{
    for (; *shape; text++, shape++)
        if (*shape == '0' ? !is_digit(*text) : *text != *shape)
            return false;
    return true;
}

/* An optional fraction: ".5" is 500000000. */
static bool parse_fraction(const char **p, int64_t *nanos)
{
    *nanos = 0;
    if (**p != '.')
        return true;
    ++*p;
    int64_t unit = NANOS;
    if (!is_digit(**p))
        return false;
    for (; is_digit(**p); ++*p) {
        unit /= 10;
        *nanos += unit * (**p - '0');
    }
    return true;
}

/* "Z", "+01:00", "-08:30", as seconds east. */
static bool parse_zone(const char **p, int *east)
{
    int hours = 0, minutes = 0;
    bool is_utc = **p == 'Z' || **p == 'z', is_west = **p == '-';
    if (!is_utc && (!(is_west || **p == '+') || !has_shape(*p + 1, "00:00")))
        return false;
    if (!is_utc)
        sscanf(*p + 1, "%2d:%2d", &hours, &minutes); // NOLINT(cert-err34-c): two digits each
    *p += is_utc ? 1 : 6;
    *east = (hours * 60 + minutes) * (is_west ? -60 : 60);
    return hours <= 23 && minutes <= 59;
}

static bool parse_calendar(const char **p, int64_t *seconds, int64_t *nanos)
{
    struct tm t = {0};
    const char between[] = {'T', 't', ' '};
    int second, east;
    if (!has_shape(*p, "0000-00-00") || !memchr(between, (*p)[10], sizeof between) ||
        !has_shape(*p + 11, "00:00:00"))
        return false;
    sscanf(*p, "%4d-%2d-%2d%*c%2d:%2d:%2d", // NOLINT(cert-err34-c): all are digits
           &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour, &t.tm_min, &second);
    *p += sizeof "2026-11-21T08:00:00" - 1;
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    const struct tm given = t;
    *seconds = timegm(&t) + second;
    /* What is out of range comes back as another date or time. A minute may have a leap second. */
    if (t.tm_year != given.tm_year || t.tm_mon != given.tm_mon || t.tm_mday != given.tm_mday ||
        t.tm_hour != given.tm_hour || t.tm_min != given.tm_min || second > 60 ||
        !parse_fraction(p, nanos) || !parse_zone(p, &east))
        return false;
    *seconds -= east;
    return true;
}

static bool parse_unix_time(const char **p, int64_t *seconds, int64_t *nanos)
{
    const char *first = *p;
    *seconds = 0;
    for (; is_digit(**p); ++*p) {
        *seconds = *seconds * 10 + (**p - '0');
        if (*seconds > INT64_MAX / NANOS)
            return false;
    }
    return *p != first && parse_fraction(p, nanos);
}

bool cli_instant_parse(const char *text, int64_t *nanos)
{
    const char *p = text;
    int64_t seconds, rest, total;
    p += *text == '@';
    if (!(*text == '@' ? parse_unix_time : parse_calendar)(&p, &seconds, &rest))
        return false;
    if (*p || __builtin_mul_overflow(seconds, NANOS, &total) ||
        __builtin_add_overflow(total, rest, &total))
        return false;
    *nanos = total;
    return true;
}

bool cli_span_parse(const char *text, int64_t *nanos)
{
    static const struct {
        const char *name;
        int64_t nanos;
    } units[] = {{"", NANOS},       {"s", NANOS},        {"ms", NANOS / 1000},
                 {"m", NANOS * 60}, {"h", NANOS * 3600}, {"d", NANOS * 86400}};
    const double most = (double)NANOS * 86400 * 366;
    char *end;
    double number = is_digit(*text) ? strtod(text, &end) : 0;
    if (!is_digit(*text) || end != text + strspn(text, "0123456789.") || end[-1] == '.')
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double total = number * (double)units[i].nanos + 0.5;
        if (strcmp(end, units[i].name) != 0)
            continue;
        if (total >= 1 && total <= most)
            *nanos = (int64_t)total;
        return total >= 1 && total <= most;
    }
    return false;
}

char *cli_span_format(int64_t nanos, char buf[48])
{
    uint64_t size = nanos < 0 ? 0 - (uint64_t)nanos : (uint64_t)nanos;
    int len = sprintf(buf, "%s%" PRIu64, nanos < 0 ? "-" : "", size / (uint64_t)NANOS);
    strcpy(put_fraction(buf + len, (int64_t)(size % (uint64_t)NANOS)), " s");
    return buf;
}

/* Times and spans from and to text: see instant.h. */
#define _TIME_BITS 64 /* also where time_t has 32 bits */
#include "instant.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NANOS INT64_C(1000000000)

static int64_t days_of(int year, int month, int day)
{
    struct tm t = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    return (int64_t)timegm(&t) / 86400;
}

char *cli_instant_format(int64_t nanos, char buf[48])
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

/* Exactly `digits` digits. */
static bool number(const char **p, int digits, int *value)
{
    *value = 0;
    for (int i = 0; i < digits; i++, ++*p) {
        if (**p < '0' || **p > '9')
            return false;
        *value = *value * 10 + (**p - '0');
    }
    return true;
}

static bool letter(const char **p, char lower, char upper)
{
    if (**p != lower && **p != upper)
        return false;
    ++*p;
    return true;
}

/* An optional fraction: ".5" is 500000000. */
static bool fraction(const char **p, int64_t *nanos)
{
    *nanos = 0;
    if (**p != '.')
        return true;
    ++*p;
    int64_t unit = NANOS;
    if (**p < '0' || **p > '9')
        return false;
    for (; **p >= '0' && **p <= '9'; ++*p) {
        unit /= 10;
        *nanos += unit * (**p - '0');
    }
    return true;
}

/* "Z", "+01:00", "-08:30", as seconds east. */
static bool zone(const char **p, int *east)
{
    *east = 0;
    if (letter(p, 'z', 'Z'))
        return true;
    bool west = **p == '-';
    int hours, minutes;
    if (!letter(p, '+', '-') || !number(p, 2, &hours) || !letter(p, ':', ':') ||
        !number(p, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *east = (hours * 60 + minutes) * (west ? -60 : 60);
    return true;
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 && leap ? 29 : days[month - 1];
}

static bool calendar(const char **p, int64_t *seconds, int64_t *nanos)
{
    int year, month, day, hour, minute, second, east;
    if (!number(p, 4, &year) || !letter(p, '-', '-') || !number(p, 2, &month) ||
        !letter(p, '-', '-') || !number(p, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_in(year, month))
        return false;
    if (!letter(p, 't', 'T') && !letter(p, ' ', ' '))
        return false;
    if (!number(p, 2, &hour) || !letter(p, ':', ':') || !number(p, 2, &minute) ||
        !letter(p, ':', ':') || !number(p, 2, &second))
        return false;
    if (hour > 23 || minute > 59 || second > 60) /* 60: a leap second */
        return false;
    if (!fraction(p, nanos) || !zone(p, &east))
        return false;
    int of_day = (hour * 60 + minute) * 60 + second;
    *seconds = days_of(year, month, day) * 86400 + of_day - east;
    return true;
}

static bool unix_time(const char **p, int64_t *seconds, int64_t *nanos)
{
    const char *first = *p;
    *seconds = 0;
    for (; **p >= '0' && **p <= '9'; ++*p) {
        *seconds = *seconds * 10 + (**p - '0');
        if (*seconds > INT64_MAX / NANOS)
            return false;
    }
    return *p != first && fraction(p, nanos);
}

bool cli_instant_parse(const char *text, int64_t *nanos)
{
    const char *p = text;
    int64_t seconds, rest, total;
    if (!(letter(&p, '@', '@') ? unix_time(&p, &seconds, &rest) : calendar(&p, &seconds, &rest)))
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
    const int64_t most = NANOS * 86400 * 366;
    const char *p = text;
    int64_t whole = 0, rest, part = 0;
    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++)
        if ((whole = whole * 10 + (*p - '0')) > most)
            return false;
    if (!fraction(&p, &rest)) /* in billionths of the unit */
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(p, units[i].name) != 0)
            continue;
        int64_t unit = units[i].nanos, total;
        part = unit >= NANOS ? rest * (unit / NANOS) : rest / (NANOS / unit);
        if (__builtin_mul_overflow(whole, unit, &total) ||
            __builtin_add_overflow(total, part, &total) || total <= 0 || total > most)
            return false;
        *nanos = total;
        return true;
    }
    return false;
}

/* Writes the fraction of a second, without trailing zeros. */
static int put_fraction(char *to, size_t room, int64_t nanos)
{
    if (!nanos)
        return snprintf(to, room, "%s", "");
    int digits = 9;
    for (; nanos % 10 == 0; digits--)
        nanos /= 10;
    return snprintf(to, room, ".%0*" PRId64, digits, nanos);
}

char *cli_span_format(int64_t nanos, char buf[48])
{
    uint64_t size = nanos < 0 ? 0 - (uint64_t)nanos : (uint64_t)nanos;
    int at = snprintf(buf, 48, "%s%" PRIu64, nanos < 0 ? "-" : "", size / (uint64_t)NANOS);
    at += put_fraction(buf + at, 48 - (size_t)at, (int64_t)(size % (uint64_t)NANOS));
    snprintf(buf + at, 48 - (size_t)at, " s");
    return buf;
}

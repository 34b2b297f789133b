/* Sums, and numbers that are easy to read: see units.h. */
#include "units.h"

#include <string.h>

typedef struct step {
    double size; /* of one, in the unit of the profile */
    const char *name;
} step;

static const step bytes[] = {
    {0x1p60, "EiB"}, {0x1p50, "PiB"}, {0x1p40, "TiB"}, {0x1p30, "GiB"},
    {0x1p20, "MiB"}, {0x1p10, "KiB"}, {1, "B"},
};
static const step nanoseconds[] = {
    {86400e9, "d"}, {3600e9, "h"}, {60e9, "min"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"},
};

pprofdelta_sum cli_sum_size(pprofdelta_sum sum)
{
    const pprofdelta_sum negated = {~sum.lo + 1, (int64_t)(~(uint64_t)sum.hi + !sum.lo)};
    return sum.hi < 0 ? negated : sum;
}

int cli_sum_by_size(pprofdelta_sum a, pprofdelta_sum b)
{
    const pprofdelta_sum x = cli_sum_size(a), y = cli_sum_size(b);
    if (x.hi != y.hi)
        return x.hi > y.hi ? -1 : 1;
    return (x.lo < y.lo) - (x.lo > y.lo);
}

int cli_by_rank(const void *a, const void *b)
{
    const cli_rank *x = a, *y = b;
    int order = cli_sum_by_size(x->first, y->first);
    order = order ? order : cli_sum_by_size(x->second, y->second);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

pprofdelta_sum cli_sum_minus(pprofdelta_sum a, pprofdelta_sum b)
{
    pprofdelta_sum difference = {a.lo - b.lo, (int64_t)((uint64_t)a.hi - (uint64_t)b.hi)};
    difference.hi -= a.lo < b.lo;
    return difference;
}

double cli_sum_double(pprofdelta_sum sum)
{
    pprofdelta_sum size = cli_sum_size(sum);
    double value = (double)size.hi * 0x1p64 + (double)size.lo;
    return sum.hi < 0 ? -value : value;
}

char *cli_sum_format(pprofdelta_sum sum, char buf[48])
{
    const pprofdelta_sum size = cli_sum_size(sum);
    /* Long division by ten over 32-bit limbs, the most significant first. */
    uint32_t limb[4] = {(uint32_t)((uint64_t)size.hi >> 32), (uint32_t)size.hi,
                        (uint32_t)(size.lo >> 32), (uint32_t)size.lo};
    char *at = buf + 47;
    *at = '\0';
    do {
        uint64_t rest = 0;
        for (int i = 0; i < 4; i++) {
            uint64_t part = rest << 32 | limb[i];
            limb[i] = (uint32_t)(part / 10);
            rest = part % 10;
        }
        *--at = (char)('0' + rest);
    } while (limb[0] | limb[1] | limb[2] | limb[3]);
    if (sum.hi < 0)
        *--at = '-';
    return memmove(buf, at, (size_t)(buf + 48 - at));
}

char *cli_share_format(pprofdelta_sum part, pprofdelta_sum whole, char buf[CLI_SHARE_ROOM])
{
    if (cli_sum_is_zero(whole))
        return strcpy(buf, "-");
    double share = cli_sum_double(part) / cli_sum_double(whole), size = share < 0 ? -share : share;
    double scale = 1;
    while (size / scale >= 1000) /* three digits are shown */
        scale *= 10;
    if (scale > 1)
        share = (int)(share / scale + (share < 0 ? -0.5 : 0.5)) * scale;
    if (size < 10)
        snprintf(buf, CLI_SHARE_ROOM, "%.1f%%", 100 * share);
    else
        snprintf(buf, CLI_SHARE_ROOM, "%.*f times", size < 100 ? 1 : 0, share);
    return buf;
}

char *cli_units_format(pprofdelta_sum sum, cli_string unit, char buf[48])
{
    const step *steps = cli_string_is(unit, "bytes")         ? bytes
                        : cli_string_is(unit, "nanoseconds") ? nanoseconds
                                                             : NULL;
    if (!steps)
        return cli_sum_format(sum, buf);
    double value = cli_sum_double(sum), size = value < 0 ? -value : value;
    while (steps->size > 1 && size < steps->size)
        steps++;
    double scaled = size / steps->size;
    int digits = steps->size == 1 ? 0 : scaled < 10 ? 2 : scaled < 100 ? 1 : 0;
    const char *sign = value < 0 ? "-" : "";
    if (scaled < 1e7)
        snprintf(buf, 48, "%s%.*f%s", sign, digits, scaled, steps->name);
    else
        snprintf(buf, 48, "%s%.3g%s", sign, scaled, steps->name);
    return buf;
}

char *cli_age_format(int64_t nanos, char buf[48])
{
    pprofdelta_sum sum = {0};
    cli_sum_add(&sum, nanos);
    return cli_units_format(sum, cli_string_of("nanoseconds"), buf);
}

char *cli_units_format_change(pprofdelta_sum sum, cli_string unit, char buf[CLI_CHANGE_ROOM])
{
    bool is_more = sum.hi >= 0 && !cli_sum_is_zero(sum);
    buf[0] = '+';
    cli_units_format(sum, unit, buf + is_more);
    return buf;
}

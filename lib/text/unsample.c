#include "text/unsample.h"

#include <math.h>

static int64_t scale(int64_t value, double factor)
{
    double scaled = round((double)value * factor);
    if (scaled >= 0x1p63)
        return INT64_MAX;
    return scaled < -0x1p63 ? INT64_MIN : (int64_t)scaled;
}

void pd_unsample(uint64_t rate, int64_t *objects, int64_t *bytes)
{
    if (rate < 2 || !*objects || !*bytes)
        return;
    double size = fabs((double)*bytes / (double)*objects);
    double factor = -1 / expm1(-size / (double)rate); /* 1 - exp(-x), exact for a small x too */
    *objects = scale(*objects, factor);
    *bytes = scale(*bytes, factor);
}

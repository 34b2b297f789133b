#include "text/unsample.h"

#include "base/scale.h"

#include <math.h>

void pd_unsample(uint64_t rate, int64_t *objects, int64_t *bytes)
{
    if (rate < 2 || !*objects || !*bytes)
        return;
    double size = fabs((double)*bytes / (double)*objects);
    pd_scale scale = pd_scale_of_size(size, (double)rate);
    pd_carry none = 0;
    *objects = pd_scale_apply(scale, *objects, &none);
    none = 0;
    *bytes = pd_scale_apply(scale, *bytes, &none);
}

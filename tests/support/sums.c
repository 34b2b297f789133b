#include "sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

reading sums_read(arena *a, buf bytes)
{
    reading r = {0};
    if (reading_make(a, bytes.ptr, bytes.len, &r) != PPROFDELTA_OK) {
        fprintf(stderr, "what was written is not a profile\n");
        abort();
    }
    return r;
}

buf sums_add(arena *a, const pprofdelta_options *options, const buf *profiles, size_t len,
             pprofdelta_status *status, pprofdelta_error *err)
{
    pprofdelta_adder *adder;
    collector c = {.bytes = buf_begin(a)};
    pprofdelta_sink sink = collector_sink(&c);
    *status = pprofdelta_adder_new(options, NULL, &adder, err);
    if (*status)
        return c.bytes;
    for (size_t i = 0; i < len && !*status; i++)
        *status = pprofdelta_adder_add(adder, profiles[i].ptr, profiles[i].len, NULL, err);
    if (!*status)
        *status = pprofdelta_adder_finish(adder, &sink, err);
    pprofdelta_adder_free(adder);
    return c.bytes;
}

buf sums_window(build *b, int64_t from, int64_t to, unsigned sequence, const char *restart,
                const char *values)
{
    char stamp[160];
    *b = (build){0};
    build_types(b, HEAP_TYPES);
    build_sample(b, "leaf main", values);
    b->m.time_nanos = to;
    b->m.duration_nanos = from ? to - from : 0;
    if (sequence || restart) {
        snprintf(stamp, sizeof stamp, "pprofdelta: delta from=%lld to=%lld", (long long)from,
                 (long long)to);
        if (sequence)
            snprintf(stamp + strlen(stamp), sizeof stamp - strlen(stamp), " seq=%u", sequence);
        if (restart && *restart)
            snprintf(stamp + strlen(stamp), sizeof stamp - strlen(stamp), " restart=%s", restart);
        build_comment(b, stamp);
    }
    return build_bytes(b);
}

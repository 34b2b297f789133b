#include "delta/span.h"

#include <stdbool.h>
#include <stddef.h>

static uint64_t duration_of(const pd_span *span)
{
    return span->duration_nanos > 0 ? (uint64_t)span->duration_nanos : 0;
}

/* from is not after to. */
static uint64_t distance(int64_t from, int64_t to)
{
    return (uint64_t)to - (uint64_t)from;
}

/* Is it all of the span, but for what clocks differ by? */
static bool is_most_of(uint64_t part, uint64_t whole)
{
    return part >= whole - whole / 4;
}

/* Did the process of cur start after prev was taken, and has cur counted since then? */
static bool counts_since_start(const pd_span *prev, const pd_span *cur, int64_t started_nanos)
{
    return started_nanos && started_nanos > prev->time_nanos && started_nanos <= cur->time_nanos &&
           is_most_of(duration_of(cur), distance(started_nanos, cur->time_nanos));
}

pd_span_kind pd_span_judge(const pd_span *prev, const pd_span *cur, int64_t started_nanos)
{
    uint64_t covered = duration_of(cur), before = prev ? duration_of(prev) : 0;
    pd_span_kind unless_told = !covered == !before ? PD_SPAN_CUMULATIVE : PD_SPAN_UNCLEAR;
    if (!prev || !covered || !prev->time_nanos || !cur->time_nanos)
        return unless_told;
    uint64_t apart = distance(prev->time_nanos, cur->time_nanos);
    if (covered <= apart)
        return counts_since_start(prev, cur, started_nanos) ? PD_SPAN_CUMULATIVE : PD_SPAN_WINDOW;
    if (!is_most_of(covered - apart, before))
        return PD_SPAN_WINDOW;
    return is_most_of(before, covered - apart) ? PD_SPAN_CUMULATIVE : PD_SPAN_UNCLEAR;
}

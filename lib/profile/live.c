/* The stamp of a live heap's profile, written: see live.h. */
#include "profile/live.h"

#include <inttypes.h>
#include <stdio.h>

#include "profile/tables.h"

const char *const pd_live_kinds[] = {[PPROFDELTA_LIVE_NONE] = "",
                                     [PPROFDELTA_LIVE_FULL] = "full",
                                     [PPROFDELTA_LIVE_DELTA] = "delta",
                                     [PPROFDELTA_LIVE_WINDOW] = "window"};

size_t pd_live_stamp_write(const pprofdelta_stamp *stamp, char buf[PD_LIVE_STAMP_MAX])
{
    char first[32] = "", attempt[32] = "";
    if (stamp->attempt)
        snprintf(attempt, sizeof attempt, " attempt=%" PRIu64, stamp->attempt);
    if (stamp->first != stamp->sequence)
        snprintf(first, sizeof first, " first=%" PRIu64, stamp->first);
    return (size_t)snprintf(buf, PD_LIVE_STAMP_MAX,
                            PD_STAMP_LIVE " epoch=%" PRIu64 " seq=%" PRIu64 "%s kind=%s%s"
                                          " from=%" PRId64 " to=%" PRId64 " id=%016" PRIx64,
                            stamp->epoch, stamp->sequence, attempt, pd_live_kinds[stamp->live],
                            first, stamp->from_nanos, stamp->to_nanos, stamp->id);
}

/* Does this batch of a live heap continue that one? Told by the stamps alone: a full profile says all
 * that came before it, too, and a delta continues the batch of its epoch with the number before, if
 * it begins where that one ends. Of equal numbers the one with the highest attempt counts. */
#include "parsed/join.h"

#include "base/time.h"

#include <inttypes.h>
#include <stdbool.h>

#define REFUSE(...)                                                                                \
    pd_fail(err, PPROFDELTA_E_MISMATCH, "sum", NULL, PPROFDELTA_NOWHERE, PPROFDELTA_NOWHERE,       \
            __VA_ARGS__)

static bool is_same(const pprofdelta_stamp *a, const pprofdelta_stamp *b)
{
    return a->epoch == b->epoch && a->sequence == b->sequence && a->first == b->first &&
           (a->live == PPROFDELTA_LIVE_FULL) == (b->live == PPROFDELTA_LIVE_FULL);
}

static pprofdelta_status join_again(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                                    pprofdelta_joint *joint, pprofdelta_error *err)
{
    if (next->from_nanos != last->from_nanos)
        return REFUSE("there are two batches %" PRIu64
                      " that do not begin at the same time (%s and %s): they come from two "
                      "trackers",
                      next->sequence, pd_time_shown(last->from_nanos).text,
                      pd_time_shown(next->from_nanos).text);
    *joint = pd_join_is_later(last, next) ? PPROFDELTA_JOINT_AGAIN : PPROFDELTA_JOINT_STALE;
    return PPROFDELTA_OK;
}

static pprofdelta_status miss(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                              pprofdelta_joint *joint, pprofdelta_error *err)
{
    uint64_t due = last->sequence + 1;
    *joint = PPROFDELTA_JOINT_GAP;
    if (next->epoch != last->epoch)
        return REFUSE("the full profile that opened epoch %" PRIu64 " is missing between them",
                      next->epoch);
    if (next->first == due + 1)
        return REFUSE("batch %" PRIu64 " is missing between them", due);
    return REFUSE("batches %" PRIu64 " to %" PRIu64 " are missing between them", due,
                  next->first - 1);
}

pprofdelta_status pd_join_live(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                               pprofdelta_joint *joint, pprofdelta_error *err)
{
    if (next->id != last->id)
        return REFUSE("they come from two processes (%016" PRIx64 " and %016" PRIx64
                      "), or from two programs that one process ran: each has its own heap",
                      last->id, next->id);
    if (is_same(last, next))
        return join_again(last, next, joint, err);
    bool is_later = next->epoch >= last->epoch && next->first > last->sequence;
    *joint = PPROFDELTA_JOINT_RESYNC;
    /* A full one that was lost comes again under its number, in a later epoch. */
    if (next->live == PPROFDELTA_LIVE_FULL && (is_later || next->epoch > last->epoch))
        return PPROFDELTA_OK;
    if (!is_later)
        return REFUSE("batch %" PRIu64 " (epoch %" PRIu64 ") comes after batch %" PRIu64
                      " (epoch %" PRIu64 "): give the profiles of one process, in their order",
                      next->sequence, next->epoch, last->sequence, last->epoch);
    if (next->epoch != last->epoch || next->first != last->sequence + 1)
        return miss(last, next, joint, err);
    if (next->from_nanos == last->to_nanos) {
        *joint = PPROFDELTA_JOINT_NEXT;
        return PPROFDELTA_OK;
    }
    *joint = PPROFDELTA_JOINT_GAP;
    return REFUSE("batch %" PRIu64 " was sent again with more in it, which is missing (it ends at "
                  "%s, and batch %" PRIu64 " begins at %s)",
                  last->sequence, pd_time_shown(last->to_nanos).text, next->first,
                  pd_time_shown(next->from_nanos).text);
}

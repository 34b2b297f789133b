#include "delta/join.h"

#include "base/time.h"

#include <inttypes.h>

#define REFUSE(...)  PD_JOIN_REFUSE(NONE, __VA_ARGS__)
#define MISSING(...) PD_JOIN_REFUSE(WINDOW_MISSING, __VA_ARGS__)
#define OTHER(...)   PD_JOIN_REFUSE(TWO_TARGETS, __VA_ARGS__)
#define LATE(...)    PD_JOIN_REFUSE(WINDOW_LATE, __VA_ARGS__)

/* ---- windows ----------------------------------------------------------------------------- */

/* The first window of a state, which counts from the start of the process. */
static bool is_beginning(const pprofdelta_stamp *stamp)
{
    return stamp->is_delta && stamp->sequence == 1 && !stamp->from_nanos && !stamp->restart;
}

/* How another attempt at the last window joins. The higher attempt counts; if they are equal, or have
 * no number (batches have none), the one that ends later, or else the one that was added first. */
static pprofdelta_join join_of_attempt(const pprofdelta_stamp *last, const pprofdelta_stamp *next)
{
    if (last->attempt != next->attempt)
        return last->attempt < next->attempt ? PPROFDELTA_JOIN_AGAIN : PPROFDELTA_JOIN_STALE;
    if (last->to_nanos < next->to_nanos)
        return PPROFDELTA_JOIN_AGAIN;
    bool is_equal = last->attempt || last->to_nanos == next->to_nanos;
    return is_equal ? PPROFDELTA_JOIN_EQUAL : PPROFDELTA_JOIN_STALE;
}

/* Another attempt at the same window, or batch. */
static pprofdelta_status join_again(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                                    pprofdelta_join *join, pprofdelta_error *err)
{
    if (next->from_nanos != last->from_nanos || next->restart != last->restart)
        return OTHER("there are two %s %" PRIu64
                     " that do not begin in the same way (at %s and %s): they come from two %s",
                     next->live ? "batches" : "windows", next->sequence,
                     pd_time_shown(last->from_nanos).text, pd_time_shown(next->from_nanos).text,
                     next->live ? "trackers" : "states");
    *join = join_of_attempt(last, next);
    return PPROFDELTA_OK;
}

static pprofdelta_status refuse_missing(const char *what, uint64_t from, uint64_t to,
                                        pprofdelta_error *err)
{
    if (from == to)
        return MISSING("%s %" PRIu64 " is missing between them", what, from);
    return MISSING("%s %" PRIu64 " to %s %" PRIu64 " are missing between them", what, from, what,
                   to);
}

static pprofdelta_status join_by_sequence(const pprofdelta_stamp *last,
                                          const pprofdelta_stamp *next, pprofdelta_join *join,
                                          pprofdelta_error *err)
{
    uint64_t due = last->sequence + 1;
    bool is_ended = last->sequence >= next->acked; /* what is missing was never acknowledged */
    if (next->sequence < due)
        return LATE("window %" PRIu64 " comes after window %" PRIu64
                    ": give the deltas of one state in order",
                    next->sequence, last->sequence);
    if (!is_ended)
        return refuse_missing("window", due, next->acked, err);
    bool joins = next->from_nanos == last->to_nanos && next->sequence == due;
    bool was_acked = next->acked == last->sequence;
    if (!joins && (next->from_nanos < last->to_nanos || (was_acked && next->sequence == due)))
        return REFUSE("window %" PRIu64 " ends at %s and window %" PRIu64
                      " begins at %s: a later attempt at window %" PRIu64
                      " is missing, or they come from two states",
                      last->sequence, pd_time_shown(last->to_nanos).text, next->sequence,
                      pd_time_shown(next->from_nanos).text, last->sequence);
    *join = !joins          ? PPROFDELTA_JOIN_ENDED
            : next->restart ? PPROFDELTA_JOIN_RESTART
                            : PPROFDELTA_JOIN_NEXT;
    return PPROFDELTA_OK;
}

static pprofdelta_status join_by_time(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                                      pprofdelta_join *join, pprofdelta_error *err)
{
    /* Profiles without a time join each other: their delta has no times either. */
    bool has_no_times = !last->to_nanos && !next->from_nanos;
    *join = next->restart  ? PPROFDELTA_JOIN_RESTART
            : has_no_times ? PPROFDELTA_JOIN_UNTIMED
                           : PPROFDELTA_JOIN_NEXT;
    if (has_no_times)
        return PPROFDELTA_OK;
    if (!last->to_nanos || !next->from_nanos)
        return REFUSE("the end of the first or the beginning of the second is unknown, so a "
                      "window may be missing");
    if (next->from_nanos > last->to_nanos)
        return MISSING("the window from %s to %s is missing between them",
                       pd_time_shown(last->to_nanos).text, pd_time_shown(next->from_nanos).text);
    if (next->from_nanos < last->to_nanos)
        return REFUSE("they overlap: the first ends at %s and the second begins at %s",
                      pd_time_shown(last->to_nanos).text, pd_time_shown(next->from_nanos).text);
    return PPROFDELTA_OK;
}

/* ---- batches of a live heap -------------------------------------------------------------- */

static bool is_same_batch(const pprofdelta_stamp *a, const pprofdelta_stamp *b)
{
    return a->epoch == b->epoch && a->sequence == b->sequence && a->first == b->first &&
           (a->live == PPROFDELTA_LIVE_FULL) == (b->live == PPROFDELTA_LIVE_FULL);
}

static pprofdelta_status join_behind_gap(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                                         pprofdelta_join *join, pprofdelta_error *err)
{
    uint64_t due = last->sequence + 1;
    *join = PPROFDELTA_JOIN_GAP;
    if (next->epoch != last->epoch)
        return MISSING("the full profile that opened epoch %" PRIu64 " is missing between them",
                       next->epoch);
    return refuse_missing("batch", due, next->first - 1, err);
}

static pprofdelta_status join_live(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                                   pprofdelta_join *join, pprofdelta_error *err)
{
    if (next->id != last->id)
        return OTHER("they come from two processes (%016" PRIx64 " and %016" PRIx64
                     "), or from two programs that one process ran: each has its own heap",
                     last->id, next->id);
    if (is_same_batch(last, next))
        return join_again(last, next, join, err);
    bool is_later = next->epoch >= last->epoch && next->first > last->sequence;
    *join = PPROFDELTA_JOIN_RESYNC;
    /* A full profile that was lost is sent again with its number, in a later epoch. */
    if (next->live == PPROFDELTA_LIVE_FULL && (is_later || next->epoch > last->epoch))
        return PPROFDELTA_OK;
    if (!is_later)
        return REFUSE("batch %" PRIu64 " (epoch %" PRIu64 ") comes after batch %" PRIu64
                      " (epoch %" PRIu64 "): give the profiles of one process in order",
                      next->sequence, next->epoch, last->sequence, last->epoch);
    if (next->epoch != last->epoch || next->first != last->sequence + 1)
        return join_behind_gap(last, next, join, err);
    if (next->from_nanos == last->to_nanos) {
        *join = PPROFDELTA_JOIN_NEXT;
        return PPROFDELTA_OK;
    }
    *join = PPROFDELTA_JOIN_GAP;
    return REFUSE("batch %" PRIu64
                  " was sent again with more samples, and that attempt is missing (it ends at "
                  "%s, and batch %" PRIu64 " begins at %s)",
                  last->sequence, pd_time_shown(last->to_nanos).text, next->first,
                  pd_time_shown(next->from_nanos).text);
}

/* ---- either ---------------------------------------------------------------------------------- */

pprofdelta_status pd_join(const pprofdelta_stamp *last, const pprofdelta_stamp *next,
                          pprofdelta_join *join, pprofdelta_error *err)
{
    if (last->live && next->live)
        return join_live(last, next, join, err);
    if (next->live)
        return REFUSE("the second is of a live heap and the first is not");
    if (!next->is_delta)
        return REFUSE("the second is not a delta that pprofdelta wrote: it has no stamp");
    bool has_both = last->sequence && next->sequence && !last->live;
    if (has_both && last->id && next->id && last->id != next->id)
        return OTHER("they come from two states (%016" PRIx64 " and %016" PRIx64
                     "): each numbers its own windows",
                     last->id, next->id);
    if (has_both && last->sequence == next->sequence)
        return join_again(last, next, join, err);
    if (is_beginning(next))
        return LATE("the second is the first window of a state, which counts from the beginning "
                    "of the process: a sum may begin with it");
    return has_both ? join_by_sequence(last, next, join, err) : join_by_time(last, next, join, err);
}

bool pd_is_apart(const pprofdelta_stamp *last, const pprofdelta_stamp *next)
{
    return !next->live && next->sequence > last->sequence && next->from_nanos >= last->to_nanos;
}

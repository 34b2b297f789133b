/* Stamps: the comment that marks a delta, or the profile of a live heap (see pprofdelta_heap.h).
 *
 *     pprofdelta: delta from=NANOS to=NANOS [seq=N attempt=N [acked=N]] [id=HEX] [restart=WHY]
 *                 [pid=N] [windows=N targets=N]
 *     pprofdelta: live epoch=N seq=N [attempt=N] kind=KIND [first=N] from=NANOS to=NANOS id=HEX
 *
 * acked is the sequence that was committed last, if that is not seq - 1.
 * windows and targets say how many a merge has.
 * first is the sequence number of the first of several batches that were added up. Unknown words
 * are skipped, so that later versions can add words. */
#ifndef PD_PROFILE_STAMP_H
#define PD_PROFILE_STAMP_H

#include "profile/tables.h"

enum { PD_STAMP_MAX = 256 };

/* The beginning of a delta's stamp. */
#define PD_STAMP_PREFIX "pprofdelta: delta"

/* The beginning of a live heap's stamp. A profile of kind=full is cumulative, the others are
 * deltas. */
#define PD_STAMP_LIVE "pprofdelta: live"
#define PD_STAMP_FULL " kind=full "

static inline bool pd_is_live_stamp(pd_bytes comment)
{
    return pd_bytes_begin(comment, PD_STAMP_LIVE);
}

static inline bool pd_is_stamp(pd_bytes comment)
{
    return pd_bytes_begin(comment, PD_STAMP_PREFIX) ||
           (pd_is_live_stamp(comment) && !pd_bytes_contain(comment, PD_STAMP_FULL));
}

/* Writes the stamp to buf, with the process id unless pid is 0, and returns its length. Ignores is_delta. */
size_t pd_stamp_write(const pprofdelta_stamp *stamp, int64_t pid, char buf[PD_STAMP_MAX]);

/* Reads a comment. Returns false if it is not a stamp or not valid; *out is then unchanged. */
bool pd_stamp_read(pd_bytes comment, pprofdelta_stamp *out);

/* Reads the stamp of a profile. Without one, is_delta is 0 and to_nanos is the profile's time.
 * Returns false if the profile has a stamp that is not valid. */
bool pd_stamp_of(const pd_tables *tables, pprofdelta_stamp *out);

/* Reads the stamp of a live heap. Returns false if the profile has none that is valid; *out is then
 * unchanged. */
bool pd_stamp_of_live(const pd_tables *tables, pprofdelta_stamp *out);

#endif

/* The stamp: one comment by which a delta says what it is.
 *
 *     pprofdelta: delta from=NANOS to=NANOS [seq=NUMBER attempt=NUMBER] [restart=WHY] [pid=NUMBER]
 *     pprofdelta: live ...                                                (see live.h)
 *
 * Words that a reader does not know are passed over, so that later versions can add some. */
#ifndef PD_PROFILE_STAMP_H
#define PD_PROFILE_STAMP_H

#include "profile/compact.h"
#include "profile/tables.h"

enum { PD_STAMP_MAX = 224 };

/* The comment that marks a delta begins with this. */
#define PD_STAMP_PREFIX "pprofdelta: delta"

/* ... and that of a live heap's profile with this (see pprofdelta_heap.h). One of kind=full counts
 * from the beginning, as other profiles do; the others are deltas. */
#define PD_STAMP_LIVE "pprofdelta: live"
#define PD_STAMP_FULL " kind=full "

static inline bool pd_is_live_stamp(pd_bytes comment)
{
    static const char live[] = PD_STAMP_LIVE;
    return comment.len >= sizeof live - 1 && memcmp(comment.ptr, live, sizeof live - 1) == 0;
}

static inline bool pd_is_stamp(pd_bytes comment)
{
    static const char delta[] = PD_STAMP_PREFIX, full[] = PD_STAMP_FULL;
    if (comment.len >= sizeof delta - 1 && memcmp(comment.ptr, delta, sizeof delta - 1) == 0)
        return true;
    return pd_is_live_stamp(comment) && !memmem(comment.ptr, comment.len, full, sizeof full - 1);
}

/* Writes the stamp to buf and returns its length. is_delta is taken for granted. */
size_t pd_stamp_write(const pprofdelta_stamp *stamp, char buf[PD_STAMP_MAX]);

/* Writes it as the next comment of a profile, and whose it is; pid 0: that is not said. */
void pd_stamp_add(const pprofdelta_stamp *stamp, int64_t pid, pd_compact *compact);

/* Reads a comment. False where it is no stamp or cannot be understood; *out is then untouched. */
bool pd_stamp_read(pd_bytes comment, pprofdelta_stamp *out);

/* The stamp of a profile: is_delta is 0 where it has none, and the times are then those of its
 * header. False where it has one that cannot be understood. */
bool pd_stamp_of(const pd_tables *tables, pprofdelta_stamp *out);

#endif

/* The stamp: one comment by which a delta says what it is.
 *
 *     pprofdelta: delta from=NANOS to=NANOS [seq=NUMBER attempt=NUMBER] [restart=WHY] [pid=NUMBER]
 *     pprofdelta: live ...                                                (see live.h)
 *
 * Words that a reader does not know are passed over, so that later versions can add some. */
#ifndef PD_PROFILE_STAMP_H
#define PD_PROFILE_STAMP_H

#include "profile/compact.h"
#include "profile/live.h"
#include "profile/tables.h"

enum { PD_STAMP_MAX = PD_LIVE_STAMP_MAX };

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

/* The stamp of a live heap's profile, and what its kind says of the values: see pprofdelta_heap.h.
 *
 *     pprofdelta: live epoch=N seq=N [attempt=N] kind=KIND [first=N] from=NANOS to=NANOS id=HEX
 *
 * first is there where several batches were added up: the sequence number of the first of them. */
#ifndef PD_PROFILE_LIVE_H
#define PD_PROFILE_LIVE_H

#include "base/error.h"

enum { PD_LIVE_STAMP_MAX = 224 };

extern const char *const pd_live_kinds[PPROFDELTA_LIVE_WINDOW + 1];

/* Writes the stamp, of a kind that is not NONE, to buf and returns its length. */
size_t pd_live_stamp_write(const pprofdelta_stamp *stamp, char buf[PD_LIVE_STAMP_MAX]);

#endif

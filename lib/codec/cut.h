/* Where the bytes of a delta are cut into parts of a gzip member, which are compressed separately
 * (member.h).
 *
 *     [ part ] [ part ] ... [ part ] [ rest ......................... ]
 *     the samples, while they are written       cut evenly, at the end
 *
 * The cuts depend on three lengths only: of the profile that the delta comes of, of what is written
 * up to the last sample, and of the delta. So the member has the same bytes with any runner and any
 * memory limit. */
#ifndef PD_CODEC_CUT_H
#define PD_CODEC_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of a part of a delta that comes of a profile of `len` bytes: a 16th of the profile, so
 * that several threads have parts to compress, but not too short, since a part cannot refer to the
 * parts before it. */
static inline size_t pd_cut_part(uint64_t len)
{
    enum { SHARE = 16, SMALLEST = 96 << 10, LARGEST = 512 << 10 };
    uint64_t share = len / SHARE;
    return share < SMALLEST ? SMALLEST : share > LARGEST ? LARGEST : (size_t)share;
}

/* The number of parts of a rest of `len` bytes: 1 if it is short, else even, for two threads. `part`
 * is the length of a part, or SIZE_MAX if nothing is to be cut. */
static inline size_t pd_cut_rest(size_t part, size_t len)
{
    enum { PAIR = 64 << 10 };
    if (part == SIZE_MAX || len < PAIR)
        return 1;
    size_t pairs = (len / 2 + part / 2) / part;
    return pairs ? 2 * pairs : 2;
}

#endif

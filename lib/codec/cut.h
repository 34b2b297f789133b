/* Where the bytes of a delta are cut into the parts of a gzip member that are compressed apart from
 * each other (member.h).
 *
 *     [ part ] [ part ] ... [ part ] [ rest ......................... ]
 *     the samples, while they are written       cut evenly, at the end
 *
 * The cuts depend on three lengths only: of the profile that the delta comes of, of what is written
 * up to the last sample, and of the delta. So the member has the same bytes whether the delta is
 * compressed whole, while it is written, or by two threads, and whatever the memory limit is. */
#ifndef PD_CODEC_CUT_H
#define PD_CODEC_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of a part, for a delta that comes of a profile of `len` bytes: a 16th of it, so that two
 * threads have parts to share; and long enough that the beginning of a part, which can refer to
 * nothing, costs little room. */
static inline size_t pd_cut_part(uint64_t len)
{
    enum { SHARE = 16, SMALLEST = 96 << 10, LARGEST = 512 << 10 };
    uint64_t share = len / SHARE;
    return share < SMALLEST ? SMALLEST : share > LARGEST ? LARGEST : (size_t)share;
}

/* Into how many parts a rest of `len` bytes is cut: one where it is short, else pairs for two
 * threads. `part` is SIZE_MAX where nothing is to be cut. */
static inline size_t pd_cut_rest(size_t part, size_t len)
{
    enum { PAIR = 64 << 10 };
    if (part == SIZE_MAX || len < PAIR)
        return 1;
    size_t pairs = (len / 2 + part / 2) / part;
    return pairs ? 2 * pairs : 2;
}

#endif

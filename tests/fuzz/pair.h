/* How the input of fuzz_delta is laid out: what is done, and the two profiles it is done to.
 *
 *     0   1   2 3   4   5   6   7   8 9 10 11   12 ...     12 + n ...
 *     how what nth  who bad at  old n           prev       cur
 *
 *     how    on_reset, compression and level          what  flags and first, and whether
 *                                                           in pieces
 *     nth    the allocation that fails                who   the types named counters and gauges
 *     bad    what goes wrong in the window that fails,      at  and where; and how large pieces are
 *     old    when the target began
 *     n      length of prev, little-endian, cut to what is there
 *
 * The target and its mutator both go by this. */
#ifndef PD_TESTS_FUZZ_PAIR_H
#define PD_TESTS_FUZZ_PAIR_H

#include "base/mem.h"

#include <stdbool.h>

enum {
    PAIR_HOW,
    PAIR_WHAT,
    PAIR_NTH,
    PAIR_WHO = PAIR_NTH + 2,
    PAIR_BAD,
    PAIR_AT,
    PAIR_OLD,
    PAIR_LEN,
    PAIR_HEADER = PAIR_LEN + 4
};

typedef struct pair {
    const uint8_t *header; /* PAIR_HEADER bytes */
    pd_bytes prev, cur;
} pair;

/* False where there is not even a header. */
static inline bool pair_split(const uint8_t *data, size_t size, pair *out)
{
    if (size < PAIR_HEADER)
        return false;
    const uint8_t *len = data + PAIR_LEN;
    size_t rest = size - PAIR_HEADER;
    size_t n = len[0] | (size_t)len[1] << 8 | (size_t)len[2] << 16 | (size_t)len[3] << 24;
    if (n > rest)
        n = rest;
    *out = (pair){data, {data + PAIR_HEADER, n}, {data + PAIR_HEADER + n, rest - n}};
    return true;
}

static inline void pair_set_len(uint8_t *header, size_t prev_len)
{
    for (int i = 0; i < 4; i++)
        header[PAIR_LEN + i] = (uint8_t)(prev_len >> 8 * i);
}

#endif

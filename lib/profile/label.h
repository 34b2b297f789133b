/* Short labels, which most are, known again by their bytes: a label of up to 7 bytes as the number
 * that they and their count are. It is never 0, as a free place is, and tells a label from one that
 * is cut before a 0. */
#ifndef PD_PROFILE_LABEL_H
#define PD_PROFILE_LABEL_H

#include "wire/varint.h"

enum { PD_SHORT_LABEL_MAX = 7 };

static inline bool pd_label_is_short(size_t len)
{
    return len - 1 < PD_SHORT_LABEL_MAX;
}

/* For a short one, 8 bytes being readable. */
static inline uint64_t pd_label_word(const uint8_t *p, size_t len)
{
    return (pd_load64(p) & UINT64_MAX >> (64 - 8 * len)) | (uint64_t)len << 56;
}

/* Its place in a table of 2^bits. */
static inline size_t pd_label_place(uint64_t word, unsigned bits)
{
    return (size_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

#endif

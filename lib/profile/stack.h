/* The key of a sample: its stack in order, its labels in any order.
 *
 * A stack is hashed one location at a time from identities that were computed once per location.
 * Each half x of an identity is multiplied by an odd random number k[i] that belongs to its
 * position i, and the products are added up:
 *
 *     sum  =  x[0] * k[0]  +  x[1] * k[1]  +  x[2] * k[2]  +  ...     (mod 2^64)
 *
 * A change of x[i] by d moves the sum by d * k[i]; as the identities are XXH3's, d has few trailing
 * zeros and the product is as good as random. There are two sums with numbers of their own, one for
 * each half. This costs two multiplications a location, none of which waits for another, where
 * hashing the gathered identities byte by byte costs three times that. Every PD_STACK_BLOCK
 * locations the sums are folded through XXH3 and the positions begin anew.
 *
 * Labels are hashed each by itself and added, so that their order does not matter. The key is the
 * sum of it all, with the depth and the number of labels. */
#ifndef PD_PROFILE_STACK_H
#define PD_PROFILE_STACK_H

#include "base/key.h"
#include "base/mem.h"
#include "wire/varint.h"

enum { PD_STACK_BLOCK = 256 };

/* A number for each half and position, and as many more as may be read without being used, where
 * several are loaded at once. */
enum { PD_STACK_SPARE = 16 };

typedef struct pd_stack_numbers {
    uint64_t lo[PD_STACK_BLOCK + PD_STACK_SPARE], hi[PD_STACK_BLOCK + PD_STACK_SPARE];
} pd_stack_numbers;

/* The same numbers every time: keys are kept in states on disk. */
void pd_stack_numbers_init(pd_stack_numbers *numbers);

typedef struct pd_stack_hash {
    uint64_t lo, hi; /* the sums of this block */
    size_t depth;    /* locations so far */
    pd_key labels;   /* the sum of the labels' keys */
    uint64_t labels_len;
} pd_stack_hash; /* zero it to begin */

/* Folds a full block. */
void pd_stack_hash_fold(pd_stack_hash *hash);

static inline void pd_stack_hash_location(pd_stack_hash *hash, const pd_stack_numbers *numbers,
                                          pd_key ident)
{
    size_t position = hash->depth++ % PD_STACK_BLOCK;
    hash->lo += ident.lo * numbers->lo[position];
    hash->hi += ident.hi * numbers->hi[position];
    if (__builtin_expect(position == PD_STACK_BLOCK - 1, 0))
        pd_stack_hash_fold(hash);
}

static inline void pd_stack_hash_label(pd_stack_hash *hash, pd_key label)
{
    hash->labels.lo += label.lo;
    hash->labels.hi += label.hi;
    hash->labels_len++;
}

/* Sums of what is as good as random are as good as random themselves: nothing is left to mix. */
static inline pd_key pd_stack_hash_key(const pd_stack_hash *hash)
{
    return (pd_key){hash->lo + hash->labels.lo + hash->depth * UINT64_C(0x9e3779b97f4a7c15),
                    hash->hi + hash->labels.hi + hash->labels_len * UINT64_C(0xc2b2ae3d27d4eb4f)};
}

/* The identity of a label is that of its names, which are few, with its number. */
pd_key pd_label_names_key(pd_bytes key, pd_bytes str, pd_bytes num_unit);

static inline pd_key pd_label_key(pd_key names, int64_t num)
{
    uint64_t words[] = {names.lo, names.hi, (uint64_t)num};
    return pd_key_of_words(words, 3, 0);
}

/* SHORTLABEL */
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

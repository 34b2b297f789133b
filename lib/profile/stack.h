/* The key of a sample: its stack in order, its labels in any order.
 *
 * A stack is hashed one location at a time from identities that were computed once for each
 * location. Each half x of an identity is multiplied by an odd random number k[i] for its position
 * i, and the products are added up:
 *
 *     sum  =  x[0] * k[0]  +  x[1] * k[1]  +  x[2] * k[2]  +  ...     (mod 2^64)
 *
 * A change of x[i] by d changes the sum by d * k[i]. The identities are XXH3's, so d has few
 * trailing zeros and the product is as good as random. There are two sums with different numbers,
 * one for each half. A location costs two multiplications, which do not depend on each other;
 * hashing the bytes of the identities costs three times that. After each PD_STACK_BLOCK locations
 * the sums are folded through XXH3 and the positions begin again at 0.
 *
 * Each label is hashed separately and the hashes are added, so their order does not matter. The key
 * is the sum of all this, with the depth and the number of labels. */
#ifndef PD_PROFILE_STACK_H
#define PD_PROFILE_STACK_H

#include "base/key.h"
#include "base/mem.h"
#include "wire/varint.h"

enum { PD_STACK_BLOCK = 256 };

/* A number for each half and position. */
typedef struct pd_stack_numbers {
    uint64_t lo[PD_STACK_BLOCK], hi[PD_STACK_BLOCK];
} pd_stack_numbers;

/* Always sets the same numbers: states on disk hold keys. */
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

/* The sums of random values are random: no final mixing is needed. */
static inline pd_key pd_stack_hash_key(const pd_stack_hash *hash)
{
    return (pd_key){hash->lo + hash->labels.lo + hash->depth * UINT64_C(0x9e3779b97f4a7c15),
                    hash->hi + hash->labels.hi + hash->labels_len * UINT64_C(0xc2b2ae3d27d4eb4f)};
}

/* The key of a label: the key of its strings, of which there are few, with its number. */
pd_key pd_label_names_key(pd_bytes key, pd_bytes str, pd_bytes num_unit);

static inline pd_key pd_label_key(pd_key names, int64_t num)
{
    uint64_t words[] = {names.lo, names.hi, (uint64_t)num};
    return pd_key_of_words(words, 3, 0);
}

/* A short label, which most are, as a number: its bytes and, in the top byte, its length. The
 * number is never 0, and labels that differ only by trailing zero bytes have different numbers. So
 * readers and writers can cache labels by their bytes. */
enum { PD_SHORT_LABEL_MAX = 7 };

static inline bool pd_label_is_short(size_t len)
{
    return len - 1 < PD_SHORT_LABEL_MAX;
}

/* The number of a short label. 8 bytes must be readable at p. */
static inline uint64_t pd_label_word(const uint8_t *p, size_t len)
{
    return (pd_load64(p) & UINT64_MAX >> (64 - 8 * len)) | (uint64_t)len << 56;
}

/* The index in a cache of 2^bits entries. */
static inline size_t pd_label_place(uint64_t word, unsigned bits)
{
    return (size_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

#endif

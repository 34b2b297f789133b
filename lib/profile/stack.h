/* The key of a sample: its stack in order, its labels in any order.
 *
 * A stack is hashed one location at a time from identities that were computed once per location.
 * Each half x of an identity is multiplied by a random number k[i] that belongs to its position i,
 * and the 128-bit products are added up:
 *
 *     sum  =  x[0] * k[0]  +  x[1] * k[1]  +  x[2] * k[2]  +  ...     (mod 2^128)
 *
 * Two stacks that differ anywhere agree in such a sum for at most 2 of the 2^64 values of one k[i],
 * and there are two sums with their own numbers. That is as strong as hashing the identities byte
 * by byte, and costs two multiplications a location, none waiting for another. Every
 * PD_STACK_BLOCK locations the sums are folded into one identity and the positions begin anew.
 *
 * Labels are hashed each by itself and added, so that their order does not matter. XXH3 over sums,
 * depth and labels makes the key. */
#ifndef PD_PROFILE_STACK_H
#define PD_PROFILE_STACK_H

#include "base/key.h"
#include "base/mem.h"
#include "base/wide.h"

enum { PD_STACK_BLOCK = 128 };

typedef struct pd_stack_numbers {
    uint64_t lo[PD_STACK_BLOCK], hi[PD_STACK_BLOCK];
} pd_stack_numbers;

/* The same numbers every time: keys are kept in states on disk. */
void pd_stack_numbers_init(pd_stack_numbers *numbers);

typedef struct pd_stack_hash {
    pd_wide lo, hi; /* the sums of this block */
    size_t depth;   /* locations so far */
    pd_key labels;  /* the sum of the labels' keys */
    uint64_t labels_len;
} pd_stack_hash; /* zero it to begin */

/* Folds a full block. */
void pd_stack_hash_fold(pd_stack_hash *hash);

static inline void pd_stack_hash_location(pd_stack_hash *hash, const pd_stack_numbers *numbers,
                                          pd_key ident)
{
    size_t position = hash->depth++ % PD_STACK_BLOCK;
    hash->lo = pd_wide_add_product(hash->lo, ident.lo, numbers->lo[position]);
    hash->hi = pd_wide_add_product(hash->hi, ident.hi, numbers->hi[position]);
    if (__builtin_expect(position == PD_STACK_BLOCK - 1, 0))
        pd_stack_hash_fold(hash);
}

static inline void pd_stack_hash_label(pd_stack_hash *hash, pd_key label)
{
    hash->labels.lo += label.lo;
    hash->labels.hi += label.hi;
    hash->labels_len++;
}

pd_key pd_stack_hash_key(const pd_stack_hash *hash);

/* The key of a label is that of its names (key, string, unit), which are few, with its number. */
pd_key pd_label_names_key(pd_bytes key, pd_bytes str, pd_bytes num_unit);

static inline pd_key pd_label_key(pd_key names, int64_t num)
{
    uint64_t words[] = {names.lo, names.hi, (uint64_t)num};
    return pd_key_of_words(words, 3, 0);
}

#endif

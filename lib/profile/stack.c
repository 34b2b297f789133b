#include "profile/stack.h"

enum { SEED_NUMBERS = 101, SEED_FOLD, SEED_LABEL };

void pd_stack_numbers_init(pd_stack_numbers *numbers)
{
    for (uint64_t i = 0; i < PD_STACK_BLOCK; i++) {
        uint64_t word = i;
        pd_key random = pd_key_of_words(&word, 1, SEED_NUMBERS);
        numbers->lo[i] = random.lo | 1;
        numbers->hi[i] = random.hi | 1;
    }
}

void pd_stack_hash_fold(pd_stack_hash *hash)
{
    uint64_t words[] = {hash->lo, hash->hi};
    pd_key folded = pd_key_of_words(words, 2, SEED_FOLD);
    hash->lo = folded.lo;
    hash->hi = folded.hi;
}

pd_key pd_label_names_key(pd_bytes key, pd_bytes str, pd_bytes num_unit)
{
    pd_key k = pd_key_of_bytes(key.ptr, key.len, SEED_LABEL);
    pd_key s = pd_key_of_bytes(str.ptr, str.len, SEED_LABEL);
    pd_key u = pd_key_of_bytes(num_unit.ptr, num_unit.len, SEED_LABEL);
    uint64_t words[] = {k.lo, k.hi, s.lo, s.hi, u.lo, u.hi};
    return pd_key_of_words(words, 6, SEED_LABEL);
}

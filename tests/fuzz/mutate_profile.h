/* Changes a profile the way that profiles differ: at the level of its messages.
 *
 * Bytes changed at random hardly ever get past the first length that no longer fits. Here a profile
 * is taken apart into fields, one of them (or of the fields in it) is deleted, repeated, moved,
 * replaced by one of another profile, given another number, packed or unpacked, and everything is
 * put together again with lengths that fit. What cannot be taken apart is kept as it is. */
#ifndef PD_TESTS_FUZZ_MUTATE_PROFILE_H
#define PD_TESTS_FUZZ_MUTATE_PROFILE_H

#include "arena.h"
#include "rng.h"

/* libFuzzer's own mutations, for the bytes of strings and for everything now and then. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len,
                                 uint8_t *out, size_t max_size, unsigned seed);

/* Returns one mutation of `in`, in the arena. Pieces are taken from `donor`, which may be `in` or
 * empty. */
buf mutate_profile(rng *r, arena *a, buf in, buf donor);

#endif

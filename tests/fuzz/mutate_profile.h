/* Changes a profile the way that profiles differ: at the level of its messages.
 *
 * Bytes changed at random hardly ever get past the first length that no longer fits. Here a profile
 * is taken apart into fields, one of them (or of the fields in it) is deleted, repeated, moved,
 * replaced by one of another profile, given another number, packed or unpacked, and everything is
 * put together again with lengths that fit. What cannot be taken apart is kept as it is. */
#ifndef PD_TESTS_FUZZ_MUTATE_PROFILE_H
#define PD_TESTS_FUZZ_MUTATE_PROFILE_H

#include "base/mem.h"

/* libFuzzer's own mutations, for the bytes of strings and for everything now and then. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len,
                                 uint8_t *out, size_t max_size, unsigned seed);

/* Equal seeds, equal mutations. */
typedef struct dice {
    uint64_t state;
} dice;

/* A number below n, which is not 0. */
size_t dice_below(dice *d, size_t n);

/* Appends to *out, whose memory belongs to *mem, one mutation of `in`. Pieces are taken from
 * `donor`, which may be `in` or empty. */
void mutate_profile(dice *d, pd_mem *mem, pd_bytes in, pd_bytes donor, pd_buffer *out);

#endif

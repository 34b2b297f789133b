/* Changes a protobuf message at the level of its fields.
 *
 * Bytes changed at random hardly ever get past the first length that no longer fits. Here a message is taken apart
 * into fields, one of them (or of the fields in it) is deleted, repeated, moved, replaced by one of another message or
 * given another value, and everything is put together again with lengths that fit. No schema is needed: what can be
 * taken apart to its end may be a message. What cannot be taken apart is kept as it is. */
#ifndef PD_TESTS_FUZZ_MUTATE_MESSAGE_H
#define PD_TESTS_FUZZ_MUTATE_MESSAGE_H

#include "arena.h"
#include "rng.h"

/* libFuzzer's own mutations, for strings and packed numbers, and for everything now and then. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* Returns one mutation of `in`, in the arena. Fields are taken from `donor`, which may be `in` or empty. */
buf mutate_message(rng *r, arena *a, buf in, buf donor);

#endif

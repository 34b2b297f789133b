/* What the library uses of xxHash, whose functions are those of the crate xxhash-c-sys: a crate cannot give
 * its headers to another one. src/lib.rs checks the size and the alignment of the state. */
#ifndef PPROFDELTA_SYS_XXHASH_H
#define PPROFDELTA_SYS_XXHASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct XXH128_hash_t {
    uint64_t low64, high64;
} XXH128_hash_t;

typedef struct XXH3_state_t {
    _Alignas(64) unsigned char bytes[576];
} XXH3_state_t;

uint64_t XXH3_64bits_withSeed(const void *data, size_t len, uint64_t seed);
XXH128_hash_t XXH3_128bits_withSeed(const void *data, size_t len, uint64_t seed);
int XXH3_128bits_reset(XXH3_state_t *state);
int XXH3_128bits_update(XXH3_state_t *state, const void *data, size_t len);
XXH128_hash_t XXH3_128bits_digest(const XXH3_state_t *state);

#endif

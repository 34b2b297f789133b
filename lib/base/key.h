/* 128-bit keys.
 *
 * A sample, a location, a string and whatever else has to be told apart has a key: 128 bits of XXH3
 * over its content. Equal keys are taken as equal content. Nothing in the library handles a
 * collision. */
#ifndef PD_BASE_KEY_H
#define PD_BASE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct pd_key {
    uint64_t lo, hi;
} pd_key;

static inline bool pd_key_equal(pd_key a, pd_key b)
{
    return ((a.lo ^ b.lo) | (a.hi ^ b.hi)) == 0;
}

/* {0, 0} stands for no key. */
static inline bool pd_key_is_set(pd_key key)
{
    return (key.lo | key.hi) != 0;
}

/* The value in little endian order, which is hashed on every machine. */
static inline uint64_t pd_le64(uint64_t value)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(value);
#else
    return value;
#endif
}

static inline uint32_t pd_le32(uint32_t value)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap32(value);
#else
    return value;
#endif
}

static inline pd_key pd_key_of_bytes(const void *ptr, size_t len, uint64_t seed)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(ptr, len, seed);
    return (pd_key){h.low64, h.high64};
}

/* The key of a number in a set that a file fills. The seed is an address of this process: the writer of the
 * file cannot know it, so it cannot choose numbers with equal hashes. No output depends on it. */
static inline pd_key pd_key_of_number(uint64_t number, uint64_t seed)
{
    return (pd_key){XXH3_64bits_withSeed(&number, sizeof number, seed), number};
}

/* The key of a struct that is written as an array of words. Changes `words` to little endian. */
static inline pd_key pd_key_of_words(uint64_t *words, size_t len, uint64_t seed)
{
    for (size_t i = 0; i < len; i++)
        words[i] = pd_le64(words[i]);
    return pd_key_of_bytes(words, len * sizeof *words, seed);
}

#endif

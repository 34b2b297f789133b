/* Random numbers that repeat: a seed gives the same test on every machine (splitmix64). */
#ifndef PD_TESTS_RNG_H
#define PD_TESTS_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rng {
    uint64_t state;
} rng;

static inline uint64_t rng_next(rng *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 .. below-1; 0 if below is 0. */
static inline size_t rng_below(rng *r, size_t below)
{
    return below ? (size_t)(rng_next(r) % below) : 0;
}

/* The same for 64 bits. */
static inline uint64_t rng_below_wide(rng *r, uint64_t below)
{
    return below ? rng_next(r) % below : 0;
}

static inline bool rng_chance(rng *r, unsigned percent)
{
    return rng_next(r) % 100 < percent;
}

/* A number up to 2^bits - 1; each number of bits is equally likely. */
static inline int64_t rng_magnitude(rng *r, unsigned bits)
{
    unsigned use = (unsigned)rng_below(r, bits + 1);
    return use ? (int64_t)(rng_next(r) >> (64 - use)) : 0;
}

static inline void rng_shuffle(rng *r, size_t *items, size_t len)
{
    for (size_t i = len; i > 1; i--) {
        size_t j = rng_below(r, i), swap = items[i - 1];
        items[i - 1] = items[j];
        items[j] = swap;
    }
}

#endif

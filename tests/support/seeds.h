/* The seeds of a property test. PD_TEST_SEEDS is the total number, for a short or a long run; each
 * test uses its share. PD_TEST_SEED is one seed to run alone, as a failure reports it. */
#ifndef PD_TESTS_SEEDS_H
#define PD_TESTS_SEEDS_H

#include "test.h"

#include <inttypes.h>
#include <stdlib.h>

enum { USUAL_SEEDS = 8000 };

typedef struct seed_range {
    uint64_t from, to;
} seed_range;

static inline seed_range seeds_of(uint64_t usual, unsigned percent)
{
    const char *one = getenv("PD_TEST_SEED"), *many = getenv("PD_TEST_SEEDS");
    if (one) {
        uint64_t seed = strtoull(one, NULL, 0);
        return (seed_range){seed, seed + 1};
    }
    uint64_t all = many ? strtoull(many, NULL, 0) : usual;
    return (seed_range){0, all * percent / 100 + 1};
}

/* For (seed = range.from; seed < range.to; seed++), this share of all, in percent. */
static inline seed_range seeds(unsigned percent)
{
    return seeds_of(USUAL_SEEDS, percent);
}

/* The same for a test that takes long: a tenth, where PD_TEST_SEEDS does not say how many. */
static inline seed_range slow_seeds(unsigned percent)
{
    return seeds_of(USUAL_SEEDS / 10, percent);
}

/* Whether PD_TEST_SEEDS asks for less than usual, as with the sanitizers. A test without seeds then does less. */
static inline bool is_short_run(void)
{
    const char *many = getenv("PD_TEST_SEEDS");
    return many && strtoull(many, NULL, 0) < USUAL_SEEDS / 10;
}

/* wrong is NULL, or the difference. Evaluated more than once. */
#define AGREE(seed, wrong) CHECK_MSG(!(wrong), "seed %" PRIu64 ": %s", (seed), (wrong))

#endif

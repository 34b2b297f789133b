/* The sampler: who is sampled, and what a sample stands for. */
#include "pprofdelta_heap.h"
#include "rng.h"
#include "seeds.h"

#include <math.h>

typedef struct estimate {
    double objects, bytes;
    uint64_t samples;
} estimate;

/* What the samples of n allocations of one size say. */
static estimate sample(pprofdelta_sampler *s, size_t size, uint64_t n)
{
    estimate e = {0};
    for (uint64_t i = 0; i < n; i++) {
        pprofdelta_weight weight;
        if (pprofdelta_sampler_tick(s, size) && pprofdelta_sampler_take(s, size, &weight)) {
            CHECK(weight.objects >= 1 && weight.bytes >= (int64_t)size);
            e.objects += (double)weight.objects;
            e.bytes += (double)weight.bytes;
            e.samples++;
        }
    }
    return e;
}

/* Is the mean of many estimates within a hundredth of the truth? With so many samples, that is nine
 * standard deviations of chance. */
static void check_bias(size_t size, uint64_t interval, double ratio)
{
    enum { SEEDS = 40 };
    uint64_t n = (uint64_t)(20000 / (1 - exp(-ratio)));
    double objects = 0, bytes = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        pprofdelta_sampler s;
        pprofdelta_sampler_init(&s, interval, seed);
        estimate e = sample(&s, size, n);
        objects += e.objects / (double)n;
        bytes += e.bytes / (double)n / (double)size;
    }
    CHECK_MSG(fabs(objects / SEEDS - 1) < 0.01, "S/R %g: objects %f", ratio, objects / SEEDS);
    CHECK_MSG(fabs(bytes / SEEDS - 1) < 0.01, "S/R %g: bytes %f", ratio, bytes / SEEDS);
}

TEST(estimates_are_unbiased)
{
    static const double ratios[] = {0.05, 0.1, 0.5, 1, 2, 10};
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        check_bias((size_t)(ratios[i] * (512 << 10)), 512 << 10, ratios[i]);
        check_bias((size_t)(ratios[i] * 1000), 1000, ratios[i]);
    }
}

/* Distances have no memory: their spread is their mean. A sampler with a fixed or a jittered
 * distance has less. */
TEST(distances_are_exponential)
{
    pprofdelta_sampler s;
    pprofdelta_sampler_init(&s, 10000, 7);
    double sum = 0, squares = 0, last = 0, position = 0, over_twice = 0;
    enum { N = 40000 };
    for (int n = 0; n < N;) {
        pprofdelta_weight weight;
        position += 1;
        if (!pprofdelta_sampler_tick(&s, 1) || !pprofdelta_sampler_take(&s, 1, &weight))
            continue;
        double distance = position - last;
        last = position;
        sum += distance;
        squares += distance * distance;
        over_twice += distance > 20000;
        n++;
    }
    double mean = sum / N, deviation = sqrt(squares / N - mean * mean);
    CHECK_MSG(fabs(mean / 10000 - 1) < 0.03, "mean %f", mean);
    CHECK_MSG(fabs(deviation / 10000 - 1) < 0.03, "deviation %f", deviation);
    CHECK_MSG(fabs(over_twice / N / exp(-2) - 1) < 0.05, "%f are over twice the mean",
              over_twice / N);
}

TEST(interval_0_is_off)
{
    pprofdelta_sampler s;
    pprofdelta_sampler_init(&s, 0, 1);
    for (int i = 0; i < 1000; i++)
        CHECK(!pprofdelta_sampler_tick(&s, PTRDIFF_MAX >> 12));
    /* Even when all of 63 bits were counted away. */
    pprofdelta_weight weight = {-1, -1};
    for (int i = 0; i < 10; i++)
        if (pprofdelta_sampler_tick(&s, PTRDIFF_MAX))
            CHECK(!pprofdelta_sampler_take(&s, PTRDIFF_MAX, &weight));
    CHECK(weight.objects == -1 && weight.bytes == -1);
}

TEST(interval_1_takes_each_allocation_for_what_it_is)
{
    pprofdelta_sampler s;
    pprofdelta_weight weight;
    pprofdelta_sampler_init(&s, 1, 5);
    for (size_t size = 1; size < 1000; size++) {
        CHECK(pprofdelta_sampler_tick(&s, size) && pprofdelta_sampler_take(&s, size, &weight));
        CHECK(weight.objects == 1 && weight.bytes == (int64_t)size);
    }
}

TEST(zeros_are_a_sampler_that_has_not_begun)
{
    static pprofdelta_sampler s;
    pprofdelta_weight weight;
    CHECK(!pprofdelta_sampler_has_begun(&s));
    for (int i = 0; i < 3; i++) {
        CHECK(pprofdelta_sampler_tick(&s, 10));
        CHECK(!pprofdelta_sampler_take(&s, 10, &weight));
    }
    pprofdelta_sampler_init(&s, 100, 0);
    CHECK(pprofdelta_sampler_has_begun(&s));
    CHECK(sample(&s, 10, 10000).samples > 500);
}

TEST(the_same_seed_draws_the_same_and_no_seed_draws_anew)
{
    pprofdelta_sampler s[4];
    pprofdelta_sampler_init(&s[0], 1000, 5);
    pprofdelta_sampler_init(&s[1], 1000, 5);
    pprofdelta_sampler_init(&s[2], 1000, 0);
    pprofdelta_sampler_init(&s[3], 1000, 0);
    unsigned differ = 0;
    for (int i = 0; i < 10000; i++) {
        pprofdelta_weight w[4] = {{0, 0}};
        int taken[4] = {0};
        for (int j = 0; j < 4; j++)
            taken[j] =
                pprofdelta_sampler_tick(&s[j], 30) && pprofdelta_sampler_take(&s[j], 30, &w[j]);
        CHECK(taken[0] == taken[1] &&
              (!taken[0] || (w[0].objects == w[1].objects && w[0].bytes == w[1].bytes)));
        differ += taken[2] != taken[3];
    }
    CHECK(differ > 100);
}

TEST(what_is_paused_is_not_seen_and_the_rest_stays_unbiased)
{
    pprofdelta_sampler s;
    pprofdelta_sampler_init(&s, 5000, 3);
    pprofdelta_sampler_resume(&s); /* of nothing: does nothing */
    estimate seen = {0}, hidden = {0};
    for (int i = 0; i < 20000; i++) {
        estimate e = sample(&s, 100, 50);
        seen.objects += e.objects;
        pprofdelta_sampler_pause(&s);
        hidden.samples += sample(&s, 100, 30).samples;
        pprofdelta_sampler_pause(&s);
        hidden.samples += sample(&s, 100000, 3).samples;
        pprofdelta_sampler_resume(&s);
        hidden.samples += sample(&s, 100000, 3).samples;
        pprofdelta_sampler_resume(&s);
    }
    CHECK(hidden.samples == 0);
    CHECK_MSG(fabs(seen.objects / 1000000 - 1) < 0.03, "%f", seen.objects / 1000000);
}

TEST(a_pause_outlasts_any_number_of_bytes)
{
    pprofdelta_sampler s;
    pprofdelta_sampler_init(&s, 10, 3);
    pprofdelta_sampler_pause(&s);
    for (int i = 0; i < 10; i++) {
        pprofdelta_weight weight;
        CHECK(!pprofdelta_sampler_tick(&s, PTRDIFF_MAX) ||
              !pprofdelta_sampler_take(&s, PTRDIFF_MAX, &weight));
    }
    pprofdelta_sampler_resume(&s);
    CHECK(sample(&s, 10, 1000).samples > 300);
}

TEST(weights_do_not_overflow)
{
    static const uint64_t intervals[] = {2, 1 << 20, UINT64_C(1) << 40, UINT64_C(1) << 62,
                                         UINT64_MAX};
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++)
        for (int shift = 0; shift < 63; shift++) {
            size_t size = (size_t)1 << shift;
            pprofdelta_sampler s;
            pprofdelta_weight weight;
            pprofdelta_sampler_init(&s, intervals[i], 1);
            s.left = -1;
            CHECK(pprofdelta_sampler_take(&s, size, &weight) == 1);
            CHECK(weight.objects >= 1 && weight.bytes >= (int64_t)size);
            CHECK(s.left >= 0);
        }
}

/* Many allocations that all stand for the same fraction: on average, not always up or down. */
TEST(rounding_is_by_chance)
{
    pprofdelta_sampler s;
    uint64_t ups = 0, downs = 0;
    pprofdelta_sampler_init(&s, 1000, 9); /* 1000 bytes: 1.58 */
    for (int i = 0; i < 100000; i++) {
        pprofdelta_weight weight;
        if (!pprofdelta_sampler_tick(&s, 1000) || !pprofdelta_sampler_take(&s, 1000, &weight))
            continue;
        CHECK(weight.objects == 1 || weight.objects == 2);
        CHECK(weight.bytes == 1581 || weight.bytes == 1582);
        weight.objects == 2 ? ups++ : downs++;
    }
    double share = (double)ups / (double)(ups + downs);
    CHECK_MSG(fabs(share - 0.582) < 0.01, "%f", share);
}

TEST_MAIN()

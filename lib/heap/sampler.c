/* The slow path of the sampler: distances and weights.
 *
 * Each allocated byte is chosen with the same small probability. An allocation is a sample if one
 * of its bytes is chosen. The distances between chosen bytes have an exponential distribution of
 * mean R, so
 *
 *     P(sampled) = 1 - exp(-S/R)         for S bytes
 *
 * does not depend on what came before. A distance may be thrown away and drawn again at any time
 * (pause, a new interval, a failed allocation) without a bias. A sample stands for 1/P allocations.
 * If that were rounded to the nearest number, a program that allocates one size would always be off
 * in the same direction. So it is rounded up with the probability of its fraction. Objects and
 * bytes are rounded separately: a large allocation of weight 1.1 counts as 1.1 times its bytes, and
 * as one object or, one time in ten, two. */
#include "pprofdelta_heap.h"

#include <string.h>
#include <time.h>

static const int64_t never = INT64_MAX;

/* ---- two functions of libm, which every process with the heap agent would load for them -------- */

static const double log_2 = 0.693147180559945309417;

static double power_of_2(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* The natural logarithm of a number in (0, 1]: x = 2^e m, log m = 2 artanh((m - 1) / (m + 1)). */
static double log_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    double m = x * power_of_2(-exponent), sum = 0;
    if (m > 1.4142135623730951) {
        m /= 2;
        exponent++;
    }
    const double each = (m - 1) / (m + 1);
    for (int n = 21; n > 0; n -= 2)
        sum = sum * each * each + 1.0 / n;
    return exponent * log_2 + 2 * each * sum;
}

/* 1 - exp(-x) for x in [0, 36], also where that is small: x = k log 2 + r, by the series for r. */
static double one_less_exp(double x)
{
    const int k = (int)(x / log_2 + 0.5);
    const double r = x - k * log_2, power = power_of_2(-k);
    double sum = 0;
    for (int n = 14; n > 0; n--)
        sum = (1 - sum) * r / n;
    return power * sum + (1 - power);
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* splitmix64: a counter, its step, and a mix of its bits. The result is in [0, 1). */
static double draw_unit(pprofdelta_sampler *s)
{
    uint64_t z = s->random[0] += s->random[1];
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* An allocation of S bytes is a sample if S > left. left is the floor of the exact distance, so
 * this holds if the distance is less than S. */
static int64_t draw_distance(pprofdelta_sampler *s)
{
    if (!s->interval)
        return never;
    if (s->interval == 1)
        return 0;
    double distance = -log_of(1.0 - draw_unit(s)) * (double)s->interval;
    return distance < 0x1p62 ? (int64_t)distance : never;
}

static int64_t round_by_chance(pprofdelta_sampler *s, double value)
{
    if (value >= 0x1p63)
        return INT64_MAX;
    int64_t floor = (int64_t)value;
    return floor + (draw_unit(s) < value - (double)floor);
}

static pprofdelta_weight draw_weight(pprofdelta_sampler *s, size_t size)
{
    pprofdelta_weight whole = {1, (int64_t)size};
    double ratio = (double)size / (double)s->interval;
    if (s->interval == 1 || ratio > 36) /* exp(-36) is less than the last bit of 1 */
        return whole;
    double each = 1.0 / one_less_exp(ratio);
    return (pprofdelta_weight){round_by_chance(s, each), round_by_chance(s, each * (double)size)};
}

static uint64_t unguessed_seed(const pprofdelta_sampler *s)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec +
           ((uint64_t)(uintptr_t)s << 20);
}

void pprofdelta_sampler_init(pprofdelta_sampler *s, uint64_t interval, uint64_t seed)
{
    *s = (pprofdelta_sampler){
        .interval = interval,
        .random = {seed ? seed : unguessed_seed(s), UINT64_C(0x9e3779b97f4a7c15)},
        .has_begun = 1};
    s->left = draw_distance(s);
}

int pprofdelta_sampler_take(pprofdelta_sampler *s, size_t size, pprofdelta_weight *weight)
{
    if (s->left >= 0)
        return 0;
    if (s->pauses || !s->has_begun) {
        s->left = s->pauses ? never : 0;
        return 0;
    }
    s->left = draw_distance(s);
    if (!s->interval || !size)
        return 0;
    *weight = draw_weight(s, size);
    return 1;
}
